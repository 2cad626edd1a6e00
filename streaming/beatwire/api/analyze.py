"""``beatwire.analyze``: a recording through the graph, in one call. ``beatwire analyze`` calls it too."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.api.notes import on_stderr
from beatwire.api.result import Result
from beatwire.backends.base import Backend
from beatwire.backends.choose import choose
from beatwire.model.checkpoint import load_model
from beatwire.model.scorer import load_scorer
from beatwire.offline.analyze import LONG_PASS_S
from beatwire.offline.analyze import analyze as run
from beatwire.pipeline.settings import Settings
from beatwire.recordings import as_recording
from beatwire.recordings.arguments import file_path, positive, string, whole
from beatwire.recordings.arrays import on_device
from beatwire.service.warmup import compile_kernels
from beatwire.tables import library


def analyze(
    source: Any,
    fs: float | None = None,
    *,
    leads: Sequence[str] | None = None,
    units: str | None = None,
    gain: float | None = None,
    column: str | None = None,
    lead: str | int = "all",
    model: str | Path | None = None,
    scorer: str | Path | None = None,
    backend: str | Backend | None = None,
    memory_bytes: int | None = None,
    chunk_ms: float | None = None,
    seed: int | None = None,
    progress: Callable[[float], None] = lambda _: None,
    notes: Callable[[str], None] | None = None,
) -> Result:
    """Find the beats and alerts of a recording.

    Parameters
    ----------
    source
        An array [n] or [leads, n] (NumPy, masked too, CuPy, torch), a table with one column a lead (a DataFrame of
        pandas, polars or cuDF, an Arrow table, a mapping of columns, a structured array), a ``wfdb.Record``, the path
        of a recording (CSV, WFDB, EDF, BDF, DICOM, BIOPAC, ISHNE, Parquet, NumPy, MATLAB), an address that fsspec
        can open, or ``synthetic``. What is masked, None, NaN or infinite is no value; nor is -32768 in int16. int16
        samples are used in place, also on a GPU.
    fs
        Sampling rate in Hz, 50-4000. Required for arrays, and for files and tables without a clock.
    leads
        Names of the leads of an array or a table.
    units
        Of an array or a table: ``V``, ``mV``, ``uV``, ``nV`` or ``adc``. None: ``adc`` if ``gain`` is given; else the
        units in the names of a table; else fractions of a plausible size are millivolts and other numbers are not
        calibrated.
    gain
        ADC units per millivolt, where the source states no unit.
    column
        Columns, rows or leads to read: names, or numbers counted from 0, separated by commas. None: all leads.
    lead
        The lead to analyze: ``first``, a name, a number counted from 0, or ``all`` (combined).
    model
        The scoring model, ``NAME.safetensors``; None: the one in the package.
    scorer
        A network of your own, ``NAME.pt2`` of :func:`beatwire.save_scorer`, that scores windows in place of the
        reconstruction error; None: none.
    backend
        ``cpu``, ``gpu`` or ``auto``. None: ``gpu`` for an array on a GPU, else ``cpu``.
    memory_bytes
        Limit of the GPU memory used; None: no limit.
    chunk_ms, seed
        Process the recording in chunks of ``chunk_ms`` milliseconds; with ``seed``, in chunks and ticks of random
        length. The result is the same, only slower.
    progress
        Called with the completed fraction, 0-1.
    notes
        Called with each remark, one line. None: those about the recording are in ``Result.recording.notes`` alone,
        and what is compiled is printed on standard error.

    Returns
    -------
    Result

    Raises
    ------
    UserError
        The source, an option or the model cannot be used; the message says what was expected and what came.

    Examples
    --------
    >>> import beatwire
    >>> result = beatwire.analyze("synthetic:seconds=30,bpm=60")
    >>> len(result.beats), result.alerts.empty
    (30, True)
    """
    path = file_path("model", model) if model is not None else None
    own = file_path("scorer", scorer) if scorer is not None else None
    chunk_ms = None if chunk_ms is None else positive("chunk_ms", chunk_ms, "a positive number of milliseconds")
    seed = None if seed is None else whole("seed", seed, "a whole number of at least 0")
    if memory_bytes is not None:
        memory_bytes = whole("memory_bytes", memory_bytes, "a whole number of bytes, at least 1", 1)
    if path is not None:
        load_model(path)  # a model that cannot be used is reported before a long recording is read
    if own is not None:
        load_scorer(own, load_model(path).calibration)
    chosen = _backend(source, backend, memory_bytes)
    recording = as_recording(
        source, fs, leads=leads, units=units, gain=gain, column=column, lead=lead, xp=library(chosen)
    )
    if notes is not None:
        recording.say_notes(source, notes)
    n = recording.samples.shape[1]
    chunks, ticks = random_cuts(n, recording.rate_hz, chunk_ms or 1000.0, seed) if seed is not None else (None, None)
    compile_kernels(notes or on_stderr, chosen)
    begin_s = time.perf_counter()
    analysis = run(
        recording, settings=replace(Settings(model=path, scorer=own), pass_s=LONG_PASS_S), chunks=chunks, ticks=ticks,
        chunk_ms=chunk_ms, backend=chosen, memory_bytes=memory_bytes, progress=progress,
    )  # fmt: skip
    took_s = time.perf_counter() - begin_s
    return Result(recording, analysis, took_s, str(source) if isinstance(source, str | Path) else None, path)


def _backend(source: Any, backend: str | Backend | None, memory_bytes: int | None) -> Backend:
    """Return the backend: as given, or where the samples are."""
    if backend is None:
        backend = "gpu" if on_device(source) else "cpu"
    return backend_of(backend, memory_bytes)


def backend_of(backend: str | Backend, memory_bytes: int | None = None) -> Backend:
    """Return the backend of this name, or the one that is given."""
    if not isinstance(backend, str) and hasattr(backend, "kernels"):
        return backend
    return choose(string("backend", backend, "cpu, gpu or auto"), limit_bytes=memory_bytes)


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
    untaken = len(chunks)  # counted, as a sum of all ticks for each tick takes for ever
    while untaken > 0:
        ticks.append(int(rng.integers(1, 21)))
        untaken -= ticks[-1]
    return chunks, ticks
