"""A tick that the broker has committed in some partitions only is committed everywhere by a successor."""

import struct
import time

import pytest
from beatwire.kafka.consuming.batch import PolledTick
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.publishing import torn
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.publishing.sink import Sink
from beatwire.kafka.publishing.torn import find_torn
from beatwire.kafka.reading.readers import read_to_end
from beatwire.wire import names
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from kafka_messages import beats, positions_after, send, take
from moments import wait_until

pytestmark = pytest.mark.kafka

GROUP = "g"
STATES = "__transaction_state"
STATUS = 2 + 8 + 2 + 4  # place of the status in a record: after version, producer id, epoch and timeout
ONGOING, COMPLETE_COMMIT = 1, 4


def count_as_committed(kafka, name: str) -> None:
    """Write to the log of the coordinator that the transaction that is open of this id has been committed."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "client.id": "__admin_client"})
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "x"})
    partitions = consumer.list_topics(STATES, timeout=60).topics[STATES].partitions
    consumer.assign([TopicPartition(STATES, p, 0) for p in partitions])
    found: list[Message] = []

    def is_read_to_the_end() -> bool:
        messages = consumer.consume(100, 0.5)
        found.extend(
            m for m in messages if m.error() is None and name.encode() in m.key() and m.value()[STATUS] == ONGOING
        )
        return bool(found) and not messages

    wait_until(is_read_to_the_end)
    consumer.close()
    last = found[-1]
    value = last.value()[:STATUS] + struct.pack("b", COMPLETE_COMMIT) + last.value()[STATUS + 1 :]
    failures: list[object] = []
    producer.produce(STATES, value, last.key(), last.partition(), on_delivery=lambda error, _: failures.append(error))
    producer.flush(60)
    assert failures == [None]


def commit(source: Source, polled: PolledTick, at_ms: int) -> None:
    """Commit what was polled as of a time, and wait until the broker has it."""
    source.commit({p: Position(offset, offset, at_ms) for p, offset in polled.positions.items()})
    wait_until(lambda: source.take(0.05) or source.committed(polled.positions) == polled.positions)


def leave_torn(kafka, *, of_first: bool, later_ms: int, topic: str = names.BEATS) -> list[int]:
    """Leave a message of the output open whose input is committed `later_ms` after it; return its partition.

    The transactional id is that of partition 0, or of the partition of the message.
    """
    send(kafka, b"1")
    with Source(kafka.cluster, GROUP) as source:
        polled = take(source)
        (partition,) = polled.positions
        name = source.transactional_id(0 if of_first else partition)
        dead = Sender(kafka.cluster, {"transactional.id": name, "transaction.timeout.ms": 60_000})
        dead.producer.init_transactions(60)
        dead.producer.begin_transaction()
        dead.send(topic, [b"s"], [b"torn"])
        dead.producer.flush(60)
        at_ms = int(time.time() * 1000) + later_ms
        commit(source, polled, at_ms)
    count_as_committed(kafka, name)
    kafka.kill()
    kafka.start()
    return [partition]


@pytest.mark.parametrize(
    ("topic", "of_first"),
    [(names.BEATS, True), (names.AUDIT, True), pytest.param(names.BEATS, False, marks=pytest.mark.slow)],
)
def test_a_successor_commits_a_tick_that_counts_as_published(kafka, monkeypatch, topic, of_first):
    monkeypatch.setattr(torn, "_TICK_MS", 60_000)  # whatever else the machine does
    partition = leave_torn(kafka, of_first=of_first, later_ms=100, topic=topic)
    found = find_torn(kafka.cluster, GROUP, names.SAMPLES, [topic])
    assert [(at.partition, at.published) for at in found] == [(*partition, True)]
    send(kafka, b"2")
    with Source(kafka.cluster, GROUP) as source, Sink(kafka.cluster) as sink:
        polled = take(source)
        sink.publish(beats(b"2"), positions_after(polled), source, polled.epoch)
    after = [b"2"] if topic == names.BEATS else []
    assert [v for _, v in read_to_end(kafka.cluster, topic, timeout_s=10) if v] == [b"torn", *after]


def test_what_a_successor_has_published_behind_it_does_not_publish_an_aborted_tick(kafka, monkeypatch):
    monkeypatch.setattr(torn, "_TICK_MS", 500)
    monkeypatch.setattr(torn, "_LONG_MS", 3_600_000)
    leave_torn(kafka, of_first=True, later_ms=-60_000)
    send(kafka, b"2")
    with Source(kafka.cluster, GROUP) as source, Sender(kafka.cluster, {"transactional.id": "successor"}) as successor:
        polled = take(source)
        successor.producer.init_transactions(60)
        successor.producer.begin_transaction()
        (outgoing,) = beats(b"again")
        successor.send(outgoing.topic, outgoing.keys, outgoing.values)
        successor.producer.commit_transaction(60)
        at_ms = int(time.time() * 1000)
        commit(source, polled, at_ms)
    assert find_torn(kafka.cluster, GROUP, names.SAMPLES, [names.BEATS]) == []
    monkeypatch.setattr(torn, "_LONG_MS", 1_000)
    assert [at.published for at in find_torn(kafka.cluster, GROUP, names.SAMPLES, [names.BEATS])] == [False]


@pytest.mark.slow  # waits for as long as transactions last
def test_what_the_broker_had_aborted_is_ended_for_readers_after_longer_than_transactions_last(kafka, monkeypatch):
    monkeypatch.setattr(torn, "_LONG_MS", 5_000)
    partition = leave_torn(kafka, of_first=False, later_ms=-1000)
    time.sleep(5)
    with Source(kafka.cluster, GROUP) as source, Sink(kafka.cluster) as sink:
        while not source.assigned:
            source.take(0.1)
        found = find_torn(kafka.cluster, GROUP, names.SAMPLES, [names.BEATS])
        assert [(at.partition, at.published) for at in found] == [(*partition, False)]
        sink.end_open_transactions(source)
    assert [v for _, v in read_to_end(kafka.cluster, names.BEATS, timeout_s=20) if v] == []
