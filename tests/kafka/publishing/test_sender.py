"""Senders without a broker: which errors pass, and what is left of a sender that nobody uses any more."""

import gc
import weakref
from functools import partial

import pytest
from beatwire.errors import FatalError, UserError
from beatwire.kafka.cluster import DENIED, Cluster
from beatwire.kafka.local.mock import MockKafka
from beatwire.kafka.publishing.live_sender import LiveSender
from beatwire.kafka.publishing.sender import Sender
from beatwire.wire import names
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from hypothesis import given
from hypothesis import strategies as st

NOWHERE = Cluster("127.0.0.1:1")


class Refused:
    def __init__(self, topic: str = names.BEATS) -> None:
        self._topic = topic

    def topic(self) -> str:
        return self._topic


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


PASSES = (KafkaError.CONCURRENT_TRANSACTIONS, KafkaError.INVALID_TXN_STATE, 74, 89, KafkaError._PURGE_QUEUE)
COMES_AGAIN = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_RECORD, KafkaError.TOPIC_AUTHORIZATION_FAILED)


@given(st.lists(st.tuples(st.sampled_from(names.OUTPUT), st.sampled_from(PASSES + COMES_AGAIN)), min_size=1))
def test_what_is_said_of_refused_messages_is_the_first_that_would_be_refused_again_else_the_last(refusals):
    sender = Sender(NOWHERE)
    for topic, code in refusals:
        sender._on_delivery(KafkaError(code), Refused(topic))
    of_broker = [one for one in refusals if one[1] > 0]
    again = [one for one in refusals if one[1] in COMES_AGAIN]
    topic, code = (again[:1] or of_broker[-1:] or [("", 0)])[0]
    assert sender.is_permanent is bool(again)
    assert sender.refused.partition(":")[0] == topic
    with pytest.raises(
        UserError if code == KafkaError.TOPIC_AUTHORIZATION_FAILED else FatalError, match=topic or "kafka"
    ):
        sender.check()
    sender.close()


class Denied:
    """A client that may not produce; of one that has ended, a poll says why."""

    def __init__(self, code: int, *, ended: bool) -> None:
        self._code, self._ended = code, ended

    def produce(self, *_: object, **__: object) -> None:
        raise KafkaException(KafkaError(KafkaError._FATAL if self._ended else self._code))

    def poll(self, _: float = -1) -> int:
        if self._ended:
            raise KafkaException(KafkaError(self._code))
        return 0

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("headers", [None, []])
@pytest.mark.parametrize("kind", [Sender, LiveSender])
@given(before=st.sampled_from((0, *PASSES)), code=st.sampled_from(sorted(DENIED)))
def test_a_right_that_a_client_lacks_names_the_topic_that_it_is_about_or_all(kind, headers, ended, before, code):
    sender = kind(NOWHERE)
    sender.producer.close()
    if before:
        sender._on_delivery(KafkaError(before), Refused(names.ALERTS))
    sender.producer = Denied(code, ended=ended)
    is_of_topic = code == KafkaError.TOPIC_AUTHORIZATION_FAILED and (not ended or kind is Sender)
    send = sender.send if headers is None else partial(sender.send_with_headers, headers=[headers])
    with pytest.raises(UserError, match=f"write to {names.BEATS if is_of_topic else 'any topic'} at"):
        send(names.BEATS, [b"bed"], [b"x"])


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
