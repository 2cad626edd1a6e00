"""The polling thread of the source: polls, starts epochs, and passes parts to the hand-over.

In: the topic of sample chunks, as a member of a group (`client`). Out: a `Part` for each poll, in a `HandOver`. State:
the next offset of each partition, the replay in progress, the paused partitions, partitions that wait for an answer of
the schema registry (`holding`), commits that wait for the next poll, and what retention `deleted` too early.

An *epoch* is the time between two changes of the assignment. It begins at the committed positions of the group: first
the replay, partition by partition from the rewind offset to the committed offset, then the live messages from the
committed offset on. Partitions that this member keeps may go on without a replay (`progress`). Invariant: the live
parts of an epoch contain every message of the assigned partitions from the commit on, once and in order (`repeated`);
those that retention has deleted are counted in the next part (``Part.expired``).

Only this thread uses the consumer. confluent-kafka serialises the calls of a client, so a second thread would wait for
the end of a poll or longer. Requests of other threads are stored and carried out between two polls.
"""

import threading
import time

from confluent_kafka import KafkaException, Message, TopicPartition

from beatwire.kafka.cluster import DENIED, Cluster
from beatwire.kafka.consuming import commits
from beatwire.kafka.consuming.batch import reaching, truncate
from beatwire.kafka.consuming.client import GroupClient
from beatwire.kafka.consuming.commit_queue import CommitQueue
from beatwire.kafka.consuming.deleted import Deleted
from beatwire.kafka.consuming.handover import RECENT_S, HandOver, Reading
from beatwire.kafka.consuming.holding import Holding
from beatwire.kafka.consuming.positions import Position, without
from beatwire.kafka.consuming.progress import Progress
from beatwire.kafka.consuming.repeated import Repeated
from beatwire.kafka.consuming.replay import Replay, find_starts, read_on
from beatwire.kafka.consuming.resumed import Resumed
from beatwire.kafka.consuming.topic_id import TopicId
from beatwire.kafka.reachability import broker_responds
from beatwire.kafka.schemas.writer_schemas import WriterSchemas

_FULL_S = 5.0  # wait for space in the hand-over before partitions are paused: the group expects polls to go on
_FINISH_S = 60.0  # wait for the monitor to publish the tick in work; a transaction takes milliseconds
_CLOSE_S = 2.0  # wait for the end of the thread
_NO_COMMITS_S = 30.0  # a broker that answers other clients but sends no commits for so long: replace the client


class Poller:
    """The thread between a group member and the hand-over.

    Parameters
    ----------
    cluster, group, topic
        The cluster, the group to join, the topic to read.
    handover, progress
        Where the parts go, and what the monitor has taken of them.
    protocol
        ``consumer`` (KIP-848) or ``classic``.
    schemas
        The writers' schemas of framed messages; None: messages of any schema id pass.
    settings
        Of this monitor, for its commits.

    Attributes
    ----------
    epoch : int
        Number of the epoch, from 1; 0 before the first.
    changing : bool
        The assignment changes: the next epoch has not begun.
    start : dict of int to int
        partition -> the first offset of the epoch.
    began : dict of int to Position
        partition -> the commit from which it begins, or the position at which it goes on.
    membership : object
        The group membership as of the last poll, for transactions.
    holding : Holding
        The partitions that wait for the schema registry.
    waiting : CommitQueue
        Commits that wait for the end of the present poll.
    """

    def __init__(
        self,
        cluster: Cluster,
        group: str,
        topic: str,
        handover: HandOver,
        progress: Progress,
        *,
        protocol: str,
        schemas: WriterSchemas | None = None,
        settings: str | None = None,
    ) -> None:
        self._cluster, self._group, self._topic = cluster, group, topic
        self._topic_there = cluster.topic(topic)
        self._handover, self._progress = handover, progress
        self._client = GroupClient(cluster, group, topic, self, protocol=protocol, settings=settings)
        self.epoch, self.changing = 0, True
        self.start: dict[int, int] = {}
        self.began: dict[int, Position] = {}
        self.membership: object = None
        self.holding = Holding(schemas)
        self._topic_id = TopicId(cluster, self._topic_there)
        self.waiting = CommitQueue(self._topic_there, self._topic_id, settings)
        self._next_offset: dict[int, int] = {}
        self._replay: Replay | None = None
        self._changed_s, self._polled_s, self._resumed = time.monotonic(), 0.0, Resumed()
        self._paused: list[TopicPartition] = []  # because the hand-over is full
        self._deleted = Deleted(self._topic_there, self._topic_id)
        self._repeated = Repeated(self._topic_there, self._topic_id)
        self._pending: list[TopicPartition] = []
        self._asked = self._closing = False  # asked for the commits, since the assignment changed
        self._thread = threading.Thread(target=self._run, name="kafka-source", daemon=True)

    # ---- called by any thread ----

    def open(self) -> None:
        """Join the group and start polling."""
        self._client.join()
        self._thread.start()

    def close(self) -> None:
        """Stop polling, carry out the waiting commits, and leave the group; without a broker the session ends itself.

        The thread uses the consumer until its requests have ended, of which each has a limit of its own.
        """
        self._closing = True
        self._handover.close()
        if self._thread.is_alive():
            self._thread.join(_CLOSE_S)
            if self._thread.is_alive():
                return
            self._commit(wait=True)
        self._client.consumer.close()

    def rewind(self) -> None:
        """Begin a new epoch at the committed positions of the group."""
        self.changing, self._asked, self._changed_s = True, False, time.monotonic()
        self._handover.suspend()

    def take_pending(self) -> list[TopicPartition]:
        """Return the assigned partitions, once, if their commits are part of a transaction that does not end."""
        pending, self._pending = self._pending, []
        return pending

    # ---- the thread ----

    def _run(self) -> None:
        try:
            while not self._closing:
                messages, drained = self._client.poll(self._handover.most)
                self.membership = self._client.consumer.consumer_group_metadata()
                self._commit()
                if self.changing:
                    self._begin_epoch()  # the messages are discarded, and polled again from the commits on
                else:
                    self._pass_on(messages, drained=drained)
                    self._wait_for_space()
                    self._release_or_replace()
                if self._client.rejoin_if_unassigned(self.start):
                    self.on_change(grows=False)
        except BaseException as error:  # raised again in the monitor's thread
            self._handover.fail(error)

    def _commit(self, *, wait: bool = False) -> None:
        self.waiting.carry_out(self._client.consumer, self._next_offset, wait=wait)

    def _pass_on(self, messages: list[Message], *, drained: bool) -> None:
        """Put polled messages into the hand-over; those of a replay up to the commits only."""
        messages, again = self._repeated.drop(messages, self._next_offset, time.monotonic())
        replay = self._replay
        reached = {}
        if replay is not None:
            replay.end_at(self._repeated.first_new(messages, replay.until))
            reached = {p: replay.until[p] for p in reaching(messages, replay.until)}
            messages = truncate(messages, replay.until)
        part, held = self.holding.admit(messages)
        self._resumed.hear(part.next_offset)
        self._deleted.note(self._client.consumer, part, self._next_offset, {} if replay is None else replay.until)
        self._repeated.note(part)
        self._next_offset.update(part.next_offset | reached | held)
        if held:
            self._client.consumer.pause([TopicPartition(self._topic_there, p) for p in sorted(held)])
        if replay is None:
            part = self._deleted.pass_on(part, self._next_offset)
        else:
            self._next_offset |= replay.pause_finished(self._next_offset, received=bool(messages or self._paused))
        replaying = replay is not None and not replay.done
        reading = self._reading(drained=drained, replaying=replaying)
        self._handover.put(part if part.messages or part.expired else None, reading, replay=replay is not None)
        if replay is not None and not replaying:
            self._replay = None
            self._resume(replay.paused)
        if again:
            self._resume(again - self._paused_for_long())

    def _reading(self, *, drained: bool, replaying: bool) -> Reading:
        """Return what this poll has found out; a full hand-over polls nothing, and so finds no end."""
        held, at_end = frozenset(self.holding.partitions), False
        if drained and not self._paused and self._replay is None:
            at_end, standing = self._client.at_end(without(self._next_offset, held))
            held |= standing  # a stream whose samples wait is silent for the graph: its alert "no data" is right
        polled_s, self._polled_s = self._polled_s, time.monotonic()
        is_recent = self._polled_s - polled_s < RECENT_S and self._resumed.are_known(self._polled_s)
        return Reading(at_end and is_recent, held, replaying, self._polled_s)

    def _wait_for_space(self) -> None:
        """Wait while the hand-over is full; then pause the partitions and go on polling, as the group requires."""
        space = self._handover.wait_for_space(0 if self._paused else _FULL_S)
        if not space and not self._paused:
            idle = self._paused_for_long()
            self._paused = [at for at in self._client.consumer.assignment() if at.partition not in idle]
            self._client.consumer.pause(self._paused)
        elif space and self._paused:
            paused, self._paused = self._paused, []
            self._resume({at.partition for at in paused})

    def _paused_for_long(self) -> set[int]:
        """Return the partitions that are paused because their replay has ended, or that wait for the registry."""
        replayed = self._replay.paused if self._replay is not None else set()
        return replayed | self.holding.partitions.keys()

    def _release_or_replace(self) -> None:
        """Resume the partitions that need not wait for the registry any longer; replace a client that is stuck."""
        if not self._paused and (released := self.holding.released()):
            self._resume(released)
        if not self._paused and self._client.is_stuck(without(self._next_offset, self._paused_for_long())):
            self._replace_client()

    def _resume(self, partitions: set[int]) -> None:
        """Resume paused partitions exactly at their next offsets."""
        targets = [self._repeated.at(p, self._next_offset[p]) for p in sorted(partitions)]
        if read_on(self._client.consumer, targets):
            self._resumed.add(partitions, time.monotonic())
        else:  # no longer assigned, or not started
            self.rewind()

    def _begin_epoch(self) -> None:
        """Seek to where each assigned partition begins; without an answer the next poll tries again."""
        if not self._handover.wait_until_idle(_FINISH_S):
            return
        assigned = self._client.consumer.assignment()
        if not assigned:
            if self._client.is_stuck_unassigned():
                self._replace_client()
            return
        try:
            self._commit(wait=True)
            first, self._asked = not self._asked, True
            starts = find_starts(self._client.consumer, assigned, self._progress, self._topic_id, first=first)
        except KafkaException as error:
            if error.args[0].code() in DENIED:
                raise self._cluster.denied(f"read the offsets of group {self._group!r}", error.args[0]) from error
            if first:  # most often a member was killed, and its transaction is open
                self._pending = assigned
            else:
                self._diagnose_missing_commits(assigned)
            return
        self.changing, self._paused = False, []
        self.holding.clear()
        self.epoch += 1
        self._next_offset = {p: start.at.rewind for p, start in starts.items()}
        self._deleted.begin({p: start.expired for p, start in starts.items()})
        self.start, self.began = dict(self._next_offset), {p: start.at for p, start in starts.items()}
        self._repeated.begin({p: at.leader for p, at in self.began.items()})
        self._resume(set(starts))
        if self.changing:
            return
        replay = Replay(self._client.consumer, self._cluster, self._topic, self.began)
        self._replay = None if replay.done else replay
        self._handover.resume(replaying=not replay.done)

    def _diagnose_missing_commits(self, assigned: list[TopicPartition]) -> None:
        """Find out why the broker does not send the group's commits: an open transaction, or a client that is stuck.

        Raises
        ------
        FatalError
            The transaction of another process does not end.
        """
        waited_s = time.monotonic() - self._changed_s
        partitions = [at.partition for at in assigned]
        if commits.check_pending(self._cluster, self._group, self._topic, partitions, waited_s):
            self._pending = assigned
        elif waited_s > _NO_COMMITS_S and broker_responds(self._cluster):
            self._replace_client()

    def _replace_client(self) -> None:
        self._client.replace()
        self.on_change(grows=False)  # meanwhile others may have had its partitions

    # ---- `AssignmentListener`, called inside a poll ----

    def on_change(self, *, grows: bool) -> None:
        """Discard what was polled, and begin a new epoch."""
        if not grows:
            self._progress.lose(self.epoch)
        self.rewind()

    def on_revoke(self) -> None:
        """Wait until the tick in work is published: its partitions stay assigned until this returns."""
        self._handover.wait_until_idle(_FINISH_S)
        self._commit()
