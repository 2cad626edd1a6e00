"""The input of the monitor: ticks of sample chunks from a consumer group.

In: the topic of sample chunks. Out: `PolledTick`, one a call of `Source.take`. State: what has been taken of each
partition (`progress`); all else belongs to the polling thread (`poller`).

Under load a tick contains all waiting messages, up to bounds (`handover`); without load a tick is made as soon as one
message has arrived. The first ticks of an epoch (`poller`) may be a replay: their output was published before and is
to be discarded.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Self

from confluent_kafka import TopicPartition

from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.batch import PolledTick, join_parts
from beatwire.kafka.consuming.commits import committed_offsets
from beatwire.kafka.consuming.handover import RECENT_S, HandOver
from beatwire.kafka.consuming.poller import Poller
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.progress import Progress
from beatwire.kafka.consuming.repeated import newest
from beatwire.kafka.reading.broker_clock import BrokerClock
from beatwire.kafka.schemas.writer_schemas import WriterSchemas
from beatwire.records import Expired
from beatwire.wire import names


class Source:
    """Sample chunks of the partitions that the group assigns to this member.

    A group without a commit begins with the oldest message.

    Parameters
    ----------
    group
        The consumer group; its members share the partitions.
    topic
        The topic of sample chunks.
    protocol
        ``consumer`` (KIP-848, brokers from 4.0) or ``classic``.
    schemas
        The writers' schemas of framed messages; None: messages of any schema id are read as SampleChunk.
    settings
        Of this monitor, ``section:digest`` with commas between them: members with others are named in the log.

    Raises
    ------
    UserError
        No broker answers at `cluster`, or the topic does not exist.
    """

    def __init__(
        self,
        cluster: Cluster,
        group: str,
        *,
        topic: str = names.SAMPLES,
        protocol: str = "consumer",
        schemas: WriterSchemas | None = None,
        settings: str | None = None,
    ) -> None:
        topics.check_broker(cluster, [topic])
        self.cluster, self.topic = cluster, topic
        self.group = group
        self._handover, self._schemas = HandOver(), schemas
        self._progress, self._clock = Progress(), BrokerClock()
        self._leaders: dict[int, int] = {}  # the leader epoch of the last message taken
        self._poller = Poller(
            cluster, group, topic, self._handover, self._progress, protocol=protocol, schemas=schemas, settings=settings
        )  # fmt: skip

    def __enter__(self) -> Self:
        self._poller.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop polling and leave the group; messages that were taken and not committed will be read again."""
        self._poller.close()

    @property
    def epoch(self) -> int:
        """Return the present epoch; ticks of an earlier one must not be published."""
        return self._poller.epoch + self._poller.changing

    @property
    def partitions(self) -> int:
        """Return the number of partitions in the present epoch; 0 while the assignment changes."""
        return 0 if self._poller.changing else len(self._poller.start)

    @property
    def assigned(self) -> set[int]:
        """Return the partitions of the present epoch."""
        return set(self._poller.start)

    @property
    def held(self) -> int:
        """Return the number of partitions that wait for an answer of the schema registry."""
        return len(self._poller.holding.partitions)

    def take(self, timeout_s: float) -> PolledTick | None:
        """Return the waiting messages as one tick; after `timeout_s` seconds without a message, an empty tick.

        The call is also the sign that the previous tick has been published and committed.

        Returns
        -------
        PolledTick or None
            None while the assignment changes, and while a replay has no messages: time must not pass for the graph.

        Raises
        ------
        UserError, FatalError
            The error that ended the polling thread.
        """
        taken = self._handover.take(timeout_s)
        if taken is None:
            return None
        parts, replay, reading = taken
        if not parts and reading.replaying:
            return None
        progress = self._progress
        if progress.epoch != self._poller.epoch:  # epochs change only between two calls
            progress.begin_epoch(self._poller.epoch, self._poller.start)
            self._leaders = {p: at.leader for p, at in self._poller.began.items() if at.leader is not None}
        positions = {p: offset for part in parts for p, offset in part.next_offset.items()}
        start = progress.take(positions)
        for part in parts:
            self._leaders = self._leaders | newest(part.leader_epoch, self._leaders)
        caught_up = reading.caught_up and time.monotonic() - reading.at_s < RECENT_S
        self._clock.note(parts, caught_up=caught_up)
        now_us = self._clock.now_us()
        if replay:
            now_us = min(int(parts[0].arrival_us.min()), now_us)
        tick, origin = join_parts(parts, now_us=now_us, caught_up=caught_up, held=reading.held)
        if replay:
            began = self._poller.began
            tick = replace(tick, open_banks={p: at.banks for p, at in began.items() if at.banks is not None})
        if self._schemas is not None:
            tick = replace(tick, schemas=self._schemas.known)
        expired: dict[int, Expired] = {}
        for p, missing in (one for part in parts for one in part.expired.items()):
            expired[p] = expired.get(p, Expired()) | missing
        return PolledTick(
            tick, origin, progress.epoch, replay, start, positions, expired, progress.beginning, self._clock.ahead_s,
            self._leaders,
        )  # fmt: skip

    def took(self, messages: int, seconds: float) -> None:
        """Note what the graph took for so many messages: the next ticks have no more than it can take in a second."""
        self._handover.took(messages, seconds)

    def rewind(self, *, anew: bool = False) -> None:
        """Begin a new epoch at the committed positions of the group, as the last tick may not have been published.

        Parameters
        ----------
        anew
            With an empty state; else the state may be that after the last tick, see `PolledTick.beginning`.
        """
        if anew:
            self._progress.lose(self._poller.epoch)
        self._progress.doubt()
        self._poller.rewind()

    @property
    def group_metadata(self) -> object:
        """Return the group membership that a transaction needs, as of the last poll."""
        return self._poller.membership

    def commit(self, positions: Mapping[int, Position]) -> None:
        """Commit after the present poll, outside a transaction; a newer position replaces a waiting one."""
        self._poller.waiting.add(positions)

    def offsets(self, positions: Mapping[int, Position]) -> list[TopicPartition]:
        """Return positions as confluent-kafka commits them."""
        return self._poller.waiting.offsets(positions)

    def committed(self, partitions: Iterable[int]) -> dict[int, int]:
        """Return partition -> the offset that the group has committed, 0 without a commit.

        Raises
        ------
        FatalError
            The broker does not answer.
        """
        return committed_offsets(self.cluster, self.group, self.topic, partitions)

    def transactional_id(self, partition: int) -> str:
        """Return the transactional id that belongs to a partition: only the member that has it may use it."""
        return f"beatwire-{self.group}-{self.cluster.topic(self.topic)}-{partition}"

    def take_pending(self) -> list[TopicPartition]:
        """Return the assigned partitions, once, if their commits are part of a transaction that is open.

        See `Sink.end_pending_transactions`.
        """
        return self._poller.take_pending()
