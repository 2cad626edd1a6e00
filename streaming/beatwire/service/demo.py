"""The demo: a broker of its own, a synthetic ward with planted events, the monitor, and the score.

Everything is real but the patients: the ward is played through the broker, the monitor reads it from
there, and what was planted is looked for in what the monitor said.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import Any

from beatwire_producers.replay import Summary, play
from beatwire_producers.sink import Sink as Feeder
from beatwire_producers.ward import Planted, Ward, ward
from rich.console import Console
from rich.text import Text

from beatwire.errors import UserError
from beatwire.kafka.local import broker as real
from beatwire.kafka.local.mock import MockKafka
from beatwire.kafka.sink import Sink
from beatwire.kafka.source import Source
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic import rhythm
from beatwire.records import Alerts
from beatwire.service.monitor import Counters, Monitor
from beatwire.service.warmup import warm_up

RULES_OF = {
    rhythm.ASYSTOLE: {"asystole"},
    rhythm.TACHYCARDIA: {"tachycardia", "extreme tachycardia"},
    rhythm.BRADYCARDIA: {"bradycardia", "extreme bradycardia"},
    rhythm.VENTRICULAR_RUN: {"anomalous beats", "ventricular run"},
    rhythm.LEAD_OFF: {"lead off"},
    rhythm.GAP: {"no data"},
}
STYLES = {"high": "bold red", "medium": "yellow", "low": "cyan"}
LATEST_S = 8.0
JOIN_S = 60.0


def run_demo(streams: int, seconds: float, broker: str, seed: int = 0, *, quiet: bool = False) -> dict[str, Any]:
    """Run the demo; returns the summary.

    Parameters
    ----------
    streams, seconds
        Beds in the ward, and how long it is played in real time.
    broker
        ``kafka``, ``mock``, or ``auto``: a real one where its parts are there.
    seed
        Of the ward and of what is planted in it.
    quiet
        What happens is told on standard error.

    Raises
    ------
    UserError
        A real broker was asked for and cannot be had.
    """
    console = Console(stderr=quiet, highlight=False, soft_wrap=True)
    show = ward(streams, seconds, seed=seed)
    with ExitStack() as stack:
        kind, bootstrap, why = _broker(stack, broker)
        console.print(f"broker {kind} at {bootstrap}: {why}")
        warm_up(console.print)
        pipeline = Pipeline(Settings())
        said: list[dict[str, Any]] = []
        rejected: list[str] = []
        pipeline.subscribe(pipeline.alerts, lambda result: _hear(result, said, console))
        pipeline.subscribe(pipeline.rejects, lambda rejects: rejected.extend(rejects.reason))
        console.print(
            f"{streams} beds for {seconds:g} s, {len(show.planted)} events planted; "
            f"model {pipeline.model.name}; backend cpu. Alerts as they happen:"
        )
        begin = time.monotonic()
        counters, sent = _run(bootstrap, kind, pipeline, show)
        took_s = time.monotonic() - begin
    missed = [planted for planted in show.planted if not found(planted, show, said, rejected)]
    for planted in missed:
        console.print(f"missed: {planted.kind} on {planted.stream} at {planted.start_s:.1f} s", style="red")
    return {
        "broker": kind,
        "backend": "cpu",
        "samples": sent.samples,
        "beats": counters.beats,
        "alerts": counters.alerts,
        "rejected": counters.rejects,
        "gaps": pipeline.counts["bridged"] + pipeline.counts["restarts"],
        "planted": len(show.planted),
        "found": len(show.planted) - len(missed),
        "missed": len(missed),
        "samples_per_s": round(sent.samples / took_s),
        "latency_ms.p50": counters.latency.quantile_ms(0.5),
        "latency_ms.p99": counters.latency.quantile_ms(0.99),
    }


def found(planted: Planted, show: Ward, said: list[dict[str, Any]], rejected: list[str]) -> bool:
    """Tell whether the monitor noticed a planted event, on its stream and in its time."""
    if planted.kind == rhythm.MALFORMED:
        return len(rejected) >= sum(p.kind == rhythm.MALFORMED for p in show.planted)
    rate_hz = next(f.recording.rate_hz for f in show.feeds if f.stream == planted.stream)
    return any(
        alert["stream"] == planted.stream
        and alert["rule"] in RULES_OF[planted.kind]
        and alert["state"] == "on"
        and planted.first - rate_hz <= alert["onset"] <= planted.last + LATEST_S * rate_hz
        for alert in said
    )


def _broker(stack: ExitStack, wanted: str) -> tuple[str, str, str]:
    """Start the broker that was asked for: its kind, its address, why this one."""
    missing = real.available() if wanted != "mock" else "the mock was asked for"
    if wanted == "kafka" and missing:
        raise UserError(f"--broker kafka: expected a Kafka that can be started here; got: {missing}")
    if missing is None:
        kafka = stack.enter_context(real.LocalKafka())
        return "kafka", kafka.bootstrap, "a real Apache Kafka, exactly-once"
    mock = stack.enter_context(MockKafka())
    return "mock", mock.bootstrap, f"librdkafka's mock cluster, at-least-once; no real one: {missing}"


def _run(bootstrap: str, kind: str, pipeline: Pipeline, show: Ward) -> tuple[Counters, Summary]:
    """Play the ward while the monitor runs; both end when everything sent has been published."""
    exact = kind == "kafka"
    over = threading.Event()
    sent: list[Summary] = []
    failed: list[BaseException] = []

    def feed() -> None:
        deadline = time.monotonic() + JOIN_S
        while not monitor.counters.ticks and not over.is_set() and time.monotonic() < deadline:
            over.wait(0.02)
        try:
            with Feeder(bootstrap) as feeder:
                sent.append(play(show.feeds, feeder, chunk_ms=200.0, seconds=show.seconds, stop=over.is_set))
        except BaseException as error:
            failed.append(error)
            over.set()

    player = threading.Thread(target=feed, name="ward")
    with (
        Sink(bootstrap, exactly_once=exact) as sink,
        Source(bootstrap, "beatwire-demo", protocol="consumer" if exact else "classic") as source,
    ):
        monitor = Monitor(pipeline, source, sink)
        player.start()
        try:
            counters = monitor.run(over, until=lambda c: bool(sent) and c.messages >= sent[0].chunks)
        finally:
            over.set()
            player.join()
    if failed:
        raise failed[0]
    return counters, sent[0]


def _hear(result: Alerts, said: list[dict[str, Any]], console: Console) -> None:
    said.extend(result.transitions)
    for alert in result.transitions:
        style = STYLES[alert["priority"]] if alert["state"] == "on" else "dim"
        words = f"{alert['stream']:10} {alert['state']:8} {alert['priority']:7} {alert['text']}"
        console.print(Text(words, style=style))
