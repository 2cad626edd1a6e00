"""The work of ``beatwire analyze``: read a recording, run the graph, write beats and alerts, summarize.

In:  the name of a source and the options of the command
Out: a summary, plain values by name: the object that ``--json`` prints; files, if ``out`` is given
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.model.checkpoint import load_model
from beatwire.offline.analyze import LONG_PASS_S, analyze
from beatwire.offline.exports import check_out, write_alerts, write_beats
from beatwire.pipeline.settings import Settings
from beatwire.recordings import read_recording
from beatwire.records import F64
from beatwire.service.warmup import compile_kernels
from beatwire.tables import library, rr_statistics


def run_analysis(
    source: str,
    *,
    lead: str = "first",
    fs: float | None = None,
    column: str | None = None,
    gain: float | None = None,
    chunk_ms: float | None = None,
    seed: int | None = None,
    out: Path | None = None,
    model: Path | None = None,
    backend: Backend = CPU,
    memory_bytes: int | None = None,
    progress: Callable[[float], None] = lambda _: None,
    notes: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Analyze a recording and return its summary.

    Parameters
    ----------
    source, lead, fs, column, gain
        See :func:`beatwire.recordings.read_recording`.
    chunk_ms, seed
        Process the recording in chunks of ``chunk_ms`` milliseconds; with ``seed``, in chunks and ticks of random
        length. Without both, in overlapping shards.
    out
        File for the beats; its ending selects the format. The alerts are written beside it. None: no files.
    model
        The scoring model; None: the one in the package.
    backend
        Where the graph runs.
    memory_bytes
        Limit of the device memory used. None: no limit.
    progress
        Called with the completed fraction, 0-1.
    notes
        Called with each remark about the recording, one line.

    Raises
    ------
    UserError
        The source, the lead, the output or the model cannot be used.
    """
    if out is not None:
        check_out(out)
    if model is not None:
        load_model(model)  # a model that cannot be used is reported before a long recording is read
    recording = read_recording(source, fs=fs, column=column, lead=lead, gain=gain, xp=library(backend))
    for note in recording.notes:
        notes(f"{recording.name}: {note}")
    n = recording.samples.shape[1]
    chunks, ticks = random_cuts(n, recording.rate_hz, chunk_ms or 1000.0, seed) if seed is not None else (None, None)
    compile_kernels(notes, backend)
    start_s = time.perf_counter()
    result = analyze(
        recording, settings=replace(Settings(model=model), pass_s=LONG_PASS_S), chunks=chunks, ticks=ticks,
        chunk_ms=chunk_ms, backend=backend, memory_bytes=memory_bytes, progress=progress,
    )  # fmt: skip
    took_s = time.perf_counter() - start_s
    written: dict[str, str] = {}
    if out is not None:
        written["out"] = str(write_beats(out, result.beats, rate_hz=recording.rate_hz))
        written["alerts_out"] = str(write_alerts(out, result.alerts))
    rate = result.beats["rate_bpm"]
    return {
        "source": source,
        "leads": list(recording.leads),
        "rate_hz": recording.rate_hz,
        "seconds": round(recording.seconds, 3),
        "samples": int(n * len(recording.leads)),
        "beats": len(result.beats["sample"]),
        "median_rate_bpm": round(float(np.nanmedian(rate)), 2) if np.isfinite(rate).any() else None,
        **_rr_summary(result.beats["rr_ms"]),
        "alerts": sum(alert["state"] == "on" for alert in result.alerts),
        "gaps": result.counts["bridged"] + max(0, result.counts["restarts"]),
        "model": result.model,
        "took_s": round(took_s, 3),
        **written,
    }


def _rr_summary(rr_ms: F64) -> dict[str, float | None]:
    """Return the statistics of RR intervals, rounded; None for a statistic that needs more intervals."""
    if len(rr_ms) == 0:
        return dict.fromkeys(("mean_rr_ms", "median_rr_ms", "sdnn_ms", "rmssd_ms", "pnn50"))
    row = rr_statistics(np.zeros(len(rr_ms), np.int64), rr_ms).iloc[0].drop("beats")
    return {str(name): round(float(value), 2) if np.isfinite(value) else None for name, value in row.items()}


def random_cuts(n: int, rate_hz: float, chunk_ms: float, seed: int) -> tuple[list[int], list[int]]:
    """Cut ``n`` samples at random into chunks of 1 sample to twice ``chunk_ms``, and the chunks into ticks of 1-20.

    Returns
    -------
    chunks, ticks
        Samples of each chunk, and chunks of each tick; the last tick can exceed the number of chunks.

    >>> chunks, ticks = random_cuts(1000, 250, 100, seed=1)
    >>> sum(chunks), sum(ticks) >= len(chunks)
    (1000, True)
    """
    rng = np.random.default_rng(seed)
    longest = max(1, round(2 * chunk_ms / 1000 * rate_hz))
    chunks: list[int] = []
    remaining = n
    while remaining > 0:
        chunks.append(min(remaining, int(rng.integers(1, longest + 1))))
        remaining -= chunks[-1]
    ticks: list[int] = []
    while sum(ticks) < len(chunks):
        ticks.append(int(rng.integers(1, 21)))
    return chunks, ticks
