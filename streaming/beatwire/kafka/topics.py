"""Settings and creation of the topics, and requests to a broker outside any group.

In: a cluster. Out: answers, or a one-line error. No state: each function opens a
connection of its own. What the topics contain is in the table of `beatwire.wire`.

``ecg.samples``, ``ecg.settings`` and ``ecg.acks`` are stamped with the broker's clock (LogAppendTime): the arrival time
of a message is the time at which the broker received it. What the monitor writes has the times of its ticks.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from typing import TypeVar

from confluent_kafka import OFFSET_INVALID, IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from beatwire.errors import FatalError, UserError
from beatwire.kafka.cluster import DENIED, Cluster, UnansweredError
from beatwire.kafka.reachability import check_addresses, first_metadata
from beatwire.kafka.rights import check_visible
from beatwire.wire.names import ACKS, ALERTS, AUDIT, BEATS, DEAD_LETTERS, SAMPLES, SETTINGS

Answer = TypeVar("Answer")

_TRANSIENT = {  # errors of a broker that starts, or moves a partition or a group's coordinator
    KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR, KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
}  # fmt: skip
_RETRY_S = 0.05
_MAX_MESSAGE_BYTES = str(16 << 20)  # the monitor, not the broker, rejects messages that are too long, with a reason
_DAY_MS = str(24 * 3600 * 1000)  # a segment is compacted when it is complete
_OF_BROKER = {"message.timestamp.type": "LogAppendTime"}
_OF_TICKS = {"message.timestamp.type": "CreateTime"}  # which a broker may have another default for
# Topic -> its settings where they differ from the broker's; the order is that of creation.
TOPICS: Mapping[str, Mapping[str, str]] = {
    SAMPLES: _OF_BROKER | {"max.message.bytes": _MAX_MESSAGE_BYTES},
    BEATS: _OF_TICKS,
    # The monitor publishes tombstones of alerts that have ended; an acknowledgement is in its alert within a second.
    ALERTS: _OF_TICKS | {"cleanup.policy": "compact", "segment.ms": _DAY_MS},
    ACKS: {
        "cleanup.policy": "compact,delete",
        **_OF_BROKER,
        "retention.ms": str(7 * 24 * 3600 * 1000),
        "segment.ms": _DAY_MS,
    },
    # A successor replays two minutes, by the limits that were in force then: older ones stay for a while.
    SETTINGS: {"cleanup.policy": "compact", **_OF_BROKER, "min.compaction.lag.ms": str(30 * 60 * 1000)},
    AUDIT: _OF_TICKS | {"retention.ms": "-1"},
    DEAD_LETTERS: _OF_TICKS | {"max.message.bytes": _MAX_MESSAGE_BYTES},
}


def check_broker(cluster: Cluster, topics: Iterable[str] = (), *, timeout_s: float = 5.0) -> None:
    """Check that a broker answers and that it has certain topics.

    Parameters
    ----------
    topics
        Names of topics that must exist.
    timeout_s
        Longest wait for an answer, seconds; a broker that takes connections is waited for longer, which is said.

    Raises
    ------
    UserError
        No broker answers at the address, or a topic is missing.
    """
    existing = _existing(cluster, timeout_s)
    missing = [name for name in topics if cluster.topic(name) not in existing]
    if missing:
        check_allowed(cluster, missing, timeout_s=timeout_s)
        others = len([name for name in existing if not name.startswith("__")])
        remedy = f"; create the topics with: {creating(cluster)}" if set(missing) <= set(TOPICS) else ""
        raise UserError(
            f"kafka: expected topic {', '.join(repr(cluster.topic(name)) for name in missing)} at {cluster}; "
            f"got a broker with {others} other topics{remedy}"
        )


def creating(cluster: Cluster) -> str:
    """Return the command that creates the topics.

    >>> creating(Cluster("localhost:9092", prefix="icu."))
    'beatwire topics --bootstrap-servers localhost:9092 --topic-prefix icu.'
    """
    return f"beatwire topics --bootstrap-servers {cluster}" + (
        f" --topic-prefix {cluster.prefix}" if cluster.prefix else ""
    )


def check_allowed(cluster: Cluster, topics: Iterable[str], *, timeout_s: float = 5.0) -> None:
    """Check that this client may see topics that are not in the broker's list.

    Raises
    ------
    UserError
        It may not see one of them, or no broker answers.
    """
    existing = _existing(cluster, timeout_s)
    unseen = [name for name in topics if cluster.topic(name) not in existing]
    if unseen:
        check_visible(cluster, unseen, timeout_s=timeout_s)


def topics_of(cluster: Cluster, *, timeout_s: float = 5.0) -> list[str]:
    """Return the logical names of the topics that have the prefix.

    Raises
    ------
    UserError
        No broker answers at the address within `timeout_s` seconds.
    """
    return [cluster.name(topic) for topic in _existing(cluster, timeout_s) if topic.startswith(cluster.prefix)]


def _existing(cluster: Cluster, timeout_s: float) -> list[str]:
    """Return the topics by their names at the brokers."""
    try:
        found = first_metadata(cluster, timeout_s)
    except UnansweredError as error:
        if error.unreachable and not cluster.has_address(error.unreachable.partition(": ")[0]):
            raise cluster.misnamed(error.unreachable) from None
        raise UserError(
            f"kafka: expected a broker at {cluster}; got no answer in {timeout_s:g} s "
            f"({str(error) or 'start one with: beatwire broker'})"
        ) from None
    check_addresses(cluster, found)
    return list(found.topics)


def create_topics(cluster: Cluster, *, partitions: int = 4, replication: int = 1, timeout_s: float = 15.0) -> list[str]:
    """Create the missing ones of the seven topics.

    Parameters
    ----------
    partitions, replication
        Of each topic; a replication of -1 means the broker's default.
    timeout_s
        Longest wait for each answer, seconds.

    Returns
    -------
    list of str
        The logical names of the topics that this call created.

    Raises
    ------
    UserError
        The broker does not answer, or refuses.
    """
    admin = cluster.admin()
    try:
        existing = admin.list_topics(timeout=timeout_s).topics
        new = [
            NewTopic(
                cluster.topic(name), num_partitions=partitions, replication_factor=replication, config=dict(config)
            )
            for name, config in TOPICS.items()
            if cluster.topic(name) not in existing
        ]
        for future in admin.create_topics(new, operation_timeout=timeout_s).values() if new else ():
            future.result(timeout_s)
        _wait_for_leaders(admin, [topic.topic for topic in new], timeout_s)
    except KafkaException as error:
        if error.args[0].code() in DENIED:
            raise cluster.denied("create topics", error.args[0]) from error
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise UserError(f"kafka: expected to create topics at {cluster}; got {error_text(error)}") from error
    except TimeoutError:
        raise UserError(f"kafka: expected to create topics at {cluster}; no answer in {timeout_s:g} s") from None
    return [cluster.name(topic.topic) for topic in new]


def end_offsets(cluster: Cluster, topic: str, *, committed: bool = False, timeout_s: float = 10.0) -> dict[int, int]:
    """Return partition -> the offset after its last message.

    Parameters
    ----------
    cluster, topic
        The brokers, and the topic.
    committed
        Return the end of the committed messages; otherwise messages of open transactions count as well.
    timeout_s
        Longest wait for an answer, seconds.

    Raises
    ------
    UserError
        The topic does not exist.
    FatalError
        The broker does not answer.
    """
    admin, there = cluster.admin(), cluster.topic(topic)
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED

    def request() -> dict[int, int]:
        partitions = admin.list_topics(there, timeout=timeout_s).topics[there].partitions
        if not partitions:
            raise UserError(f"kafka: expected topic {there!r} at {cluster}; got a broker without it")
        latest = {TopicPartition(there, p): OffsetSpec.latest() for p in partitions}  # type: ignore[no-untyped-call]
        found = admin.list_offsets(latest, isolation_level=level, request_timeout=timeout_s)
        return {at.partition: stated(future, timeout_s).offset for at, future in found.items()}

    return retry_transient(request, f"the ends of {there} at {cluster}", timeout_s)


def stated(answer: "Future[ListOffsetsResultInfo]", timeout_s: float) -> ListOffsetsResultInfo:
    """Return an answer to a request for offsets.

    confluent-kafka (2.16.1) takes what a leader has not answered in time for an answer without an error: its offset is
    then that of no message, not even of an empty partition.

    Raises
    ------
    KafkaException, TimeoutError
        The broker refused it, or did not answer.
    """
    found = answer.result(timeout_s)
    if found.offset == OFFSET_INVALID:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001
    return found


def retry_transient(request: Callable[[], Answer], expected: str, timeout_s: float) -> Answer:
    """Return the answer to a request; repeat it while the broker answers with a transient error.

    Parameters
    ----------
    request
        Performs the request and returns its answer.
    expected
        What the request is for, for the error message.
    timeout_s
        No repetition begins later than this, seconds.

    Raises
    ------
    UserError
        The broker does not allow the request.
    FatalError
        The broker does not answer, or answers with another error.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return request()
        except (KafkaException, TimeoutError) as error:
            code = error.args[0].code() if isinstance(error, KafkaException) else None
            if code in DENIED:
                raise UserError(
                    f"kafka: expected to be allowed to ask for {expected}; got {error_text(error)}"
                ) from error
            transient = code in _TRANSIENT
            if not transient or time.monotonic() > deadline:
                raise FatalError(f"kafka: expected {expected}; got {error_text(error)}") from error
            time.sleep(_RETRY_S)


def error_text(error: Exception) -> str:
    """Return the message of the broker or of librdkafka for an error, one line."""
    cause = error.args[0] if error.args else error
    return cause.str() if isinstance(cause, KafkaError) else str(cause) or type(error).__name__


def _wait_for_leaders(admin: AdminClient, names: list[str], timeout_s: float) -> None:
    """Wait until every partition of the topics `names` has a leader."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        existing = admin.list_topics(timeout=timeout_s).topics
        if all(
            name in existing and all(part.leader >= 0 for part in existing[name].partitions.values()) for name in names
        ):
            return
        time.sleep(_RETRY_S)
