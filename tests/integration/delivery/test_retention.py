"""Messages that retention deletes before they are read: an alert and a clean restart, for a successor and at work."""

import json
import logging
import threading
from typing import Any

import pytest
from beatwire.alerts.settings import Lifecycle
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import handover
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.local.broker import LocalKafka
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.publishing.sink import Sink
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import Outgoing, RawTick
from beatwire.service.monitor import Monitor
from beatwire.wire import names
from beatwire.wire.avro import decode_beat
from confluent_kafka import TopicPartition
from kafka_messages import quick_sender, take, values_in
from laws import Signal
from quiet_graph import QuietGraph

pytestmark = pytest.mark.kafka

SECONDS, FIRST_LEFT = 60, 40  # messages of one second each; retention leaves those from FIRST_LEFT on
LITTLE = {"queued.min.messages": "1", "fetch.message.max.bytes": "1000"}  # librdkafka reads a batch ahead
SETTINGS = Settings(detector="rule", lifecycle=Lifecycle(shortest_s=0.5))


class Echo(QuietGraph):
    """A graph that publishes a beat for each message, and keeps no state."""

    def reset(self):
        self.ticks = 0

    def rewind_tick(self, partition):
        return self.ticks

    def emit(self, tick, origin, ahead):
        self.ticks += 1
        values = [tick.payload[a:b].tobytes() for a, b in zip(tick.start[:-1], tick.start[1:], strict=True)]
        return [Outgoing(names.BEATS, [b"s"] * len(values), values)] if values else []


@pytest.mark.parametrize(("oldest", "unread", "replay"), [(80, 20, 50), (30, 0, 20)])
def test_a_monitor_whose_commit_is_older_than_retention_reports_it_and_goes_on(kafka, caplog, oldest, unread, replay):
    with quick_sender(kafka.cluster) as sender:
        sender.send(names.SAMPLES, [b"s"] * 100, [str(n).encode() for n in range(100)])
    with Source(kafka.cluster, "g") as source:
        polled = take(source)
        ((partition, end),) = polled.positions.items()
        source.commit({partition: Position(60, 10)})
    assert end == 100
    delete_before(kafka, partition, oldest)
    caplog.set_level(logging.WARNING, "beatwire")
    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        monitor = Monitor(Echo(), source, sink)
        counters = monitor.run(threading.Event(), until=lambda counters: counters.messages == 100 - max(60, oldest))
    assert (counters.unread, counters.unreplayed) == (unread, replay)
    assert values_in(kafka, names.BEATS) == [str(n).encode() for n in range(max(60, oldest), 100)]
    events = [record.__dict__ for record in caplog.records if record.__dict__.get("event") == "expired"]
    assert [(event["levelname"], event["fields"]["partitions"]) for event in events] == [
        ("ERROR" if unread else "WARNING", [partition])
    ]
    assert f"{unread} messages were never read" in events[0]["message"]


def delete_before(kafka: LocalKafka, partition: int, oldest: int) -> None:
    """Delete the samples before an offset, as retention does."""
    admin = kafka.cluster.admin()  # its requests end with it
    for future in admin.delete_records([TopicPartition(names.SAMPLES, partition, oldest)]).values():
        future.result(60)


def sent(kafka: LocalKafka) -> list[bytes]:
    """Send a stream, one message a second and a batch for each; return the messages."""
    samples = synthesise(3, rate_hz=250.0, seconds=SECONDS).recording.samples
    signal = Signal("bed-1", samples)
    values = [signal.chunk(250 * k, 250 * (k + 1)) for k in range(SECONDS)]
    with Sender(kafka.cluster, {"linger.ms": 0}) as sender:
        for value in values:
            sender.send(names.SAMPLES, [b"bed-1"], [value])
            sender.flush()
    return values


def undisturbed(values: list[bytes]) -> list[tuple[int, float]]:
    """Return sample and RR of the beats of messages that go through a graph of their own."""
    pipeline, found = Pipeline(SETTINGS), []
    for value in values:
        found += [out for out in pipeline.emit(RawTick.of([value])) if out.topic == names.BEATS]
    return beats_of([value for out in found for value in out.values])


def beats_of(values: list[bytes]) -> list[tuple[int, float]]:
    return [(beat["sample"], beat["rr_ms"]) for beat in map(decode_beat, values)]


def expired_in(kafka: LocalKafka) -> list[dict[str, Any]]:
    return [alert for alert in map(json.loads, values_in(kafka, names.ALERTS)) if alert["rule"] == "samples lost"]


class Overtaken(Pipeline):
    """A graph in which retention deletes samples while the first tick is in work."""

    def __init__(self, kafka: LocalKafka, partition: int) -> None:
        super().__init__(SETTINGS)
        self.delete = lambda: delete_before(kafka, partition, FIRST_LEFT)

    def emit(self, tick: RawTick, origin: Any = None, ahead: Any = None) -> Any:
        if len(tick.arrival_us):
            self.delete()
            self.delete = lambda: None
        return super().emit(tick, origin, ahead)


def run_until_over(cluster: Cluster, graph: Pipeline) -> Monitor:
    """Run a monitor until its alert has ended."""
    states: list[str] = []
    graph.subscribe(
        graph.lifecycle,
        lambda alerts: states.extend(a["state"] for a in alerts.transitions if a["rule"] == "samples lost"),
    )
    with Source(cluster, "g") as source, Sink(cluster) as sink:
        monitor = Monitor(graph, source, sink)
        monitor.run(threading.Event(), until=lambda _: "off" in states)
    return monitor


@pytest.mark.parametrize("oldest", [FIRST_LEFT, SECONDS])
def test_commits_older_than_retention_are_an_alert_and_a_clean_restart_once(kafka, oldest):
    values = sent(kafka)
    with Source(kafka.cluster, "g") as source:
        ((partition, _),) = take(source).positions.items()
        source.commit({partition: Position(10, 4)})
    delete_before(kafka, partition, oldest)
    monitor = run_until_over(kafka.cluster, Pipeline(SETTINGS))
    begun, ended = expired_in(kafka)
    assert (begun["state"], begun["value"], begun["stream"]) == ("on", oldest - 10, f"ecg.samples/{partition}")
    assert begun["text"] == f"samples lost: {oldest - 10} messages were deleted before they were read"
    assert (ended["state"], ended["id"]) == ("off", begun["id"])
    assert ended["decided_us"] - begun["onset_us"] >= 500_000
    assert (monitor.counters.unread, monitor.counters.unreplayed) == (oldest - 10, 6)
    assert beats_of(values_in(kafka, names.BEATS)) == undisturbed(values[oldest:])
    with Source(kafka.cluster, "g") as source:
        while (polled := source.take(0.1)) is None or polled.replay:
            pass
        assert polled.expired == {}, "the position after the deleted messages is committed"


def test_retention_that_overtakes_a_replay_ends_it(kafka, monkeypatch):
    values = sent(kafka)
    with Source(kafka.cluster, "g") as source:
        ((partition, _),) = take(source).positions.items()
        source.commit({partition: Position(30, 0)})
    monkeypatch.setattr(handover, "TICK_MESSAGES", 3)
    monitor = run_until_over(Cluster(kafka.bootstrap, LITTLE), Overtaken(kafka, partition))
    begun, _ = expired_in(kafka)
    assert (begun["value"], begun["session"]) == (FIRST_LEFT - 30, 30)
    assert 0 < monitor.counters.replayed < 30
    left = undisturbed(values[FIRST_LEFT:])
    assert beats_of(values_in(kafka, names.BEATS))[-len(left) :] == left


def test_retention_that_overtakes_a_monitor_at_work_is_an_alert_and_restarts_the_lanes_alone(kafka, monkeypatch):
    values = sent(kafka)
    with Source(kafka.cluster, "other") as source:
        ((partition, _),) = take(source).positions.items()
    monkeypatch.setattr(handover, "TICK_MESSAGES", 3)
    monitor = run_until_over(Cluster(kafka.bootstrap, LITTLE), Overtaken(kafka, partition))
    read = monitor.counters.messages - (SECONDS - FIRST_LEFT)
    assert 0 < read < FIRST_LEFT
    begun, ended = expired_in(kafka)
    assert (begun["state"], begun["value"], begun["session"]) == ("on", FIRST_LEFT - read, read)
    assert (ended["state"], ended["value"]) == ("off", FIRST_LEFT - read)
    assert (monitor.counters.unread, monitor.counters.epochs) == (FIRST_LEFT - read, 1)
    assert beats_of(values_in(kafka, names.BEATS)) == undisturbed(values[:read] + values[FIRST_LEFT:])
