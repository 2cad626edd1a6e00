"""The command ``beatwire demo``: a broker, a synthetic ward with planted events, and the monitor, in one process.

In: the number of streams, a duration, a seed. Out: the alerts as they are published, on the terminal, and a summary:
which planted events raised which alerts, and how soon. Only the patients are synthetic: the ward is sent to the broker
as devices would send it, and the monitor reads it from there.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

from beatwire_producers.replay import Summary
from beatwire_producers.ward import Ward, ward
from rich.console import Console
from rich.text import Text

from beatwire.errors import FatalError, UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.local.broker import LocalKafka, unavailable_reason
from beatwire.kafka.local.mock import MockKafka
from beatwire.kafka.publishing.live_sender import LiveSender
from beatwire.kafka.publishing.sink import Sink
from beatwire.kafka.reading.staff import StaffReader
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import Alerts, Rejects
from beatwire.service.demo.page import HUM_MV, long_ward, play_rounds, show_page
from beatwire.service.demo.planted import LATEST_S, alerts_by_bed, is_detected, print_alerts, print_events
from beatwire.service.monitor import Monitor
from beatwire.service.observing.counters import Counters
from beatwire.service.priorities import STARS, STYLES
from beatwire.service.warmup import beginning, compile_kernels, warm_up
from beatwire.signals import stop_on_signals

SIGNS = "*** high, ** medium, * low; latched: over, not acknowledged; off: over"
_CHECK_S = 0.5
JOIN_S = 60.0  # wait for the monitor to join the group before the ward begins


class Broker(NamedTuple):
    """The broker of a demo: ``kafka`` or ``mock``, its address, a sentence about it, and what raises once it ended."""

    kind: str
    cluster: Cluster
    description: str
    check: Callable[[], None] = lambda: None


def run_demo(streams: int, seconds: float | None, broker: str, seed: int = 0, *, quiet: bool = False) -> dict[str, Any]:
    """Run the demo.

    Parameters
    ----------
    streams, seconds
        Beds in the ward, and its duration in real time; None: until SIGINT or SIGTERM.
    broker
        ``kafka``, ``mock``, or ``auto``: Apache Kafka if Java and its jars are available, else the mock.
    seed
        Random seed of the ward and its events.
    quiet
        Write the alerts to standard error instead of standard output, and do not start the live page.

    Returns
    -------
    dict
        The summary, one plain value a key.

    Raises
    ------
    UserError
        Apache Kafka was requested and cannot be started.
    FatalError
        The broker has ended.
    """
    console = Console(stderr=quiet, highlight=False, soft_wrap=True)
    if broker != "mock":
        console.print("broker   starting Apache Kafka (the first time: ten seconds to fetch its files)")
    with ExitStack() as stack:
        # While Kafka's files are fetched; without a bar, which would hide the cursor if this is interrupted.
        compiling = threading.Thread(target=_compile, args=(console,), daemon=True)
        compiling.start()
        started = start_broker(stack, broker)
        if not quiet:
            show_page(stack, started.cluster, console.print)
        console.print(f"broker   {started.description}")
        made = long_ward(streams, seed) if seconds is None else ward(streams, seconds, seed=seed, hum_mv=HUM_MV)
        compiling.join()
        warm_up(console.print)
        pipeline = Pipeline(Settings())
        log = _Log(_Printer(console, made))
        pipeline.subscribe(pipeline.alerts, log.add_alerts)
        pipeline.subscribe(pipeline.rejects, log.add_rejects)
        length = f"for {seconds:g} s, {len(made.planted)} planted events" if seconds else "until Ctrl-C"
        console.print(f"ward     {streams} beds {length}; {made.feeds[-1].stream} has {HUM_MV:g} mV of mains hum")
        console.print(f"monitor  model {pipeline.model.name}, backend cpu")
        console.print(f"alerts   {SIGNS}", style="dim")
        console.print()
        log.printer.print_header()
        stop = stack.enter_context(stop_on_signals())  # an exception may be lost in a callback of the broker's client
        began_s = time.monotonic()
        counters, sent = _run(started, pipeline, made, log, stop, repeat=seconds is None)
        took_s = time.monotonic() - began_s
    if seconds is not None and stop.code:
        raise SystemExit(stop.code)
    if sent.stopped:
        past = tuple(event for event in made.planted if event.stop_s + LATEST_S < sent.signal_s)
        made = replace(made, planted=past)
    rows = alerts_by_bed(made, log.transitions, log.rejected_s)
    detected = [is_detected(event, rows) for event in made.planted]
    print_events(console, made, rows)
    print_alerts(console, rows)
    return {
        "broker": started.kind,
        "backend": "cpu",
        "samples": sent.samples,
        "beats": counters.beats,
        "alerts": counters.alerts,
        "rejected": counters.rejects,
        "gaps": pipeline.counts["bridged"] + pipeline.counts["restarts"],
        "planted": len(made.planted),
        "found": sum(detected),
        "missed": len(detected) - sum(detected),
        "samples_per_s": round(sent.samples / took_s),
        "latency_ms.p50": counters.latency.quantile_ms(0.5),
        "latency_ms.p99": counters.latency.quantile_ms(0.99),
        "alerts_by_bed": rows,
    }


def _compile(console: Console) -> None:
    def show(done: int, of: int) -> None:
        if done == 0:
            console.print(f"kernels  {beginning(of)}")

    compile_kernels(lambda said: console.print(f"kernels  {said}"), on_progress=show)


def start_broker(stack: ExitStack, choice: str) -> Broker:
    """Start the requested broker."""
    reason = unavailable_reason() if choice != "mock" else "as requested"
    if choice == "kafka" and reason:
        raise UserError(f"--broker kafka: expected a Kafka that can be started here; got: {reason}")
    if reason is None:
        kafka = stack.enter_context(LocalKafka())
        return Broker("kafka", kafka.cluster, f"Apache Kafka at {kafka.cluster}, exactly-once delivery", kafka.check)
    mock = stack.enter_context(MockKafka())
    description = f"librdkafka's mock cluster at {mock.cluster}, at-least-once delivery ({reason})"
    return Broker("mock", mock.cluster, description)


@contextmanager
def watched(broker: Broker, failures: list[BaseException], stop: threading.Event) -> Iterator[None]:
    """Set ``stop`` once the broker has ended by itself, which is added to ``failures``: it does not return."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_CHECK_S):
            try:
                broker.check()
            except FatalError as error:
                failures.append(error)
                stop.set()
                return

    thread = threading.Thread(target=watch, name="broker-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _run(
    started: Broker, pipeline: Pipeline, made: Ward, log: _Log, stop: threading.Event, *, repeat: bool
) -> tuple[Counters, Summary]:
    """Play the ward while the monitor runs, until everything that was sent has been published, or until ``stop``."""
    exactly_once = started.kind == "kafka"
    sent: list[Summary] = []
    failures: list[BaseException] = []

    def feed() -> None:
        deadline = time.monotonic() + JOIN_S
        while not monitor.counters.ticks and not stop.is_set() and time.monotonic() < deadline:
            stop.wait(0.02)
        try:
            with LiveSender(started.cluster) as sender:
                log.began_s = time.monotonic()
                sent.append(play_rounds(made, sender, stop, repeat=repeat))
        except BaseException as error:
            failures.append(error)
            stop.set()

    player = threading.Thread(target=feed, name="ward", daemon=True)
    with (
        Sink(started.cluster, exactly_once=exactly_once) as sink,
        Source(started.cluster, "beatwire-demo", protocol="consumer" if exactly_once else "classic") as source,
        StaffReader(started.cluster, tuple(pipeline.limits.defaults)) as staff,
        watched(started, failures, stop),
    ):
        monitor = Monitor(pipeline, source, sink, staff=staff)
        player.start()
        try:
            counters = monitor.run(stop, until=lambda c: bool(sent) and c.messages >= sent[0].chunks)
        finally:
            stop.set()
            if not failures:  # a broker that has ended takes nothing of what is left
                player.join()
    if failures:
        raise failures[0]
    return counters, sent[0]


class _Printer:
    """Prints transitions of alerts as rows of a table; times are seconds since the ward began."""

    def __init__(self, console: Console, made: Ward) -> None:
        self._console = console
        self._width = max(6, *(len(feed.stream) for feed in made.feeds))

    def print_header(self) -> None:
        self._print_row("TIME", "STREAM", "", "STATE", "ALERT", "bold")

    def print(self, at_s: float, alert: dict[str, Any]) -> None:
        style = STYLES[alert["priority"]] if alert["state"] == "on" else "dim"
        self._print_row(
            f"{at_s:.1f} s", alert["stream"], STARS[alert["priority"]], alert["state"], alert["text"], style
        )

    def _print_row(self, at: str, stream: str, stars: str, state: str, text: str, style: str) -> None:
        row = f"{at:>7}  {stream:{self._width}}  {stars:3}  {state:7}  {text}"
        if self._console.is_terminal:
            self._console.print(Text(row, style=style), no_wrap=True, overflow="ellipsis", soft_wrap=False)
        else:
            self._console.print(Text(row, style=style))


class _Log:
    """What the monitor has published, with the time at which it did, in seconds since the ward began.

    Attributes
    ----------
    began_s : float
        When the ward began, by the monotonic clock.
    transitions : list of (float, dict)
        Transitions of alerts.
    rejected_s : list of float
        One for each rejected message.
    """

    def __init__(self, printer: _Printer) -> None:
        self.printer = printer
        self.began_s = time.monotonic()
        self.transitions: list[tuple[float, dict[str, Any]]] = []
        self.rejected_s: list[float] = []

    def add_alerts(self, alerts: Alerts) -> None:
        at_s = time.monotonic() - self.began_s
        for transition in alerts.transitions:
            self.transitions.append((at_s, transition))
            self.printer.print(at_s, transition)

    def add_rejects(self, rejects: Rejects) -> None:
        self.rejected_s += [time.monotonic() - self.began_s] * len(rejects)
