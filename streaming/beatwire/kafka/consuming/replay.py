"""The start of an epoch: the group's commits, and the replay up to them.

In: a consumer and its assignment. Out: a `Start` for each partition (`find_starts`), and a `Replay`, which pauses each
partition at its commit. Invariant: the messages of a replay end exactly at the commits.
A commit that does not hold for the topic (`Cause`) is corrected at the broker before anything is read, and reported.
Partitions that go on (`progress`) have no replay.
"""

import logging
import time
from collections.abc import Mapping
from typing import NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.commits import as_commit, as_position
from beatwire.kafka.consuming.positions import (
    Cause,
    OffsetRange,
    Position,
    cause_to_go_back,
    clip_to_available,
    is_monitors,
)
from beatwire.kafka.consuming.progress import Progress
from beatwire.kafka.consuming.topic_id import TopicId
from beatwire.kafka.reading.readers import look_ahead
from beatwire.kafka.topics import error_text
from beatwire.records import Expired

_LOGGER = logging.getLogger("beatwire")
_REQUEST_S = 5.0  # a request to the broker; an unanswered one is repeated by the caller
_FIRST_S = 0.5  # wait for commits that are not in a transaction
_SILENCE_S = 2.0  # a fetch takes milliseconds
_SEEK_S = 5.0  # librdkafka starts an assigned partition within milliseconds; longer means that it was revoked


class Replay:
    """The part of an epoch before the commits: each partition is read up to its commit and paused there.

    Parameters
    ----------
    consumer
        Positioned at the rewind offsets.
    cluster, topic
        The cluster, and the topic of sample chunks.
    positions
        partition -> its position. A partition with nothing to replay is paused at once.

    Attributes
    ----------
    until : dict of int to int
        partition -> offset at which its replay ends; only partitions with messages to replay.
    paused : set of int
        The partitions that are paused at their commit.
    """

    def __init__(self, consumer: Consumer, cluster: Cluster, topic: str, positions: Mapping[int, Position]) -> None:
        self._consumer, self._cluster, self._name, self._topic = consumer, cluster, topic, cluster.topic(topic)
        self.until = {p: at.offset for p, at in positions.items() if at.rewind < at.offset}
        self.paused: set[int] = set()
        self._received_s = 0.0  # when messages came last
        if self.until:
            self._pause(set(positions) - set(self.until))

    @property
    def done(self) -> bool:
        """Return True if every partition has reached its commit."""
        return self.paused >= set(self.until)

    def end_at(self, first_new: Mapping[int, int]) -> None:
        """End the replay of partitions before their commits: partition -> the first message that is not committed for.

        The commits stay as they are until the next one: by their leader epochs a successor finds the same.
        """
        for partition, offset in first_new.items():
            _report(self._topic, partition, Cause.LOST, self.until[partition], offset)
        self.until.update(first_new)

    def pause_finished(self, next_offset: Mapping[int, int], *, received: bool) -> dict[int, int]:
        """Pause the partitions that have been polled up to their commit, and those that end before it.

        Where a log was cut, the end of a transaction may be the last that it has: that is received by nobody. If
        nothing has come for `_SILENCE_S`, a fresh connection is asked.

        Parameters
        ----------
        next_offset
            partition -> the next offset to poll.
        received
            Whether this poll had messages, or none were asked for.

        Returns
        -------
        dict
            Of those that end before it: partition -> the commit, which is the next offset there.
        """
        ended = self._ended(next_offset) if self._is_silent(received=received) else {}
        next_offset = {**next_offset, **ended}
        self._pause({p for p, offset in self.until.items() if p not in self.paused and next_offset[p] >= offset})
        return ended

    def _is_silent(self, *, received: bool) -> bool:
        """Return True if nothing has come for long, once each time."""
        now_s = time.monotonic()
        silent = not received and self._received_s > 0 and now_s - self._received_s > _SILENCE_S
        if received or silent or not self._received_s:
            self._received_s = now_s
        return silent

    def _ended(self, next_offset: Mapping[int, int]) -> dict[int, int]:
        unread = {p: next_offset[p] for p in self.until if p not in self.paused}
        answers = look_ahead(self._cluster, self._name, unread)
        return {p: self.until[p] for p, waits in answers.items() if not waits}

    def _pause(self, partitions: set[int]) -> None:
        if partitions:
            self.paused |= partitions
            self._consumer.pause([TopicPartition(self._topic, p) for p in sorted(partitions)])


class Start(NamedTuple):
    """Where an epoch begins in a partition.

    at       the commit of the group, moved into the offsets that the broker has
    expired  what retention has deleted
    """

    at: Position
    expired: Expired


def find_starts(
    consumer: Consumer, assigned: list[TopicPartition], progress: Progress, topic_id: TopicId, *, first: bool
) -> dict[int, Start]:
    """Request the group's commits on the assigned partitions, and find out which of them go on without a replay.

    While a commit is part of an open transaction the broker does not answer. It ends the transaction when its timeout
    has passed, or never (see `Sink.end_pending_transactions`).

    Parameters
    ----------
    first
        This is the first attempt: an open transaction is the caller's to end, so the wait is short.

    Returns
    -------
    dict
        partition -> where to begin.

    Raises
    ------
    KafkaException
        The broker did not answer in time; try again.
    """
    starts: dict[int, Start] = {}
    went_back: dict[int, tuple[Cause, int]] = {}  # partition -> why, and the commit
    topic_id.ask()
    commits = consumer.committed(assigned, timeout=_FIRST_S if first else _REQUEST_S)
    for found in commits:
        if found.error is not None:
            raise KafkaException(found.error)
    positions = [as_position(found) for found in commits]
    compared = any(at is not None and at.topic_id for at in positions)
    present = topic_id.wait() if compared else topic_id.known
    for found, commit in zip(commits, positions, strict=True):
        available = consumer.get_watermark_offsets(found, timeout=_REQUEST_S)
        if available is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001
        offsets = OffsetRange(*available)
        starts[found.partition] = Start(*clip_to_available(commit, offsets, present))
        if commit is not None and (cause := cause_to_go_back(commit, offsets, present)) is not None:
            went_back[found.partition] = cause, commit.offset
        elif commit is not None and commit.offset and not is_monitors(found.metadata):
            _LOGGER.warning(
                "kafka: %s/%s: expected the commit of a monitor; got one of another program, %s: what is before it may "
                "not have been analysed",
                found.topic, found.partition, found.offset,
                extra={"event": "foreign commit", "fields": {"partitions": [found.partition]}},
            )  # fmt: skip
    if went_back:
        _commit_and_report(consumer, assigned[0].topic, went_back, {p: starts[p].at for p in went_back})
    kept = progress.go_on_from({partition: start.at.offset for partition, start in starts.items()})
    return starts | {
        p: Start(Position(at, at, leader=starts[p].at.leader if starts[p].at.offset == at else None), Expired())
        for p, at in kept.items()
    }


def _commit_and_report(
    consumer: Consumer, topic: str, went_back: Mapping[int, tuple[Cause, int]], at: Mapping[int, Position]
) -> None:
    """Commit where partitions begin now, so that a successor does not take offsets that have come since for old ones.

    Raises
    ------
    KafkaException
        The broker did not take the commits; try again.
    """
    corrected = [as_commit(topic, p, begin) for p, begin in at.items()]
    consumer.commit(offsets=corrected, asynchronous=False)
    for partition, (cause, commit) in went_back.items():
        _report(topic, partition, cause, commit, at[partition].offset)


def _report(topic: str, partition: int, cause: Cause, commit: int, begin: int) -> None:
    """Log that a partition does not begin at its commit."""
    what = (
        "an end before it, as after a power cut: the broker has lost messages that had been analysed, and perhaps "
        "later ones; it goes on where the log was cut"
        if cause is Cause.LOST
        else "a topic that was deleted and created again: it begins with the oldest message"
    )
    _LOGGER.warning(
        "kafka: %s/%d: expected the offset that the group has committed, %d; got %s, offset %d",
        topic, partition, commit, what, begin,
        extra={
            "event": "commit does not hold",
            "fields": {"partition": partition, "cause": cause.name.lower(), "committed": commit, "begin": begin},
        },
    )  # fmt: skip


def read_on(consumer: Consumer, targets: list[TopicPartition]) -> bool:
    """Resume partitions exactly at offsets; return False if one cannot be: that is logged, a new epoch has to begin.

    They may have been assigned a moment ago: librdkafka is waited for until it has started them.
    """
    for at in targets:
        try:
            consumer.resume([at])
            _seek(consumer, at)
        except KafkaException as error:
            _LOGGER.warning(
                "kafka: %s/%d: expected to read on at offset %d; got %s: a new epoch begins at the group's commits",
                at.topic, at.partition, at.offset, error_text(error),
                extra={"event": "does not resume", "fields": {"partition": at.partition, "offset": at.offset}},
            )  # fmt: skip
            return False
    return True


def _seek(consumer: Consumer, target: TopicPartition) -> None:
    deadline = time.monotonic() + _SEEK_S
    while True:
        try:
            consumer.seek(target)
        except KafkaException as error:
            if error.args[0].code() != KafkaError._STATE or time.monotonic() > deadline:  # noqa: SLF001
                raise
            time.sleep(0.005)
        else:
            return
