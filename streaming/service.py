"""What ``beatwire monitor`` does: put the parts together, run until told to stop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streaming.backend import CPU, Backend
from streaming.crew import stop_with_parent
from streaming.kafka import topics
from streaming.kafka.sink import Sink
from streaming.kafka.source import Source
from streaming.metrics import serve_metrics
from streaming.monitor import Counters, Monitor
from streaming.pipeline import Pipeline
from streaming.settings import Settings
from streaming.shutdown import stop_on_signals
from streaming.warmup import warm_up


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
            f"{topics.SAMPLES} carries its producers' clocks (message.timestamp.type=CreateTime): when a chunk "
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
