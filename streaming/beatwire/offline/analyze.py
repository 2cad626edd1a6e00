"""Analysis of a recording without a broker: in overlapping shards, or in chunks as a device sends them.

In:  a :class:`Recording`
Out: :class:`Analysis`: beats, alerts and counts

Shards (``beatwire.offline.archive``) are faster; chunks are encoded and pass through the whole graph. Both give the
same output. After the end, the last value is held for a second, so that the last beats are decided; a constant contains
no beats.
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
from beatwire.offline.archive import Archive
from beatwire.offline.coverage import hold_last
from beatwire.offline.merge import START_US
from beatwire.offline.plan import Plan
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording
from beatwire.records import I16, Alerts, RawTick
from beatwire.stages.score import SCORED_BY
from beatwire.wire.avro import encode_chunk

LONG_PASS_S = 20.0  # seconds per pass and tick: fewer passes than live, where a decision must not wait
MAX_CHUNK_VALUES = 32_000  # samples times leads of a message, below the 64 kB of the wire format
COLUMNS = (
    "sample", "time_s", "rr_ms", "quality", "score", "rate_bpm", "response", "prematurity", "scored_by", "decided",
    "map_x", "map_y", "expected_errors",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result of an analysis.

    beats    one array per name in ``COLUMNS``, all of equal length; ``map_x`` and ``map_y`` are the coordinates of a
             beat on the two-dimensional map of the latents of the model
    alerts   alert transitions in order, each with the name of the model
    counts   of duplicates, gaps and restarts, by name
    model    name of the scoring model
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
class _Collector:
    """Collects the columns of beats and the alert transitions that the graph emits."""

    model: Model
    parts: list[dict[str, Any]] = field(default_factory=list)
    alerts: list[dict[str, Any]] = field(default_factory=list)

    def add(self, result: Alerts) -> None:
        beats = result.beats
        self.alerts += [transition | {"model": self.model.name} for transition in result.transitions]
        if len(beats.slot):
            assert beats.scored_by is not None
            assert beats.latent is not None
            position = beats.latent @ self.model.network.map
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
                    "map_x": position[:, 0],
                    "map_y": position[:, 1],
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
    """Find the beats and alerts of a recording.

    Parameters
    ----------
    recording
        The recording; its samples are on the host or on the device of the backend.
    settings
        Settings of the graph; None: the defaults, with passes of ``LONG_PASS_S``.
    plan
        How the recording is cut into shards; None: the plan for the backend.
    chunks
        Process the recording in messages: samples of each chunk, in order.
    ticks
        Chunks of each tick; None: 20 s of signal per tick.
    chunk_ms
        Process the recording in messages: chunks of this length, in milliseconds.
    backend
        Where the graph runs.
    memory_bytes
        Limit of the device memory used by shards; None: no limit.
    stream
        The stream id in messages and alerts.
    progress
        Called with the completed fraction, 0-1.

    Raises
    ------
    UserError
        The model, the settings or the recording cannot be used.
    """
    settings = replace(Settings(), pass_s=LONG_PASS_S) if settings is None else settings
    if chunks is None and chunk_ms is None:
        archive = Archive(settings, plan, backend, memory_bytes=memory_bytes)
        collector = _Collector(archive.model)
        alerts, counts = archive.analyze(recording, stream, progress)
        collector.add(alerts)
        return Analysis(_joined(collector.parts), collector.alerts, counts, collector.model.name)
    recording = replace(recording, samples=tables.host_array(recording.samples))
    held = hold_last(recording.samples, recording.rate_hz)
    pipeline = Pipeline(settings, backend)
    collector = _Collector(pipeline.model)
    pipeline.subscribe(pipeline.alerts, collector.add)
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
    return Analysis(_joined(collector.parts), collector.alerts, pipeline.counts, collector.model.name)


def _messages(recording: Recording, lengths: Sequence[int], held: I16, stream: str) -> Iterator[bytes]:
    """Yield the recording, and the samples held after its end, as encoded chunks; a chunk too long is split."""
    first = 0
    max_samples = MAX_CHUNK_VALUES // len(recording.leads)
    for block in [
        *(recording.samples[:, a:b] for a, b in itertools.pairwise(itertools.accumulate([0, *lengths]))),
        held,
    ]:
        for start in range(0, block.shape[1], max_samples):
            chunk = block[:, start : start + max_samples]
            yield encode_chunk(
                stream, 1, first, START_US + round(first * 1e6 / recording.rate_hz), recording.rate_hz,
                recording.leads, chunk, uv_per_unit=recording.uv_per_unit,
            )  # fmt: skip
            first += chunk.shape[1]


def _joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    if not parts:
        return {name: np.zeros(0) for name in COLUMNS}
    return {name: np.concatenate([part[name] for part in parts]) for name in COLUMNS}
