"""Transactions that the broker has ended in some partitions only.

In: a cluster, a group and its commits. Out: partitions of the output with open messages that nobody will end. No state.

A broker with the only replica that stops while it ends a transaction may count it as ended after its start, without
having written its end to every partition (Apache Kafka 4.3.1). If the producer lives, its next transaction there ends
both. If it is gone, the commits of the input decide: a message that is open and has the time of one (`TickTransaction`)
belongs to a tick that counts as published. The first open message decides: those behind it may be those of a successor,
whose ticks are published. Any other message that is open for longer than transactions may last is of one that was
aborted; readers of committed messages wait for its end.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from beatwire.errors import FatalError, UserError
from beatwire.kafka import topics
from beatwire.kafka.cluster import DENIED, Cluster, UnansweredError
from beatwire.kafka.consuming.commits import committed_positions
from beatwire.kafka.publishing.sender import SENT

_ANSWER_S = 5.0
_RETRY_S = 10.0  # a broker that has just started refuses some requests
_LONG_MS = 30_000  # a multiple of ``transactions.OPEN_S``
_ENDING_S = 0.5  # a transaction that the broker is ending has an end everywhere by then

_At = tuple[str, int]  # topic, by its name at the brokers, and partition


class Open(NamedTuple):
    """A partition with open messages.

    topic, partition  by the topic's name at the brokers
    offset            of the first open message
    published         the first message belongs to a tick that counts as published
    """

    topic: str
    partition: int
    offset: int
    published: bool


def find_torn(cluster: Cluster, group: str, topic: str, output: Iterable[str]) -> list[Open]:
    """Return the partitions of the output with open messages that nobody will end.

    A broker that does not answer, or does not allow it, has none; nor has a topic that this client may not read.

    Parameters
    ----------
    cluster, group, topic
        The cluster, the group, and the topic that its members read.
    output
        Topics that they write, by their logical names.
    """
    there = [cluster.topic(name) for name in output]

    def request() -> set[Open]:
        return _find(cluster, group, topic, there)

    try:
        before = topics.retry_transient(request, "open messages", _RETRY_S)
        if not before:
            return []
        time.sleep(_ENDING_S)
        return sorted(topics.retry_transient(request, "open messages", _RETRY_S) & before)
    except (UserError, FatalError, UnansweredError):
        return []


def _find(cluster: Cluster, group: str, topic: str, output: Sequence[str]) -> set[Open]:
    """Return what looks like that at present."""
    found = cluster.metadata(_ANSWER_S).topics
    partitions = [TopicPartition(name, p) for name in output if name in found for p in found[name].partitions]
    stable, ends = (_ends(cluster, partitions, level) for level in ("read_committed", "read_uncommitted"))
    begins = {at: stable[at] for at in ends if stable[at] < ends[at]}
    if not begins:
        return set()
    inputs = found[cluster.topic(topic)].partitions
    made_ms = {at.at_ms for at in committed_positions(cluster, group, topic, inputs).values()}
    times_ms = _open_times(cluster, begins, ends)
    now_ms = time.time_ns() // 1_000_000
    torn = set()
    for at, (first_ms, with_value_ms) in times_ms.items():
        published = with_value_ms in made_ms
        if published or now_ms - first_ms > _LONG_MS:
            torn.add(Open(*at, begins[at], published))
    return torn


def _open_times(
    cluster: Cluster, begins: Mapping[_At, int], ends: Mapping[_At, int]
) -> dict[_At, tuple[int, int | None]]:
    """Return when the first open message of each partition was produced, and when the first with a value was."""
    unfinished, found = set(begins), dict[_At, tuple[int, int | None]]()
    consumer = _reader(cluster, "read_uncommitted")
    try:
        consumer.assign([TopicPartition(*at, offset) for at, offset in begins.items()])
        deadline = time.monotonic() + _ANSWER_S
        while unfinished and time.monotonic() < deadline:
            for message in consumer.consume(10_000, 0.02):
                at = message.topic() or "", message.partition() or 0
                if (error := message.error()) is not None:
                    if error.code() in DENIED:  # of the other topics it is known
                        unfinished = {other for other in unfinished if other[0] != at[0]}
                    continue
                at_ms = _sent_ms(message)
                first_ms, with_value_ms = found.setdefault(at, (at_ms, None))
                if with_value_ms is None and message.value() is not None and (message.offset() or 0) < ends[at]:
                    found[at] = first_ms, at_ms
                    unfinished.discard(at)  # those behind it say nothing
            for position in consumer.position([TopicPartition(*at) for at in unfinished]):
                if position.offset >= ends[position.topic, position.partition]:
                    unfinished.discard((position.topic, position.partition))
    finally:
        consumer.close()
    return found


def _sent_ms(message: Message) -> int:
    """Return the time at which the transaction of a message began, by its producer's clock."""
    stated = dict(message.headers() or ()).get(SENT)
    return int(stated) if stated and stated.isdigit() else message.timestamp()[1]


def _ends(cluster: Cluster, partitions: Sequence[TopicPartition], level: str) -> dict[_At, int]:
    """Return the end of each partition for readers of an isolation level: the first open message, or the last one."""
    consumer = _reader(cluster, level)
    try:
        latest = [TopicPartition(at.topic, at.partition, -1) for at in partitions]
        found = consumer.offsets_for_times(latest, timeout=_ANSWER_S)
    finally:
        consumer.close()
    for at in found:
        if at.error is not None:
            raise KafkaException(at.error)
    return {(at.topic, at.partition): at.offset for at in found}


def _reader(cluster: Cluster, level: str) -> Consumer:
    return cluster.consumer({"group.id": "beatwire-torn", "enable.auto.commit": False, "isolation.level": level})
