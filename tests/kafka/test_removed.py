"""Whether topics have lost messages, by what a stand-in for brokers states of them."""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from beatwire.kafka.reading.removed import Removed
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec
from hypothesis import given
from hypothesis import strategies as st

TOPICS = ("icu.a", "icu.b")


class Topic:
    """A topic at the broker: its id, and begin and end of each partition."""

    made = 0

    def __init__(self) -> None:
        Topic.made += 1
        self.topic_id, self.logs = f"id-{Topic.made}", [[0, 0], [0, 0]]


class Brokers:
    """States topics; also the cluster, of which the topics have a prefix."""

    def __init__(self) -> None:
        self.topics: dict[str, Topic] = {name: Topic() for name in TOPICS}
        self.early: set[tuple[str, int]] = set()  # partitions whose end is stated as 0 once
        self.away = False

    def topic(self, name: str) -> str:
        return f"icu.{name}"

    def name(self, topic: str) -> str:
        return topic.removeprefix("icu.")

    def admin(self) -> "Brokers":
        return self

    def list_topics(self, timeout: float) -> SimpleNamespace:
        if self.away:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return SimpleNamespace(
            topics={name: SimpleNamespace(partitions=range(len(one.logs))) for name, one in self.topics.items()}
        )

    def describe_topics(self, asked: Any, request_timeout: float) -> dict[str, Future[Any]]:
        return {name: done(None if self.away else self.topics.get(name)) for name in TOPICS}

    def list_offsets(self, asked: dict[TopicPartition, OffsetSpec], request_timeout: float) -> dict[Any, Future[Any]]:
        return {at: self._stated(at, spec) for at, spec in asked.items()}

    def _stated(self, at: TopicPartition, spec: OffsetSpec) -> "Future[Any]":
        begin, end = self.topics[at.topic].logs[at.partition]
        if spec._value == OffsetSpec.earliest()._value:
            return done(SimpleNamespace(offset=begin))
        if (at.topic, at.partition) in self.early:
            self.early.remove((at.topic, at.partition))
            return done(SimpleNamespace(offset=0))
        return done(SimpleNamespace(offset=end))


def done(answer: Any) -> "Future[Any]":
    future = Future[Any]()
    if answer is None:
        future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
    else:
        future.set_result(answer)
    return future


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


EVENTS = st.tuples(
    st.sampled_from(["write", "anew", "delete", "cut", "early", "partition", "gone", "away"]),
    st.sampled_from(TOPICS),
    st.integers(0, 1),
    st.integers(1, 9),
)


@given(st.lists(EVENTS, max_size=40))
def test_topics_that_lost_messages_are_those_that_were_made_anew_emptied_or_cut(
    events: list[tuple[str, str, int, int]],
) -> None:
    brokers = Brokers()
    removed = Removed(brokers, ["a", "b"])  # type: ignore[arg-type]
    removed.look()
    gone: dict[str, str] = {}
    for what, name, partition, count in events:
        expected: set[str] = set()
        if what == "gone":
            gone.setdefault(name, brokers.topics.pop(name, Topic()).topic_id)
        elif what == "anew" or name not in brokers.topics:
            brokers.topics[name] = Topic()
            brokers.topics[name].logs[partition][1] = count * 10
            gone.pop(name, None)
            expected = {brokers.name(name)}
        else:
            log = brokers.topics[name].logs[partition]
            if what == "write":
                log[1] += count
            elif what == "delete" and log[1] > log[0]:
                log[0] = min(log[0] + count, log[1])
                expected = {brokers.name(name)}
            elif what == "cut" and log[1] > log[0]:
                log[1] = max(log[0], log[1] - count)
                expected = {brokers.name(name)}
            elif what == "early":
                brokers.early.add((name, partition))
            elif what == "partition":
                brokers.topics[name].logs.append([0, count])
            brokers.away = what == "away"
        removed.look()
        brokers.away = False
        removed.look()
        removed.look()
        assert removed.take() == expected, what
        assert removed.take() == set()


def test_what_the_client_has_in_place_of_an_answer_is_no_loss(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers.topics["icu.a"].logs[0] = [3, 9]
    removed = Removed(brokers, ["a"])  # type: ignore[arg-type]
    removed.look()
    monkeypatch.setattr(Brokers, "_stated", lambda *_: done(SimpleNamespace(offset=OFFSET_INVALID)))
    for _ in range(3):
        removed.look()
    assert removed.take() == set()
