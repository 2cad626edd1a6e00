"""A producer that waits when its buffer is full and reports every failure.

In: keys and values of messages. Out: messages at the broker, in order per key, each written once (idempotent producer).
State: the client's buffer, and the messages that have failed. Used for the monitor's output and by the producers of
samples.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from beatwire.errors import FatalError
from beatwire.kafka import topics

LARGEST_BYTES = 900_000  # a larger value is truncated: Kafka's default limit is 1 MB a message, headers included
_TRUNCATED_BYTES = 65_536
_FLUSH_S = 30.0
_CHECK_S = 0.5
_SETTINGS = {
    "partitioner": "murmur2_random",  # the partitioner of Kafka's Java clients: one key, one partition for all clients
    "linger.ms": 5,
    # A transaction that begins while the last one is being completed is refused and tried again after this time.
    "retry.backoff.ms": 5,
    "batch.size": 1 << 20,
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 256 << 10,
    "reconnect.backoff.max.ms": 1_000,
    "delivery.report.only.error": True,  # a message without error costs no call of Python
    "enable.idempotence": True,
}

Headers = list[tuple[str, bytes]]


class Sender:
    """A Kafka producer.

    Parameters
    ----------
    bootstrap
        ``host:port[,host:port...]``.
    settings
        librdkafka settings that replace the defaults of this module.

    Attributes
    ----------
    bootstrap : str
        As given.
    refused : str
        The broker's error message of the last message that it refused, else empty.
    """

    def __init__(self, bootstrap: str, settings: Mapping[str, object] | None = None) -> None:
        self.bootstrap = bootstrap
        self._failed = 0
        self.refused = ""
        own = _SETTINGS | {"on_delivery": self._on_delivery} | dict(settings or {})
        self.producer = Producer(topics.client_settings(bootstrap, own))

    def send(self, topic: str, keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> None:
        """Queue messages; wait while the buffer is full."""
        produce = self.producer.produce
        for key, value in zip(keys, values, strict=True):
            try:
                produce(topic, value, key)
            except BufferError:
                self._produce_when_possible(topic, value, key, None)
        self.producer.poll(0)

    def send_with_headers(
        self, topic: str, keys: Sequence[bytes | None], values: Sequence[bytes | None], headers: Sequence[Headers]
    ) -> None:
        """Queue messages with headers; wait while the buffer is full.

        A value above `LARGEST_BYTES` is truncated, and the header ``cut-from-bytes`` contains its full size.
        """
        for key, value, fields in zip(keys, values, headers, strict=True):
            if value is not None and len(value) > LARGEST_BYTES:
                fields = [*fields, ("cut-from-bytes", str(len(value)).encode())]
                value = value[:_TRUNCATED_BYTES]
            self._produce_when_possible(topic, value, key, fields)
        self.producer.poll(0)

    def unacknowledged(self) -> int:
        """Return the number of messages that the broker has not acknowledged."""
        self.producer.poll(0)  # a delivered message counts until its report has been handled
        return len(self.producer)

    def check(self) -> None:
        """Raise the failure of a message sent earlier, if there is one.

        Raises
        ------
        FatalError
            The broker refused a message, or the message was not delivered in time.
        """
        if self._failed:
            self._raise_undelivered(len(self.producer))

    def flush(self, timeout_s: float = _FLUSH_S) -> None:
        """Wait until the broker has acknowledged every message.

        Raises
        ------
        FatalError
            The broker did not within `timeout_s` seconds, or a message has failed.
        """
        deadline = time.monotonic() + timeout_s
        while (left := self.producer.flush(min(_CHECK_S, timeout_s))) and not self._failed:
            if time.monotonic() > deadline:
                break
        if left or self._failed:
            self._raise_undelivered(left)

    def close(self) -> None:
        """Close the connection; messages that have not been sent are discarded."""
        with contextlib.suppress(SystemError, KafkaException, RuntimeError):  # a fenced or a closed producer
            self.producer.purge()
            self.producer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.flush()
        finally:
            self.close()

    def _produce_when_possible(
        self, topic: str, value: bytes | None, key: bytes | None, headers: Headers | None
    ) -> None:
        """Queue one message; wait while the buffer is full."""
        while True:
            try:
                self.producer.produce(topic, value, key, headers=headers)  # type: ignore[arg-type]
                return
            except BufferError:
                self.producer.poll(0.05)

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed += 1
            if error.code() > 0:  # the broker's codes are positive, librdkafka's own are negative
                self.refused = f"{message.topic()}: {error.str()}"

    def _raise_undelivered(self, left: int) -> None:
        raise FatalError(
            f"kafka: expected {self.bootstrap} to acknowledge every message; "
            f"got {left} unanswered, {self._failed} failed {self.refused}".rstrip()
        )
