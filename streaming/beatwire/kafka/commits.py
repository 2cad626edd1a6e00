"""What a group has committed, asked by one who is no member of it.

By a consumer that never joins: an admin client that asks for a group's offsets while the broker starts may end the
process, by a null pointer where the coordinator moves and by an assertion where an answer comes late (librdkafka
2.16; three processes that asked all the while died ten times in eight starts of a broker).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from confluent_kafka import Consumer, KafkaException, TopicPartition

from beatwire.errors import FatalError
from beatwire.kafka import topics
from beatwire.wire import names

_UNSETTLED_S = 2.0


def group_lag(bootstrap: str, group: str, topic: str = names.SAMPLES, *, timeout_s: float = 10.0) -> int:
    """Count the messages of `topic` that `group` has not committed yet: what flow control looks at.

    Raises
    ------
    FatalError
        The broker does not answer.
    """
    ends = topics.ends_of(bootstrap, topic, timeout_s=timeout_s)
    commits = commits_of(bootstrap, group, topic, ends, timeout_s=timeout_s)
    return sum(end - commits.get(partition, 0) for partition, end in ends.items())


def commits_of(
    bootstrap: str, group: str, topic: str, partitions: Iterable[int], *, timeout_s: float = 10.0
) -> dict[int, int]:
    """Return partition -> what `group` has committed, 0 where nothing; a transaction under way changes nothing.

    Raises
    ------
    FatalError
        The broker does not answer.
    """
    asked = [TopicPartition(topic, p) for p in partitions]
    with _onlooker(bootstrap, group, "read_uncommitted") as consumer:
        return topics.answered(
            lambda: {at.partition: max(at.offset, 0) for at in _committed(consumer, asked, timeout_s)},
            f"the commits of {group!r} at {bootstrap}",
            timeout_s,
        )


def is_unsettled(bootstrap: str, group: str, topic: str, partitions: Iterable[int], *, timeout_s: float = 5.0) -> bool:
    """Say whether commits of `group` on `partitions` wait for the end of a transaction.

    Then the broker says where they stand without what is under way, and does not say where they stand with it.
    """
    asked = [TopicPartition(topic, p) for p in partitions]
    try:
        commits_of(bootstrap, group, topic, [at.partition for at in asked], timeout_s=timeout_s)
    except FatalError:
        return False
    with _onlooker(bootstrap, group, "read_committed") as consumer:
        try:
            _committed(consumer, asked, _UNSETTLED_S)
        except KafkaException:
            return True
    return False


@contextmanager
def _onlooker(bootstrap: str, group: str, isolation: str) -> Iterator[Consumer]:
    """Open a consumer that can ask on behalf of a group and does nothing else."""
    consumer = Consumer(
        topics.quiet(bootstrap, {"group.id": group, "enable.auto.commit": False, "isolation.level": isolation})
    )
    try:
        yield consumer
    finally:
        consumer.close()


def _committed(consumer: Consumer, asked: list[TopicPartition], timeout_s: float) -> list[TopicPartition]:
    """Return what the group of a consumer has committed.

    Raises
    ------
    KafkaException
        No answer in time, or of a partition an error.
    """
    found = consumer.committed(asked, timeout=timeout_s)
    for at in found:
        if at.error is not None:
            raise KafkaException(at.error)
    return found
