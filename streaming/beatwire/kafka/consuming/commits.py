"""The commits of a consumer group, requested without joining it.

In: a cluster, a group, a topic. Out: committed offsets, and the number of messages behind them.

The requests are made by a consumer that never joins the group. An admin client that requests a group's offsets while
the broker starts may end the process: by a null pointer when the coordinator moves, and by an assertion when an answer
comes late (librdkafka 2.16; three processes that repeated the request ended ten times in eight starts of a broker).
"""

from collections.abc import Iterable
from typing import Self

from confluent_kafka import Consumer, KafkaException, TopicPartition

from beatwire.errors import FatalError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.positions import Position, is_monitors
from beatwire.wire import names

_ANSWER_S = 2.0  # commits that are not in a transaction are answered within milliseconds
PENDING_S = 180.0  # longer than any transaction timeout: the broker will not end the transaction by itself


def as_commit(topic: str, partition: int, at: Position) -> TopicPartition:
    """Return a position as confluent-kafka commits it."""
    return TopicPartition(topic, partition, at.offset, at.metadata, -1 if at.leader is None else at.leader)


def as_position(commit: TopicPartition) -> Position | None:
    """Return the position that confluent-kafka's commit contains; None: the group has none there."""
    return Position.from_commit(commit.offset, commit.metadata, commit.leader_epoch) if commit.offset >= 0 else None


def group_lag(cluster: Cluster, group: str, topic: str = names.SAMPLES, *, timeout_s: float = 10.0) -> int:
    """Count the messages of a topic that a group has not committed.

    Raises
    ------
    FatalError
        The broker does not answer.
    """
    ends = topics.end_offsets(cluster, topic, timeout_s=timeout_s)
    commits = committed_offsets(cluster, group, topic, ends, timeout_s=timeout_s)
    return sum(end - commits.get(partition, 0) for partition, end in ends.items())


class LagReader:
    """Counts repeatedly, over one connection, the messages of a topic that a group has not committed.

    Parameters
    ----------
    cluster, group, topic
        The cluster, the group, and the topic.

    Attributes
    ----------
    foreign : set of int
        Partitions of which a program that is no monitor has made the last commit.
    settings : dict of int to str
        partition -> the settings of the monitor that has made the last commit, where it says them.
    """

    def __init__(self, cluster: Cluster, group: str, topic: str = names.SAMPLES) -> None:
        self._cluster, self.group = cluster, group
        self.foreign: set[int] = set()
        self.settings: dict[int, str] = {}
        self._consumer = _group_reader(cluster, group, "read_uncommitted")
        self._topic = cluster.topic(topic)
        self._partitions: list[TopicPartition] = []

    def lag(self, *, timeout_s: float = 10.0) -> int:
        """Return the number of messages in the topic that the group has not committed.

        Raises
        ------
        FatalError
            The broker does not answer.
        """
        return sum(end - commit for commit, end in self.positions(timeout_s=timeout_s).values())

    def positions(self, *, timeout_s: float = 10.0) -> dict[int, tuple[int, int]]:
        """Return partition -> the offset that the group has committed, 0 without a commit, and that of the end.

        Raises
        ------
        FatalError
            The broker does not answer.
        """

        def request() -> dict[int, tuple[int, int]]:
            if not self._partitions:
                partitions = self._consumer.list_topics(self._topic, timeout=timeout_s).topics[self._topic].partitions
                self._partitions = [TopicPartition(self._topic, partition) for partition in partitions]
            found = {}
            commits = _request_commits(self._consumer, self._partitions, timeout_s)
            self.foreign = {at.partition for at in commits if at.offset > 0 and not is_monitors(at.metadata)}
            of_monitors = {at.partition: Position.from_commit(at.offset, at.metadata).settings for at in commits}
            self.settings = {partition: stated for partition, stated in of_monitors.items() if stated is not None}
            for at in commits:
                available = self._consumer.get_watermark_offsets(at, timeout=timeout_s)
                if available is None:
                    raise TimeoutError(f"no answer in {timeout_s:g} s")
                found[at.partition] = (max(0, at.offset), int(available[1]))
            return found

        return topics.retry_transient(request, f"the commits of {self.group!r} at {self._cluster}", timeout_s)

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def committed_offsets(
    cluster: Cluster, group: str, topic: str, partitions: Iterable[int], *, timeout_s: float = 10.0
) -> dict[int, int]:
    """Return partition -> the offset that a group has committed, 0 without a commit; open transactions do not count.

    Raises
    ------
    FatalError
        The broker does not answer.
    """
    return {at.partition: max(at.offset, 0) for at in _commits(cluster, group, topic, partitions, timeout_s)}


def committed_positions(
    cluster: Cluster, group: str, topic: str, partitions: Iterable[int], *, timeout_s: float = 10.0
) -> dict[int, Position]:
    """Return partition -> the position that a group has committed, of the partitions that have one.

    Raises
    ------
    FatalError
        The broker does not answer.
    """
    found = _commits(cluster, group, topic, partitions, timeout_s)
    return {of.partition: at for of in found if (at := as_position(of)) is not None}


def commits_of_monitors(
    cluster: Cluster, group: str, topic: str, partitions: Iterable[int], *, timeout_s: float = 10.0
) -> list[Position]:
    """Return the positions that monitors have committed for a group; none if the broker does not say."""
    consumer = _group_reader(cluster, group, "read_uncommitted")
    try:
        found = _request_commits(consumer, [TopicPartition(cluster.topic(topic), p) for p in partitions], timeout_s)
    except KafkaException:  # not allowed to see it
        return []
    finally:
        consumer.close()
    return [Position.from_commit(at.offset, at.metadata) for at in found if is_monitors(at.metadata)]


def has_pending_commits(
    cluster: Cluster, group: str, topic: str, partitions: Iterable[int], *, timeout_s: float = 5.0
) -> bool:
    """Return True if commits of a group on `partitions` are part of a transaction that is still open.

    For such a commit the broker answers a request for the commits before the transaction (isolation level
    read_uncommitted) and does not answer one for stable commits (read_committed).
    """
    requested = [TopicPartition(cluster.topic(topic), p) for p in partitions]
    try:
        committed_offsets(cluster, group, topic, [at.partition for at in requested], timeout_s=timeout_s)
    except FatalError:
        return False
    consumer = _group_reader(cluster, group, "read_committed")
    try:
        _request_commits(consumer, requested, _ANSWER_S)
    except KafkaException:
        return True
    finally:
        consumer.close()
    return False


def check_pending(cluster: Cluster, group: str, topic: str, partitions: Iterable[int], waited_s: float) -> bool:
    """Return what `has_pending_commits` does, if the commits have been waited for no longer than `PENDING_S`.

    Raises
    ------
    FatalError
        The transaction of another process does not end.
    """
    pending = has_pending_commits(cluster, group, topic, partitions)
    if pending and waited_s > PENDING_S:
        raise FatalError(
            f"kafka: expected the offsets of group {group!r} at {cluster}; got a transaction of another process on "
            f"them, open for {PENDING_S:g} s: abort it with kafka-transactions.sh"
        )
    return pending


def _group_reader(cluster: Cluster, group: str, isolation: str) -> Consumer:
    """Return a consumer that requests the commits of a group and never joins it."""
    return cluster.consumer({"group.id": group, "enable.auto.commit": False, "isolation.level": isolation})


def _commits(
    cluster: Cluster, group: str, topic: str, partitions: Iterable[int], timeout_s: float
) -> list[TopicPartition]:
    """Return the commits of a group, over a connection of its own; open transactions do not count.

    Raises
    ------
    FatalError
        The broker does not answer.
    """
    requested = [TopicPartition(cluster.topic(topic), p) for p in partitions]
    consumer = _group_reader(cluster, group, "read_uncommitted")
    try:
        return topics.retry_transient(
            lambda: _request_commits(consumer, requested, timeout_s),
            f"the commits of {group!r} at {cluster}",
            timeout_s,
        )
    finally:
        consumer.close()


def _request_commits(consumer: Consumer, partitions: list[TopicPartition], timeout_s: float) -> list[TopicPartition]:
    """Return the commits of a consumer's group.

    Raises
    ------
    KafkaException
        The broker did not answer in time, or answered with an error for a partition.
    """
    found = consumer.committed(partitions, timeout=timeout_s)
    for at in found:
        if at.error is not None:
            raise KafkaException(at.error)
    return found
