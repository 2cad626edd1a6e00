"""Transactions that the broker has left open: detected in the source, ended by the sink."""

import time
from contextlib import closing, contextmanager
from types import SimpleNamespace

import pytest
from beatwire.kafka.consuming import commits
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.publishing.sink import Sink
from beatwire.kafka.publishing.transactions import Transactions
from beatwire.kafka.reading.readers import read_to_end
from beatwire.wire import names
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from kafka_messages import beats, positions_after, send, take, values_in

pytestmark = pytest.mark.kafka


@contextmanager
def one_published(kafka):
    """Yield a source, a sink and positions after one message was sent, polled and published."""
    send(kafka, b"1")
    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        polled = take(source)
        positions = positions_after(polled)
        sink.publish(beats(b"1"), positions, source, polled.epoch)
        yield source, sink, positions


def left_open(kafka, source, positions, topic, value):
    """Return a producer with an open transaction, as a killed member leaves it: the broker aborts it a minute later."""
    properties = {"transactional.id": source.transactional_id(min(source.assigned)), "transaction.timeout.ms": 60_000}
    dead = Sender(kafka.cluster, properties)
    dead.producer.init_transactions(60)
    dead.producer.begin_transaction()
    dead.send(topic, [b"s"], [value])
    dead.producer.flush(60)
    offsets = source.offsets({p: Position(at.offset + 1, at.offset) for p, at in positions.items()})
    dead.producer.send_offsets_to_transaction(offsets, source.group_metadata, 60)
    return dead


def test_what_a_killed_member_has_left_open_is_ended_by_whoever_has_its_partitions(kafka):
    with one_published(kafka) as (source, _, positions):
        dead = left_open(kafka, source, positions, names.BEATS, b"lost")
    send(kafka, b"2")
    began_s = time.monotonic()
    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        polled = None
        while polled is None or not polled.positions:
            polled = source.take(0.05)
            if polled is None and (pending := source.take_pending()):
                sink.end_pending_transactions(pending, source)
            assert time.monotonic() - began_s < 45  # the broker ends it after a minute
        sink.end_open_transactions(source)
        assert polled.positions == {p: at.offset + 1 for p, at in positions.items()}
        sink.publish(beats(b"2"), positions_after(polled), source, polled.epoch)
    assert values_in(kafka, names.BEATS) == [b"1", b"2"]
    dead.close()


@pytest.mark.parametrize("pending", [False, True], ids=["for the alerts", "for commits"])
def test_a_sink_whose_producer_was_fenced_ends_what_is_open_with_a_new_one(kafka, pending):
    with one_published(kafka) as (source, sink, positions):
        other = left_open(kafka, source, positions, names.ALERTS, b"{}")
        if pending:
            for _ in range(2):  # the first attempt finds out
                sink.end_pending_transactions([TopicPartition(names.SAMPLES, p) for p in source.assigned], source)
        else:
            sink.end_open_transactions(source)
        assert [value for _, value in read_to_end(kafka.cluster, names.ALERTS, timeout_s=30) if value] == []
        assert not commits.has_pending_commits(kafka.cluster, "g", names.SAMPLES, positions)
        other.close()


def test_pending_commits_are_detected_and_ending_a_transaction_of_ours_changes_no_commit(kafka, wait):
    with one_published(kafka) as (source, sink, positions):
        with Sender(kafka.cluster, {"transactional.id": "other", "transaction.timeout.ms": 60_000}) as other:
            other.producer.init_transactions(60)
            other.producer.begin_transaction()
            offsets = [TopicPartition(names.SAMPLES, p, 0) for p in positions]
            other.producer.send_offsets_to_transaction(offsets, source.group_metadata, 60)
            assert commits.has_pending_commits(kafka.cluster, "g", names.SAMPLES, positions)
            source.rewind()
            pending: list[TopicPartition] = []
            wait(lambda: source.take(0.05) is None and bool(pending.extend(source.take_pending()) or pending))
            sink.end_pending_transactions(pending, source)
            assert commits.has_pending_commits(
                kafka.cluster, "g", names.SAMPLES, positions
            )  # the transaction of the other is still open
            other.producer.abort_transaction(60)
        assert not commits.has_pending_commits(kafka.cluster, "g", names.SAMPLES, positions)
        send(kafka, b"2")
        assert take(source).positions == {p: at.offset + 1 for p, at in positions.items()}
        assert values_in(kafka, names.BEATS) == [b"1"]


def test_ending_a_pending_transaction_repeats_the_last_commit_even_if_other_partitions_are_pending(kafka, monkeypatch):
    with one_published(kafka) as (source, sink, positions):
        called: list[str] = []

        class Recorder:
            """The producer; records the names of the methods that are called."""

            def __getattr__(self, name: str):
                called.append(name)
                return getattr(producer, name)

        producer = sink._output.sender.producer
        with monkeypatch.context() as patched:
            patched.setattr(sink._output, "sender", SimpleNamespace(producer=Recorder()))
            sink.end_pending_transactions([TopicPartition(names.SAMPLES, p) for p in range(4)], source)
    assert called == ["begin_transaction", "send_offsets_to_transaction", "commit_transaction"]
    found = commits.committed_offsets(kafka.cluster, "g", names.SAMPLES, range(4))
    assert found == dict.fromkeys(range(4), 0) | {p: at.offset for p, at in positions.items()}


def test_a_producer_that_is_fenced_while_reports_of_its_messages_arrive_says_so(kafka):
    for k in range(3):
        old = Transactions(kafka.cluster, f"t-{k}")
        old.begin()
        old.sender.send(names.BEATS, [None], [b"1"])
        old.sender.producer.flush(60)
        with closing(Transactions(kafka.cluster, f"t-{k}")), closing(old):
            with pytest.raises(KafkaException) as caught:
                send_and_wait(old)
            error = caught.value.args[0]  # of a produce that finds it, librdkafka sets the code alone
            assert error.code() == KafkaError._FATAL or (error.fatal() and error.code() == KafkaError._FENCED)


def send_and_wait(transactions: Transactions) -> None:
    for n in range(300):
        transactions.sender.producer.produce((names.BEATS, names.ALERTS)[n % 2], b"2", None, n % 4)
    transactions.sender.producer.flush(60)
