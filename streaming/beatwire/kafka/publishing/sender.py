"""A producer that waits when its buffer is full and reports every failure.

In: keys and values of messages. Out: messages at the broker, in order per key, each written once (idempotent producer).
State: the client's buffer, and the messages that have failed. Used for the monitor's output and by the producers of
samples.
"""

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaError, KafkaException, Message

from beatwire.errors import FatalError
from beatwire.kafka.cluster import DENIED, Cluster
from beatwire.kafka.publishing.producer import Producer
from beatwire.records import Outgoing

SENT = "sent-ms"  # header: the time of sending, where the timestamp is another
LARGEST_BYTES = 900_000  # of key and value together: Kafka's default limit is 1 MB a message, headers included
_TRUNCATED_BYTES = 65_536
_FLUSH_S = 30.0
_CHECK_S = 0.5
SETTINGS = {
    "partitioner": "murmur2_random",  # the partitioner of Kafka's Java clients: one key, one partition for all clients
    "linger.ms": 5,
    # A transaction that begins while the last one is being completed is refused and tried again after this time.
    "retry.backoff.ms": 5,
    "batch.size": 1_000_000,  # a broker takes a little more by default
    "message.max.bytes": 2 << 20,  # a bundle may have more than librdkafka's default
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 256 << 10,
    "delivery.report.only.error": True,  # a message without error costs no call of Python
    "enable.idempotence": True,
    # With more, a message that is refused before the broker has seen one of this producer is lost if the next is taken.
    "max.in.flight.requests.per.connection": 1,
}

_TOO_LARGE = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE}
_INVALID = {KafkaError.INVALID_RECORD, KafkaError.INVALID_TIMESTAMP}
_INVALID_HINT = (
    " (for its time: message.timestamp.before.max.ms and message.timestamp.after.max.ms of the topic, and the clock of "
    "this machine; or it has no key and the topic is compacted)"
)
# Of a message: too large, or of records that the topic does not take. Other errors pass.
_PERMANENT = {
    *_TOO_LARGE, *_INVALID, KafkaError.TOPIC_EXCEPTION,
    KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT, KafkaError.POLICY_VIOLATION, KafkaError.UNSUPPORTED_COMPRESSION_TYPE,
    *DENIED,
}  # fmt: skip

Headers = list[tuple[str, bytes]]


class Sender:
    """A Kafka producer.

    Parameters
    ----------
    settings
        librdkafka settings that replace the defaults of this module.

    Attributes
    ----------
    cluster : Cluster
        As given.
    refused : str
        The broker's error message of the last message that it refused, else empty; of one that it would refuse once
        more, that of the first.
    is_permanent : bool
        There is one that it would refuse once more.
    """

    def __init__(self, cluster: Cluster, settings: Mapping[str, object] | None = None) -> None:
        self.cluster = cluster
        self._closing = threading.Lock()  # taken by the first call of `close`
        self._failed = 0
        self._denied: KafkaError | None = None
        self.refused = ""
        self.is_permanent = False
        self.producer = self._open(settings or {})

    def send_all(self, outgoing: Sequence[Outgoing], sent_ms: int) -> None:
        """Queue the messages of a tick.

        Parameters
        ----------
        sent_ms
            What they have as timestamp, milliseconds since 1970, and those with another one in a header.

        Raises
        ------
        UserError, FatalError
            See `check`.
        """
        for messages in outgoing:
            keys = messages.keys
            headers: Sequence[Headers | None] = messages.headers or [None] * len(keys)
            values = [None] * len(keys) if messages.tombstones else messages.values
            if messages.at_us:
                headers = [[*(fields or ()), (SENT, b"%d" % sent_ms)] for fields in headers]
            self._send(messages.topic, keys, values, headers, messages.at_us // 1000 or sent_ms)

    def send(self, topic: str, keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> None:
        """Queue messages; wait while the buffer is full."""
        self._send(topic, keys, values, [None] * len(keys))

    def send_with_headers(
        self, topic: str, keys: Sequence[bytes | None], values: Sequence[bytes | None], headers: Sequence[Headers]
    ) -> None:
        """Queue messages with headers; wait while the buffer is full.

        If key and value are together above `LARGEST_BYTES`, what is long of them is truncated, and the headers
        ``key-cut-from-bytes`` and ``cut-from-bytes`` contain the full sizes.
        """
        self._send(topic, keys, values, headers)

    def mark(self, partitions: Mapping[str, Iterable[int]]) -> None:
        """Queue a tombstone without a key, which readers skip, for each of the partitions of topics of the brokers."""
        for topic, numbers in partitions.items():
            for partition in numbers:
                self._produce_when_possible(topic, None, b"", None, partition, 0)

    def unacknowledged(self) -> int:
        """Return the number of messages that the broker has not acknowledged."""
        self._poll()  # a delivered message counts until its report has been handled
        return len(self.producer)

    def take_reports(self) -> None:
        """Handle the reports of messages that the broker has refused; an error of the producer itself is not raised."""
        with contextlib.suppress(KafkaException, RuntimeError):
            self.producer.poll(0)

    def check(self) -> None:
        """Raise the failure of a message sent earlier, if there is one.

        Raises
        ------
        UserError
            This client may not write to the topic.
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

    def raise_denied(self) -> None:
        """Raise UserError if the broker refused messages because this client may not write them."""
        if self._denied is not None:
            raise self.cluster.denied(f"write to {self.refused.partition(':')[0]}", self._denied)

    def close(self) -> None:
        """Close the connection, once; messages that have not been sent are discarded.

        Nothing else may use the producer meanwhile, nor close it: librdkafka's memory is freed under the other call.
        """
        if not self._closing.acquire(blocking=False):
            return
        with contextlib.suppress(KafkaException, RuntimeError):  # a fenced or a closed producer
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

    def _open(self, settings: Mapping[str, object]) -> Producer:
        """Return a new producer."""
        return self.cluster.producer(SETTINGS | {"on_delivery": weakly(self._on_delivery)} | dict(settings))

    def _send(
        self, topic: str, keys: Sequence[bytes | None], values: Sequence[bytes | None],
        headers: Sequence[Headers | None], at_ms: int = 0,
    ) -> None:  # fmt: skip
        """Queue messages with a timestamp, 0: the time; those with headers are truncated."""
        produce, topic = self.producer.produce, self.cluster.topic(topic)
        for key, value, fields in zip(keys, values, headers, strict=True):
            if fields is not None and len(value or b"") + len(key or b"") > LARGEST_BYTES:
                key, value, fields = _truncated(key, value, fields)
            try:
                produce(topic, value, key, -1, None, None, at_ms, fields)  # type: ignore[arg-type]
            except BufferError:
                self._produce_when_possible(topic, value, key, fields, -1, at_ms)
            except KafkaException as error:
                self._raise_fatal(error, topic)
        self._poll()

    def _produce_when_possible(
        self, topic: str, value: bytes | None, key: bytes | None, headers: Headers | None, partition: int, at_ms: int
    ) -> None:
        """Queue one message; wait while the buffer is full."""
        while True:
            try:
                self.producer.produce(topic, value, key, partition, None, None, at_ms, headers)  # type: ignore[arg-type]
                return
            except BufferError:
                self._poll(0.05)
            except KafkaException as error:
                self._raise_fatal(error, topic)

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failed += 1
            # The broker's codes are positive, librdkafka's own are negative. What would come again is the cause.
            if error.code() > 0 and not self.is_permanent:
                self.refused = f"{message.topic()}: {error.str()}{self._hint(error)}"
                self.is_permanent = error.code() in _PERMANENT
                self._denied = error if error.code() in DENIED else None

    def _hint(self, error: KafkaError) -> str:
        """Return what helps: where a message is too large, most often it is the batch that it is in."""
        if error.code() in _INVALID:
            return _INVALID_HINT
        if error.code() not in _TOO_LARGE:
            return ""
        size = self.cluster.properties.get("batch.size", SETTINGS["batch.size"])
        return f" (batch.size is {size}: max.message.bytes of the topic has to be more)"

    def _poll(self, wait_s: float = 0) -> None:
        """Handle the reports of delivered messages."""
        try:
            self.producer.poll(wait_s)
        except KafkaException as error:
            self._raise_fatal(error)

    def _raise_fatal(self, error: KafkaException, topic: str = "") -> None:
        """Raise UserError if this client may not write to a topic, or to any; else the error."""
        if error.args[0].code() == KafkaError._FATAL:  # noqa: SLF001  the cause is raised by a poll
            try:
                self.producer.poll(0)
            except KafkaException as cause:
                error = cause
        if (code := error.args[0].code()) in DENIED:
            of_topic = code == KafkaError.TOPIC_AUTHORIZATION_FAILED and topic
            raise self.cluster.denied(f"write to {of_topic or 'any topic'}", error.args[0]) from error
        raise error

    def _raise_undelivered(self, left: int) -> None:
        self.raise_denied()
        raise FatalError(
            f"kafka: expected {self.cluster} to acknowledge every message; "
            f"got {left} unanswered, {self._failed} failed {self.refused}".rstrip()
        )


def weakly(method: Callable[..., None]) -> Callable[..., None]:
    """Return what calls a method while its object lives.

    A callback that kept its sender would make a cycle with the client. Cycles are collected late, and each client has
    thread-local storage, of which a process has room for a thousand.
    """
    own = weakref.WeakMethod(method)

    def call(*arguments: object) -> None:
        if (alive := own()) is not None:
            alive(*arguments)

    return call


def _truncated(key: bytes | None, value: bytes | None, fields: Headers) -> tuple[bytes | None, bytes | None, Headers]:
    """Return a message of which neither key nor value is longer than `_TRUNCATED_BYTES`."""
    fields = list(fields)
    for name, part in (("key-cut-from-bytes", key), ("cut-from-bytes", value)):
        if part is not None and len(part) > _TRUNCATED_BYTES:
            fields.append((name, b"%d" % len(part)))
    return key and key[:_TRUNCATED_BYTES], value and value[:_TRUNCATED_BYTES], fields
