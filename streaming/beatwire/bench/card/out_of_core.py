"""A recording of 10 GiB, twelve leads, analysed on a GPU with a memory limit of 1 GiB, and without a limit.

Each runs in a process of its own, because the limit of a memory pool cannot be changed:
``python -m beatwire.bench.card.out_of_core FILE LIMIT OUT``. Both read a file in shared memory and are timed from host
arrays to scored beats. Their beats and scores are compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.backends.choose import choose
from beatwire.bench.recording import check_equal
from beatwire.bench.result import Log, Result
from beatwire.offline.analyzer import Analyzer
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording
from beatwire.recordings.synthetic.person import synthesise
from beatwire.settings import bytes_of

SIZE = 10 << 30
LIMIT, NO_LIMIT = "1GiB", "none"
LEADS, RATE_HZ, PERSON_S = 12, 500.0, 1200.0
WARM, REPEATS = 2, 5
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108
NEEDED = 2 * SIZE  # the file, and the work of an analysis


def write(path: Path, size: int = SIZE) -> None:
    """Write int16 [leads, n], a recording of one person, repeated."""
    recorded = synthesise(1, rate_hz=RATE_HZ, leads=LEADS, seconds=PERSON_S, ectopy=0.01).recording.samples
    n = size // (2 * LEADS)
    file = np.memmap(path, np.int16, "w+", shape=(LEADS, n))

    def fill(lead: int) -> None:
        for first in range(0, n, recorded.shape[1]):
            file[lead, first : first + recorded.shape[1]] = recorded[lead, : n - first]

    with ThreadPoolExecutor(LEADS) as pool:
        list(pool.map(fill, range(LEADS)))


def work(path: Path, limit: str, out: Path) -> None:
    """Analyse the file with a memory limit; print the seconds of each run as JSON, write the beats to ``out``."""
    limit_bytes = None if limit == NO_LIMIT else bytes_of(limit)
    backend = choose("gpu", limit_bytes=limit_bytes)
    samples = np.asarray(np.memmap(path, np.int16, "r").reshape(LEADS, -1))
    recording = Recording("out-of-core", RATE_HZ, tuple(f"lead {k}" for k in range(LEADS)), 5.0, samples)
    analyzer = Analyzer(Settings(), backend=backend, memory_bytes=limit_bytes, rules=False)
    taken_s: list[float] = []
    for _ in range(WARM + REPEATS):
        begin = time.perf_counter()
        beats = analyzer.analyze(recording, "out-of-core")[0].beats
        taken_s.append(time.perf_counter() - begin)
    np.savez(out, sample=beats.sample, score=np.asarray(beats.score))
    memory = backend.memory
    summary = {"seconds": taken_s[WARM:], "peak_bytes": memory.peak_bytes if memory is not None else 0}
    print(json.dumps(summary))  # noqa: T201


def measure(log: Log) -> Iterator[Result]:
    """Compare the run with a limit with the run without."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if free < NEEDED or not SHARED_MEMORY.is_dir():
        log(f"out_of_core: skipped, expected {NEEDED >> 30} GiB of free memory; got {free / 2**30:.0f}")
        return
    with tempfile.TemporaryDirectory(prefix="beatwire-", dir=SHARED_MEMORY) as folder:
        path = Path(folder) / "samples.i16"
        write(path)
        limited, found = _run(path, LIMIT)
        unlimited, expected = _run(path, NO_LIMIT)
    check_equal("out_of_core", found, expected)
    for limit, summary in ((LIMIT, limited), ("no limit", unlimited)):
        seconds = ", ".join(f"{s:.2f}" for s in summary["seconds"])
        log(f"out_of_core: {limit}: {seconds} s, peak {summary['peak_bytes'] >> 20} MiB, {len(found[0])} beats")
    yield Result(
        "gpu, recording of 10 GiB with 1 GiB", float(np.median(limited["seconds"])), "s", "without a limit",
        float(np.median(unlimited["seconds"])), "<= 1.2",
    )  # fmt: skip


def _run(path: Path, limit: str) -> tuple[dict[str, Any], tuple[Any, Any]]:
    """Run the analysis in a process; return its summary, and the samples and scores of its beats."""
    out = path.with_name(f"{limit}.npz")
    command = [sys.executable, "-m", "beatwire.bench.card.out_of_core", str(path), limit, str(out)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    with np.load(out) as beats:
        return json.loads(done.stdout.splitlines()[-1]), (beats["sample"], beats["score"])


if __name__ == "__main__":
    work(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
