"""Ten gibibytes of twelve leads under one gibibyte of a GPU's memory, and the same without a limit.

A process for each, because a pool keeps its limit: ``python -m beatwire.bench.out_of_core FILE LIMIT OUT``. Both
read one file that is in memory, from host arrays to scored beats; their beats and scores are compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.backends.choose import bytes_of, choose
from beatwire.bench.archive import compare
from beatwire.bench.row import Row
from beatwire.offline.archive import Archive
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording
from beatwire.recordings.synthetic.person import synthesise

SIZE = 10 << 30
LIMIT, NO_LIMIT = "1GiB", "none"
LEADS, RATE_HZ, PERSON_S = 12, 500.0, 1200.0
WARM, REPEATS = 2, 5
IN_MEMORY = Path("/dev/shm")  # noqa: S108
ROOM = 2 * SIZE


def write(path: Path, size: int = SIZE) -> None:
    """Write int16 [leads, n]: one person over and over."""
    one = synthesise(1, rate_hz=RATE_HZ, leads=LEADS, seconds=PERSON_S, ectopy=0.01).recording.samples
    n = size // (2 * LEADS)
    file = np.memmap(path, np.int16, "w+", shape=(LEADS, n))

    def fill(lead: int) -> None:
        for first in range(0, n, one.shape[1]):
            file[lead, first : first + one.shape[1]] = one[lead, : n - first]

    with ThreadPoolExecutor(LEADS) as pool:
        list(pool.map(fill, range(LEADS)))


def work(path: Path, limit: str, out: Path) -> None:
    """Analyse the file under a limit; print how long it took each time, and keep what was found."""
    limit_bytes = None if limit == NO_LIMIT else bytes_of(limit)
    backend = choose("gpu", limit_bytes=limit_bytes)
    samples = np.asarray(np.memmap(path, np.int16, "r").reshape(LEADS, -1))
    recording = Recording("outgrown", RATE_HZ, tuple(f"lead {k}" for k in range(LEADS)), 5.0, samples)
    archive = Archive(Settings(), backend=backend, memory_bytes=limit_bytes, rules=False)
    taken: list[float] = []
    for _ in range(WARM + REPEATS):
        begin = time.perf_counter()
        beats = archive.analyze(recording, "outgrown")[0].beats
        taken.append(time.perf_counter() - begin)
    np.savez(out, sample=beats.sample, score=np.asarray(beats.score))
    memory = backend.memory
    told = {"seconds": taken[WARM:], "peak_bytes": memory.peak_bytes if memory is not None else 0}
    print(json.dumps(told))  # noqa: T201


def measure(say: Callable[[str], None]) -> Iterator[Row]:
    """Compare both."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if free < ROOM or not IN_MEMORY.is_dir():
        say(f"outgrown: left out, expected {ROOM >> 30} GiB of free memory; got {free / 2**30:.0f}")
        return
    with tempfile.TemporaryDirectory(prefix="beatwire-", dir=IN_MEMORY) as folder:
        path = Path(folder) / "samples.i16"
        write(path)
        limited, found = _told(path, LIMIT)
        unlimited, expected = _told(path, NO_LIMIT)
    compare("outgrown", found, expected)
    for what, told in ((LIMIT, limited), ("no limit", unlimited)):
        each = ", ".join(f"{s:.2f}" for s in told["seconds"])
        say(f"outgrown: {what}: {each} s, peak {told['peak_bytes'] >> 20} MiB, {len(found[0])} beats")
    yield Row(
        "gpu, 10 GiB of recording under 1 GiB", float(np.median(limited["seconds"])), "s", "without a limit",
        float(np.median(unlimited["seconds"])), "<= 1.2",
    )  # fmt: skip


def _told(path: Path, limit: str) -> tuple[dict[str, Any], tuple[Any, Any]]:
    """Return what a process says of its time, and the samples and scores that it found."""
    out = path.with_name(f"{limit}.npz")
    command = [sys.executable, "-m", "beatwire.bench.out_of_core", str(path), limit, str(out)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    with np.load(out) as kept:
        return json.loads(done.stdout.splitlines()[-1]), (kept["sample"], kept["score"])


if __name__ == "__main__":
    work(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
