"""A recording of 10 GiB, twelve leads, analysed on a GPU in four ways.

- ``1GiB``: streamed from the host in pieces, with that limit of device memory;
- ``none``: the same without a limit;
- ``managed``: in managed memory whose pages are on the host: the card fetches each when it is first read;
- ``prefetched``: the same, after a request to the driver to move all pages at once.

Each runs in a process of its own (``bench.card.out_of_core_worker``), because the limit of a memory pool cannot be
changed. All read a file in shared memory and are timed from the
memory of the host to scored beats. Their beats and scores are compared.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.bench.recording import check_equal
from beatwire.bench.result import Log, Result
from beatwire.recordings.synthetic.person import synthesise

SIZE = 10 << 30
LIMIT, NO_LIMIT, MANAGED, PREFETCHED = "1GiB", "none", "managed", "prefetched"
LEADS, RATE_HZ, PERSON_S = 12, 500.0, 1200.0
WARM, REPEATS = 1, 5
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108
NEEDED = 3 * SIZE  # the file, its copy in managed memory, and the work of an analysis


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


def measure(log: Log) -> Iterator[Result]:
    """Compare the run with a limit with the run without, and with managed memory."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if free < NEEDED or not SHARED_MEMORY.is_dir():
        log(f"out_of_core: skipped, expected {NEEDED >> 30} GiB of free memory; got {free / 2**30:.0f}")
        return
    with tempfile.TemporaryDirectory(prefix="beatwire-", dir=SHARED_MEMORY) as folder:
        path = Path(folder) / "samples.i16"
        write(path)
        done = {way: _run(path, way) for way in (LIMIT, NO_LIMIT, MANAGED, PREFETCHED)}
    found = done[LIMIT][1]
    for way, (summary, beats) in done.items():
        check_equal("out_of_core", found, beats)
        seconds = ", ".join(f"{s:.2f}" for s in summary["seconds"])
        log(f"out_of_core: {way}: {seconds} s, peak {summary['peak_bytes'] >> 20} MiB, {len(found[0])} beats")
    median = {way: float(np.median(summary["seconds"])) for way, (summary, _) in done.items()}
    name = "gpu, recording of 10 GiB with 1 GiB"
    yield Result(name, median[LIMIT], "s", "without a limit", median[NO_LIMIT], "<= 1.2")
    yield Result(name, median[LIMIT], "s", "managed memory", min(median[MANAGED], median[PREFETCHED]), "<= 1")


def _run(path: Path, way: str) -> tuple[dict[str, Any], tuple[Any, Any]]:
    """Run the analysis in a process; return its summary, and the samples and scores of its beats."""
    out = path.with_name(f"{way}.npz")
    command = [sys.executable, "-m", f"{__package__}.out_of_core_worker", str(path), way, str(out)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    with np.load(out) as beats:
        return json.loads(done.stdout.splitlines()[-1]), (beats["sample"], beats["score"])
