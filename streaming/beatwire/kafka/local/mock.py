"""The embedded broker: librdkafka's own mock cluster, inside this process, no Java.

It keeps 5 MiB or 100,000 batches of a partition and then drops the oldest without a word, creates
any topic on first use with 4 partitions, and knows no transactions worth the name (aborted messages
are read, offsets sent in a transaction are not applied, nobody is fenced) and no KIP-848 groups:
good for a demo and for fast tests with at-least-once delivery, never for exactly-once.
"""

from __future__ import annotations

from types import TracebackType
from typing import Self

from confluent_kafka import Producer

from beatwire.kafka import topics


class MockKafka:
    """A mock cluster that lives as long as this object; `bootstrap` is its address."""

    def __init__(self, brokers: int = 1) -> None:
        self._owner = Producer(topics.quiet("embedded", {"test.mock.num.brokers": brokers}))
        known = self._owner.list_topics(timeout=5.0).brokers
        self.bootstrap = ",".join(f"{broker.host}:{broker.port}" for broker in known.values())
        for name in topics.TOPICS:  # asking for a topic creates it
            self._owner.list_topics(name, timeout=5.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the cluster and every connection to it."""
        self._owner.close()
