"""The monitor's counters for Prometheus: read when they are asked for, at no cost to the loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from beatwire.errors import UserError
from beatwire.pipeline.graph import Pipeline
from beatwire.service.monitor import Counters
from beatwire.stages.support.drift_figures import figures

FURTHEST = 20


class _Collector:
    def __init__(self, counters: Counters, pipeline: Pipeline) -> None:
        self._counters, self._pipeline = counters, pipeline

    def collect(self) -> Iterator[Metric]:
        """Yield every figure."""
        totals = {
            "ticks": "passes through the graph",
            "messages": "sample messages published for",
            "beats": "heartbeats published",
            "alerts": "alert transitions published",
            "rejects": "messages sent to the dead-letter topic",
            "replayed": "messages replayed after a hand-over",
        }
        for name, text in totals.items():
            yield CounterMetricFamily(f"beatwire_{name}", text, getattr(self._counters, name))
        chunks = CounterMetricFamily("beatwire_chunks", "what happened to chunks and samples", labels=["what"])
        for what, count in self._pipeline.counts.items():
            chunks.add_metric([what], count)
        yield chunks
        latency = GaugeMetricFamily(
            "beatwire_latency_ms", "arrival at the broker to publication, since the start", labels=["quantile"]
        )
        for q in (0.5, 0.99):
            value = self._counters.latency.quantile_ms(q)
            if value is not None:
                latency.add_metric([str(q)], value)
        yield latency
        yield GaugeMetricFamily("beatwire_streams", "streams known", self._pipeline.directory.known)
        yield from memory_metrics(self._pipeline)
        yield from drift_metrics(self._pipeline)


def memory_metrics(pipeline: Pipeline) -> Iterator[Metric]:
    """Yield what the backend's pool has given, where it has one."""
    memory = pipeline.backend.memory
    if memory is not None:
        used = GaugeMetricFamily("beatwire_gpu_memory_bytes", "of the pool, in use", labels=["what"])
        used.add_metric(["now"], memory.current_bytes)
        used.add_metric(["most"], memory.peak_bytes)
        yield used
        yield CounterMetricFamily("beatwire_gpu_allocations", "by the pool", memory.allocations)


def drift_metrics(pipeline: Pipeline) -> Iterator[Metric]:
    """Yield how unlike the model's reference the beats of the last minute are: overall, over streams, the furthest.

    Over all streams these are figures and no alert: what is said of a stream depends on that stream alone.
    """
    found = figures(pipeline.drift)
    overall = GaugeMetricFamily(
        "beatwire_drift_stability_index", "all streams' last minute against the model's reference", labels=["of"]
    )
    for name, value in found.overall.items():
        if np.isfinite(value):
            overall.add_metric([name], value)
    yield overall
    spread = GaugeMetricFamily(
        "beatwire_stream_drift",
        "streams' last minute: stability index of the score, distance of looks; quantiles over streams",
        labels=["of", "quantile"],
    )
    compared = found.distance >= 0
    for name, values in (("score", found.score[np.isfinite(found.score)]), ("looks", found.distance[compared])):
        for q in (0.5, 0.9, 0.99, 1.0) if len(values) else ():
            spread.add_metric([name, str(q)], float(np.quantile(values, q)))
    yield spread
    yield GaugeMetricFamily("beatwire_streams_drifting", "streams above the model's limit", int(found.above.sum()))
    furthest = GaugeMetricFamily(
        "beatwire_stream_looks", f"distance of looks of the streams above the limit, the furthest {FURTHEST}",
        labels=["stream"],
    )  # fmt: skip
    over = np.flatnonzero(found.above)
    for k in over[np.argsort(-found.distance[over], kind="stable")][:FURTHEST].tolist():
        furthest.add_metric([pipeline.directory.names[int(found.stream[k])]], float(found.distance[k]))
    yield furthest


@contextmanager
def serve_metrics(port: int | None, counters: Counters, pipeline: Pipeline) -> Iterator[None]:
    """Serve metrics on a port while the block runs; None: do not.

    Raises
    ------
    UserError
        The port is taken.
    """
    if port is None:
        yield
        return
    registry = CollectorRegistry()
    registry.register(_Collector(counters, pipeline))
    try:
        server, thread = start_http_server(port, registry=registry)
    except OSError as error:
        raise UserError(f"--metrics-port: expected a free port; got {port}: {error.strerror}") from None
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
