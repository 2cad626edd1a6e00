"""The command ``beatwire monitor``: connect graph, source and sink, and run them until a signal.

In: the settings of the command. Out: beats, alerts and dead letters in their topics, and the counters of the run.
"""

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
from beatwire.service.counters import Counters
from beatwire.service.metrics import serve_metrics
from beatwire.service.monitor import Monitor
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
    as_worker: bool = False,
    say: Callable[[str], None] = print,
) -> Counters:
    """Run the monitor until SIGINT or SIGTERM.

    Parameters
    ----------
    bootstrap, group
        The broker's address ``host:port[,host:port...]``, and the consumer group whose members share the streams.
    backend
        Runs the array stages of the graph: CPU or GPU.
    delivery
        ``exactly-once`` or ``at-least-once``.
    model
        The scoring model; None: the model of the package.
    score_within_s
        Beats that are further behind the broker, in seconds, are not scored; 0: all beats are scored.
    metrics_port
        TCP port for Prometheus; None: no metrics are served.
    as_worker
        Stop as well when standard input ends: one of several workers, whose parent has ended.
    say
        Called with each line for the user.

    Returns
    -------
    Counters
        What the monitor has done.

    Raises
    ------
    UserError
        No broker answers at the address, a topic is missing, or the model cannot be used.
    FatalError
        The broker or the GPU has failed, or another process took the transactional id.
    """
    topics.check_broker(bootstrap, topics.TOPICS)
    pipeline = Pipeline(Settings(model=model), backend)
    say(backend.reason)
    if topics.has_broker_clock(bootstrap) is False:
        say(
            f"{names.SAMPLES}: expected message.timestamp.type=LogAppendTime; got CreateTime: latencies and the "
            "'no data' alert depend on the producers' clocks"
        )
    warm_up(say, backend)
    exactly_once = delivery == "exactly-once"
    with (
        stop_on_signals() as stop,
        Sink(bootstrap, exactly_once=exactly_once) as sink,
        Source(bootstrap, group) as source,
    ):
        if as_worker:
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
