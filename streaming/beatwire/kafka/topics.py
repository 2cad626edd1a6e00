"""Settings and creation of the topics, and requests to a broker outside any group.

In: a broker's address ``host:port[,host:port...]``. Out: answers, or a one-line error. No state: each function opens a
connection of its own. What the topics contain is in the table of `beatwire.wire`.

``ecg.samples`` is stamped with the broker's clock (LogAppendTime): the arrival time of a message is the time at which
the broker received it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from beatwire.errors import FatalError, UserError
from beatwire.wire.names import ACKS, ALERTS, BEATS, DEAD_LETTERS, SAMPLES

Answer = TypeVar("Answer")

_LOGGER = logging.getLogger("librdkafka")
_LOGGER.addHandler(logging.NullHandler())
_TRANSIENT = {  # errors of a broker that starts, or moves a partition or a group's coordinator
    KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR, KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
}  # fmt: skip
_RETRY_S = 0.05
_MAX_MESSAGE_BYTES = str(16 << 20)  # the monitor, not the broker, rejects messages that are too long, with a reason
# Topic -> its settings where they differ from the broker's; the order is that of creation.
TOPICS: Mapping[str, Mapping[str, str]] = {
    SAMPLES: {"message.timestamp.type": "LogAppendTime", "max.message.bytes": _MAX_MESSAGE_BYTES},
    BEATS: {},
    ALERTS: {"cleanup.policy": "compact"},
    ACKS: {"cleanup.policy": "compact"},
    DEAD_LETTERS: {"max.message.bytes": _MAX_MESSAGE_BYTES},
}


def client_settings(bootstrap: str, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return librdkafka settings common to all clients, `settings` included.

    librdkafka writes nothing to standard error: what matters is raised as an error.
    """
    return {
        "bootstrap.servers": bootstrap,
        "log_level": 0,
        "logger": _LOGGER,
        "topic.metadata.refresh.interval.ms": 30_000,
        # By default a client discards its list of brokers when all are unreachable. Calls that still refer to one of
        # them never return, above all send_offsets_to_transaction (librdkafka issue 5511, seen with 2.16.0).
        "metadata.recovery.strategy": "none",
    } | dict(settings or {})


def check_broker(bootstrap: str, topics: Iterable[str] = (), *, timeout_s: float = 5.0) -> None:
    """Check that a broker answers and that it has certain topics.

    Parameters
    ----------
    bootstrap
        ``host:port[,host:port...]``.
    topics
        Names of topics that must exist.
    timeout_s
        Longest wait for an answer, seconds.

    Raises
    ------
    UserError
        No broker answers at the address, or a topic is missing.
    """
    admin = _admin(bootstrap)
    try:
        existing = admin.list_topics(timeout=timeout_s).topics
    except KafkaException as error:
        raise UserError(
            f"kafka: expected a broker at {bootstrap}; got no answer in {timeout_s:g} s "
            "(start one with: beatwire broker)"
        ) from error
    missing = [name for name in topics if name not in existing]
    if missing:
        others = len([name for name in existing if not name.startswith("__")])
        remedy = (
            f"; create the topics with: beatwire topics --bootstrap-servers {bootstrap}"
            if set(missing) <= set(TOPICS)
            else ""
        )
        raise UserError(
            f"kafka: expected topic {', '.join(map(repr, missing))} at {bootstrap}; "
            f"got a broker with {others} other topics{remedy}"
        )


def broker_responds(bootstrap: str, *, timeout_s: float = 1.0) -> bool:
    """Return True if a broker answers at `bootstrap` within `timeout_s` seconds."""
    try:
        return bool(_admin(bootstrap).list_topics(timeout=timeout_s).brokers)
    except KafkaException:
        return False


def create_topics(bootstrap: str, *, partitions: int = 4, replication: int = 1, timeout_s: float = 15.0) -> list[str]:
    """Create the missing ones of the five topics.

    Parameters
    ----------
    bootstrap
        ``host:port[,host:port...]``.
    partitions, replication
        Of each topic; a replication of -1 means the broker's default.
    timeout_s
        Longest wait for each answer, seconds.

    Returns
    -------
    list of str
        The names of the topics that this call created.

    Raises
    ------
    UserError
        The broker does not answer, or refuses.
    """
    admin = _admin(bootstrap)
    try:
        existing = admin.list_topics(timeout=timeout_s).topics
        new = [
            NewTopic(name, num_partitions=partitions, replication_factor=replication, config=dict(config))
            for name, config in TOPICS.items()
            if name not in existing
        ]
        for future in admin.create_topics(new, operation_timeout=timeout_s).values() if new else ():
            future.result(timeout_s)
        _wait_for_leaders(admin, [topic.topic for topic in new], timeout_s)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise UserError(f"kafka: expected to create topics at {bootstrap}; got {error_text(error)}") from error
    return [topic.topic for topic in new]


def has_broker_clock(bootstrap: str, topic: str = SAMPLES, *, timeout_s: float = 5.0) -> bool | None:
    """Return True if `topic` is stamped with the broker's clock, False if not, None if the broker does not answer."""
    admin, resource = _admin(bootstrap), ConfigResource(ConfigResource.Type.TOPIC, topic)
    try:
        settings = admin.describe_configs([resource], request_timeout=timeout_s)[resource].result(timeout_s)
        return bool(settings["message.timestamp.type"].value == "LogAppendTime")
    except (KafkaException, TimeoutError, KeyError):
        return None


def end_offsets(bootstrap: str, topic: str, *, committed: bool = False, timeout_s: float = 10.0) -> dict[int, int]:
    """Return partition -> the offset after its last message.

    Parameters
    ----------
    bootstrap, topic
        The broker's address, and the topic.
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
    admin = _admin(bootstrap)
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED

    def request() -> dict[int, int]:
        partitions = admin.list_topics(topic, timeout=timeout_s).topics[topic].partitions
        if not partitions:
            raise UserError(f"kafka: expected topic {topic!r} at {bootstrap}; got a broker without it")
        latest = {TopicPartition(topic, p): OffsetSpec.latest() for p in partitions}  # type: ignore[no-untyped-call]
        found = admin.list_offsets(latest, isolation_level=level, request_timeout=timeout_s)
        return {at.partition: future.result(timeout_s).offset for at, future in found.items()}

    return retry_transient(request, f"the ends of {topic} at {bootstrap}", timeout_s)


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
    FatalError
        The broker does not answer, or answers with another error.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return request()
        except (KafkaException, TimeoutError) as error:
            transient = isinstance(error, KafkaException) and error.args[0].code() in _TRANSIENT
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


def _admin(bootstrap: str) -> AdminClient:
    return AdminClient(client_settings(bootstrap, {"socket.timeout.ms": 10_000}))
