"""The member of the consumer group: one librdkafka consumer, and another when it does not come back.

In: who to join. Out: slices of messages, error events taken out and classified. Changes of the assignment
are told to `Changes`, on the polling thread.

librdkafka (2.16.0) can lose its broker for good: a client that asks for metadata while a broker starts
may be told that there are none and then waits for ever (its issues 5301, 5511). So a client that stays
silent is held against what the broker says to a fresh one, and replaced when it misses something.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from beatwire.errors import FatalError
from beatwire.kafka import commits, topics
from beatwire.kafka.batch import split_errors

SLICE = 8_192
_POLL_S = 0.1
_SETTLED_S = 1.0
_SILENCE_S = 10.0
_UNREACHABLE = {KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT}  # noqa: SLF001
_REFUSED = {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED}


class Changes(Protocol):
    """What a member does when its partitions change."""

    def changed(self) -> None:
        """Drop what was polled: partitions came or went."""

    def release(self) -> None:
        """Finish what is in work: partitions go when this returns."""


class GroupClient:
    """A consumer of one topic; used by one thread.

    Parameters
    ----------
    bootstrap, group, topic
        Where, as a member of what, and what to read.
    changes
        Told about the assignment.
    earliest
        Where a partition without a usable offset begins.
    protocol
        ``consumer`` (KIP-848) or ``classic``.
    """

    def __init__(
        self, bootstrap: str, group: str, topic: str, changes: Changes, *, earliest: bool, protocol: str
    ) -> None:
        self._bootstrap, self._group, self._topic, self._changes = bootstrap, group, topic, changes
        self._commits: dict[int, int] = {}
        self._settings: dict[str, Any] = {
            "group.id": group,
            "group.protocol": protocol,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest" if earliest else "latest",
            "fetch.wait.max.ms": 10,
            "fetch.message.max.bytes": 4 << 20,
            "queued.min.messages": 200_000,
            "fetch.queue.backoff.ms": 5,  # by default a full queue stops fetching for a second
            "fetch.error.backoff.ms": 100,
            "reconnect.backoff.max.ms": 1_000,
            "error_cb": self._on_error,
        }
        if protocol == "classic":
            self._settings["partition.assignment.strategy"] = "cooperative-sticky"
        self.replaced = 0
        self._down = False
        self._heard_s = self._checked_s = time.monotonic()
        self.consumer = Consumer(topics.quiet(bootstrap, self._settings))

    def join(self) -> None:
        """Become a member."""
        self.consumer.subscribe(
            [self._topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )

    def poll(self) -> tuple[list[Message], bool]:
        """Return what waits in the library, at most a slice, and whether that was all; wait for the first only.

        Raises
        ------
        UserError, FatalError
            What will not get better: no such topic, no permission.
        """
        messages = self.consumer.consume(SLICE, 0)
        if not messages:
            messages = self.consumer.consume(1, _POLL_S)
            if messages:
                messages += self.consumer.consume(SLICE - 1, 0)
        drained = len(messages) < SLICE
        messages, errors = split_errors(messages)
        for error in errors:
            self._judge(error)
        if messages:
            self._down, self._heard_s = False, time.monotonic()
        elif self._down:
            self._down = not topics.answers(self._bootstrap)
        return messages, drained

    def at_end(self, read: Mapping[int, int]) -> bool:
        """Say whether the broker has nothing beyond `read`: partition -> the next offset to poll."""
        if self._down:
            return False
        if time.monotonic() - self._heard_s > _SETTLED_S:
            return True  # what lies behind our position is not for readers of committed messages
        for partition, offset in read.items():
            kept = self.consumer.get_watermark_offsets(TopicPartition(self._topic, partition), cached=True)
            if kept is not None and kept[1] > offset + 1:  # a transaction's end marker takes an offset
                return False
        return True

    def misses(self, read: Mapping[int, int]) -> bool:
        """Say whether this client is silent although messages beyond `read` wait; asks rarely.

        Raises
        ------
        UserError
            The topic has gone.
        """
        ends = self._ends_when_silent()
        return any(ends.get(partition, 0) > offset + 1 for partition, offset in read.items())

    def is_forgotten(self) -> bool:
        """Say whether this client has no partitions although messages wait and nobody commits; asks rarely.

        Raises
        ------
        UserError
            The topic has gone.
        """
        ends, before = self._ends_when_silent(), self._commits
        if not ends:
            return False
        try:
            self._commits = commits.commits_of(self._bootstrap, self._group, self._topic, ends)
        except FatalError:  # it does not answer to anybody
            return False
        return self._commits == before and any(end > before[p] + 1 for p, end in ends.items())

    def _ends_when_silent(self) -> dict[int, int]:
        """Return where the committed messages end; nothing while we subscribe, asked lately, or get no answer."""
        now_s = time.monotonic()
        if now_s - max(self._heard_s, self._checked_s) < _SILENCE_S:
            return {}
        self._checked_s = now_s
        try:
            return topics.ends_of(self._bootstrap, self._topic, committed=True)
        except FatalError:  # it does not answer to anybody
            return {}

    def replace(self) -> None:
        """Give this consumer up for a new one, which joins at once."""
        lost, self.consumer = self.consumer, Consumer(topics.quiet(self._bootstrap, self._settings))
        threading.Thread(target=lost.close, name="kafka-lost", daemon=True).start()  # may take for ever
        self.replaced += 1
        self._heard_s = self._checked_s = time.monotonic()
        self.join()

    def _judge(self, error: KafkaError) -> None:
        """Stop for what will not get better; all else the library tries again by itself."""
        if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART and topics.answers(self._bootstrap):
            topics.check_broker(self._bootstrap, [self._topic])
        if error.fatal() or error.code() in _REFUSED:
            raise FatalError(f"kafka: expected to read {self._topic} at {self._bootstrap}; got {error.str()}")

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if consumer is self.consumer:
            self._changes.changed()
        consumer.incremental_assign(partitions)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if consumer is self.consumer:
            self._changes.changed()
            self._changes.release()
        consumer.incremental_unassign(partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if consumer is self.consumer:
            self._changes.changed()
        consumer.incremental_unassign(partitions)

    def _on_error(self, error: KafkaError) -> None:
        self._down = self._down or error.code() in _UNREACHABLE
