"""What ``beatwire monitor`` does: put the parts together, run until told to stop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.kafka import topics
from beatwire.kafka.sink import Sink
from beatwire.kafka.source import Source
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.service.metrics import serve_metrics
from beatwire.service.monitor import Counters, Monitor
from beatwire.service.warmup import warm_up
from beatwire.service.workers import stop_with_parent
from beatwire.signals import stop_on_signals
from beatwire.wire import names


def run_monitor(
    bootstrap: str,
    group: str,
    backend: Backend = CPU,
    delivery: str = "exactly-once",
    *,
    model: Path | None = None,
    score_within_s: float = 30.0,
    metrics_port: int | None = None,
    of_crew: bool = False,
    say: Callable[[str], None] = print,
) -> Counters:
    """Run the service until SIGINT or SIGTERM, or as one ``of_crew`` until its input ends; see the command.

    Parameters
    ----------
    bootstrap, group
        ``host:port[,host:port...]`` of the broker, and the consumer group that shares the streams.
    backend
        Where the graph runs.
    delivery
        ``exactly-once`` or ``at-least-once``.
    model
        The scoring model; None: the one in the package.
    score_within_s
        Seconds behind the broker from which on beats are not scored; 0: always score.
    metrics_port
        Where Prometheus finds the metrics; None: nowhere.
    say
        Gets what people are told, a line at a time.

    Raises
    ------
    UserError
        Nothing answers at the address, topics are missing, no such model.
    FatalError
        The broker or the device went away for good, or another process took our place.
    """
    topics.check_broker(bootstrap, topics.TOPICS)
    pipeline = Pipeline(Settings(model=model), backend)
    say(backend.reason)
    if topics.has_broker_clock(bootstrap) is False:
        say(
            f"{names.SAMPLES} carries its producers' clocks (message.timestamp.type=CreateTime): when a chunk "
            "arrived, and so 'no data', is told by those; the monitor expects LogAppendTime"
        )
    warm_up(say, backend)
    exactly_once = delivery == "exactly-once"
    with (
        stop_on_signals() as stop,
        Sink(bootstrap, exactly_once=exactly_once) as sink,
        Source(bootstrap, group) as source,
    ):
        if of_crew:
            stop_with_parent(stop)
        monitor = Monitor(pipeline, source, sink, score_within_s=score_within_s)
        with serve_metrics(metrics_port, monitor.counters, pipeline):
            say(f"monitoring {bootstrap} as group {group!r}, {delivery}, model {pipeline.model.name}; Ctrl-C stops")
            counters = monitor.run(stop)
    say(
        f"stopped: {counters.messages} messages, {counters.beats} beats, {counters.alerts} alerts, "
        f"{counters.rejects} rejects; all published"
    )
    return counters
