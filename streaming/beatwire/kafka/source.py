"""The input: one thread that polls, one hand-over of bounded size, ticks out.

In: the topic of sample chunks, as a member of a consumer group. Out: `Taken`, a tick and where it
ends. Under load a tick is everything that is waiting, up to a bound (`handover`);
without load the first message that arrives makes one.

An *epoch* is the time between two changes of the assignment. The first ticks of an epoch may be a
*replay*: partition by partition the messages between the commit's rewind offset and its offset,
cut exactly there, to be fed through the graph with the output discarded. Then come live ticks,
beginning at the committed offsets. Invariant: the live ticks of an epoch hold every message of the
assigned partitions from the commit on, once and in order.

Only the thread touches the consumer: confluent-kafka lets one call at a time into a client, and a
second one waits until the poll is over, or longer. What others ask for it does between two polls.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import Self

from confluent_kafka import KafkaException, Message, TopicPartition

from beatwire.errors import FatalError
from beatwire.kafka import commits, topics
from beatwire.kafka.batch import Taken, before, part_of, tick_of
from beatwire.kafka.client import GroupClient
from beatwire.kafka.handover import HandOver
from beatwire.kafka.positions import Position
from beatwire.kafka.replay import Replay, find_positions, seek
from beatwire.wire import names

_PATIENCE_S = 5.0
_FINISH_S = 60.0
_STUCK_S = 30.0
_HANGING_S = 180.0


class Source:
    """Sample chunks of the partitions that the group assigns to us.

    Parameters
    ----------
    bootstrap
        ``host:port[,host:port...]``.
    group
        The consumer group; its members share the partitions.
    topic
        Of the chunks.
    earliest
        A group without a commit begins with the oldest message rather than with the next one.
    protocol
        ``consumer`` (KIP-848, brokers from 4.0) or ``classic``.
    clock_us
        Microseconds since 1970.

    Raises
    ------
    UserError
        Nothing answers at `bootstrap`, or it has no such topic.
    """

    def __init__(
        self,
        bootstrap: str,
        group: str,
        *,
        topic: str = names.SAMPLES,
        earliest: bool = True,
        protocol: str = "consumer",
        clock_us: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        topics.check_broker(bootstrap, [topic])
        self.bootstrap, self.topic, self._group = bootstrap, topic, group
        self.lost = 0
        self._earliest, self._clock_us = earliest, clock_us
        self._client = GroupClient(bootstrap, group, topic, self, earliest=earliest, protocol=protocol)
        self._handover = HandOver()
        self._next: dict[int, int] = {}  # to be taken; the monitor's
        self._read: dict[int, int] = {}  # to be polled; the thread's
        self._replay: Replay | None = None
        self._paused: list[TopicPartition] = []  # because the hand-over is full
        self._epoch = 0
        self._changing = True
        self._closing = False
        self._membership: object = None
        self._to_commit: dict[int, Position] = {}
        self._commit_lock = threading.Lock()
        self._has_all = False
        self._unsettled: list[TopicPartition] = []
        self._changed_s = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="kafka-source", daemon=True)

    def __enter__(self) -> Self:
        self._client.join()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop polling and leave the group; what was taken and not committed will come again."""
        self._closing = True
        self._handover.close()
        if self._thread.is_alive():
            self._thread.join()
            self._commit_waiting(wait=True)
        self._client.consumer.close()

    # ---- the monitor's side ----

    @property
    def epoch(self) -> int:
        """The present epoch: a tick of an earlier one may have lost its right to be published."""
        return self._epoch + self._changing

    def take(self, timeout_s: float) -> Taken | None:
        """Return everything that waits, or an empty tick after `timeout_s` seconds.

        Taking also says that the tick before has been published and committed. None means that
        there is nothing to do and no time to tell either: the assignment changes or a replay runs.

        Raises
        ------
        UserError, FatalError
            What ended the polling thread.
        """
        taken = self._handover.take(timeout_s)
        if taken is None:
            return None
        parts, replay, all_taken = taken
        if not parts and self._replay is not None:
            return None
        start = dict(self._next)
        positions = {p: offset for part in parts for p, offset in part.next_offset.items()}
        self._next.update(positions)
        caught_up = not replay and all_taken and self._has_all
        now_us = int(parts[0].arrival_us.min()) if replay else self._clock_us()
        tick, origin = tick_of(parts, now_us=now_us, caught_up=caught_up)
        return Taken(tick, origin, self._epoch, replay, start, positions)

    def rewind(self) -> None:
        """Begin a new epoch at what the group has committed."""
        self._changing, self._changed_s = True, time.monotonic()
        self._handover.shut()

    @property
    def group_metadata(self) -> object:
        """What a transaction needs to know about our membership, as of the last poll."""
        return self._membership

    def commit(self, positions: Mapping[int, Position]) -> None:
        """Commit outside a transaction, after the present poll; what is newer replaces what waits."""
        with self._commit_lock:
            self._to_commit.update(positions)

    def offsets(self, positions: Mapping[int, Position]) -> list[TopicPartition]:
        """Return `positions` as the library writes commits."""
        return [TopicPartition(self.topic, p, at.offset, at.metadata) for p, at in positions.items()]

    def take_unsettled(self) -> list[TopicPartition]:
        """Return our partitions, once, when their commits were found to hang in a transaction: see `Sink.settle`."""
        unsettled, self._unsettled = self._unsettled, []
        return unsettled

    # ---- the thread's side ----

    def _run(self) -> None:
        try:
            while not self._closing:
                messages, drained = self._client.poll()
                self._membership = self._client.consumer.consumer_group_metadata()
                self._commit_waiting()
                if self._changing:
                    self._begin_epoch()  # what was polled will be polled again
                else:
                    self._hand_over(messages, drained=drained)
                    self._wait_for_room()
                    self._replace_if_deaf()
        except BaseException as error:  # the monitor's to handle
            self._handover.fail(error)

    def _commit_waiting(self, *, wait: bool = False) -> None:
        with self._commit_lock:
            offsets = self.offsets({p: at for p, at in self._to_commit.items() if p in self._read})
            self._to_commit.clear()
        if not offsets:
            return
        with contextlib.suppress(KafkaException):  # what is not committed comes again: at least once
            if wait:
                self._client.consumer.commit(offsets=offsets, asynchronous=False)
            else:
                self._client.consumer.commit(offsets=offsets, asynchronous=True)

    def _hand_over(self, messages: list[Message], *, drained: bool) -> None:
        replay = self._replay
        if replay is not None:
            messages = before(messages, replay.until)
        part = part_of(messages)
        self._read.update(part.next_offset)
        self._has_all = drained and self._client.at_end(self._read)
        if messages:
            self._handover.put(part, replay=replay is not None)
            if replay is not None:
                replay.reached(self._read)
        if replay is not None and replay.done:
            self._replay = None
            self._go_on(replay.held)

    def _wait_for_room(self) -> None:
        """Wait while the hand-over is full; after a while pause and go on polling: the group keeps us."""
        room = self._handover.wait_for_room(0 if self._paused else _PATIENCE_S)
        if not room and not self._paused:
            held = self._replay.held if self._replay is not None else set()
            self._paused = [at for at in self._client.consumer.assignment() if at.partition not in held]
            self._client.consumer.pause(self._paused)
        elif room and self._paused:
            paused, self._paused = self._paused, []
            self._go_on({at.partition for at in paused})

    def _replace_if_deaf(self) -> None:
        held = self._replay.held if self._replay is not None else set()
        if not self._paused and self._client.misses({p: at for p, at in self._read.items() if p not in held}):
            self._client.replace()
            self.rewind()

    def _go_on(self, partitions: set[int]) -> None:
        """Let paused partitions go on exactly where they were read to."""
        targets = [TopicPartition(self.topic, p, self._read[p]) for p in sorted(partitions)]
        try:
            self._client.consumer.resume(targets)
            seek(self._client.consumer, targets)
        except KafkaException:  # not ours any more, or not yet
            self.rewind()

    def _begin_epoch(self) -> None:
        """Rewind everything that is assigned; when the broker does not answer, the next poll tries again."""
        if not self._handover.wait_until_idle(_FINISH_S):
            return
        assigned = self._client.consumer.assignment()
        if not assigned:
            if self._client.is_forgotten():
                self._client.replace()
            return
        try:
            self._commit_waiting(wait=True)
            positions, lost = find_positions(self._client.consumer, assigned, earliest=self._earliest)
        except KafkaException:
            self._find_out(assigned)
            return
        self._changing, self._paused = False, []
        self._epoch += 1
        self._read = {p: at.rewind for p, at in positions.items()}
        self._next = dict(self._read)
        self._go_on(set(positions))
        if self._changing:
            return
        self.lost += lost
        replay = Replay(self._client.consumer, self.topic, positions)
        self._replay = None if replay.done else replay
        self._handover.reopen()

    def _find_out(self, assigned: list[TopicPartition]) -> None:
        """Find out why the broker does not say where the group stands: a transaction, or it cannot reach us.

        Raises
        ------
        FatalError
            Nobody has ended the transaction for very long.
        """
        waited_s = time.monotonic() - self._changed_s
        partitions = [at.partition for at in assigned]
        if commits.is_unsettled(self.bootstrap, self._group, self.topic, partitions):
            self._unsettled = assigned
            if waited_s > _HANGING_S:
                raise FatalError(
                    f"kafka: expected the offsets of group {self._group!r} at {self.bootstrap}; got a transaction on "
                    f"them that was not ended in {_HANGING_S:g} s, and not ours: abort it with kafka-transactions.sh"
                )
        elif waited_s > _STUCK_S and topics.answers(self.bootstrap):
            self._client.replace()
            self.rewind()

    # ---- `Changes`, called inside a poll, on our thread ----

    def changed(self) -> None:
        """Drop what was polled: partitions came or went."""
        self.rewind()

    def release(self) -> None:
        """Let the tick in work be published: its partitions are ours until we return."""
        self._handover.wait_until_idle(_FINISH_S)
        self._commit_waiting()
