"""The command ``beatwire demo``: a broker, a synthetic ward with planted events, and the monitor, in one process.

In: the number of streams, a duration, a seed. Out: the alerts as they are published, on the terminal, and a summary:
which planted events raised their alert. Only the patients are synthetic: the ward is sent to the broker as devices
would send it, and the monitor reads it from there.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import Any, NamedTuple

from beatwire_producers.replay import Summary, play
from beatwire_producers.ward import Planted, Ward, ward
from rich.console import Console
from rich.text import Text

from beatwire.errors import UserError
from beatwire.kafka.local.broker import LocalKafka, unavailable_reason
from beatwire.kafka.local.mock import MockKafka
from beatwire.kafka.sender import Sender
from beatwire.kafka.sink import Sink
from beatwire.kafka.source import Source
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic import rhythm
from beatwire.records import Alerts
from beatwire.service.counters import Counters
from beatwire.service.monitor import Monitor
from beatwire.service.warmup import warm_up

# Kind of planted event -> the alerts that count as its detection.
RULES_OF = {
    rhythm.ASYSTOLE: {"asystole"},
    rhythm.TACHYCARDIA: {"tachycardia", "extreme tachycardia"},
    rhythm.BRADYCARDIA: {"bradycardia", "extreme bradycardia"},
    rhythm.VENTRICULAR_RUN: {"anomalous beats", "ventricular run"},
    rhythm.LEAD_OFF: {"lead off"},
    rhythm.GAP: {"no data"},
}
EVENT_NAMES = {rhythm.GAP: "missing data", rhythm.MALFORMED: "malformed message"}
STYLES = {"high": "bold red", "medium": "yellow", "low": "cyan"}
STATES = "on: the condition holds; latched: it has ended and waits for acknowledgement; off: it has ended"
EARLIEST_S, LATEST_S = 1.0, 8.0  # onset of an alert: at most this long before an event begins, or after it has ended
JOIN_S = 60.0  # wait for the monitor to join the group before the ward begins


class Broker(NamedTuple):
    """The broker of a demo: ``kafka`` or ``mock``, its address, and a sentence about it."""

    kind: str
    bootstrap: str
    description: str


def run_demo(streams: int, seconds: float, broker: str, seed: int = 0, *, quiet: bool = False) -> dict[str, Any]:
    """Run the demo.

    Parameters
    ----------
    streams, seconds
        Beds in the ward, and its duration in real time.
    broker
        ``kafka``, ``mock``, or ``auto``: Apache Kafka if Java and its jars are available, else the mock.
    seed
        Random seed of the ward and its events.
    quiet
        Write the alerts to standard error instead of standard output.

    Returns
    -------
    dict
        The summary, one plain value a key.

    Raises
    ------
    UserError
        Apache Kafka was requested and cannot be started.
    """
    console = Console(stderr=quiet, highlight=False, soft_wrap=True)
    if broker != "mock":
        console.print("broker   starting Apache Kafka; the first time its files are fetched, about half a minute")
    made = ward(streams, seconds, seed=seed)
    with ExitStack() as stack:
        started = _start_broker(stack, broker)
        console.print(f"broker   {started.description}")
        warm_up(console.print)
        pipeline = Pipeline(Settings())
        transitions: list[dict[str, Any]] = []
        rejected: list[str] = []
        printer = _Printer(console, made)
        pipeline.subscribe(pipeline.alerts, lambda alerts: transitions.extend(alerts.transitions))
        pipeline.subscribe(pipeline.alerts, printer.print)
        pipeline.subscribe(pipeline.rejects, lambda rejects: rejected.extend(rejects.reason))
        console.print(f"ward     {streams} beds for {seconds:g} s, {len(made.planted)} planted events")
        console.print(f"monitor  model {pipeline.model.name}, backend cpu")
        console.print(f"states   {STATES}", style="dim")
        console.print()
        printer.print_header()
        began_s = time.monotonic()
        counters, sent = _run(started, pipeline, made)
        took_s = time.monotonic() - began_s
    detected = [is_detected(event, made, transitions, rejected) for event in made.planted]
    _print_events(console, made, detected)
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
    }


def is_detected(event: Planted, made: Ward, transitions: list[dict[str, Any]], rejected: list[str]) -> bool:
    """Return True if a planted event raised its alert, on its stream and at its time.

    Malformed messages have no stream: each is detected if as many messages were rejected as were planted.
    """
    if event.kind == rhythm.MALFORMED:
        return len(rejected) >= sum(p.kind == rhythm.MALFORMED for p in made.planted)
    rate_hz = _rate_hz(made, event.stream)
    return any(
        alert["stream"] == event.stream
        and alert["rule"] in RULES_OF[event.kind]
        and alert["state"] == "on"
        and event.first - EARLIEST_S * rate_hz <= alert["onset"] <= event.last + LATEST_S * rate_hz
        for alert in transitions
    )


def _rate_hz(made: Ward, stream: str) -> float:
    return next(feed.recording.rate_hz for feed in made.feeds if feed.stream == stream)


def _start_broker(stack: ExitStack, choice: str) -> Broker:
    """Start the requested broker."""
    reason = unavailable_reason() if choice != "mock" else "as requested"
    if choice == "kafka" and reason:
        raise UserError(f"--broker kafka: expected a Kafka that can be started here; got: {reason}")
    if reason is None:
        kafka = stack.enter_context(LocalKafka())
        return Broker("kafka", kafka.bootstrap, f"Apache Kafka at {kafka.bootstrap}, exactly-once delivery")
    mock = stack.enter_context(MockKafka())
    description = f"librdkafka's mock cluster at {mock.bootstrap}, at-least-once delivery ({reason})"
    return Broker("mock", mock.bootstrap, description)


def _run(started: Broker, pipeline: Pipeline, made: Ward) -> tuple[Counters, Summary]:
    """Play the ward while the monitor runs, until everything that was sent has been published."""
    exactly_once = started.kind == "kafka"
    stop = threading.Event()
    sent: list[Summary] = []
    failures: list[BaseException] = []

    def feed() -> None:
        deadline = time.monotonic() + JOIN_S
        while not monitor.counters.ticks and not stop.is_set() and time.monotonic() < deadline:
            stop.wait(0.02)
        try:
            with Sender(started.bootstrap) as sender:
                sent.append(play(made.feeds, sender, chunk_ms=200.0, seconds=made.seconds, stop=stop.is_set))
        except BaseException as error:
            failures.append(error)
            stop.set()

    player = threading.Thread(target=feed, name="ward")
    with (
        Sink(started.bootstrap, exactly_once=exactly_once) as sink,
        Source(started.bootstrap, "beatwire-demo", protocol="consumer" if exactly_once else "classic") as source,
    ):
        monitor = Monitor(pipeline, source, sink)
        player.start()
        try:
            counters = monitor.run(stop, until=lambda c: bool(sent) and c.messages >= sent[0].chunks)
        finally:
            stop.set()
            player.join()
    if failures:
        raise failures[0]
    return counters, sent[0]


class _Printer:
    """Prints transitions of alerts as rows of a table; times are those of the decision, seconds of the signal."""

    def __init__(self, console: Console, made: Ward) -> None:
        self._console, self._made = console, made
        self._width = max(6, *(len(feed.stream) for feed in made.feeds))

    def print_header(self) -> None:
        self._print_row("TIME", "STREAM", "PRIORITY", "STATE", "ALERT", "bold")

    def print(self, alerts: Alerts) -> None:
        for alert in alerts.transitions:
            style = STYLES[alert["priority"]] if alert["state"] == "on" else "dim"
            decided_s = alert["decided"] / _rate_hz(self._made, alert["stream"])
            self._print_row(
                f"{decided_s:.1f} s", alert["stream"], alert["priority"], alert["state"], alert["text"], style
            )

    def _print_row(self, at: str, stream: str, priority: str, state: str, text: str, style: str) -> None:
        row = f"{at:>7}  {stream:{self._width}}  {priority:8}  {state:7}  {text}"
        self._console.print(Text(row, style=style))


def _print_events(console: Console, made: Ward, detected: list[bool]) -> None:
    """Print the planted events, and whether each was detected."""
    width = max([6, *(len(event.stream) for event in made.planted)])
    console.print()
    console.print(Text(f"{'STREAM':{width}}  {'PLANTED EVENT':17}  {'FROM':>6}  {'TO':>6}  RESULT", style="bold"))
    for event, is_found in zip(made.planted, detected, strict=True):
        kind = EVENT_NAMES.get(event.kind, event.kind.replace("_", " "))
        row = f"{event.stream:{width}}  {kind:17}  {event.start_s:4.1f} s  {event.stop_s:4.1f} s"
        console.print(Text(f"{row}  {'detected' if is_found else 'missed'}", style="" if is_found else "red"))
