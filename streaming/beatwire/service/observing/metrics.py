"""Metrics of the monitor for Prometheus, by its conventions: seconds and bytes, ``_total``, histograms.

In: the counters of a `Monitor`, the state of its loop and of its graph. Out: metric families, computed when Prometheus
requests them, so that most cost the loop nothing; the others are counted by `Instruments`. Names, labels and texts are
those of `metric_table`. No state.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from beatwire.alerts.rules import RULES
from beatwire.pipeline import Pipeline
from beatwire.service.observing.counters import Counters
from beatwire.service.observing.drift_figures import figures
from beatwire.service.observing.health import Health, LoopState, Verdict
from beatwire.service.observing.instruments import Instruments
from beatwire.service.observing.metric_table import METRICS
from beatwire.wire.names import ACKS, ALERTS, SETTINGS

MOST_STREAMS = 20  # streams above the drift limit that are listed by name: bounds the number of time series
QUANTILES = (0.5, 0.9, 0.99, 1.0)
_FAMILIES = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily, "histogram": HistogramMetricFamily}
LATENCY_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 5.0, 10.0)


class MonitorAnswers:
    """What one monitor serves over HTTP; implements `beatwire.service.observing.server.Answers`.

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
        yield _one(
            "beatwire_build_info", 1, version("beatwire"), self._pipeline.model.name, self._pipeline.backend.name
        )
        yield from counter_metrics(self._counters)
        yield from health_metrics(self._health)
        yield from latency_metrics(self._counters, self._instruments)
        yield from staff_metrics(self._counters, self._pipeline)
        yield from alert_metrics(self._pipeline, self._instruments)
        yield from chunk_metrics(self._pipeline, self._instruments)
        yield from memory_metrics(self._pipeline)
        yield from drift_metrics(self._pipeline)


def _family(name: str) -> Any:
    """Return an empty family of the table."""
    one = METRICS[name]
    return _FAMILIES[one.kind](name, one.text, labels=one.labels)


def _one(name: str, value: float, *labels: str) -> Metric:
    """Return a metric with one value."""
    return _many(name, [(labels, value)])


def _many(name: str, values: Iterable[tuple[Sequence[str], float]]) -> Metric:
    """Return a metric with a value for each combination of its labels."""
    family: Metric = _family(name)
    for labels, value in values:
        family.add_metric(labels, value)  # type: ignore[attr-defined]
    return family


def counter_metrics(counters: Counters) -> Iterator[Metric]:
    """Yield the totals of what was processed and published."""
    totals = {
        "beatwire_ticks_total": counters.ticks,
        "beatwire_messages_total": counters.messages,
        "beatwire_beats_total": counters.beats,
        "beatwire_replayed_messages_total": counters.replayed,
        "beatwire_assignments_total": counters.epochs,
        "beatwire_stale_ticks_total": counters.stale_ticks,
    }
    for name, value in totals.items():
        yield _one(name, value)
    expired = {"unread": counters.unread, "replay": counters.unreplayed}
    yield _many("beatwire_expired_messages_total", (([what], count) for what, count in expired.items()))
    unusable = (([topic], counters.unusable[topic]) for topic in (ALERTS, ACKS, SETTINGS))
    yield _many("beatwire_unusable_messages_total", unusable)


def health_metrics(health: Health) -> Iterator[Metric]:
    """Yield what the probes read."""
    loop = health.loop
    yield _one("beatwire_healthy", int(health.healthy().ok))
    yield _one("beatwire_ready", int(health.ready().ok))
    yield _one("beatwire_assigned_partitions", loop.partitions)
    yield _one("beatwire_held_partitions", loop.held)
    yield _one("beatwire_interrupted", int(loop.interrupted))
    yield _one("beatwire_interrupted_seconds_total", loop.interrupted_s)


def staff_metrics(counters: Counters, pipeline: Pipeline) -> Iterator[Metric]:
    """Yield how long partitions were not monitored after each change of the assignment, and what staff entered."""
    interrupted = counters.interrupted_s
    yield histogram(
        "beatwire_interruption_duration_seconds", interrupted.bounds_s, interrupted.cumulative(), interrupted.sum_s
    )
    yield _one("beatwire_ignored_acknowledgements_total", pipeline.lifecycle.state.ignored)
    yield _one("beatwire_streams_with_limits", pipeline.limits.changed)


def latency_metrics(counters: Counters, instruments: Instruments) -> Iterator[Metric]:
    """Yield how long messages, ticks and stages take."""
    latency, tick_s = counters.latency, counters.tick_s
    yield histogram("beatwire_latency_seconds", LATENCY_BOUNDS_S, latency.cumulative(LATENCY_BOUNDS_S), latency.sum_s)
    yield histogram("beatwire_tick_seconds", tick_s.bounds_s, tick_s.cumulative(), tick_s.sum_s)
    stages = _family("beatwire_stage_seconds")
    for name, stage in instruments.stages.items():
        stages.add_metric([name], buckets(stage.bounds_s, stage.cumulative()), stage.sum_s)
    yield stages
    yield _one("beatwire_lag_seconds", counters.lag_s)


def histogram(name: str, bounds_s: Sequence[float], cumulative: Sequence[int], sum_s: float) -> Metric:
    """Return a histogram without labels; `cumulative` has one count a bound and that of all."""
    family: Metric = _family(name)
    family.add_metric([], buckets(bounds_s, cumulative), sum_s)  # type: ignore[attr-defined]
    return family


def buckets(bounds_s: Sequence[float], cumulative: Sequence[int]) -> list[tuple[str, float]]:
    """Return the bounds as texts with their counts, as `prometheus_client` takes them."""
    return list(zip([*map(str, bounds_s), "+Inf"], cumulative, strict=True))


def alert_metrics(pipeline: Pipeline, instruments: Instruments) -> Iterator[Metric]:
    """Yield the alerts by rule: transitions published, and how many are on."""
    yield _many("beatwire_alert_transitions_total", list(instruments.transitions.items()))
    active = (([rule.name, rule.priority], pipeline.active_alerts[rule.key]) for rule in RULES)
    yield _many("beatwire_alerts_active", active)


def chunk_metrics(pipeline: Pipeline, instruments: Instruments) -> Iterator[Metric]:
    """Yield what happened to messages on their way to the rings, and the streams they belong to."""
    yield _many("beatwire_rejects_total", (([kind], count) for kind, count in list(instruments.rejects.items())))
    counts = pipeline.counts | {"other_schema": pipeline.resolved}
    yield _many("beatwire_chunks_total", (([what], count) for what, count in counts.items()))
    yield _one("beatwire_streams", pipeline.directory.known)
    hum = pipeline.streams_with_hum
    yield _many("beatwire_streams_with_hum", [] if hum is None else [((), hum)])


def memory_metrics(pipeline: Pipeline) -> Iterator[Metric]:
    """Yield the memory of the backend's pool, if it has one."""
    memory = pipeline.backend.memory
    if memory is not None:
        used = {"now": memory.current_bytes, "most": memory.peak_bytes}
        yield _many("beatwire_gpu_memory_bytes", (([what], size) for what, size in used.items()))
        yield _one("beatwire_gpu_allocations_total", memory.allocations)


def drift_metrics(pipeline: Pipeline) -> Iterator[Metric]:
    """Yield the drift of the last minute's beats from the model's reference: of all streams, and of single streams.

    The figures over all streams raise no alert: an alert of a stream depends on that stream alone.
    """
    found = figures(pipeline.drift)
    overall = (([name], value) for name, value in found.overall.items() if np.isfinite(value))
    yield _many("beatwire_drift_stability_index", overall)
    of = {"score": found.score[np.isfinite(found.score)], "looks": found.distance[found.distance >= 0]}
    spread = (
        ([name, str(q)], float(np.quantile(values, q)))
        for name, values in of.items()
        for q in (QUANTILES if len(values) else ())
    )
    yield _many("beatwire_stream_drift", spread)
    yield _one("beatwire_streams_drifting", int(found.above.sum()))
    over = np.flatnonzero(found.above)
    furthest = over[np.argsort(-found.distance[over], kind="stable")][:MOST_STREAMS].tolist()
    names = pipeline.directory.names
    looks = (([names[int(found.stream[k])]], float(found.distance[k])) for k in furthest)
    yield _many("beatwire_stream_looks", looks)
