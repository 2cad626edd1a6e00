"""A tick that the broker has committed in some partitions only is committed everywhere by a successor."""

import struct
import time

import pytest
from beatwire.kafka.consuming.batch import PolledTick
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.publishing import torn, transactions
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.publishing.sink import Sink
from beatwire.kafka.publishing.tick_transaction import TickTransaction
from beatwire.kafka.publishing.torn import find_torn
from beatwire.kafka.publishing.transactions import Transactions
from beatwire.kafka.reading.readers import read_to_end
from beatwire.records import Outgoing
from beatwire.wire import names
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from kafka_messages import beats, positions_after, send, take
from moments import wait_until

pytestmark = pytest.mark.kafka

GROUP = "g"
OTHER_KEY = b"alert 1"  # of another partition than the stream: an alert is published under its id
STATES = "__transaction_state"
STATUS = 2 + 8 + 2 + 4  # place of the status in a record: after version, producer id, epoch and timeout
ONGOING, COMPLETE_COMMIT = 1, 4


@pytest.fixture(autouse=True)
def open_for_long(monkeypatch):
    """A machine may take long to come to the kill of the broker."""
    monkeypatch.setattr(transactions, "OPEN_S", 60.0)


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


def leave_torn(kafka, *, of_first: bool, published: bool, topic: str = names.BEATS, apart_s: float = 0) -> list[int]:
    """Leave a message of the output open, in whose transaction the input was committed, or not; return its partition.

    The transactional id is that of partition 0, or of the partition of the input. The time of the tick differs from
    that of this machine by so much; 0: the message has none.
    """
    send(kafka, b"1")
    with Source(kafka.cluster, GROUP) as source:
        polled = take(source)
        (partition,) = polled.positions
        name = source.transactional_id(0 if of_first else partition)
        key = b"s" if topic != names.ALERTS else OTHER_KEY
        dead = TickTransaction(Transactions(kafka.cluster, name), source)
        at_us = round((time.time() + apart_s) * 1e6) if apart_s else 0
        dead.send([Outgoing(topic, [key], [b"torn"], at_us=at_us)])
        dead.transactions.sender.producer.flush(60)
        commit(source, polled, dead._begun_ms - (not published))
    count_as_committed(kafka, name)
    kafka.kill()
    kafka.start()
    return [partition]


@pytest.mark.parametrize(
    ("topic", "of_first", "apart_s"),
    [
        (names.AUDIT, True, 0),
        (names.ALERTS, False, -190),
        pytest.param(names.BEATS, False, 0, marks=pytest.mark.slow),
        pytest.param(names.ALERTS, True, 190, marks=pytest.mark.slow),
    ],
)
def test_a_successor_commits_a_tick_that_counts_as_published(kafka, topic, of_first, apart_s):
    (partition,) = leave_torn(kafka, of_first=of_first, published=True, topic=topic, apart_s=apart_s)
    found = find_torn(kafka.cluster, GROUP, names.SAMPLES, [topic])
    assert [at.published for at in found] == [True]
    assert (found[0].partition == partition) is (topic != names.ALERTS)
    send(kafka, b"2")
    with Source(kafka.cluster, GROUP) as source, Sink(kafka.cluster) as sink:
        polled = take(source)
        sink.publish(beats(b"2"), positions_after(polled), source, polled.epoch)
    after = [b"2"] if topic == names.BEATS else []
    assert [v for _, v in read_to_end(kafka.cluster, topic, timeout_s=10) if v] == [b"torn", *after]


def test_what_a_successor_has_published_behind_it_does_not_publish_an_aborted_tick(kafka, monkeypatch):
    monkeypatch.setattr(torn, "_LONG_MS", 3_600_000)
    leave_torn(kafka, of_first=True, published=False)
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
    partition = leave_torn(kafka, of_first=False, published=False)
    time.sleep(5)
    with Source(kafka.cluster, GROUP) as source, Sink(kafka.cluster) as sink:
        while not source.assigned:
            source.take(0.1)
        found = find_torn(kafka.cluster, GROUP, names.SAMPLES, [names.BEATS])
        assert [(at.partition, at.published) for at in found] == [(*partition, False)]
        sink.end_open_transactions(source)
    assert [v for _, v in read_to_end(kafka.cluster, names.BEATS, timeout_s=20) if v] == []
