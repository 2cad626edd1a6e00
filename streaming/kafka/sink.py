"""The output: what a tick leads to and how far the input has come, both or neither.

Exactly-once: one transaction a tick holds its messages and the input's offsets. One that the broker
has given up is tried again while the input is still ours; one whose fate is unknown is left to the
group's commits, which tell it, by a `StaleError`. A sink whose id another process took over (fenced)
is finished. At-least-once: produce, wait for every acknowledgement, commit.
Either way messages of one key stay in order, and the broker removes what a retry sent twice.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from streaming.errors import FatalError
from streaming.kafka import topics
from streaming.kafka.positions import Position
from streaming.kafka.source import Source
from streaming.records import Outgoing

LARGEST_BYTES = 900_000
_CUT_BYTES = 65_536
_TRANSACTION_S = 10.0
_FLUSH_S = 30.0
_OUTAGE_S = 120.0
_AGAIN_S = 0.05
_FENCED = {KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH}  # noqa: SLF001
_PRODUCER = {
    "partitioner": "murmur2_random",
    "linger.ms": 5,
    "batch.size": 1 << 20,
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 256 << 10,
    "reconnect.backoff.max.ms": 1_000,
    "delivery.report.only.error": True,
    "enable.idempotence": True,
}

Headers = list[tuple[str, bytes]]


class StaleError(Exception):
    """The tick was not published, or nobody can say so: what the group has committed decides."""


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
        self.producer.purge()
        with contextlib.suppress(SystemError):  # how the library closes a producer that was fenced
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


class Sink:
    """Publishes ticks.

    Parameters
    ----------
    bootstrap
        ``host:port[,host:port...]``.
    exactly_once
        One transaction a tick; needs a real broker. Otherwise at-least-once.
    transactional_id
        To be held by one process at a time: taking it over ends the holder before. Made up, and so
        nobody else's, when None.

    Raises
    ------
    FatalError
        The broker gives out no transactions.
    """

    def __init__(self, bootstrap: str, *, exactly_once: bool = True, transactional_id: str | None = None) -> None:
        self.exactly_once = exactly_once
        self._bootstrap, self._named = bootstrap, transactional_id
        self._sender = self._open()

    def close(self) -> None:
        """Let the connection go; what was published stays."""
        self._sender.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def publish(
        self, outgoing: Sequence[Outgoing], positions: Mapping[int, Position], source: Source, epoch: int
    ) -> None:
        """Publish a tick of `epoch`: its messages, and with them how far the input has come.

        Returns when readers of committed messages can see it.

        Raises
        ------
        StaleError
            The input is no longer ours, or the broker did not say what became of the tick: begin a
            new epoch at what the group has committed.
        FatalError
            The broker cannot be made to take it, or another process holds our transactional id.
        """
        if not self.exactly_once:
            self._queue(outgoing)
            self._sender.flush(_OUTAGE_S)
            source.commit(positions)
            return
        deadline = time.monotonic() + _OUTAGE_S
        while True:
            try:
                self._transact(outgoing, positions, source)
                return
            except KafkaException as error:
                self._check(error)
                if not self._aborted(error):
                    self._sender.close()
                    self._sender = self._open()
                    raise StaleError from error
                if source.epoch != epoch:
                    raise StaleError from error
                if time.monotonic() > deadline:
                    raise FatalError(
                        f"kafka: expected {self._bootstrap} to commit a tick in {_OUTAGE_S:g} s; "
                        f"got {topics.reason(error)}"
                    ) from error
                time.sleep(_AGAIN_S)

    def _open(self) -> Sender:
        if not self.exactly_once:
            return Sender(self._bootstrap, {"message.timeout.ms": int(_OUTAGE_S * 1000)})
        named = self._named or f"beatwire-{uuid.uuid4()}"
        sender = Sender(
            self._bootstrap,
            {"transactional.id": named, "transaction.timeout.ms": int(_TRANSACTION_S * 1000)},
        )
        try:
            sender.producer.init_transactions(_OUTAGE_S)
        except KafkaException as error:
            raise FatalError(
                f"kafka: expected transactions at {self._bootstrap}; got {topics.reason(error)}"
            ) from error
        return sender

    def _transact(self, outgoing: Sequence[Outgoing], positions: Mapping[int, Position], source: Source) -> None:
        producer = self._sender.producer
        producer.begin_transaction()
        self._queue(outgoing)
        if positions:
            producer.send_offsets_to_transaction(source.offsets(positions), source.group_metadata, _TRANSACTION_S)
        deadline = time.monotonic() + _OUTAGE_S
        while True:
            try:
                producer.commit_transaction(_TRANSACTION_S)
                return
            except KafkaException as error:  # it may say that asking once more can help
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise

    def _check(self, error: KafkaException) -> None:
        """Stop for what will not get better."""
        cause = error.args[0]
        if cause.code() in _FENCED and self._named is not None:
            raise FatalError(
                f"kafka: expected to be alone with transactional id {self._named!r} at {self._bootstrap}; "
                f"got {cause.str()}"
            ) from error
        if self._sender.refused:
            raise FatalError(
                f"kafka: expected {self._bootstrap} to take every message; got {self._sender.refused}"
            ) from error

    def _aborted(self, error: KafkaException) -> bool:
        """Give the transaction up; False when its fate is not known."""
        if error.args[0].fatal():
            return False
        try:
            self._sender.producer.abort_transaction(_TRANSACTION_S)
        except KafkaException:
            return False
        return True

    def _queue(self, outgoing: Sequence[Outgoing]) -> None:
        for messages in outgoing:
            if messages.headers is None:
                self._sender.send(messages.topic, messages.keys, messages.values)
            else:
                self._sender.send_with_headers(messages.topic, messages.keys, messages.values, messages.headers)
