"""A day of one lead, from CSV to scored beats and alerts: 20.14 million samples, the file in the page cache.

Ours is what ``beatwire analyze`` does: pieces, laws, levels, history, rules. Beside it the same steps
written plainly (``bench.plain``), in the same run.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from producers.synthetic import synthesise
from streaming.bench.plain import steps
from streaming.bench.row import Row, median_s
from streaming.offline import analyze
from streaming.recordings import read_recording

SAMPLES = 20_140_000
RATE_HZ = 250.0
HOUR_S = 3600
REPEATS = 3


def write_csv(path: Path, samples: int = SAMPLES, seed: int = 1) -> None:
    """Write a column of millivolts with six decimals: an hour of one person over and over, noise of its own."""
    one = synthesise(seed, rate_hz=RATE_HZ, seconds=HOUR_S, ectopy=0.01).recording
    mv = np.resize(one.samples[0] * (one.uv_per_unit / 1000), samples)
    mv = np.round(mv + np.random.default_rng(seed).normal(0, 0.002, samples), 6)
    pa.csv.write_csv(pa.table({"II": mv}), path, pa.csv.WriteOptions(quoting_style="none"))


def measure(say: Callable[[str], None]) -> Iterator[Row]:
    """Compare with the plain steps."""
    with tempfile.TemporaryDirectory(prefix="beatwire-") as folder:
        path = Path(folder) / "archive.csv"
        write_csv(path)
        path.read_bytes()
        begin = time.perf_counter()
        recording = read_recording(path, fs=RATE_HZ)
        read_s = time.perf_counter() - begin
        beats = len(analyze(recording).beats["sample"])
        plain = steps(path)
        peaks, _ = plain()
        say(f"archive: {beats} beats, plain steps {peaks} peaks; reading alone {read_s:.2f} s")
        ours = median_s(lambda: analyze(read_recording(path, fs=RATE_HZ)), REPEATS)
        theirs = median_s(plain, REPEATS)
    yield Row("archive, CSV to alerts", 1000 * ours, "ms", "the plain steps", 1000 * theirs, "<= 1")
    yield Row("archive, times real time", SAMPLES / RATE_HZ / ours, "x", "real time", 1.0, ">= 1000")
