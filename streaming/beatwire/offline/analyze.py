"""Analysis of a recording without a broker: in overlapping shards, or in chunks as a device sends them.

In:  a :class:`Recording`
Out: :class:`Analysis`: beats, alerts and counts

Shards (``beatwire.offline.analyzer``) are faster; chunks are encoded and pass through the whole graph. Both give the
same output. After the end, the last value and its hum are held for a second, so that the last beats are decided; they
contain no beats, and no alert is decided by them.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from beatwire import tables
from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.errors import UserError
from beatwire.offline.analyzer import MAX_GRAPHS, Analyzer
from beatwire.offline.feed import Encoder
from beatwire.offline.plan import Plan
from beatwire.offline.results.collect import Collector
from beatwire.offline.results.coverage import hold_last
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording
from beatwire.records import RawTick

LONG_PASS_S = 20.0  # seconds per pass and tick: fewer passes than live, where a decision must not wait


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result of an analysis.

    beats    one array for each of `offline.results.beat.BEAT_FIELDS`, of equal length; ``map_x``, ``map_y`` are the
             coordinates of a beat on the two-dimensional map of the latents of the model
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


def analyze_with(
    analyzer: Analyzer,
    recording: Recording,
    stream: str = "analyze",
    progress: Callable[[float], None] = lambda _: None,
) -> Analysis:
    """Find the beats and alerts of a recording by graphs that have been made: models are not read again.

    Parameters and errors as of ``analyze``; after an error, make another analyzer.
    """
    collector = Collector(analyzer.model)
    alerts, counts = analyzer.analyze(recording, stream, progress)
    collector.add(alerts)
    return Analysis(*collector.take(recording.samples.shape[1]), counts, collector.model.name)


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
    most_graphs: int = MAX_GRAPHS,
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
    most_graphs
        Graphs that process shards at the same time on the CPU.
    progress
        Called with the completed fraction, 0-1.

    Raises
    ------
    UserError
        The model, the settings or the recording cannot be used.
    """
    settings = replace(Settings(), pass_s=LONG_PASS_S) if settings is None else settings
    if chunks is None and chunk_ms is None:
        analyzer = Analyzer(settings, plan, backend, memory_bytes=memory_bytes, most_graphs=most_graphs)
        return analyze_with(analyzer, recording, stream, progress)
    recording = replace(recording, samples=tables.host_array(recording.samples))
    held = hold_last(recording.samples, recording.rate_hz, recording.uv_per_unit)
    pipeline = Pipeline(settings, backend)
    collector = Collector(pipeline.model)
    pipeline.subscribe(pipeline.alerts, collector.add)
    n = recording.samples.shape[1]
    chunk_ms = 1000.0 if chunk_ms is None else chunk_ms
    size = max(1, round(chunk_ms / 1000 * recording.rate_hz))
    lengths = list(chunks) if chunks is not None else [size] * (n // size) + [n % size] * (n % size > 0)
    encoder = Encoder(stream, recording.rate_hz, recording.leads, recording.uv_per_unit)
    edges = itertools.pairwise(itertools.accumulate([0, *lengths]))
    blocks = itertools.chain((recording.samples[:, a:b] for a, b in edges), [held])
    per_tick = max(1, round(LONG_PASS_S * 1000 / chunk_ms))
    done = 0
    for count in [*(ticks if ticks is not None else [per_tick] * (len(lengths) // per_tick + 1)), len(lengths) + 1]:
        of_tick = list(itertools.islice(blocks, count))  # a long one is several messages
        if of_tick:
            pipeline.emit(RawTick.of([message for block in of_tick for message in encoder.messages(block)]))
        done += len(of_tick)
        if len(pipeline.rejected):
            raise UserError(f"{recording.name}: {pipeline.rejected.reason[0]}")
        progress(min(1.0, done / max(1, len(lengths))))
    return Analysis(*collector.take(n), pipeline.counts, collector.model.name)
