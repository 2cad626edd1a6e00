"""Where chunks go: a Kafka topic. The only file of the producers that knows Kafka.

Delivery is told by librdkafka itself: ``unsent`` counts what no broker has acknowledged, and only
failures call back, so a message that goes well costs no Python at all.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from beatwire.errors import FatalError
from beatwire.kafka import topics
from beatwire.wire import names
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition


class Sink:
    """Sends messages to one topic of one broker.

    Raises
    ------
    UserError
        on entering: nobody answers at the address within ``timeout_s``, or it has no such topic.
    FatalError
        the broker has refused a message, or lost it.
    """

    def __init__(self, bootstrap: str, topic: str = names.SAMPLES, *, timeout_s: float = 5.0) -> None:
        self.bootstrap, self.topic = bootstrap, topic
        topics.check_broker(bootstrap, [topic], timeout_s=timeout_s)
        self._failed: list[str] = []
        self._reader: Consumer | None = None
        self._parts: list[TopicPartition] = []
        settings = {
            "linger.ms": 5,
            "partitioner": "murmur2_random",  # as Java and everyone else places keys
            "delivery.report.only.error": True,
            "queue.buffering.max.messages": 500_000,
            "queue.buffering.max.kbytes": 65_536,
            "message.max.bytes": 1 << 20,
            "on_delivery": self._on_failure,
        }
        self._producer = Producer(topics.quiet(bootstrap, settings))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._producer.purge()
        self._producer.flush(5.0)
        if self._reader is not None:
            self._reader.close()

    @property
    def unsent(self) -> int:
        """How many messages no broker has acknowledged yet."""
        self._producer.poll(0)  # what has been delivered is counted until it has been told
        return len(self._producer)

    def lag(self, group: str) -> int:
        """Count the messages that ``group`` has not committed, those still under way included.

        Raises
        ------
        FatalError
            The broker does not say.
        """
        if self._reader is None:  # it asks only, and never joins the group
            self._reader = Consumer(topics.quiet(self.bootstrap, {"group.id": group, "enable.auto.commit": False}))
            known = self._reader.list_topics(self.topic, timeout=10.0).topics[self.topic].partitions
            self._parts = [TopicPartition(self.topic, part) for part in known]
        try:
            commits = [max(0, part.offset) for part in self._reader.committed(self._parts, timeout=10.0)]
            ends = [self._reader.get_watermark_offsets(part, timeout=10.0)[1] for part in self._parts]
        except KafkaException as error:
            raise FatalError(
                f"{self.bootstrap}: expected what {group!r} has committed; got {topics.reason(error)}"
            ) from error
        return sum(ends) - sum(commits) + self.unsent

    def is_mock(self) -> bool:
        """Say whether this is librdkafka's mock cluster, which forgets what is not read in time."""
        return str(self._producer.list_topics(timeout=5.0).cluster_id).startswith("mockCluster")

    def send(self, messages: Iterable[tuple[bytes, bytes]]) -> None:
        """Send (key, value) pairs; wait where the local queue is full."""
        produce, topic = self._producer.produce, self.topic
        for key, value in messages:
            try:
                produce(topic, value, key)
            except BufferError:
                self._make_room(key, value)
        self._producer.poll(0)
        self._check()

    def flush(self, timeout_s: float = 30.0) -> None:
        """Wait until everything has been acknowledged.

        Raises
        ------
        FatalError
            Something is not after ``timeout_s``, or was refused.
        """
        deadline = time.monotonic() + timeout_s
        while self._producer.flush(0.5) and time.monotonic() < deadline:
            self._check()
        self._check()
        if self.unsent:
            raise FatalError(
                f"{self.bootstrap}: expected to send everything; {self.unsent} messages are not acknowledged"
            )

    def _make_room(self, key: bytes, value: bytes) -> None:
        while True:
            self._producer.poll(0.05)
            self._check()
            try:
                self._producer.produce(self.topic, value, key)
            except BufferError:
                continue
            return

    def _on_failure(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._failed.append(error.str())

    def _check(self) -> None:
        if self._failed:
            count, first = len(self._failed), self._failed[0]
            raise FatalError(
                f"{self.bootstrap}: expected {self.topic!r} to take every message; {count} failed: {first}"
            )
