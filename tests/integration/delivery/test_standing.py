"""One partition of which nothing more is received: the others are read to their ends, and a line names it."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import client, standing
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.local.broker import LocalKafka
from beatwire.kafka.publishing.sender import Sender
from beatwire.wire import names
from confluent_kafka import KafkaError
from kafka_messages import abort_messages, send, take

pytestmark = pytest.mark.kafka

STILL, FLOWING = 0, 1  # partitions


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(standing, "SAID_S", 4.0)
    caplog.set_level(logging.WARNING, "beatwire")


@contextmanager
def flowing(cluster: Cluster) -> Iterator[None]:
    """Send a message to one partition every 50 ms."""
    stop = threading.Event()

    def feed() -> None:
        with Sender(cluster) as sender:
            while not stop.wait(0.05):
                sender.producer.produce(names.SAMPLES, b"x", b"s", FLOWING)
                sender.producer.poll(0)

    thread = threading.Thread(target=feed)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def said(caplog: pytest.LogCaptureFixture, event: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.__dict__.get("event") == event]


def stands(source: Source) -> bool:
    """Return whether the next tick with messages is caught up, but for the partition that stands still."""
    tick = take(source).tick
    return tick.caught_up and tick.held == {STILL}


def is_covered(source: Source) -> bool:
    tick = take(source).tick
    return tick.caught_up and not tick.held


@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_in_one_partition_does_not_keep_the_others_from_their_ends(kafka, caplog, wait, committed):
    gateway = kafka.cluster.producer({"transactional.id": "gateway", "transaction.timeout.ms": 60_000})
    gateway.init_transactions(60)
    with flowing(kafka.cluster), Source(kafka.cluster, "g") as source:
        wait(lambda: is_covered(source))
        gateway.begin_transaction()
        for _ in range(5):
            gateway.produce(names.SAMPLES, b"lost", b"gateway", STILL)
        gateway.flush(60)
        if not committed:
            gateway.abort_transaction(60)
        wait(lambda: stands(source))
        wait(lambda: take(source) and said(caplog, "stands still"))
        assert said(caplog, "stands still")[0].startswith(
            f"partition {STILL} of ecg.samples stands still at offset 0 and ends at {5 if committed else 6}"
        )
        assert not said(caplog, "goes on")
        if committed:
            gateway.commit_transaction(60)
        else:
            gateway.begin_transaction()
            gateway.produce(names.SAMPLES, b"next", b"gateway", STILL)
            gateway.commit_transaction(60)
        wait(lambda: is_covered(source) and said(caplog, "goes on"))
        assert source.epoch == 1
    assert len(said(caplog, "stands still")) == len(said(caplog, "goes on")) == 1


def test_an_aborted_transaction_at_the_end_of_a_silent_log_is_nothing_that_is_not_received(kafka, monkeypatch):
    monkeypatch.setattr(client, "_SILENCE_S", 0.3)
    send(kafka, b"1")
    with Source(kafka.cluster, "g") as source:
        take(source)
        abort_messages(kafka.cluster, STILL)
        looked, end_offsets = list[bool](), topics.end_offsets
        monkeypatch.setattr(topics, "end_offsets", lambda *at, **how: looked.append(True) or end_offsets(*at, **how))
        while len(looked) < 4:
            source.take(0.1)
        assert source.epoch == 1, "its client was replaced"


def test_a_replay_ends_where_nothing_more_comes_before_its_commit(kafka, wait):
    """As where a log was cut behind the end of a transaction: that has an offset, and is received by nobody."""
    gateway = kafka.cluster.producer({"transactional.id": "gateway", "transaction.timeout.ms": 60_000})
    gateway.init_transactions(60)
    gateway.begin_transaction()
    for _ in range(5):
        gateway.produce(names.SAMPLES, b"x", b"gateway", STILL)
    gateway.commit_transaction(60)
    with Source(kafka.cluster, "g") as source:
        take(source)
        source.commit({STILL: Position(6, 2)})
        wait(lambda: source.take(0.05) and source.committed([STILL]) == {STILL: 6})
    with Source(kafka.cluster, "g") as source:
        replayed = take(source)
        assert replayed.replay
        assert replayed.positions == {STILL: 5}
        with flowing(kafka.cluster):
            assert not take(source, within_s=20).replay


# Of the batch before the key of its first record: what is overwritten, where, and the error that is received.
LENGTHS = (8, b"\xff" * 6, [])
COMPRESSION = (45, b"\x01", [KafkaError._BAD_COMPRESSION])


@pytest.mark.parametrize(
    "damage", [LENGTHS, pytest.param(COMPRESSION, marks=pytest.mark.slow)], ids=["lengths", "compression"]
)
def test_a_batch_that_cannot_be_read_does_not_keep_the_others_from_their_ends(need_kafka, caplog, wait, damage):
    before, what, expected = damage

    def damaged(answer: bytes) -> bytes:
        at = answer.find(b"bed-bad") - before
        return answer if at < 0 else answer[:at] + what + answer[at + len(what) :]

    with (
        LocalKafka(partitions=2, behind_network=True) as kafka,
        flowing(kafka.cluster),
        Source(kafka.cluster, "g") as source,
    ):
        wait(lambda: is_covered(source))
        kafka.network.alter = damaged
        with Sender(kafka.cluster) as sender:
            for _ in range(3):
                sender.producer.produce(names.SAMPLES, b"x" * 200, b"bed-bad", STILL)
        wait(lambda: stands(source))
        wait(lambda: take(source) and said(caplog, "stands still"))
        kafka.network.alter = None
        wait(lambda: is_covered(source) and said(caplog, "goes on"))
    fields = [record.__dict__["fields"] for record in caplog.records if "code" in record.__dict__.get("fields", {})]
    assert fields == [{"partition": STILL, "code": code} for code in expected]
