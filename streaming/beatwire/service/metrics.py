"""Metrics of the monitor for Prometheus.

In: the counters of a `Monitor` and the state of its graph. Out: metric families, computed when Prometheus requests
them, so they cost the loop nothing. No state.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from beatwire.errors import UserError
from beatwire.pipeline.graph import Pipeline
from beatwire.service.counters import Counters
from beatwire.service.drift_figures import figures

MOST_STREAMS = 20  # streams above the drift limit that are listed by name: bounds the number of time series


class _Collector:
    """Computes all metrics for `prometheus_client`."""

    def __init__(self, counters: Counters, pipeline: Pipeline) -> None:
        self._counters, self._pipeline = counters, pipeline

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        totals = {
            "ticks": "ticks published",
            "messages": "sample messages processed and published",
            "beats": "heartbeats published",
            "alerts": "alert transitions published",
            "rejects": "messages sent to the dead-letter topic",
            "replayed": "sample messages replayed after a change of the assignment",
        }
        for name, text in totals.items():
            yield CounterMetricFamily(f"beatwire_{name}", text, getattr(self._counters, name))
        chunks = CounterMetricFamily("beatwire_chunks", "chunks by what happened to them", labels=["what"])
        for what, count in self._pipeline.counts.items():
            chunks.add_metric([what], count)
        yield chunks
        latency = GaugeMetricFamily(
            "beatwire_latency_ms",
            "milliseconds from arrival at the broker to publication, since the start",
            labels=["quantile"],
        )
        for q in (0.5, 0.99):
            value = self._counters.latency.quantile_ms(q)
            if value is not None:
                latency.add_metric([str(q)], value)
        yield latency
        yield GaugeMetricFamily("beatwire_streams", "streams with state in memory", self._pipeline.directory.known)
        yield from memory_metrics(self._pipeline)
        yield from drift_metrics(self._pipeline)


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
        yield CounterMetricFamily("beatwire_gpu_allocations", "allocations by the memory pool", memory.allocations)


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


@contextmanager
def serve_metrics(port: int | None, counters: Counters, pipeline: Pipeline) -> Iterator[None]:
    """Serve metrics over HTTP while the block runs.

    Parameters
    ----------
    port
        The TCP port; None: serve nothing.
    counters, pipeline
        The counters of a monitor, and its graph.

    Raises
    ------
    UserError
        The port is in use.
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
