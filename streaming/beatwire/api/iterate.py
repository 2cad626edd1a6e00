"""``beatwire.iterate``: a recording that is larger than memory, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from beatwire.api.live import Live
from beatwire.api.notes import on_stderr
from beatwire.backends.choose import choose
from beatwire.errors import UserError
from beatwire.offline.analyze import LONG_PASS_S
from beatwire.offline.feed import Decided, Feed
from beatwire.offline.results.exports import alerts_table, beats_table
from beatwire.offline.results.merge import START_US
from beatwire.pipeline.settings import Settings
from beatwire.recordings import read_blocks
from beatwire.recordings.arguments import file_path, shown, string, whole
from beatwire.recordings.blocks import BLOCK_SAMPLES
from beatwire.service.warmup import compile_kernels


class _Recorded(Live):
    """Chunks of a recording: where it has no samples, no device is silent."""

    _timed = False


class Part(NamedTuple):
    """What a block decided: DataFrames with the columns of ``Result.beats`` and ``Result.alerts``."""

    beats: pd.DataFrame
    alerts: pd.DataFrame

    @staticmethod
    def of(decided: Decided, rate_hz: float) -> Part:
        """Return what a feed decided."""
        beats, alerts = decided
        return Part(beats_table(beats, rate_hz), alerts_table(alerts, rate_hz))


def iterate(
    source: str | Path | Iterable[Any],
    fs: float | None = None,
    *,
    leads: Sequence[str] | None = None,
    units: str | None = None,
    gain: float | None = None,
    column: str | None = None,
    model: str | Path | None = None,
    backend: str = "cpu",
    block_samples: int = BLOCK_SAMPLES,
    notes: Callable[[str], None] = on_stderr,
) -> Iterator[Part]:
    """Yield the beats and alerts of a recording block by block, in the memory of one block.

    Together they are those of ``beatwire.analyze`` for all leads, if the scale of the first block suits the whole
    recording (it does where the samples are integers of 16 bits).

    Parameters
    ----------
    source
        The path of a recording, an address that fsspec can open (copied to a local disk first), or an
        iterable of chunks, [n] or [leads, n]. An array or a table is one recording: ``beatwire.analyze`` takes it.
    fs, gain, column, model, backend, notes
        As for ``beatwire.analyze``.
    leads, units
        Of chunks, as for ``beatwire.Live``; with a path neither, as ``column`` is with chunks.
    block_samples
        Samples of each lead, or rows of a table, that are read at once.

    Raises
    ------
    UserError
        The source or an option cannot be used.

    Examples
    --------
    >>> import beatwire
    >>> whole = beatwire.analyze("synthetic:seconds=30,bpm=60").recording
    >>> chunks = (whole.samples[:, k : k + 1000] for k in range(0, 7500, 1000))
    >>> sum(len(beats) for beats, alerts in beatwire.iterate(chunks, fs=250))
    30
    """
    block_samples = whole("block_samples", block_samples, "a whole number of at least 1", 1)
    if not isinstance(source, str | Path):
        is_whole = getattr(source, "ndim", 3) < 3 or hasattr(source, "columns") or isinstance(source, Mapping)
        if not hasattr(source, "__iter__") or isinstance(source, bytes) or is_whole:
            got = f"{shown(source)}; analyze takes an array or a table" if is_whole else shown(source)
            raise UserError(f"iterate: expected a path, an address or an iterable of chunks; got {got}")
        if column is not None:
            raise UserError(f"column: expected a path or an address with it; got chunks and {shown(column)}")
        yield from _of_chunks(source, fs, leads, units, gain, model, backend, notes)
        return
    for name, given in (("leads", leads), ("units", units)):
        if given is not None:
            raise UserError(f"{name}: expected chunks with it, a file states its own; got {shown(given)}")
    chosen = choose(string("backend", backend, "cpu, gpu or auto"))
    compile_kernels(notes, chosen)
    settings = replace(Settings(model=file_path("model", model) if model is not None else None), pass_s=LONG_PASS_S)
    feed: Feed | None = None
    for block in read_blocks(source, fs=fs, column=column, gain=gain, samples=block_samples):
        block.say_notes(source, notes)
        if feed is None:
            feed = Feed(settings, "analyze", block.rate_hz, block.leads, block.uv_per_unit, timed=False, backend=chosen)
        yield Part.of(feed.push(block.samples), block.rate_hz)
    if feed is not None:
        yield Part.of(feed.finish(), feed.encoder.rate_hz)


def _of_chunks(
    chunks: Iterable[Any],
    fs: float | None,
    leads: Sequence[str] | None,
    units: str | None,
    gain: float | None,
    model: str | Path | None,
    backend: str,
    notes: Callable[[str], None],
) -> Iterator[Part]:
    """Yield what each chunk decides."""
    if fs is None:
        raise UserError("fs: expected the rate of the chunks, 50-4000 Hz; got none")
    live = _Recorded(
        fs, ("ECG",) if leads is None else leads, units=units, gain=gain, model=model, backend=backend,
        start_s=START_US / 1e6, stream="analyze", notes=notes,
    )  # fmt: skip
    for chunk in chunks:
        yield Part.of(live.decide(chunk), live.fs)
    yield Part.of(live.finish(), live.fs)
