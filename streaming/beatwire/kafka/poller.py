"""The polling thread of the source: polls, starts epochs, and passes parts to the hand-over.

In: the topic of sample chunks, as a member of a group (`client`). Out: a `Part` for each poll, in a `HandOver`. State:
the next offset of each partition, the replay in progress, the paused partitions, and commits that wait for the next
poll.

An *epoch* is the time between two changes of the assignment. It begins at the committed positions of the group: first
the replay, partition by partition from the rewind offset to the committed offset, then the live messages from the
committed offset on. Invariant: the live parts of an epoch contain every message of the assigned partitions from the
commit on, once and in order.

Only this thread uses the consumer. confluent-kafka serialises the calls of a client, so a second thread would wait for
the end of a poll or longer. Requests of other threads are stored and carried out between two polls.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping

from confluent_kafka import KafkaException, Message, TopicPartition

from beatwire.errors import FatalError
from beatwire.kafka import commits, topics
from beatwire.kafka.batch import join_messages, truncate
from beatwire.kafka.client import GroupClient
from beatwire.kafka.handover import HandOver
from beatwire.kafka.positions import Position
from beatwire.kafka.replay import Replay, find_positions, seek

_FULL_S = 5.0  # wait for space in the hand-over before partitions are paused: the group expects polls to go on
_FINISH_S = 60.0  # wait for the monitor to publish the tick in work; a transaction takes milliseconds
_NO_COMMITS_S = 30.0  # a broker that answers other clients but sends no commits for so long: replace the client
_PENDING_S = 180.0  # longer than any transaction timeout: the broker will not end the transaction by itself


class Poller:
    """The thread between a group member and the hand-over.

    Parameters
    ----------
    bootstrap, group, topic
        The broker's address ``host:port[,host:port...]``, the group to join, the topic to read.
    handover
        Receives the parts.
    protocol
        ``consumer`` (KIP-848) or ``classic``.

    Attributes
    ----------
    epoch : int
        Number of the epoch, from 1; 0 before the first.
    changing : bool
        The assignment changes: the next epoch has not begun.
    start : dict of int to int
        partition -> the first offset of the epoch.
    caught_up : bool
        The parts passed on so far contain every message at the broker.
    membership : object
        The group membership as of the last poll, for transactions.
    lost : int
        Messages that should have been replayed, and that retention had deleted.
    """

    def __init__(self, bootstrap: str, group: str, topic: str, handover: HandOver, *, protocol: str) -> None:
        self._bootstrap, self._group, self._topic = bootstrap, group, topic
        self._handover = handover
        self._client = GroupClient(bootstrap, group, topic, self, protocol=protocol)
        self.epoch = 0
        self.changing = True
        self.start: dict[int, int] = {}
        self.caught_up = False
        self.membership: object = None
        self.lost = 0
        self._next_offset: dict[int, int] = {}
        self._replay: Replay | None = None
        self._paused: list[TopicPartition] = []  # because the hand-over is full
        self._to_commit: dict[int, Position] = {}
        self._commit_lock = threading.Lock()
        self._pending: list[TopicPartition] = []
        self._changed_s = time.monotonic()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="kafka-source", daemon=True)

    # ---- called by any thread ----

    def open(self) -> None:
        """Join the group and start polling."""
        self._client.join()
        self._thread.start()

    def close(self) -> None:
        """Stop polling, carry out the waiting commits, and leave the group."""
        self._closing = True
        self._handover.close()
        if self._thread.is_alive():
            self._thread.join()
            self._commit_waiting(wait=True)
        self._client.consumer.close()

    @property
    def replaying(self) -> bool:
        """Return True until every partition has been polled up to its commit."""
        return self._replay is not None

    def rewind(self) -> None:
        """Begin a new epoch at the committed positions of the group."""
        self.changing, self._changed_s = True, time.monotonic()
        self._handover.suspend()

    def commit(self, positions: Mapping[int, Position]) -> None:
        """Commit after the present poll, outside a transaction; a newer position replaces a waiting one."""
        with self._commit_lock:
            self._to_commit.update(positions)

    def offsets(self, positions: Mapping[int, Position]) -> list[TopicPartition]:
        """Return positions as confluent-kafka commits them."""
        return [TopicPartition(self._topic, p, at.offset, at.metadata) for p, at in positions.items()]

    def take_pending(self) -> list[TopicPartition]:
        """Return the assigned partitions, once, if their commits are part of a transaction that does not end."""
        pending, self._pending = self._pending, []
        return pending

    # ---- the thread ----

    def _run(self) -> None:
        try:
            while not self._closing:
                messages, drained = self._client.poll()
                self.membership = self._client.consumer.consumer_group_metadata()
                self._commit_waiting()
                if self.changing:
                    self._begin_epoch()  # the messages are discarded, and polled again from the commits on
                else:
                    self._pass_on(messages, drained=drained)
                    self._wait_for_space()
                    self._replace_if_stuck()
        except BaseException as error:  # raised again in the monitor's thread
            self._handover.fail(error)

    def _commit_waiting(self, *, wait: bool = False) -> None:
        with self._commit_lock:
            offsets = self.offsets({p: at for p, at in self._to_commit.items() if p in self._next_offset})
            self._to_commit.clear()
        if not offsets:
            return
        with contextlib.suppress(KafkaException):  # at least once: what is not committed is read again
            if wait:
                self._client.consumer.commit(offsets=offsets, asynchronous=False)
            else:
                self._client.consumer.commit(offsets=offsets, asynchronous=True)

    def _pass_on(self, messages: list[Message], *, drained: bool) -> None:
        """Put polled messages into the hand-over; those of a replay up to the commits only."""
        replay = self._replay
        if replay is not None:
            messages = truncate(messages, replay.until)
        part = join_messages(messages)
        self._next_offset.update(part.next_offset)
        self.caught_up = drained and self._client.at_end(self._next_offset)
        if messages:
            self._handover.put(part, replay=replay is not None)
            if replay is not None:
                replay.pause_finished(self._next_offset)
        if replay is not None and replay.done:
            self._replay = None
            self._resume(replay.paused)

    def _wait_for_space(self) -> None:
        """Wait while the hand-over is full; then pause the partitions and go on polling, as the group requires."""
        space = self._handover.wait_for_space(0 if self._paused else _FULL_S)
        if not space and not self._paused:
            replayed = self._replay.paused if self._replay is not None else set()
            self._paused = [at for at in self._client.consumer.assignment() if at.partition not in replayed]
            self._client.consumer.pause(self._paused)
        elif space and self._paused:
            paused, self._paused = self._paused, []
            self._resume({at.partition for at in paused})

    def _replace_if_stuck(self) -> None:
        replayed = self._replay.paused if self._replay is not None else set()
        active = {p: offset for p, offset in self._next_offset.items() if p not in replayed}
        if not self._paused and self._client.is_stuck(active):
            self._client.replace()
            self.rewind()

    def _resume(self, partitions: set[int]) -> None:
        """Resume paused partitions exactly at their next offsets."""
        targets = [TopicPartition(self._topic, p, self._next_offset[p]) for p in sorted(partitions)]
        try:
            self._client.consumer.resume(targets)
            seek(self._client.consumer, targets)
        except KafkaException:  # no longer assigned, or not started yet
            self.rewind()

    def _begin_epoch(self) -> None:
        """Seek to the rewind offsets of all assigned partitions; without an answer the next poll tries again."""
        if not self._handover.wait_until_idle(_FINISH_S):
            return
        assigned = self._client.consumer.assignment()
        if not assigned:
            if self._client.is_stuck_unassigned():
                self._client.replace()
            return
        try:
            self._commit_waiting(wait=True)
            positions, lost = find_positions(self._client.consumer, assigned)
        except KafkaException:
            self._diagnose_missing_commits(assigned)
            return
        self.changing, self._paused = False, []
        self.epoch += 1
        self._next_offset = {p: at.rewind for p, at in positions.items()}
        self.start = dict(self._next_offset)
        self._resume(set(positions))
        if self.changing:
            return
        self.lost += lost
        replay = Replay(self._client.consumer, self._topic, positions)
        self._replay = None if replay.done else replay
        self._handover.resume()

    def _diagnose_missing_commits(self, assigned: list[TopicPartition]) -> None:
        """Find out why the broker does not send the group's commits: an open transaction, or a client that is stuck.

        Raises
        ------
        FatalError
            The transaction of another process does not end.
        """
        waited_s = time.monotonic() - self._changed_s
        partitions = [at.partition for at in assigned]
        if commits.has_pending_commits(self._bootstrap, self._group, self._topic, partitions):
            self._pending = assigned
            if waited_s > _PENDING_S:
                raise FatalError(
                    f"kafka: expected the offsets of group {self._group!r} at {self._bootstrap}; got a transaction "
                    f"of another process on them, open for {_PENDING_S:g} s: abort it with kafka-transactions.sh"
                )
        elif waited_s > _NO_COMMITS_S and topics.broker_responds(self._bootstrap):
            self._client.replace()
            self.rewind()

    # ---- `AssignmentListener`, called inside a poll ----

    def on_change(self) -> None:
        """Discard what was polled, and begin a new epoch."""
        self.rewind()

    def on_revoke(self) -> None:
        """Wait until the tick in work is published: its partitions stay assigned until this returns."""
        self._handover.wait_until_idle(_FINISH_S)
        self._commit_waiting()
