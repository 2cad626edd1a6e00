"""Senders without a broker: which errors pass, and what is left of a sender that nobody uses any more."""

import gc
import weakref

import pytest
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local.mock import MockKafka
from beatwire.kafka.publishing.live_sender import LiveSender
from beatwire.kafka.publishing.sender import Sender
from beatwire.wire import names
from confluent_kafka import KafkaError, TopicPartition

NOWHERE = Cluster("127.0.0.1:1")


class Refused:
    def topic(self) -> str:
        return names.BEATS


@pytest.mark.parametrize("kind", [Sender, LiveSender])
def test_a_sender_that_is_not_used_any_more_frees_its_client_at_once(kind):
    """Each client has thread-local storage of its own, of which a process has a thousand; cycles are collected late."""
    gc.disable()
    try:
        sender = kind(NOWHERE)
        sender.close()
        left = weakref.ref(sender)
        del sender
        assert left() is None
    finally:
        gc.enable()


def test_a_sender_keeps_nothing_of_keys_whose_messages_have_arrived():
    with MockKafka() as kafka, LiveSender(kafka.cluster) as sender:
        for number in range(50):
            sender.send(names.SAMPLES, [b"bed-%d" % number], [b"x"])
        sender.flush()
        assert sender._waiting == {}


@pytest.mark.parametrize(
    ("code", "is_permanent"),
    [
        (KafkaError.CONCURRENT_TRANSACTIONS, False), (KafkaError.INVALID_TXN_STATE, False), (74, False), (89, False),
        (KafkaError.MSG_SIZE_TOO_LARGE, True), (KafkaError.INVALID_RECORD, True),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, True),
    ],
)  # fmt: skip
def test_only_an_error_that_would_come_again_is_permanent(code, is_permanent):
    with Sender(NOWHERE) as sender:
        sender._on_delivery(KafkaError(code), Refused())
        assert sender.refused.startswith("ecg.beats: ")
        assert sender.is_permanent is is_permanent
        sender._failed = 0


def test_marks_wait_for_room_in_the_buffer_as_messages_do():
    with MockKafka() as kafka:
        with Sender(kafka.cluster, {"queue.buffering.max.messages": 2, "linger.ms": 1}) as sender:
            sender.mark({names.BEATS: [0, 1, 2, 3, 0, 1, 2, 3]})
        partitions = [TopicPartition(kafka.cluster.topic(names.BEATS), number) for number in range(4)]
        consumer = kafka.cluster.consumer({"group.id": "marks"})
        assert [consumer.get_watermark_offsets(one, timeout=10)[1] for one in partitions] == [2, 2, 2, 2]
        consumer.close()


@pytest.mark.parametrize(("properties", "size"), [({}, 1_000_000), ({"batch.size": "20000"}, 20_000)])
def test_a_message_that_is_too_large_names_the_size_of_batches(properties, size):
    """The broker compares the batch with max.message.bytes, not the message."""
    with Sender(Cluster("127.0.0.1:1", properties)) as sender:
        sender._on_delivery(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), Refused())
        assert f"(batch.size is {size}: max.message.bytes of the topic has to be more)" in sender.refused
        sender._failed = 0
