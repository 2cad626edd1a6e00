"""Names and settings of the topics, and the questions one asks a broker before trusting it.

==================== ======================================================= ===========
topic                holds                                                   kept
==================== ======================================================= ===========
``ecg.samples``      Avro sample chunks, key stream id                       by age
``ecg.beats``        Avro beats, key stream id                               by age
``ecg.alerts``       JSON alerts, key alert id, the last state of each       compacted
``ecg.acks``         JSON acknowledgements, key alert id                     compacted
``ecg.samples.dlq``  messages that could not be used, reason in the headers  by age
==================== ======================================================= ===========

``ecg.samples`` carries the broker's own clock (LogAppendTime): arrival is when the broker had it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec  # type: ignore[attr-defined]
from confluent_kafka.cimpl import NewTopic

from beatwire.errors import FatalError, UserError
from beatwire.wire.names import ACKS, ALERTS, BEATS, DEAD_LETTERS, SAMPLES

_LOGGER = logging.getLogger("librdkafka")
_LOGGER.addHandler(logging.NullHandler())
_MOVING = {  # what a broker says of a partition or of a group while it starts
    KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.NOT_COORDINATOR, KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.FENCED_LEADER_EPOCH,
}  # fmt: skip
_AGAIN_S = 0.05
_MAX_MESSAGE_BYTES = str(16 << 20)
TOPICS: Mapping[str, Mapping[str, str]] = {
    SAMPLES: {"message.timestamp.type": "LogAppendTime", "max.message.bytes": _MAX_MESSAGE_BYTES},
    BEATS: {},
    ALERTS: {"cleanup.policy": "compact"},
    ACKS: {"cleanup.policy": "compact"},
    DEAD_LETTERS: {"max.message.bytes": _MAX_MESSAGE_BYTES},
}


def quiet(bootstrap: str, settings: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return client settings that keep librdkafka from writing to stderr: what matters reaches us as errors."""
    return {
        "bootstrap.servers": bootstrap,
        "log_level": 0,
        "logger": _LOGGER,
        "topic.metadata.refresh.interval.ms": 30_000,
        # The default forgets its brokers when all are gone; what still refers to one of them then hangs for
        # ever, send_offsets_to_transaction above all (librdkafka issue 5511, seen with 2.16.0).
        "metadata.recovery.strategy": "none",
    } | dict(settings or {})


def check_broker(bootstrap: str, topics: Iterable[str] = (), *, timeout_s: float = 5.0) -> None:
    """Prove that a broker answers and that it has `topics`.

    Parameters
    ----------
    bootstrap
        ``host:port[,host:port...]``.
    topics
        Names that must exist.
    timeout_s
        How long to wait for the first answer, seconds.

    Raises
    ------
    UserError
        Nothing answers at the address, or a topic is missing.
    """
    admin = _admin(bootstrap)
    try:
        known = admin.list_topics(timeout=timeout_s).topics
    except KafkaException as error:
        raise UserError(
            f"kafka: expected a broker at {bootstrap}; got no answer in {timeout_s:g} s "
            "(start one with: beatwire broker)"
        ) from error
    missing = [name for name in topics if name not in known]
    if missing:
        others = len([name for name in known if not name.startswith("__")])
        ours = f"; beatwire topics --bootstrap-servers {bootstrap} creates ours" if set(missing) <= set(TOPICS) else ""
        raise UserError(
            f"kafka: expected topic {', '.join(map(repr, missing))} at {bootstrap}; "
            f"got a broker with {others} other topics{ours}"
        )


def answers(bootstrap: str, *, timeout_s: float = 1.0) -> bool:
    """Say whether a broker answers at `bootstrap` within `timeout_s` seconds."""
    try:
        return bool(_admin(bootstrap).list_topics(timeout=timeout_s).brokers)
    except KafkaException:
        return False


def create_topics(bootstrap: str, *, partitions: int = 4, replication: int = 1, timeout_s: float = 15.0) -> list[str]:
    """Create those of the five topics that are missing.

    Parameters
    ----------
    bootstrap
        ``host:port[,host:port...]``.
    partitions, replication
        Of each topic; a replication of -1 is the broker's default.

    Returns
    -------
    list of str
        The topics that were created now.

    Raises
    ------
    UserError
        The broker does not answer or refuses.
    """
    admin = _admin(bootstrap)
    try:
        known = admin.list_topics(timeout=timeout_s).topics
        new = [
            NewTopic(name, num_partitions=partitions, replication_factor=replication, config=dict(config))
            for name, config in TOPICS.items()
            if name not in known
        ]
        for future in admin.create_topics(new, operation_timeout=timeout_s).values() if new else ():
            future.result(timeout_s)
        _wait_for(admin, [topic.topic for topic in new], timeout_s)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise UserError(f"kafka: expected to create topics at {bootstrap}; got {reason(error)}") from error
    return [topic.topic for topic in new]


def has_broker_clock(bootstrap: str, topic: str = SAMPLES, *, timeout_s: float = 5.0) -> bool | None:
    """Tell whether messages of `topic` carry the time at which the broker had them; None: the broker does not say."""
    admin, asked = _admin(bootstrap), ConfigResource(ConfigResource.Type.TOPIC, topic)
    try:
        told = admin.describe_configs([asked], request_timeout=timeout_s)[asked].result(timeout_s)
        return bool(told["message.timestamp.type"].value == "LogAppendTime")
    except (KafkaException, TimeoutError, KeyError):
        return None


def ends_of(bootstrap: str, topic: str, *, committed: bool = False, timeout_s: float = 10.0) -> dict[int, int]:
    """Return partition -> the offset after its last message, open transactions included unless `committed`.

    Raises
    ------
    UserError
        There is no such topic.
    FatalError
        The broker does not answer.
    """
    admin = _admin(bootstrap)
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED

    def ask() -> dict[int, int]:
        parts = admin.list_topics(topic, timeout=timeout_s).topics[topic].partitions
        if not parts:
            raise UserError(f"kafka: expected topic {topic!r} at {bootstrap}; got none of that name")
        asked = {TopicPartition(topic, p): OffsetSpec.latest() for p in parts}  # type: ignore[no-untyped-call]
        found = admin.list_offsets(asked, isolation_level=level, request_timeout=timeout_s)
        return {at.partition: future.result(timeout_s).offset for at, future in found.items()}

    return answered(ask, f"the ends of {topic} at {bootstrap}", timeout_s)


def answered(ask: Callable[[], dict[int, int]], what: str, timeout_s: float) -> dict[int, int]:
    """Return the answer of a broker; ask again, for so long, while it only says that something is moving.

    Raises
    ------
    FatalError
        It does not answer, or something else.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return ask()
        except (KafkaException, TimeoutError) as error:
            moving = isinstance(error, KafkaException) and error.args[0].code() in _MOVING
            if not moving or time.monotonic() > deadline:
                raise FatalError(f"kafka: expected {what}; got {reason(error)}") from error
            time.sleep(_AGAIN_S)


def reason(error: Exception) -> str:
    """Return the broker's or the library's own words for `error`, one line."""
    cause = error.args[0] if error.args else error
    return cause.str() if isinstance(cause, KafkaError) else str(cause) or type(error).__name__


def _wait_for(admin: AdminClient, names: list[str], timeout_s: float) -> None:
    """Wait until the metadata knows a leader for every partition of `names`."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        known = admin.list_topics(timeout=timeout_s).topics
        if all(name in known and all(part.leader >= 0 for part in known[name].partitions.values()) for name in names):
            return
        time.sleep(_AGAIN_S)


def _admin(bootstrap: str) -> AdminClient:
    return AdminClient(quiet(bootstrap, {"socket.timeout.ms": 10_000}))
