"""Readers outside the group: the present alerts, and a topic as it grows.

In: a topic. Out: its committed messages, or the alerts among them. No state: a reader joins no group and commits
nothing.
"""

import contextlib
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from beatwire.alerts.rules import NAMES
from beatwire.errors import FatalError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.batch import stamped_us
from beatwire.kafka.reading.follower import BEGINNING, END, Begin, Follower
from beatwire.kafka.reading.newest import Newest
from beatwire.kafka.reading.record import Record, record_of
from beatwire.records.letters import Letter
from beatwire.wire import names
from beatwire.wire.alerts import decode_alert
from beatwire.wire.dead_letters import letters_in
from beatwire.wire.fields import Unusable

_OFF = "off"
_LATELY = 20_000  # messages of a partition


def read_active_alerts(
    cluster: Cluster,
    *,
    topic: str = names.ALERTS,
    timeout_s: float = 60.0,
    any_rule: bool = True,
    unusable: Callable[[Unusable], None] = lambda _: None,
    ended: Callable[[bytes, int, int], None] = lambda *_: None,
    said: Callable[[str, int], None] = lambda *_: None,
    given_up: threading.Event | None = None,
) -> list[dict[str, Any]]:
    """Return every alert whose last state is not ``off``, in the order of those last states.

    Of an alert that has ended only its id is kept: memory grows with 300 bytes each.

    Parameters
    ----------
    cluster, topic
        The cluster, and the compacted topic of alerts.
    timeout_s
        Longest time without a message before the present end of the topic, seconds.
    any_rule
        Also alerts of rules that this version does not have; otherwise such an alert is unusable.
    unusable
        Called for each message that is no alert, which is passed over.
    ended
        Called for each alert that has ended, in the order in which they did: its key, the time of its last message in
        microseconds since 1970, and its partition of the samples.
    said
        Called for each alert that is returned: its id, and the time of its last message.
    given_up
        Ends the reading when it is set. None: it never is.

    Raises
    ------
    FatalError
        The end was not reached, and nothing came for `timeout_s` seconds, or `given_up` was set.
    """
    active: dict[bytes, tuple[dict[str, Any], int]] = {}
    over: dict[bytes, tuple[int, int]] = {}
    newest = Newest()
    for message in _to_end(cluster, topic, timeout_s, given_up):
        key, value = message.key() or b"", message.value()
        try:
            alert = None if value is None else decode_alert(value, key)
            if alert is not None and not any_rule and alert["rule"] not in NAMES:
                raise ValueError(f"expected a rule of this version; got {alert['rule']!r}")
        except ValueError as error:
            unusable(Unusable(topic, key, str(error)))
            continue
        if not newest.takes(key, message.partition() or 0, stamped_us(message)):
            continue
        active.pop(key, None)  # a dictionary keeps the place of a key that it already has
        over.pop(key, None)
        if alert is None:
            continue
        if alert["state"] == _OFF:
            over[key] = stamped_us(message), alert.get("partition", 0)
        else:
            active[key] = alert, stamped_us(message)
    for key, (time_us, partition) in over.items():
        ended(key, time_us, partition)
    for alert, time_us in active.values():
        said(alert["id"], time_us)
    return [alert for alert, _ in active.values()]


def read_to_end(
    cluster: Cluster, topic: str, *, timeout_s: float = 60.0
) -> Iterator[tuple[bytes | None, bytes | None]]:
    """Yield key and value of every committed message up to the present end of `topic`; otherwise as `read_records`."""
    return ((record.key, record.value) for record in read_records(cluster, topic, timeout_s=timeout_s))


def read_records(cluster: Cluster, topic: str, *, timeout_s: float = 60.0) -> Iterator[Record]:
    """Yield every committed message up to the present end of `topic`.

    Waits for the end of transactions that are open before that point.

    Raises
    ------
    FatalError
        The end was not reached, and nothing came for `timeout_s` seconds.
    """
    return (record_of(message, topic) for message in _to_end(cluster, topic, timeout_s))


def read_dead_letters(cluster: Cluster, *, timeout_s: float = 60.0) -> Iterator[Letter]:
    """Yield every dead letter up to the present end of the topic, in the order of its partitions.

    Raises
    ------
    FatalError, ValueError
        As `read_letters_by_message` does.
    """
    return chain.from_iterable(read_letters_by_message(cluster, timeout_s=timeout_s))


def read_letters_by_message(cluster: Cluster, *, timeout_s: float = 60.0) -> Iterator[list[Letter]]:
    """Yield the dead letters in each message up to the present end of the topic, in the order of its partitions.

    Raises
    ------
    FatalError
        The end was not reached, and nothing came for `timeout_s` seconds.
    ValueError
        A message is none that a monitor has published.
    """
    for message in _to_end(cluster, names.DEAD_LETTERS, timeout_s):
        yield list(letters_in(message.key(), message.value(), message.headers()))


def look_ahead(cluster: Cluster, topic: str, begin: Mapping[int, int], *, timeout_s: float = 2.0) -> dict[int, bool]:
    """Return whether partitions have a committed message from an offset on, as a fresh connection receives them.

    The end of a partition is no sign of one: what an aborted transaction has left there has offsets, too.

    Parameters
    ----------
    begin
        partition -> the offset.
    timeout_s
        Until then an answer is waited for.

    Returns
    -------
    dict
        partition -> True: a message, False: the end. Those without an answer are left out.
    """
    found: dict[int, bool] = {}
    deadline = time.monotonic() + timeout_s
    with _reader(cluster) as consumer:
        consumer.assign([TopicPartition(cluster.topic(topic), p, offset) for p, offset in begin.items()])
        while len(found) < len(begin) and time.monotonic() < deadline:
            for message in consumer.consume(1_000, 0.05):
                error, partition = message.error(), message.partition()
                is_end = error is not None and error.code() == KafkaError._PARTITION_EOF  # noqa: SLF001
                if partition is not None and (error is None or is_end):
                    found.setdefault(partition, error is None)
    return found


def is_known(cluster: Cluster, stream: str, *, timeout_s: float = 5.0) -> bool:
    """Return True if a stream has an alert in force, or a beat among the last 20,000 of a partition.

    Raises
    ------
    UserError, FatalError
        The topics cannot be read.
    """
    beats = _to_end(cluster, names.BEATS, timeout_s, most=_LATELY)
    return any(message.key() == stream.encode() for message in beats) or any(
        alert["stream"] == stream for alert in read_active_alerts(cluster, timeout_s=timeout_s)
    )


def _to_end(
    cluster: Cluster, topic: str, timeout_s: float, given_up: threading.Event | None = None, most: int | None = None
) -> Iterator[Message]:
    """Yield the committed messages of a topic up to its present end; ``most``: the last ones of each partition."""
    ends = topics.end_offsets(cluster, topic)
    unfinished = {p for p, end in ends.items() if end > 0}
    deadline = time.monotonic() + timeout_s
    with _reader(cluster) as consumer:
        begin = {p: 0 if most is None else max(0, ends[p] - most) for p in unfinished}
        consumer.assign([TopicPartition(cluster.topic(topic), p, offset) for p, offset in begin.items()])
        while unfinished:
            if given_up is not None and given_up.is_set():
                raise FatalError(f"kafka: expected to read {cluster.topic(topic)} to its end; it was given up")
            if time.monotonic() > deadline:
                raise FatalError(
                    f"kafka: expected to read {cluster.topic(topic)} at {cluster} to its end; got nothing "
                    f"for {timeout_s:g} s, and no end of partition {', '.join(map(str, sorted(unfinished)))}"
                )
            received = consumer.consume(10_000, 0.02)
            if any(message.error() is None for message in received):
                deadline = time.monotonic() + timeout_s
            for message in received:
                error, partition, offset = message.error(), message.partition() or 0, message.offset() or 0
                if error is not None and error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                    raise cluster.denied(f"read {cluster.topic(topic)}", error)
                if error is None and offset < ends[partition]:
                    yield message
                at_end = error is not None and error.code() == KafkaError._PARTITION_EOF  # noqa: SLF001
                if (error is None and offset + 1 >= ends[partition]) or (at_end and offset >= ends[partition]):
                    unfinished.discard(partition)


def follow(
    cluster: Cluster,
    topic: str,
    *,
    stop: threading.Event | None = None,
    earliest: bool = False,
    begin: Mapping[int, int] | None = None,
) -> Iterator[Message]:
    """Yield every committed message of `topic` that is no tombstone until `stop` is set, of new partitions too.

    Parameters
    ----------
    topic
        Its name.
    stop
        Ends the iteration within a tenth of a second, or two while no broker answers; without it it does not end.
    earliest
        Begin with the oldest message instead of the next one.
    begin
        Partition -> the offset to begin with; None: see `earliest`.

    Raises
    ------
    UserError
        No broker answers at `cluster`, or the topic does not exist.
    """
    stopped = stop or threading.Event()
    topics.check_broker(cluster, [topic])
    start: Begin = begin if begin is not None else BEGINNING if earliest else END
    with Follower(cluster, {topic: start}) as follower:
        while not stopped.is_set():
            yield from (message for message in follower.messages(0.1) if message.value() is not None)


@contextlib.contextmanager
def _reader(cluster: Cluster) -> Iterator[Consumer]:
    consumer = cluster.consumer(
        {
            "group.id": f"beatwire-reader-{uuid.uuid4()}",  # required by librdkafka; the group is never joined
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,
        }
    )
    try:
        yield consumer
    finally:
        consumer.close()
