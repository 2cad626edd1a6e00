"""A topic that is deleted and created anew under a reader is read from its beginning, however fast it grows."""

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from beatwire.errors import FatalError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local.broker import LocalKafka
from beatwire.kafka.reading import follower as following
from beatwire.kafka.reading.follower import BEGINNING, Follower
from beatwire.kafka.reading.readers import read_active_alerts
from beatwire.wire import names
from confluent_kafka import OFFSET_INVALID, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.cimpl import NewTopic
from kafka_messages import quick_sender
from moments import wait_until

pytestmark = pytest.mark.kafka

OLD, TOPIC = 20, names.ACKS


@pytest.mark.parametrize("partitions", [1, 3, 6])
def test_a_topic_that_outgrows_the_old_position_at_once_is_read_from_its_beginning(
    kafka: LocalKafka, monkeypatch: pytest.MonkeyPatch, partitions: int
) -> None:
    monkeypatch.setattr(following, "_DISCOVERY_S", 0.05)
    with Follower(kafka.cluster, {TOPIC: BEGINNING, names.ALERTS: BEGINNING}, ends=True) as follower:
        create(kafka.cluster, 3)
        send(kafka.cluster, "old", OLD)
        read(follower, "old", OLD)
        assigned = [TopicPartition(TOPIC, p) for p in range(3)]
        follower._consumer.pause(assigned)  # as if it requested nothing between the deletion and the growth
        create(kafka.cluster, partitions)
        send(kafka.cluster, "new", 3 * OLD)
        follower._consumer.resume(assigned)
        read(follower, "new", 3 * OLD)
        send(kafka.cluster, "later", OLD)
        read(follower, "later", OLD)

        def are_known() -> bool:
            follower.records(0.05)
            return {p for name, p in follower.ends() or () if name == TOPIC} == set(range(partitions))

        wait_until(are_known, 60)


def test_a_topic_created_anew_is_not_read_to_its_end_by_the_old_position(kafka: LocalKafka) -> None:
    with Follower(kafka.cluster, {TOPIC: BEGINNING}, ends=True) as follower:
        create(kafka.cluster, 1)
        send(kafka.cluster, "old", OLD)
        read(follower, "old", OLD)
        create(kafka.cluster, 1)
        send(kafka.cluster, "new", 5)
        found: set[str] = set()

        def is_read() -> bool:
            ends = follower.ends()
            if ends is not None and follower.has_read(ends):
                return True
            found.update(str(record.value) for record in follower.records(0.05))
            return False

        wait_until(is_read, 60)
        assert found >= {str(f"new {n}".encode()) for n in range(5)}


@pytest.mark.parametrize("end", [0, OFFSET_INVALID])
def test_an_end_that_is_stated_wrongly_once_does_not_keep_a_reader_from_the_end(kafka: LocalKafka, end: int) -> None:
    with Follower(kafka.cluster, {TOPIC: BEGINNING}, ends=True) as follower:
        create(kafka.cluster, 1)
        for word in ("old", "older"):
            send(kafka.cluster, word, OLD)
            read(follower, word, OLD)
            wait_until(lambda: is_read(follower), 30)
            at = dict(follower._at)
            assert (states(follower, end) is None) == (end == OFFSET_INVALID)
            assert (follower._at == at) == (end == OFFSET_INVALID)
            wait_until(lambda: is_read(follower), 30)
        create(kafka.cluster, 1)
        send(kafka.cluster, "new", 3 * OLD)
        read(follower, "new", 3 * OLD)


def test_what_the_client_has_in_place_of_an_answer_is_no_end_of_a_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty log of alerts would be adopted."""

    class Admin:
        def list_topics(self, topic: str, **_: object) -> SimpleNamespace:
            return SimpleNamespace(topics={topic: SimpleNamespace(partitions={0: None, 1: None})})

        def list_offsets(self, asked: list[TopicPartition], **_: object) -> dict[TopicPartition, Future[object]]:
            return answers(asked, {0: 5, 1: OFFSET_INVALID})

    monkeypatch.setattr(Cluster, "admin", lambda _: Admin())
    with pytest.raises(FatalError, match=f"expected the ends of {TOPIC} .*; got .*imed out"):
        topics.end_offsets(Cluster("nowhere"), TOPIC)
    with pytest.raises(FatalError):
        read_active_alerts(Cluster("nowhere"))


def is_read(follower: Follower) -> bool:
    follower.records(0.05)
    ends = follower.ends()
    return ends is not None and follower.has_read(ends)


def states(follower: Follower, end: int) -> object:
    """Return what the follower makes of an answer that has such an end for all partitions."""

    class Starting:
        def list_offsets(self, asked: list[TopicPartition], **_: object) -> dict[TopicPartition, Future[object]]:
            return answers(asked, dict.fromkeys((at.partition for at in asked), end))

    before, follower._admin = follower._admin, Starting()
    stated = follower.ends()
    follower._admin = before
    return stated


def answers(asked: list[TopicPartition], offsets: dict[int, int]) -> dict[TopicPartition, Future[object]]:
    found = {at: Future[object]() for at in asked}
    for at, future in found.items():
        future.set_result(SimpleNamespace(offset=offsets[at.partition]))
    return found


def create(cluster: Cluster, partitions: int) -> None:
    """Delete the topic and create it anew; return when the broker answers with the new one."""
    admin = cluster.admin()

    def identity() -> str | None:
        try:
            return str(admin.describe_topics(TopicCollection([TOPIC]))[TOPIC].result(60).topic_id)
        except KafkaException:
            return None

    def is_created() -> bool:
        try:
            admin.create_topics([NewTopic(TOPIC, partitions, 1)])[TOPIC].result(60)
        except KafkaException:
            return False
        return True

    before = identity()
    admin.delete_topics([TOPIC])[TOPIC].result(60)
    wait_until(is_created, 60)
    wait_until(lambda: identity() not in {None, before}, 60)


def send(cluster: Cluster, word: str, n: int) -> None:
    with quick_sender(cluster) as sender:
        sender.send(TOPIC, [b"k"] * n, [f"{word} {i}".encode() for i in range(n)])


def read(follower: Follower, word: str, n: int) -> None:
    """Read until all `n` messages of that word are there."""
    missing = {f"{word} {i}" for i in range(n)}

    def is_complete() -> bool:
        for record in follower.records(0.05):
            missing.discard((record.value or b"").decode())
        return not missing

    wait_until(is_complete, 30)
