"""Messages before the one that is due: those that were read are dropped, those that replace lost ones are new.

In: the messages of a poll, and the next offset of each partition. Out: the messages that were not read before, in
order. State: the leader epoch of the last message of each partition that was passed on, or of the commit.

A broker numbers the leaders of a partition, and each message has the number of its leader, the *leader epoch*. It never
decreases in a log, and two messages of the same offset and leader epoch are the same. So where a message comes before
the one that is due, its epoch says what it is:

not above the last one  it was read. A broker has refused an offset that it has (OFFSET_OUT_OF_RANGE), and librdkafka
                        goes on with the oldest message. The partition is to be read again from the message due on
above the last one      it is new. The log had lost its end (a power cut, an unclean election); librdkafka has found it
                        out by the epoch, and goes on where the log was cut

In a topic that was created again, and without epochs (embedded brokers), what comes is new.
"""

import logging
from collections.abc import Collection, Mapping
from typing import Protocol

import numpy as np
from confluent_kafka import Message, TopicPartition

from beatwire.kafka.consuming.batch import Part, partition_column, partition_runs

_LOGGER = logging.getLogger("beatwire")
_AGAIN_S = 1.0  # a broker that refuses an offset without end is not asked for it more often


class Id(Protocol):
    """The id of a topic, see `beatwire.kafka.consuming.topic_id`."""

    @property
    def known(self) -> str | None:
        """Return the last that is known."""

    def ask(self, *, doubted: bool = False) -> None:
        """Ask the broker."""

    def wait(self) -> str | None:
        """Return the present one; None without an answer."""


class Repeated:
    """The leader epochs of what was read.

    Parameters
    ----------
    topic
        The topic, by its name at the brokers.
    topic_id
        Its id, which is asked for again before anything is dropped.

    Attributes
    ----------
    leader_epoch : dict of int to int
        partition -> the leader epoch of the last message passed on, or of the commit; only those that are known.
    """

    def __init__(self, topic: str, topic_id: Id) -> None:
        self._topic, self._topic_id = topic, topic_id
        self.leader_epoch: dict[int, int] = {}
        self._dropped_s: dict[int, float] = {}  # partition -> when it was last to be read again

    def begin(self, leader_epoch: Mapping[int, int | None]) -> None:
        """Begin an epoch of the source with the leader epochs of its commits."""
        self.leader_epoch = {p: of for p, of in leader_epoch.items() if of is not None}
        self._dropped_s.clear()

    def note(self, part: Part) -> None:
        """Note what is passed on."""
        self.leader_epoch.update(newest(part.leader_epoch, self.leader_epoch))

    def drop(self, messages: list[Message], due: Mapping[int, int], now_s: float) -> tuple[list[Message], set[int]]:
        """Drop what was read before.

        Parameters
        ----------
        messages
            Of one poll, without error events.
        due
            partition -> the next offset to poll.
        now_s
            The time by a clock that never decreases, seconds.

        Returns
        -------
        list, set
            The messages that are new, and the partitions that are to be read again from the message that is due.
        """
        behind = out_of_order(messages, due) & self.leader_epoch.keys()
        if not behind:
            return messages, set()
        if not self._is_same_topic(behind, now_s):
            for p in behind:
                del self.leader_epoch[p]
            return messages, set()
        kept, first = [], dict[int, int]()
        next_offset, epochs = dict(due), dict(self.leader_epoch)
        for message in messages:
            p, offset = message.partition() or 0, message.offset() or 0
            epoch = message.leader_epoch()
            if p in behind and offset < next_offset.get(p, 0) and epoch is not None and epoch <= epochs[p]:
                first.setdefault(p, offset)
                continue
            if p in behind:
                next_offset[p], epochs[p] = offset + 1, epochs[p] if epoch is None else epoch
            kept.append(message)
        again = {p for p in first if now_s - self._dropped_s.get(p, -np.inf) > _AGAIN_S}
        for p in sorted(again):
            self._dropped_s[p] = now_s
            _LOGGER.warning(
                "kafka: %s/%d: expected offset %d next; got %d, which was read before: the broker has refused an "
                "offset; it is read on from offset %d",
                self._topic, p, next_offset[p], first[p], next_offset[p],
                extra={"event": "set back", "fields": {"partition": p, "expected": next_offset[p], "got": first[p]}},
            )  # fmt: skip
        return kept, again

    def first_new(self, messages: list[Message], until: Mapping[int, int]) -> dict[int, int]:
        """Find messages before a commit that are not those that were committed for.

        Parameters
        ----------
        messages
            Of one poll of a replay.
        until
            partition -> the commit. Its leader epoch is known (`begin`), or all messages are taken as they are.

        Returns
        -------
        dict
            partition -> the offset of the first such message.
        """
        found = dict[int, int]()
        for run in partition_runs(partition_column(messages)):
            p = run.partition
            known = self.leader_epoch.get(p)
            if known is None or p in found or p not in until:
                continue
            if (messages[run.end - 1].leader_epoch() or 0) <= known:
                continue
            of = messages[run.begin : run.end]
            at = next(message.offset() or 0 for message in of if (message.leader_epoch() or 0) > known)
            if at < until[p]:
                found[p] = at
        return found

    def at(self, partition: int, offset: int) -> TopicPartition:
        """Return where to read on: with its epoch, by which librdkafka finds out that a log was cut before it."""
        return TopicPartition(self._topic, partition, offset, "", self.leader_epoch.get(partition, -1))

    def _is_same_topic(self, behind: Collection[int], now_s: float) -> bool:
        """Return True if the topic has the id that it had; it is asked for once a time that a partition is set back."""
        if all(now_s - self._dropped_s.get(p, -np.inf) <= _AGAIN_S for p in behind):
            return True
        before = self._topic_id.known
        self._topic_id.ask(doubted=True)
        return before is not None and before == self._topic_id.wait()


def newest(leader_epoch: Mapping[int, int], before: Mapping[int, int]) -> dict[int, int]:
    """Return the leader epochs of messages, or those before where they are newer: what is replayed is older.

    >>> newest({0: 4, 1: 3}, {0: 5})
    {0: 5, 1: 3}
    """
    return {p: max(of, before.get(p, of)) for p, of in leader_epoch.items()}


def out_of_order(messages: list[Message], due: Mapping[int, int]) -> set[int]:
    """Return the partitions with a message before the one that is due."""
    found, due = set[int](), dict(due)
    offsets = np.array([message.offset() for message in messages], np.int64)
    is_behind = np.append(True, np.diff(offsets) <= 0)  # the message before; not asked of the first of a run
    for run in partition_runs(partition_column(messages)):
        first = int(offsets[run.begin])
        if is_behind[run.begin + 1 : run.end].any() or first < due.get(run.partition, first):
            found.add(run.partition)
        due[run.partition] = int(offsets[run.end - 1]) + 1
    return found
