"""A member of the consumer group: one librdkafka consumer, replaced when it stops receiving.

In: the group to join and the topic to read. Out: lists of messages, without error events. Errors that cannot pass are
raised, all others are left to librdkafka, which tries again. Changes of the assignment are reported to an
`AssignmentListener`, on the polling thread.

librdkafka (2.16.0) can lose its broker for good: a client that requests metadata while a broker starts may receive an
empty list of brokers, and then waits without end (its issues 5301 and 5511). So a client that has received nothing for
a while is compared with the answers to a fresh connection, and replaced if messages wait that it does not receive.
"""

import logging
import threading
import time
from collections.abc import Collection, Mapping
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from beatwire.errors import FatalError
from beatwire.kafka import topics
from beatwire.kafka.cluster import DENIED, UNREACHABLE, Cluster
from beatwire.kafka.consuming import commits
from beatwire.kafka.consuming.batch import split_errors
from beatwire.kafka.consuming.standing import Standing
from beatwire.kafka.consuming.unassigned import ASSIGNOR, Unassigned
from beatwire.kafka.reachability import Reachability, broker_responds
from beatwire.kafka.reading.readers import look_ahead

_LOGGER = logging.getLogger("beatwire")
POLL_MESSAGES = 8_192
_QUEUED_KB = 16 << 10  # of messages that wait in the library; more, as its default of 64 MB, is no faster
_POLL_S = 0.1
_SILENCE_S = 10.0  # silence after which the broker is asked over a fresh connection, and the interval of such requests


def settings_of(group: str, protocol: str) -> dict[str, Any]:
    """Return the librdkafka settings of a member of a group; ``protocol`` as of `GroupClient`."""
    settings = {
        "group.id": group,
        "group.protocol": protocol,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        "fetch.wait.max.ms": 10,
        "fetch.message.max.bytes": 4 << 20,
        "queued.min.messages": 200_000,
        "queued.max.messages.kbytes": _QUEUED_KB,
        "fetch.queue.backoff.ms": 5,  # by default a full queue stops fetching for a second
        "fetch.error.backoff.ms": 100,
    }
    if protocol == "classic":
        settings["partition.assignment.strategy"] = "cooperative-sticky"
    return settings


class AssignmentListener(Protocol):
    """Receives changes of the assignment, inside a poll and on its thread."""

    def on_change(self, *, grows: bool) -> None:
        """Discard what was polled: partitions were assigned (``grows``), or revoked or lost."""

    def on_revoke(self) -> None:
        """Finish the tick in work: the partitions are given up when this returns."""


class GroupClient:
    """A consumer of one topic, for use by one thread.

    Parameters
    ----------
    cluster, group, topic
        The cluster, the group to join, the topic to read.
    listener
        Receives changes of the assignment.
    protocol
        ``consumer`` (KIP-848) or ``classic``.
    settings
        Of this monitor, see `Unassigned`.
    """

    def __init__(
        self,
        cluster: Cluster,
        group: str,
        topic: str,
        listener: AssignmentListener,
        *,
        protocol: str,
        settings: str | None = None,
    ) -> None:
        self._cluster, self._group, self._topic, self._listener = cluster, group, topic, listener
        self._topic_there = cluster.topic(topic)
        self._commits: dict[int, int] = {}
        self._settings = settings_of(group, protocol) | {"error_cb": self._on_error}
        self._unreachable, self._reachability = False, Reachability(cluster)
        self._unassigned = Unassigned(cluster, group, topic, settings=settings) if protocol == "consumer" else None
        self._received_s = self._checked_s = time.monotonic()
        self._has_keys = True
        self._standing, self._said = Standing(topic), set[tuple[int | None, int]]()
        self.consumer = cluster.consumer(self._settings)

    def join(self) -> None:
        """Join the group."""
        self.consumer.subscribe(
            [self._topic_there], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )

    def poll(self, most: int = POLL_MESSAGES) -> tuple[list[Message], bool]:
        """Return the messages that wait in the library, at most `most` or `POLL_MESSAGES`; wait for the first one only.

        Returns
        -------
        messages, drained
            The messages, perhaps none, and True if no further message waits in the library.

        Raises
        ------
        UserError, FatalError
            An error that does not pass: no such topic, no permission.
        """
        most = min(most, POLL_MESSAGES)
        messages = self.consumer.consume(most, 0)
        if not messages:
            messages = self.consumer.consume(1, _POLL_S)
            if messages:
                messages += self.consumer.consume(most - 1, 0)
        drained = len(messages) < most
        received = messages
        messages, errors = split_errors(received)
        if errors:
            self._note_errors(received)
        if messages:
            self._note_key(messages[0])
            self._unreachable, self._received_s = False, time.monotonic()
        elif self._unreachable:
            self._unreachable = not self._reachability.responds()
        return messages, drained

    def at_end(self, next_offset: Mapping[int, int]) -> tuple[bool, frozenset[int]]:
        """Return whether all that the broker has is read, and the partitions of which that is not said.

        Parameters
        ----------
        next_offset
            partition -> the next offset to poll; of the partitions that are not paused.

        Returns
        -------
        at_end, standing
            True if the broker has no messages beyond the position, but for the partitions `standing` still.
        """
        if self._unreachable:
            self._standing.clear()
            return False, frozenset()
        ends = {}
        for partition, offset in next_offset.items():
            available = self.consumer.get_watermark_offsets(TopicPartition(self._topic_there, partition), cached=True)
            if available is not None and available[1] > offset + 1:  # the end marker of a transaction takes an offset
                ends[partition] = available[1]
        standing = self._standing.note(next_offset, ends, time.monotonic())
        return len(standing) == len(ends), standing

    def is_stuck(self, next_offset: Mapping[int, int]) -> bool:
        """Return True if this client receives nothing although committed messages wait; requests are rare.

        Parameters
        ----------
        next_offset
            partition -> the next offset to poll; of the partitions that are not paused.

        Raises
        ------
        UserError
            The topic no longer exists.
        """
        ends = self._end_offsets_if_silent()
        behind = {partition: offset for partition, offset in next_offset.items() if ends.get(partition, 0) > offset + 1}
        return bool(behind) and any(look_ahead(self._cluster, self._topic, behind).values())

    def is_stuck_unassigned(self) -> bool:
        """Return True if this client has no partitions although messages wait that nobody commits; requests are rare.

        Raises
        ------
        UserError
            The topic no longer exists.
        """
        ends, previous = self._end_offsets_if_silent(), self._commits
        if not ends:
            return False
        try:
            self._commits = commits.committed_offsets(self._cluster, self._group, self._topic, ends)
        except FatalError:  # the broker does not answer any connection
            return False
        behind = {p: previous[p] for p, end in ends.items() if p in previous and end > previous[p] + 1}
        waits = bool(behind) and self._commits == previous
        return waits and any(look_ahead(self._cluster, self._topic, behind).values())

    def _end_offsets_if_silent(self) -> dict[int, int]:
        """Return the end of the committed messages; {} while messages arrive, soon after a request, or unanswered."""
        now_s = time.monotonic()
        if now_s - max(self._received_s, self._checked_s) < _SILENCE_S:
            return {}
        self._checked_s = now_s
        try:
            return topics.end_offsets(self._cluster, self._topic, committed=True)
        except FatalError:  # the broker does not answer any connection
            return {}

    def rejoin_if_unassigned(self, own: Collection[int]) -> bool:
        """Rejoin if no member works on some partitions, other than its `own`, so that all are assigned; return True."""
        if self._unassigned is None or self._unreachable or not (partitions := self._unassigned.find(own)):
            return False
        _LOGGER.warning(
            "messages wait in partitions %s, and no member of the group has committed for long: this member rejoins so "
            "that the coordinator assigns all partitions again",
            ", ".join(map(str, partitions)),
            extra={"event": "unassigned", "fields": {"partitions": partitions}},
        )
        self._settings["group.remote.assignor"] = ASSIGNOR
        self.replace()
        return True

    def replace(self) -> None:
        """Abandon this consumer for a new one, which joins at once."""
        abandoned, self.consumer = self.consumer, self._cluster.consumer(self._settings)
        # In a thread that does not keep the process alive: closing a consumer that is stuck may never return.
        threading.Thread(target=abandoned.close, name="kafka-abandoned", daemon=True).start()
        self._received_s = self._checked_s = time.monotonic()
        self.join()

    def _note_errors(self, received: list[Message]) -> None:
        """Raise an error that does not pass; log others, once for each partition and kind."""
        for message in received:
            error = message.error()
            if error is None:
                continue
            self._raise_if_permanent(error)
            partition = message.partition()
            if (kind := (partition, error.code())) not in self._said:
                self._said.add(kind)
                where = self._topic if partition is None or partition < 0 else f"partition {partition} of {self._topic}"
                fields = {"partition": partition, "code": error.code()}
                _LOGGER.warning(
                    "an error was received in place of messages of %s: %s", where, error.str(),
                    extra={"event": "error received", "fields": fields},
                )  # fmt: skip

    def _note_key(self, message: Message) -> None:
        """Log once that a message has no key: each chunk of a stream then goes to any partition."""
        partition = message.partition()
        if self._has_keys and partition and message.key() is None and message.value() is not None:
            self._has_keys = False
            _LOGGER.warning(
                "expected the stream id as the key of a message; got none in partition %s of %s: chunks of one stream "
                "go to any partition, and workers and replays lose beats",
                partition, self._topic, extra={"event": "no key", "fields": {"partition": partition}},
            )  # fmt: skip

    def _raise_if_permanent(self, error: KafkaError) -> None:
        """Raise an error that does not pass; all others are left to librdkafka, which tries again."""
        if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART and broker_responds(self._cluster):
            topics.check_broker(self._cluster, [self._topic])
        if error.code() in DENIED:
            raise self._cluster.denied(f"read {self._topic_there} as group {self._group!r}", error)
        if error.fatal():
            raise FatalError(f"kafka: expected to read {self._topic_there} at {self._cluster}; got {error.str()}")

    # Callbacks of an abandoned consumer are not reported.

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if consumer is self.consumer:
            self._listener.on_change(grows=True)
        consumer.incremental_assign(partitions)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if consumer is self.consumer:
            self._listener.on_change(grows=False)
            self._listener.on_revoke()
        consumer.incremental_unassign(partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if consumer is self.consumer:
            self._listener.on_change(grows=False)
        consumer.incremental_unassign(partitions)

    def _on_error(self, error: KafkaError) -> None:
        self._unreachable = self._unreachable or error.code() in UNREACHABLE
