"""Ticks that the broker has committed in some partitions only.

In: a cluster, a group and its commits. Out: partitions of the output in which messages of a committed tick are open.
No state.

A broker with the only replica that stops while it ends a transaction may count it as ended after its start, without
having written its end to every partition (Apache Kafka 4.3.1). If the producer lives, its next transaction there ends
both. If it is gone, the commit of the input decides: a message that is open although the commit behind it was made
belongs to a tick that counts as published.

Input and output have the same keys. Where they have the same number of partitions, the input of a message is in the
partition of its own number; elsewhere nothing is found.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaException, TopicPartition

from beatwire.errors import FatalError
from beatwire.kafka.cluster import DENIED, Cluster, UnansweredError
from beatwire.kafka.commits import committed_positions

_ANSWER_S = 2.0
# Between the messages of a tick and its commit. A successor that has gone on from the commit has made a later one.
_TICK_MS = 3_000
_ENDING_S = 0.5  # a transaction that the broker is ending has an end everywhere by then

_At = tuple[str, int]  # topic, by its name at the brokers, and partition


class Open(NamedTuple):
    """A partition of a topic, by its name at the brokers, and the offset of its first open message."""

    topic: str
    partition: int
    offset: int


def find_torn(cluster: Cluster, group: str, topic: str, output: Iterable[str]) -> list[Open]:
    """Return the partitions of the output that have open messages of a tick whose input is committed, for good.

    The offsets are those of the first open message. A broker that does not answer, or does not allow it, has none.

    Parameters
    ----------
    cluster, group, topic
        The cluster, the group, and the topic that its members read.
    output
        Topics that they write, by their logical names.
    """
    there = [cluster.topic(name) for name in output]
    try:
        before = _find(cluster, group, topic, there)
        if not before:
            return []
        time.sleep(_ENDING_S)
        return sorted(_find(cluster, group, topic, there) & before)
    except (KafkaException, FatalError, UnansweredError):
        return []


def _find(cluster: Cluster, group: str, topic: str, output: Sequence[str]) -> set[Open]:
    """Return topic, partition and first open offset, of what is torn at present."""
    found = cluster.metadata(_ANSWER_S).topics
    inputs = len(found[cluster.topic(topic)].partitions)
    equal = [name for name in output if name in found and len(found[name].partitions) == inputs]
    partitions = [TopicPartition(name, p) for name in equal for p in range(inputs)]
    stable, ends = (_ends(cluster, partitions, level) for level in ("read_committed", "read_uncommitted"))
    begins = {at: stable[at] for at in ends if stable[at] < ends[at]}
    if not begins:
        return set()
    made_ms = {p: at.at_ms for p, at in committed_positions(cluster, group, topic, range(inputs)).items()}
    return {Open(*at, begins[at]) for at in _open_before(cluster, begins, ends, made_ms)}


def _open_before(
    cluster: Cluster,
    begins: Mapping[_At, int],
    ends: Mapping[_At, int],
    made_ms: Mapping[int, int],
) -> set[_At]:
    """Return the partitions with an open message that was produced just before the commit of its input was made."""
    unfinished, torn = set(begins), set[_At]()
    consumer = _reader(cluster, "read_uncommitted")
    try:
        consumer.assign([TopicPartition(*at, offset) for at, offset in begins.items()])
        deadline = time.monotonic() + _ANSWER_S
        while unfinished and time.monotonic() < deadline:
            for message in consumer.consume(10_000, 0.02):
                at = message.topic() or "", message.partition() or 0
                if (error := message.error()) is not None:
                    if error.code() in DENIED:
                        raise KafkaException(error)
                    continue
                before_ms = made_ms.get(at[1], 0) - message.timestamp()[1]
                if message.value() is not None and 0 <= before_ms <= _TICK_MS and (message.offset() or 0) < ends[at]:
                    torn.add(at)
            for position in consumer.position([TopicPartition(*at) for at in unfinished]):
                if position.offset >= ends[position.topic, position.partition]:
                    unfinished.discard((position.topic, position.partition))
    finally:
        consumer.close()
    return torn


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
