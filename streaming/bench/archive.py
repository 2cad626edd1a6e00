"""A day of one lead, from CSV to scored beats and alerts: 20.14 million samples, the file in the page cache.

Ours is what ``beatwire analyze`` does: pieces, laws, levels, history, rules. Beside it the same steps written plainly
(``bench.plain``), in the same run. ``beatwire bench gpu`` does the same on a GPU, timed by its events, after beats and
scores were compared with the CPU's.
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

from producers.synthetic import synthesise
from streaming.archive import Archive
from streaming.backend import CPU, Backend
from streaming.bench.plain import steps
from streaming.bench.row import Row, median_s
from streaming.frames import library
from streaming.frames.upload import upload
from streaming.recordings import read_recording
from streaming.records import TickBeats
from streaming.settings import Settings

SAMPLES = 20_140_000
RATE_HZ = 250.0
HOUR_S = 3600
REPEATS = 3
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
        scored, ruled = event_ms(run), event_ms(ours(path, backend))
        told, guessed = event_ms(steps(path, gpu=True, told=True)), event_ms(steps(path, gpu=True))
        parse = event_ms(lambda: read_recording(path, fs=RATE_HZ, xp=library(backend)))
        up = event_ms(lambda: upload(path, 0, path.stat().st_size))
    say(
        f"archive: on the GPU the CPU's beats and scores; reading alone {parse:.1f} ms, {up:.1f} of them the upload; "
        f"with rules {ruled:.1f} ms"
    )
    yield Row("archive on a GPU, CSV to scored beats", scored, "ms", "the limit", LIMIT_MS, "<= 1")
    yield Row("the same", scored, "ms", "the plain steps", guessed, "<= 1")
    yield Row("the same", scored, "ms", "the plain steps, column type given", told, "<= 1")


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


def event_ms(work: Callable[[], Any], repeats: int = 7) -> float:
    """Return the median milliseconds between two events around ``work`` on the device, after two that do not count."""
    import cupy

    taken = []
    for k in range(repeats + 2):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        cupy.cuda.Device().synchronize()
        begin.record()
        work()
        end.record()
        cupy.cuda.Device().synchronize()
        if k > 1:
            taken.append(cupy.cuda.get_elapsed_time(begin, end))
    return float(np.median(taken))
