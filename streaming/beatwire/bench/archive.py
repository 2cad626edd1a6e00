"""A day of one lead, from CSV to scored beats and alerts: 20.14 million samples, the file in the page cache.

Ours is what ``beatwire analyze`` does: shards, laws, levels, history, rules. Beside it the same steps written plainly
(``bench.offline_baseline``), in the same run. ``beatwire bench gpu`` does the same on a GPU, timed by its events, after
beats and scores were compared with the CPU's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.backends.cuda.upload import upload
from beatwire.bench.offline_baseline import steps
from beatwire.bench.row import Row, median_s
from beatwire.offline.archive import Archive
from beatwire.pipeline.settings import Settings
from beatwire.recordings import read_recording
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import F64, TickBeats
from beatwire.tables import library

SAMPLES = 20_140_000
RATE_HZ = 250.0
HOUR_S = 3600
REPEATS = 3
ROUNDS = 15  # on a GPU
LIMIT_MS = 60.0


def write_csv(path: Path, samples: int = SAMPLES, seed: int = 1) -> None:
    """Write a column of millivolts with six decimals: an hour of one person over and over, noise of its own."""
    one = synthesise(seed, rate_hz=RATE_HZ, seconds=HOUR_S, ectopy=0.01).recording
    mv = np.resize(one.samples[0] * (one.uv_per_unit / 1000), samples)
    mv = np.round(mv + np.random.default_rng(seed).normal(0, 0.002, samples), 6)
    pa.csv.write_csv(pa.table({"II": mv}), path, pa.csv.WriteOptions(quoting_style="none"))


def ours(path: Path, backend: Backend, rules: bool = True) -> Callable[[], TickBeats]:
    """Return the whole of it as a function without arguments."""
    archive, xp = Archive(Settings(), backend=backend, rules=rules), library(backend)

    def run() -> TickBeats:
        return archive.analyze(read_recording(path, fs=RATE_HZ, xp=xp), "archive")[0].beats

    return run


@contextmanager
def archive() -> Iterator[Path]:
    """Write the CSV into a folder that goes, and read it once so that it is in the page cache."""
    with tempfile.TemporaryDirectory(prefix="beatwire-") as folder:
        path = Path(folder) / "archive.csv"
        write_csv(path)
        path.read_bytes()
        yield path


def measure(say: Callable[[str], None]) -> Iterator[Row]:
    """Compare with the plain steps."""
    with archive() as path:
        run, plain = ours(path, CPU), steps(path)
        say(f"archive: {len(run().sample)} beats, plain steps {plain()[0]} peaks")
        taken, theirs = median_s(run, REPEATS), median_s(plain, REPEATS)
    yield Row("archive, CSV to alerts", 1000 * taken, "ms", "the plain steps", 1000 * theirs, "<= 1")
    yield Row("archive, times real time", SAMPLES / RATE_HZ / taken, "x", "real time", 1.0, ">= 1000")


def measure_on_gpu(backend: Backend, say: Callable[[str], None]) -> Iterator[Row]:
    """Do the same on a GPU."""
    with archive() as path:
        run = ours(path, backend, rules=False)
        found, right = run(), ours(path, CPU)()
        compare("archive", (found.sample, found.score), (right.sample, right.score))
        xp, size = library(backend), path.stat().st_size
        read, up = (lambda: read_recording(path, fs=RATE_HZ, xp=xp)), (lambda: upload(path, 0, size))
        guessed, told = steps(path, gpu=True), steps(path, gpu=True, told=True)
        taken = event_ms(run, guessed, told, read, up)
        (with_rules,) = event_ms(ours(path, backend))
    scored, guessed_ms, told_ms, read_ms, up_ms = (float(np.median(ms)) for ms in taken)
    quarter, three = np.quantile(taken[0], [0.25, 0.75])
    say(
        f"archive: on the GPU the CPU's beats and scores in {scored:.1f} ms (half of {ROUNDS} within {quarter:.1f} and "
        f"{three:.1f}); reading alone {read_ms:.1f}, {up_ms:.1f} of them the upload; with rules "
        f"{np.median(with_rules):.1f} ms"
    )
    yield Row("archive on a GPU, CSV to scored beats", scored, "ms", "the limit", LIMIT_MS, "<= 1")
    yield Row("the same", scored, "ms", "the plain steps", guessed_ms, "<= 1")
    yield Row("the same", scored, "ms", "the plain steps, column type given", told_ms, "<= 1")


def compare(what: str, found: tuple[Any, Any], expected: tuple[Any, Any]) -> None:
    """Hold samples and scores of beats against those they should be: equal, and within 1e-3 relative.

    Raises
    ------
    ValueError
        They differ.
    """
    (sample, score), (right, right_score) = found, expected
    if not np.array_equal(sample, right):
        raise ValueError(f"{what}: expected {len(right)} beats; got {len(sample)}, and not all the same")
    near = np.isclose(score, right_score, rtol=1e-3, atol=1e-3, equal_nan=True)
    if not near.all():
        first = int(np.argmin(near))
        where = f"{int((~near).sum())} scores differ, the first at sample {right[first]}"
        raise ValueError(f"{what}: {where}: expected {right_score[first]}; got {score[first]}")


def event_ms(*works: Callable[[], Any], rounds: int = ROUNDS) -> F64:
    """Return the milliseconds between two events on the device around each of ``works``: [works, rounds].

    They take turns, so that a machine that is slow for a while is so for all; two rounds before do not count.
    """
    import cupy

    taken = np.zeros((len(works), rounds + 2))
    for k in range(rounds + 2):
        for which, work in enumerate(works):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            cupy.cuda.Device().synchronize()
            begin.record()
            work()
            end.record()
            cupy.cuda.Device().synchronize()
            taken[which, k] = cupy.cuda.get_elapsed_time(begin, end)
    return taken[:, 2:]
