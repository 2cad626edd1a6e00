"""A topic that is deleted and created anew under a reader is read from its beginning, however fast it grows."""

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local.broker import LocalKafka
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.reading import follower as following
from beatwire.kafka.reading.follower import BEGINNING, Follower
from beatwire.wire import names
from confluent_kafka import KafkaException, TopicCollection, TopicPartition
from confluent_kafka.cimpl import NewTopic
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


def test_a_broker_that_states_an_end_too_early_once_is_read_to_its_end(kafka: LocalKafka) -> None:
    """One that was killed does so after its start: the end is 0 for a moment."""
    with Follower(kafka.cluster, {TOPIC: BEGINNING}, ends=True) as follower:
        create(kafka.cluster, 1)
        for word in ("old", "older"):
            send(kafka.cluster, word, OLD)
            read(follower, word, OLD)
            wait_until(lambda: is_read(follower), 30)
            wait_until(lambda: lowered(follower), 30)
            wait_until(lambda: is_read(follower), 30)
        create(kafka.cluster, 1)
        send(kafka.cluster, "new", 3 * OLD)
        read(follower, "new", 3 * OLD)


def is_read(follower: Follower) -> bool:
    follower.records(0.05)
    ends = follower.ends()
    return ends is not None and follower.has_read(ends)


def lowered(follower: Follower) -> bool:
    """Have the follower request ends, of which the broker states 0; return True if it did."""

    class Starting:
        def list_offsets(self, asked: list[TopicPartition], **_: object) -> dict[TopicPartition, Future[object]]:
            answers = {at: Future[object]() for at in asked}
            for answer in answers.values():
                answer.set_result(SimpleNamespace(offset=0))
            return answers

    before, follower._admin = follower._admin, Starting()
    answered = follower.ends()
    follower._admin = before
    return answered is not None


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
    with Sender(cluster) as sender:
        sender.send(TOPIC, [b"k"] * n, [f"{word} {i}".encode() for i in range(n)])


def read(follower: Follower, word: str, n: int) -> None:
    """Read until all `n` messages of that word are there."""
    missing = {f"{word} {i}" for i in range(n)}

    def is_complete() -> bool:
        for record in follower.records(0.05):
            missing.discard((record.value or b"").decode())
        return not missing

    wait_until(is_complete, 30)
