"""The command ``beatwire watch``: broker, page and monitor in one process, fed by devices or by a recording.

In:  what feeds the broker: a function that sends until an event is set. Out: the page, alerts on the terminal as they
are published, and a summary. The feed begins before the kernels are ready: the page shows traces at once, and the
monitor reads from the first message on.
"""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from rich.console import Console
from rich.text import Text

from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.publishing.sink import Sink
from beatwire.kafka.reading.staff import StaffReader
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import Alerts
from beatwire.service.demo.page import show_page
from beatwire.service.demo.run import SIGNS, start_broker, watched
from beatwire.service.monitor import Monitor
from beatwire.service.observing.counters import Counters
from beatwire.service.priorities import STARS, STYLES
from beatwire.service.warmup import warm_up
from beatwire.signals import stop_after

Feeder = Callable[[Cluster, threading.Event, Callable[[str], None]], dict[str, Any]]
_ALL_S = 0.5  # after a feed that has ended, and the last message of it: before its silence is an alert
_PUBLISH_S = 3.0  # the same where fewer messages were read than it sent
_FIRST_S = 30.0  # where none was, as by a monitor on a slow machine


def run_watch(
    feeder: Feeder, broker: str, stop: threading.Event, *, stay: bool, quiet: bool = False, seconds: float | None = None
) -> dict[str, Any]:
    """Watch what a feeder sends.

    Parameters
    ----------
    feeder
        Called in a thread with the cluster, an event after which it should end, and a function that prints a line;
        returns its summary.
    broker
        ``kafka``, ``mock`` or ``auto``, as of the demo.
    stop
        Ends everything.
    stay
        Wait for ``stop`` after the feeder has ended.
    quiet
        Write lines to standard error instead of standard output, and do not start the live page.
    seconds
        End the feeder after this time; then all ends when what it sent is analysed.

    Returns
    -------
    dict
        The summary of the feeder, and what the monitor did.

    Raises
    ------
    UserError, FatalError
        Of the feeder, the broker or the monitor.
    """
    console = Console(stderr=quiet, highlight=False, soft_wrap=True)
    fed: list[dict[str, Any]] = []
    failures: list[BaseException] = []
    ended = threading.Event()
    ended_s = [float("inf")]

    def say(line: str) -> None:
        console.print(Text(f"feed     {line}"))

    with ExitStack() as stack:
        started = start_broker(stack, broker)

        def feed() -> None:
            try:
                fed.append(feeder(started.cluster, ended, say))
            except BaseException as error:
                failures.append(error)
            ended_s[0] = time.monotonic()

        if not quiet:
            show_page(stack, started.cluster, console.print)
        console.print(f"broker   {started.description}")
        thread = threading.Thread(target=feed, name="feed", daemon=True)
        thread.start()
        stack.enter_context(stop_after(seconds, ended))
        try:
            warm_up(console.print)
            pipeline = Pipeline(Settings())
            console.print(f"alarms   {SIGNS}", style="dim")
            pipeline.subscribe(pipeline.alerts, lambda alerts: _print_alerts(console, alerts))
            exactly_once = started.kind == "kafka"
            with (
                Sink(started.cluster, exactly_once=exactly_once) as sink,
                Source(started.cluster, "beatwire-watch", protocol="consumer" if exactly_once else "classic") as source,
                StaffReader(started.cluster, tuple(pipeline.limits.defaults)) as staff,
                watched(started, failures, stop),
            ):
                monitor = Monitor(pipeline, source, sink, staff=staff)
                is_read = _is_read(ended_s, fed)
                counters = monitor.run(
                    stop, until=lambda now: bool(failures) or ((not stay or ended.is_set()) and is_read(now))
                )
        finally:
            ended.set()
            if not failures:  # a broker that has ended takes nothing of what is left
                thread.join()
    if failures:
        raise failures[0]
    return {
        "broker": started.kind,
        **fed[0],
        "beats": counters.beats,
        "alerts": counters.alerts,
        "rejected": counters.rejects,
        "latency_ms.p50": counters.latency.quantile_ms(0.5),
        "latency_ms.p99": counters.latency.quantile_ms(0.99),
    }


def _is_read(ended_s: list[float], fed: list[dict[str, Any]]) -> Callable[[Counters], bool]:
    """Return a function that returns True when a feed has ended, ``ended_s``, and no message of it comes any more.

    ``fed`` then has its summary.
    """
    seen, last_s = 0, time.monotonic()

    def is_read(counters: Counters) -> bool:
        nonlocal seen, last_s
        now_s = time.monotonic()
        if counters.messages != seen:
            seen, last_s = counters.messages, now_s
        is_all = bool(fed) and seen >= fed[0].get("messages", float("inf"))
        return now_s > max(ended_s[0], last_s) + (_ALL_S if is_all else _PUBLISH_S if seen else _FIRST_S)

    return is_read


def _print_alerts(console: Console, alerts: Alerts) -> None:
    """Print transitions of alerts, a line each."""
    for alert in alerts.transitions:
        style = STYLES[alert["priority"]] if alert["state"] == "on" else "dim"
        at, stars = time.strftime("%H:%M:%S"), STARS[alert["priority"]]
        row = f"{at}  {alert['stream']}  {stars:3}  {alert['state']:7}  {alert['text']}"
        console.print(Text(row, style=style))
