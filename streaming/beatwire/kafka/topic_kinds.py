"""What brokers do with the messages of topics, and where the monitor depends on something else.

In: a cluster. Out: a `Kind` of each topic; what does not fit, `Unfit`. No state. Those that ``beatwire topics`` creates
fit (``kafka.topics``); those of a broker that creates topics by itself, or of other tools, may not.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from confluent_kafka import KafkaException
from confluent_kafka.admin import ConfigEntry, ConfigResource  # type: ignore[attr-defined]

from beatwire.kafka.cluster import Cluster
from beatwire.wire.names import ACKS, ALERTS, AUDIT, BEATS, DEAD_LETTERS, OUTPUT, SAMPLES, SETTINGS

_BY_BROKER, _BY_PRODUCER, _KEPT = "LogAppendTime", "CreateTime", "-1"
_STAMPED = "message.timestamp.type"


class Kind(NamedTuple):
    """What the broker does with a topic; None: it does not answer.

    has_broker_clock  stamps messages with its own clock
    is_compacted      removes older messages of each key
    is_shortened      removes messages by age or size
    policy            its setting ``cleanup.policy``
    """

    has_broker_clock: bool | None = None
    is_compacted: bool | None = None
    is_shortened: bool | None = None
    policy: str | None = None


class Unfit(NamedTuple):
    """What does not fit: the topic, a name for logs, what was expected and got, and what follows from it."""

    topic: str
    event: str
    text: str
    follows: str

    def __str__(self) -> str:
        """Return a line about it."""
        return f"{self.topic}: expected {self.text}: {self.follows}"


class _Rule(NamedTuple):
    topic: str
    event: str
    is_broken: Callable[[Kind], bool | None]
    expected: str
    got: str
    follows: str


def _clock(topic: str, what: str) -> _Rule:
    follows = f"{what} depends on the producers' clocks"
    return _Rule(
        topic, "producer clocks", lambda kind: kind.has_broker_clock is False, f"{_STAMPED}={_BY_BROKER}",
        _BY_PRODUCER, follows,
    )  # fmt: skip


def _times_of_ticks(topic: str) -> _Rule:
    """Return the rule of a topic whose messages have the time of their tick (``kafka.publishing.torn``)."""
    return _Rule(
        topic, "no times of ticks", lambda kind: kind.has_broker_clock, f"{_STAMPED}={_BY_PRODUCER}", _BY_BROKER,
        "what a broker that fails has left open of a tick that counts as published is lost",
    )  # fmt: skip


def _compacted(topic: str, follows: str) -> _Rule:
    event = f"compacted {topic.removeprefix('ecg.')}"
    return _Rule(topic, event, lambda kind: kind.is_compacted, "cleanup.policy=delete", "{policy}", follows)


def _shortened(topic: str, expected: str, got: str, follows: str) -> _Rule:
    event = f"shortened {topic.removeprefix('ecg.')}"
    return _Rule(topic, event, lambda kind: kind.is_shortened, expected, got, f"after its retention {follows}")


_RULES = (
    _clock(SAMPLES, "the latency, what is scored, and when limits change,"),
    _clock(SETTINGS, "when limits change"),
    _clock(ACKS, "for which alert an acknowledgement holds"),
    *map(_times_of_ticks, OUTPUT),
    _compacted(
        SAMPLES,
        "the broker removes older samples of each stream, so what a monitor reads after an outage, and a replay, have "
        "holes",
    ),
    _compacted(BEATS, "the broker removes older beats of each stream"),
    _compacted(AUDIT, "the broker removes older records of each stream"),
    _compacted(DEAD_LETTERS, "the broker removes older letters of a key, and refuses those without: the monitor ends"),
    _shortened(
        ALERTS,
        "cleanup.policy=compact",
        "{policy}",
        "alerts in force are gone: pages that are opened later do not have them, a successor raises anew those that go "
        "on, not acknowledged, and never those that are latched",
    ),
    _shortened(
        SETTINGS, "cleanup.policy=compact", "{policy}", "the limits of a stream are gone: a successor has the defaults"
    ),
    _shortened(AUDIT, "retention.ms and retention.bytes of -1", "a limit", "the records are gone"),
)


def unfit_topics(cluster: Cluster, *, timeout_s: float = 5.0) -> list[Unfit]:
    """Return what does not fit of the topics; a topic of which the broker does not answer has nothing."""
    kinds = kinds_of(cluster, sorted({rule.topic for rule in _RULES}), timeout_s=timeout_s)
    return [
        Unfit(
            rule.topic, rule.event,
            f"{rule.expected}; got {rule.got.format(policy=kinds[rule.topic].policy)}", rule.follows,
        )
        for rule in _RULES
        if rule.is_broken(kinds[rule.topic])
    ]  # fmt: skip


def has_broker_clock(cluster: Cluster, topic: str = SAMPLES, *, timeout_s: float = 5.0) -> bool | None:
    """Return True if `topic` is stamped with the broker's clock, False if not, None if the broker does not answer."""
    return kinds_of(cluster, [topic], timeout_s=timeout_s)[topic].has_broker_clock


def kinds_of(cluster: Cluster, topics: Sequence[str], *, timeout_s: float = 5.0) -> dict[str, Kind]:
    """Return what the broker does with topics, by one request."""
    resources = {topic: ConfigResource(ConfigResource.Type.TOPIC, cluster.topic(topic)) for topic in topics}
    admin = cluster.admin()  # its requests end with it
    answers = admin.describe_configs(list(resources.values()), request_timeout=timeout_s)
    return {topic: _kind(answers[resource], timeout_s) for topic, resource in resources.items()}


def _kind(answer: Future[Mapping[str, ConfigEntry]], timeout_s: float) -> Kind:
    try:
        settings = {name: str(entry.value) for name, entry in answer.result(timeout_s).items()}
        policy = settings["cleanup.policy"]
        is_kept = settings["retention.ms"] == settings["retention.bytes"] == _KEPT
        stamped = settings[_STAMPED] == _BY_BROKER
    except (KafkaException, TimeoutError, KeyError):
        return Kind()
    return Kind(stamped, "compact" in policy, "delete" in policy and not is_kept, policy)
