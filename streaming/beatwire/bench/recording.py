"""A long recording, 22 hours of one lead or 20.14 million samples, from a CSV file in memory to beats and alerts.

Ours is what ``beatwire analyze`` does. The rival is the same task as a plain script (``bench.offline_baseline``) in the
same run. ``beatwire bench gpu`` does the same on a GPU, timed by CUDA events, after beats and scores have been compared
with those of the CPU.
"""

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
from beatwire.bench.offline_baseline import baseline, missing
from beatwire.bench.result import Log, Result, median_s
from beatwire.offline.analyzer import Analyzer
from beatwire.pipeline.settings import Settings
from beatwire.recordings import read_recording
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import F64, TickBeats
from beatwire.tables import library

SAMPLES = 20_140_000  # 22.4 h
RATE_HZ = 250.0
HOUR_S = 3600
REPEATS = 3
ROUNDS = 15  # on a GPU
WARM_ROUNDS = 2
LIMIT_MS = 60.0  # on a GPU, to scored beats


def write_csv(path: Path, samples: int, seed: int = 1) -> None:
    """Write a column of millivolts with six decimals: an hour of one person, repeated, with random noise."""
    hour = synthesise(seed, rate_hz=RATE_HZ, seconds=HOUR_S, ectopy=0.01).recording
    mv = np.resize(hour.samples[0] * (hour.uv_per_unit / 1000), samples)
    mv = np.round(mv + np.random.default_rng(seed).normal(0, 0.002, samples), 6)
    pa.csv.write_csv(pa.table({"II": mv}), path, pa.csv.WriteOptions(quoting_style="none"))


def analysis(path: Path, backend: Backend, rules: bool = True) -> Callable[[], TickBeats]:
    """Return the analysis of a CSV file on a backend as a function without arguments."""
    analyzer, xp = Analyzer(Settings(), backend=backend, rules=rules), library(backend)

    def run() -> TickBeats:
        return analyzer.analyze(read_recording(path, fs=RATE_HZ, xp=xp), "recording")[0].beats

    return run


@contextmanager
def cached_csv() -> Iterator[Path]:
    """Write the CSV file into a temporary folder and read it once, so that it is in the page cache."""
    with tempfile.TemporaryDirectory(prefix="beatwire-") as folder:
        path = Path(folder) / "recording.csv"
        write_csv(path, SAMPLES)
        path.read_bytes()
        yield path


def measure(log: Log) -> Iterator[Result]:
    """Compare with the plain script and with real time."""
    with cached_csv() as path:
        ours = analysis(path, CPU)
        beats = len(ours().sample)
        ours_s, theirs_s = median_s(ours, REPEATS), None
        reason = missing()
        if reason is None:
            script = baseline(path)
            log(f"long recording: {beats} beats, plain script {script()[0]} peaks")
            theirs_s = median_s(script, REPEATS)
        else:
            log(f"long recording: {beats} beats; comparison with the plain script skipped, {reason}")
    if theirs_s is not None:
        yield Result("long recording, CSV to alerts", 1000 * ours_s, "ms", "plain script", 1000 * theirs_s, "<= 1")
    yield Result("long recording, times real time", SAMPLES / RATE_HZ / ours_s, "x", "real time", 1.0, ">= 1000")


def measure_on_gpu(backend: Backend, log: Log) -> Iterator[Result]:
    """Compare the GPU with the limit and with the plain script on the GPU."""
    with cached_csv() as path:
        ours = analysis(path, backend, rules=False)
        found, expected = ours(), analysis(path, CPU)()
        check_equal("recording", (found.sample, found.score), (expected.sample, expected.score))
        xp, size = library(backend), path.stat().st_size
        works = [ours, lambda: read_recording(path, fs=RATE_HZ, xp=xp), lambda: upload(path, 0, size)]
        reason = missing()
        if reason is None:
            works += [baseline(path, gpu=True), baseline(path, gpu=True, typed=True)]
        else:
            log(f"long recording: comparison with the plain script skipped, {reason}")
        taken_ms = event_ms(*works)
        (with_rules_ms,) = event_ms(analysis(path, backend))
    ours_ms, read_ms, upload_ms, *script_ms = (float(np.median(ms)) for ms in taken_ms)
    low, high = np.quantile(taken_ms[0], [0.25, 0.75])
    log(
        f"long recording: beats and scores as on the CPU, {ours_ms:.1f} ms on the GPU (half of {ROUNDS} runs "
        f"between {low:.1f} and {high:.1f}); reading alone {read_ms:.1f} ms, of which upload {upload_ms:.1f}; "
        f"with rules {np.median(with_rules_ms):.1f} ms"
    )
    name = "long recording on a GPU, CSV to scored beats"
    yield Result(name, ours_ms, "ms", "limit", LIMIT_MS, "<= 1")
    for rival, rival_ms in zip(("plain script", "plain script, column type given"), script_ms, strict=False):
        yield Result(name, ours_ms, "ms", rival, rival_ms, "<= 1")


def check_equal(name: str, found: tuple[Any, Any], expected: tuple[Any, Any]) -> None:
    """Check that beats have the expected samples, and scores within 1e-3; both are (samples [b], scores [b]).

    Raises
    ------
    ValueError
        They differ.
    """
    (sample, score), (expected_sample, expected_score) = found, expected
    if not np.array_equal(sample, expected_sample):
        raise ValueError(f"{name}: expected {len(expected_sample)} beats; got {len(sample)}, some at other samples")
    near = np.isclose(score, expected_score, rtol=1e-3, atol=1e-3, equal_nan=True)
    if not near.all():
        first = int(np.argmin(near))
        raise ValueError(
            f"{name}: expected score {expected_score[first]} at sample {expected_sample[first]}; got {score[first]} "
            f"({int((~near).sum())} scores differ)"
        )


def event_ms(*works: Callable[[], Any], rounds: int = ROUNDS) -> F64:
    """Return the milliseconds between CUDA events before and after each function: float64 [works, rounds].

    The functions run alternately, so that a slow spell of the machine affects all. Two rounds before are not counted.
    """
    import cupy

    taken_ms = np.zeros((len(works), rounds + WARM_ROUNDS))
    for k in range(rounds + WARM_ROUNDS):
        for row, work in enumerate(works):
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            cupy.cuda.Device().synchronize()
            begin.record()
            work()
            end.record()
            cupy.cuda.Device().synchronize()
            taken_ms[row, k] = cupy.cuda.get_elapsed_time(begin, end)
    return taken_ms[:, WARM_ROUNDS:]
