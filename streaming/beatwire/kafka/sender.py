"""A producer as everything here uses it, the producers of samples too."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from beatwire.errors import FatalError
from beatwire.kafka import topics

LARGEST_BYTES = 900_000
_CUT_BYTES = 65_536
_FLUSH_S = 30.0
_PRODUCER = {
    "partitioner": "murmur2_random",
    "linger.ms": 5,
    # The next transaction may ask while the last is being wound up, is refused, and asks again after this.
    "retry.backoff.ms": 5,
    "batch.size": 1 << 20,
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 256 << 10,
    "reconnect.backoff.max.ms": 1_000,
    "delivery.report.only.error": True,
    "enable.idempotence": True,
}

Headers = list[tuple[str, bytes]]


class Sender:
    """A producer that waits when its buffer is full and loses no message in silence.

    Parameters
    ----------
    bootstrap
        ``host:port[,host:port...]``.
    settings
        librdkafka settings on top of ours.

    Attributes
    ----------
    sent : int
        Messages handed over so far.
    refused : str
        The broker's words when it has refused a message, else empty.
    """

    def __init__(self, bootstrap: str, settings: Mapping[str, object] | None = None) -> None:
        self._bootstrap = bootstrap
        self._failed = 0
        self.refused = ""
        self.sent = 0
        own = _PRODUCER | {"on_delivery": self._on_failure} | dict(settings or {})
        self.producer = Producer(topics.quiet(bootstrap, own))

    def send(self, topic: str, keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> None:
        """Queue messages; waits while the buffer is full."""
        produce = self.producer.produce
        for key, value in zip(keys, values, strict=True):
            try:
                produce(topic, value, key)
            except BufferError:
                self._insist(topic, value, key, None)
        self.sent += len(values)
        self.producer.poll(0)

    def send_with_headers(
        self, topic: str, keys: Sequence[bytes | None], values: Sequence[bytes | None], headers: Sequence[Headers]
    ) -> None:
        """Queue messages that carry headers; a value too large for any topic is cut and says so."""
        for key, value, names in zip(keys, values, headers, strict=True):
            if value is not None and len(value) > LARGEST_BYTES:
                names = [*names, ("cut-from-bytes", str(len(value)).encode())]
                value = value[:_CUT_BYTES]
            self._insist(topic, value, key, names)
        self.sent += len(values)
        self.producer.poll(0)

    def flush(self, timeout_s: float = _FLUSH_S) -> None:
        """Wait until the broker has acknowledged everything.

        Raises
        ------
        FatalError
            It did not within `timeout_s` seconds, or refused a message.
        """
        left = self.producer.flush(timeout_s)
        if left or self._failed:
            raise FatalError(
                f"kafka: expected {self._bootstrap} to acknowledge every message; "
                f"got {left} unanswered, {self._failed} failed {self.refused}".rstrip()
            )

    def close(self) -> None:
        """Let the connection go, and what has not been sent."""
        with contextlib.suppress(SystemError, KafkaException, RuntimeError):  # one that was fenced, or is closed
            self.producer.purge()
            self.producer.close()

    def __len__(self) -> int:
        """Count the messages that wait for an acknowledgement."""
        return len(self.producer)

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

    def _insist(self, topic: str, value: bytes | None, key: bytes | None, headers: Headers | None) -> None:
        while True:
            try:
                self.producer.produce(topic, value, key, headers=headers)  # type: ignore[arg-type]
                return
            except BufferError:
                self.producer.poll(0.05)

    def _on_failure(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed += 1
            if error.code() > 0:  # the broker's own word; the library's own codes are negative
                self.refused = f"{message.topic()}: {error.str()}"
