"""An archive: 200 CSV files of 30 minutes to tables, by two processes beside one.

The processes are started, and have loaded their kernels, before the clock starts. The whole command is in the log.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from beatwire.api.archive import run_archive
from beatwire.archives.cluster import check_installed, connected
from beatwire.bench.recording import RATE_HZ, write_csv
from beatwire.bench.result import Log, Result
from beatwire.errors import FatalError, UserError

RECORDINGS, MINUTES = 200, 30
PEOPLE = 8  # different files; the others are links to them


def write_archive(folder: Path, recordings: int = RECORDINGS, minutes: float = MINUTES) -> None:
    """Write CSV files into a folder."""
    folder.mkdir()
    for k in range(recordings):
        path = folder / f"{k}.csv"
        if k < PEOPLE:
            write_csv(path, round(60 * minutes * RATE_HZ), seed=k)
        else:
            path.hardlink_to(folder / f"{k % PEOPLE}.csv")


def archive_s(source: Path, out: Path, processes: int, log: Log) -> float:
    """Return the seconds that warm processes need for an archive."""
    begin_s = time.perf_counter()
    with connected(None, processes, "cpu", str(out), log) as client:
        few = [source / f"{k}.csv" for k in range(2 * processes)]
        run_archive(few, out / "warm", RATE_HZ, scheduler=client, notes=log)
        warm_s = time.perf_counter()
        done = run_archive(source, out / "tables", RATE_HZ, scheduler=client, notes=log)
        taken_s = time.perf_counter() - warm_s
    if done.failed:
        raise FatalError(f"bench: expected every recording to be done; got {done.failed}")
    log(f"archive: {processes} processes, {taken_s:.1f} s, with their start {time.perf_counter() - begin_s:.1f} s")
    return taken_s


def measure(log: Log, recordings: int = RECORDINGS, minutes: float = MINUTES) -> Iterator[Result]:
    """Compare two processes with one."""
    try:
        check_installed()
    except UserError as error:
        log(f"archive: skipped; {error}")
        return
    with tempfile.TemporaryDirectory(prefix="beatwire-") as name:
        folder = Path(name)
        write_archive(folder / "in", recordings, minutes)
        rates = [recordings / archive_s(folder / "in", folder / str(n), n, log) for n in (1, 2)]
    yield Result("archive, two processes", rates[1], "recordings/s", "one process", rates[0], ">= 1.8")
