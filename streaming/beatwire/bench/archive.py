"""An archive to tables: 200 CSV files of 30 minutes by two processes beside one.

Where there is a card, also 1,000 files of arrays on it beside a process on each core, and on two cards beside one. The
processes are started, and have loaded their kernels, before the clock starts. The whole command is in the log.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from beatwire.api.archive import run_archive
from beatwire.archives.cluster import check_installed, connected
from beatwire.backends.cuda.card import missing
from beatwire.bench.recording import RATE_HZ, write_csv
from beatwire.bench.result import Log, Result
from beatwire.errors import FatalError, UserError
from beatwire.jit.threads import cores
from beatwire.recordings.synthetic.person import synthesise

RECORDINGS, MINUTES = 200, 30
ON_CARDS = 1000  # recordings
PEOPLE = 8  # different files; the others are links to them


def write_archive(
    folder: Path, recordings: int = RECORDINGS, minutes: float = MINUTES,
    write: Callable[[Path, int, int], None] = write_csv, ending: str = "csv",
) -> None:  # fmt: skip
    """Write files into a folder: ``write`` makes one of a path, a number of samples and a seed."""
    folder.mkdir()
    for k in range(recordings):
        path = folder / f"{k}.{ending}"
        if k < PEOPLE:
            write(path, round(60 * minutes * RATE_HZ), k)
        else:
            path.hardlink_to(folder / f"{k % PEOPLE}.{ending}")


def write_array(path: Path, samples: int, seed: int) -> None:
    """Write a lead of one person in millivolts, float32, as ``.npy``."""
    made = synthesise(seed, rate_hz=RATE_HZ, seconds=samples / RATE_HZ, ectopy=0.01).recording
    np.save(path, (made.samples[0] * (made.uv_per_unit / 1000)).astype(np.float32))


def archive_s(source: Path, out: Path, processes: int, log: Log, backend: str = "cpu") -> float:
    """Return the seconds that warm processes need for an archive; on cards each has its own."""
    begin_s = time.perf_counter()
    with connected(None, processes, backend, str(out), log) as client:
        few = sorted(source.iterdir())[: 4 * processes]
        run_archive(few, out / "warm", RATE_HZ, scheduler=client, notes=log, backend=backend)
        warm_s = time.perf_counter()
        done = run_archive(source, out / "tables", RATE_HZ, scheduler=client, notes=log, backend=backend)
        taken_s = time.perf_counter() - warm_s
    if done.failed:
        raise FatalError(f"bench: expected every recording to be done; got {done.failed}")
    log(
        f"archive: {processes} processes, {backend}, {taken_s:.1f} s, "
        f"with their start {time.perf_counter() - begin_s:.1f} s"
    )
    return taken_s


def cards() -> int:
    """Return the number of cards that ``archive`` would use."""
    if missing() is not None:
        return 0
    import cupy

    count = int(cupy.cuda.runtime.getDeviceCount())
    return count if find_spec("dask_cuda") is not None else min(count, 1)


def measure_on_cards(log: Log, recordings: int = ON_CARDS, minutes: float = MINUTES) -> Iterator[Result]:
    """Compare a card with the host's cores, and two cards with one."""
    with tempfile.TemporaryDirectory(prefix="beatwire-") as name:
        folder = Path(name)
        write_archive(folder / "in", recordings, minutes, write_array, "npy")
        one = recordings / archive_s(folder / "in", folder / "card", 1, log, "gpu")
        host = recordings / archive_s(folder / "in", folder / "host", cores(), log)
        yield Result("archive, one card", one, "recordings/s", f"{cores()} processes without", host)
        if cards() > 1:
            two = recordings / archive_s(folder / "in", folder / "cards", 2, log, "gpu")
            yield Result("archive, two cards", two, "recordings/s", "one card", one, ">= 1.9")


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
    if cards():
        yield from measure_on_cards(log)
