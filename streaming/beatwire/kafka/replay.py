"""Where an epoch begins: the group's commits, fitted to what is kept, and the replay up to them."""

from __future__ import annotations

import time
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from beatwire.kafka.positions import Position, Span, resume_at

_ASK_S = 5.0
_SEEK_S = 5.0


class Replay:
    """The part of an epoch before the commits: each partition is read up to ``until`` and held there.

    Parameters
    ----------
    consumer
        Positioned at the rewind offsets.
    topic
        Of the chunks.
    positions
        partition -> where its replay begins and ends; those with nothing to replay are held at once.
    """

    def __init__(self, consumer: Consumer, topic: str, positions: Mapping[int, Position]) -> None:
        self._consumer, self._topic = consumer, topic
        self.until = {p: at.offset for p, at in positions.items() if at.rewind < at.offset}
        self.held: set[int] = set()
        if self.until:
            self._hold(set(positions) - set(self.until))

    @property
    def done(self) -> bool:
        """Every partition has reached its commit."""
        return self.held >= set(self.until)

    def reached(self, read: Mapping[int, int]) -> None:
        """Hold the partitions that have been read up to their commit."""
        self._hold({p for p, offset in self.until.items() if p not in self.held and read[p] >= offset})

    def _hold(self, partitions: set[int]) -> None:
        if partitions:
            self.held |= partitions
            self._consumer.pause([TopicPartition(self._topic, p) for p in sorted(partitions)])


def find_positions(
    consumer: Consumer, assigned: list[TopicPartition], *, earliest: bool
) -> tuple[dict[int, Position], int]:
    """Ask where the group stands on `assigned`.

    A commit inside a transaction that is still open is waited for: the broker gives it up when the
    transaction's time is over, or never (see `Sink.settle`).

    Returns
    -------
    dict, int
        partition -> position, and how many messages of their replays are no longer kept.

    Raises
    ------
    KafkaException
        No answer in time; ask again.
    """
    positions, lost = {}, 0
    for found in consumer.committed(assigned, timeout=_ASK_S):
        if found.error is not None:
            raise KafkaException(found.error)
        commit = Position.committed(found.offset, found.metadata) if found.offset >= 0 else None
        kept = consumer.get_watermark_offsets(found, timeout=_ASK_S)
        if kept is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001
        positions[found.partition], gone = resume_at(commit, Span(*kept), earliest=earliest)
        lost += gone
    return positions, lost


def seek(consumer: Consumer, targets: list[TopicPartition]) -> None:
    """Move partitions that were assigned a moment ago: the library may not have started them yet.

    Raises
    ------
    KafkaException
        A partition is not ours any more.
    """
    deadline = time.monotonic() + _SEEK_S
    for target in targets:
        while True:
            try:
                consumer.seek(target)
                break
            except KafkaException as error:
                if error.args[0].code() != KafkaError._STATE or time.monotonic() > deadline:  # noqa: SLF001
                    raise
                time.sleep(0.005)
