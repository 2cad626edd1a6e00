"""A recording through the graph without a broker: in shards as fast as it goes, or in chunks cut at will.

In shards (``beatwire.offline.archive``) or in the messages that a device would send: the same stages, the same
output. At the end the last value is held for a second, so that the last beats are decided; nothing can be
found in a constant.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from beatwire import tables
from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.errors import UserError
from beatwire.model.checkpoint import Model
from beatwire.offline.archive import START_US, Archive, Plan
from beatwire.offline.shards import held_after
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording
from beatwire.records import Alerts, RawTick
from beatwire.stages.score import SCORED_BY
from beatwire.wire.avro import encode_chunk

LONG_PASS_S = 20.0
COLUMNS = (
    "sample", "time_s", "rr_ms", "quality", "score", "rate_bpm", "response", "prematurity", "scored_by", "decided",
    "map_x", "map_y", "expected_errors",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was found.

    beats: a column of one length for each of ``COLUMNS``; ``map_x`` and ``map_y`` are where a beat lies in the
    plane of the model's latents that people look at
    alerts: transitions in order, each with the model's name; model: that name
    """

    beats: dict[str, Any]
    alerts: list[dict[str, Any]]
    counts: dict[str, int]
    model: str

    @property
    def table(self) -> pa.Table:
        """The beats as an Arrow table."""
        return tables.arrow(self.beats)


@dataclass(slots=True)
class _Kept:
    model: Model
    parts: list[dict[str, Any]] = field(default_factory=list)
    alerts: list[dict[str, Any]] = field(default_factory=list)

    def add(self, result: Alerts) -> None:
        beats = result.beats
        self.alerts += [told | {"model": self.model.name} for told in result.transitions]
        if len(beats.slot):
            assert beats.scored_by is not None
            assert beats.latent is not None
            where = beats.latent @ self.model.network.map
            self.parts.append(
                {
                    "sample": beats.sample,
                    "time_s": beats.sample / beats.rate_hz,
                    "rr_ms": 1000 * beats.rr_s,
                    "quality": beats.quality,
                    "score": beats.score,
                    "rate_bpm": 60 / beats.median_rr_s,
                    "response": beats.response,
                    "prematurity": beats.prematurity,
                    "scored_by": np.array(SCORED_BY)[beats.scored_by],
                    "decided": beats.decided,
                    "map_x": where[:, 0],
                    "map_y": where[:, 1],
                    "expected_errors": beats.expected_errors,
                }
            )


def analyze(
    recording: Recording,
    *,
    settings: Settings | None = None,
    plan: Plan | None = None,
    chunks: Sequence[int] | None = None,
    ticks: Sequence[int] | None = None,
    chunk_ms: float | None = None,
    backend: Backend = CPU,
    memory_bytes: int | None = None,
    stream: str = "analyze",
    progress: Callable[[float], None] = lambda _: None,
) -> Analysis:
    """Take a recording through the graph.

    Parameters
    ----------
    plan
        How it is cut into shards.
    chunks
        Samples of each chunk, one after the other: as messages rather than in shards.
    ticks
        Chunks of each tick; by default 20 s of signal.
    chunk_ms
        Chunks of this length each.
    backend
        Where the graph runs.
    memory_bytes
        What it may take of a GPU's memory.
    progress
        Called with the part that is done.

    Raises
    ------
    UserError
        The model, the settings or the recording cannot be used.
    """
    settings = replace(Settings(), pass_s=LONG_PASS_S) if settings is None else settings
    if chunks is None and chunk_ms is None:
        archive = Archive(settings, plan, backend, memory_bytes=memory_bytes)
        kept = _Kept(archive.model)
        alerts, counts = archive.analyze(recording, stream, progress)
        kept.add(alerts)
        return Analysis(_joined(kept.parts), kept.alerts, counts, kept.model.name)
    recording = replace(recording, samples=tables.host_array(recording.samples))
    held = held_after(recording.samples, recording.rate_hz)
    pipeline = Pipeline(settings, backend)
    kept = _Kept(pipeline.model)
    pipeline.subscribe(pipeline.alerts, kept.add)
    n = recording.samples.shape[1]
    chunk_ms = 1000.0 if chunk_ms is None else chunk_ms
    size = max(1, round(chunk_ms / 1000 * recording.rate_hz))
    lengths = list(chunks) if chunks is not None else [size] * (n // size) + [n % size] * (n % size > 0)
    messages = _messages(recording, lengths, held, stream)
    per_tick = max(1, round(LONG_PASS_S * 1000 / chunk_ms))
    done = 0
    for count in [*(ticks if ticks is not None else [per_tick] * (len(lengths) // per_tick + 1)), len(lengths) + 1]:
        values = list(itertools.islice(messages, count))
        if values:
            pipeline.emit(RawTick.of(values))
        done += len(values)
        if pipeline.rejected.message:
            raise UserError(f"{recording.name}: {pipeline.rejected.reason[0]}")
        progress(min(1.0, done / max(1, len(lengths))))
    return Analysis(_joined(kept.parts), kept.alerts, pipeline.counts, kept.model.name)


def _messages(recording: Recording, lengths: Sequence[int], held: Any, stream: str) -> Iterator[bytes]:
    first = 0
    most = 32_000 // len(recording.leads)
    for block in [*(recording.samples[:, a : a + k] for a, k in _spans(lengths)), held]:
        for at in range(0, block.shape[1], most):
            piece = block[:, at : at + most]
            yield encode_chunk(
                stream, 1, first, START_US + round(first * 1e6 / recording.rate_hz), recording.rate_hz,
                recording.leads, piece, uv_per_unit=recording.uv_per_unit,
            )  # fmt: skip
            first += piece.shape[1]


def _spans(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    at = 0
    for length in lengths:
        yield at, length
        at += length


def _joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    if not parts:
        return {name: np.zeros(0) for name in COLUMNS}
    return {name: np.concatenate([part[name] for part in parts]) for name in COLUMNS}
