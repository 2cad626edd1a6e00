"""Metrics of the monitor for Prometheus, by its conventions: seconds and bytes, ``_total``, histograms.

In: the counters of a `Monitor`, the state of its loop and of its graph. Out: metric families, computed when Prometheus
requests them, so that most cost the loop nothing; the others are counted by `Instruments`. No state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version

import numpy as np
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from beatwire.alerts.rules import RULES
from beatwire.pipeline.graph import Pipeline
from beatwire.service.counters import Counters
from beatwire.service.drift_figures import figures
from beatwire.service.health import Health, LoopState, Verdict
from beatwire.service.instruments import Instruments
from beatwire.wire.names import ACKS, ALERTS, SETTINGS

MOST_STREAMS = 20  # streams above the drift limit that are listed by name: bounds the number of time series
LATENCY_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 5.0, 10.0)


class MonitorAnswers:
    """What one monitor serves over HTTP; implements `beatwire.service.server.Answers`.

    Parameters
    ----------
    counters, loop
        Of the monitor; they may be served before it runs.
    pipeline, instruments
        Its graph, and what is measured of it.
    clock_s
        The clock of the loop.
    """

    def __init__(
        self,
        counters: Counters,
        loop: LoopState,
        pipeline: Pipeline,
        instruments: Instruments,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        health = Health(loop, clock_s)
        self.healthy: Callable[[], Verdict] = health.healthy
        self.ready: Callable[[], Verdict] = health.ready
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_Collector(counters, health, pipeline, instruments))
        ProcessCollector(registry=self._registry)

    def registry(self) -> CollectorRegistry:
        """Return the metrics of the monitor and of its process."""
        return self._registry


class _Collector:
    """Computes all metrics for `prometheus_client`."""

    def __init__(self, counters: Counters, health: Health, pipeline: Pipeline, instruments: Instruments) -> None:
        self._counters, self._health, self._pipeline = counters, health, pipeline
        self._instruments = instruments

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        labels = {
            "version": version("beatwire"),
            "model": self._pipeline.model.name,
            "backend": self._pipeline.backend.name,
        }
        build = GaugeMetricFamily("beatwire_build_info", "always 1", labels=list(labels))
        build.add_metric(list(labels.values()), 1)
        yield build
        yield from counter_metrics(self._counters)
        yield from health_metrics(self._health)
        yield from latency_metrics(self._counters, self._instruments)
        yield from staff_metrics(self._counters, self._pipeline)
        yield from alert_metrics(self._pipeline, self._instruments)
        yield from chunk_metrics(self._pipeline, self._instruments)
        yield from memory_metrics(self._pipeline)
        yield from drift_metrics(self._pipeline)


def counter_metrics(counters: Counters) -> Iterator[Metric]:
    """Yield the totals of what was processed and published."""
    totals = {
        "beatwire_ticks_total": ("ticks published", counters.ticks),
        "beatwire_messages_total": ("sample messages processed and published", counters.messages),
        "beatwire_beats_total": ("heartbeats published", counters.beats),
        "beatwire_replayed_messages_total": (
            "sample messages replayed after a change of the assignment", counters.replayed,
        ),
        "beatwire_assignments_total": ("changes of the assignment of partitions", counters.epochs),
        "beatwire_stale_ticks_total": ("ticks that were not published and were read again", counters.stale_ticks),
    }  # fmt: skip
    for name, (text, value) in totals.items():
        yield CounterMetricFamily(name, text, value)
    expired = CounterMetricFamily(
        "beatwire_expired_messages_total", "sample messages that retention deleted too early", labels=["what"]
    )
    for what, count in (("unread", counters.unread), ("replay", counters.unreplayed)):
        expired.add_metric([what], count)
    yield expired
    unusable = CounterMetricFamily(
        "beatwire_unusable_messages_total", "messages that are none of their topic, samples left out", labels=["topic"]
    )
    for topic in (ALERTS, ACKS, SETTINGS):
        unusable.add_metric([topic], counters.unusable[topic])
    yield unusable


def health_metrics(health: Health) -> Iterator[Metric]:
    """Yield what the probes read."""
    loop = health.loop
    yield GaugeMetricFamily("beatwire_healthy", "1 while the loop turns, 0 if it stands", int(health.healthy().ok))
    yield GaugeMetricFamily("beatwire_ready", "1 while partitions are assigned and not blind", int(health.ready().ok))
    yield GaugeMetricFamily("beatwire_assigned_partitions", "partitions of this worker", loop.partitions)
    yield GaugeMetricFamily("beatwire_held_partitions", "partitions that wait for the schema registry", loop.held)
    yield GaugeMetricFamily("beatwire_blind", "1 while messages are replayed and none is published", int(loop.blind))
    yield CounterMetricFamily("beatwire_blind_seconds_total", "seconds of replay after changes", loop.blind_s)


def staff_metrics(counters: Counters, pipeline: Pipeline) -> Iterator[Metric]:
    """Yield how long partitions were not monitored after each change of the assignment, and what staff entered."""
    blind = counters.blind_s
    yield histogram(
        "beatwire_blind_duration_seconds",
        "from a change of the assignment to the end of its replay",
        blind.bounds_s,
        blind.cumulative(),
        blind.sum_s,
    )
    state = pipeline.lifecycle.state
    yield CounterMetricFamily(
        "beatwire_ignored_acknowledgements_total",
        "acknowledgements of no alert that was on or latched; since the last change of the assignment",
        state.ignored,
    )
    yield GaugeMetricFamily(
        "beatwire_streams_with_limits", "streams whose limits differ from the defaults", pipeline.limits.changed
    )


def latency_metrics(counters: Counters, instruments: Instruments) -> Iterator[Metric]:
    """Yield how long messages, ticks and stages take."""
    yield histogram(
        "beatwire_latency_seconds",
        "from the arrival of a message at the broker to its publication",
        LATENCY_BOUNDS_S,
        counters.latency.cumulative(LATENCY_BOUNDS_S),
        counters.latency.sum_s,
    )
    tick_s = counters.tick_s
    yield histogram(
        "beatwire_tick_seconds",
        "from the beginning of a tick to its publication",
        tick_s.bounds_s,
        tick_s.cumulative(),
        tick_s.sum_s,
    )
    stages = HistogramMetricFamily("beatwire_stage_seconds", "time of a stage in a tick", labels=["stage"])
    for name, stage in instruments.stages.items():
        stages.add_metric([name], buckets(stage.bounds_s, stage.cumulative()), stage.sum_s)
    yield stages
    yield GaugeMetricFamily(
        "beatwire_lag_seconds", "age of the newest message of the last tick, 0 if no more were waiting", counters.lag_s
    )


def histogram(name: str, text: str, bounds_s: Sequence[float], cumulative: Sequence[int], sum_s: float) -> Metric:
    """Return a histogram without labels; `cumulative` has one count a bound and that of all."""
    return HistogramMetricFamily(name, text, buckets(bounds_s, cumulative), sum_s)


def buckets(bounds_s: Sequence[float], cumulative: Sequence[int]) -> list[tuple[str, float]]:
    """Return the bounds as texts with their counts, as `prometheus_client` takes them."""
    return list(zip([*map(str, bounds_s), "+Inf"], cumulative, strict=True))


def alert_metrics(pipeline: Pipeline, instruments: Instruments) -> Iterator[Metric]:
    """Yield the alerts by rule: transitions published, and how many are on."""
    transitions = CounterMetricFamily(
        "beatwire_alert_transitions_total", "transitions of alerts published", labels=["rule", "state", "priority"]
    )
    for labels, count in list(instruments.transitions.items()):
        transitions.add_metric(labels, count)
    yield transitions
    active = GaugeMetricFamily("beatwire_alerts_active", "alerts that are on", labels=["rule", "priority"])
    priority = {rule.name: rule.priority for rule in RULES}
    for rule, count in pipeline.active_alerts.items():
        active.add_metric([rule, priority[rule]], count)
    yield active


def chunk_metrics(pipeline: Pipeline, instruments: Instruments) -> Iterator[Metric]:
    """Yield what happened to messages on their way to the rings, and the streams they belong to."""
    rejects = CounterMetricFamily(
        "beatwire_rejects_total", "messages sent to the dead-letter topic, by kind of reason", labels=["reason"]
    )
    for kind, count in list(instruments.rejects.items()):
        rejects.add_metric([kind], count)
    yield rejects
    chunks = CounterMetricFamily("beatwire_chunks_total", "chunks by what happened to them", labels=["what"])
    for what, count in pipeline.counts.items():
        chunks.add_metric([what], count)
    chunks.add_metric(["other_schema"], pipeline.resolved)
    yield chunks
    yield GaugeMetricFamily("beatwire_streams", "streams with state in memory", pipeline.directory.known)


def memory_metrics(pipeline: Pipeline) -> Iterator[Metric]:
    """Yield the memory of the backend's pool, if it has one."""
    memory = pipeline.backend.memory
    if memory is not None:
        used = GaugeMetricFamily(
            "beatwire_gpu_memory_bytes", "bytes of the memory pool in use, now and at most", labels=["what"]
        )
        used.add_metric(["now"], memory.current_bytes)
        used.add_metric(["most"], memory.peak_bytes)
        yield used
        yield CounterMetricFamily(
            "beatwire_gpu_allocations_total", "allocations by the memory pool", memory.allocations
        )


def drift_metrics(pipeline: Pipeline) -> Iterator[Metric]:
    """Yield the drift of the last minute's beats from the model's reference: of all streams, and of single streams.

    The figures over all streams raise no alert: an alert of a stream depends on that stream alone.
    """
    found = figures(pipeline.drift)
    overall = GaugeMetricFamily(
        "beatwire_drift_stability_index",
        "population stability index of the last minute of all streams against the model's reference",
        labels=["of"],
    )
    for name, value in found.overall.items():
        if np.isfinite(value):
            overall.add_metric([name], value)
    yield overall
    spread = GaugeMetricFamily(
        "beatwire_stream_drift",
        "drift of single streams in the last minute, quantiles over streams: "
        "stability index of the score, distance of radius and reconstruction error",
        labels=["of", "quantile"],
    )
    compared = found.distance >= 0
    for name, values in (("score", found.score[np.isfinite(found.score)]), ("looks", found.distance[compared])):
        for q in (0.5, 0.9, 0.99, 1.0) if len(values) else ():
            spread.add_metric([name, str(q)], float(np.quantile(values, q)))
    yield spread
    yield GaugeMetricFamily(
        "beatwire_streams_drifting", "streams whose drift is above the model's limit", int(found.above.sum())
    )
    largest = GaugeMetricFamily(
        "beatwire_stream_looks",
        f"distance of radius and reconstruction error, the {MOST_STREAMS} largest above the limit",
        labels=["stream"],
    )  # fmt: skip
    over = np.flatnonzero(found.above)
    for k in over[np.argsort(-found.distance[over], kind="stable")][:MOST_STREAMS].tolist():
        largest.add_metric([pipeline.directory.names[int(found.stream[k])]], float(found.distance[k]))
    yield largest
