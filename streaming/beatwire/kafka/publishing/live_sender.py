"""A sender of live signal, which outlives its producer.

In: keys and values of messages. Out: messages at the broker, in order per key, each at least once. State: the messages
that the broker has not acknowledged, in order per key.

After restarts of a broker a producer may never reach it again, while others do (librdkafka issue 5301). It is then
replaced, and what waits is sent again. A chunk that arrives twice is discarded by the monitor: its offset tells.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message

from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing.producer import Producer
from beatwire.kafka.publishing.sender import Headers, Sender, weakly
from beatwire.kafka.reachability import WAITING, Reachability

_STUCK_S = 10.0
_OUTAGE_S = 300.0
_CHECK_S = 0.5
_SILENT_S = 5.0  # without an acknowledgement: whoever does not wait for ever is told
_SETTINGS = {
    "delivery.report.only.error": False,
    "message.timeout.ms": 0,  # a message that the client gave up would be missing between others of its key
}
# The broker knows nothing of this producer any more.
_FORGOTTEN = (
    KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
    KafkaError.UNKNOWN_PRODUCER_ID,
)


class LiveSender(Sender):
    """A Kafka producer that is replaced when it has lost its broker.

    Parameters
    ----------
    stuck_s
        Without an acknowledgement for so many seconds, although a broker answers, the producer is replaced.
    outage_s
        Without an acknowledgement for so many seconds, sending ends with an error.

    Attributes
    ----------
    replaced : int
        How often the producer was replaced.
    """

    def __init__(self, cluster: Cluster, *, stuck_s: float = _STUCK_S, outage_s: float = _OUTAGE_S) -> None:
        self._stuck_s, self._outage_s = stuck_s, outage_s
        self._waiting: dict[tuple[str, bytes | None], deque[tuple[bytes | None, Headers | None]]] = {}
        self._left = 0  # messages in `_waiting`: with thousands of keys they are not counted at every call
        self._progress_s = self._began_s = self._look_s = time.monotonic()
        self._said_s = float("-inf")  # the last acknowledgement before it was said that there are no more
        self._broken = False  # the producer has ended by an error
        self.replaced = 0
        self._reachability = Reachability(cluster)
        super().__init__(cluster, self._settings())

    def send(self, topic: str, keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> None:
        """Queue messages; wait while the buffer is full.

        Raises
        ------
        UserError, FatalError
            See `check`.
        """
        self.send_with_headers(topic, keys, values, [None] * len(keys))

    def send_with_headers(
        self,
        topic: str,
        keys: Sequence[bytes | None],
        values: Sequence[bytes | None],
        headers: Sequence[Headers | None],
    ) -> None:
        """Queue messages with headers; wait while the buffer is full.

        Raises
        ------
        UserError, FatalError
            See `check`.
        """
        topic = self.cluster.topic(topic)
        if not self.unacknowledged():
            self._progress_s = time.monotonic()
        for key, value, fields in zip(keys, values, headers, strict=True):
            while not self._queued(topic, key, value, fields):
                self._poll(0.05)
                self.check()
            self._waiting.setdefault((topic, key), deque()).append((value, fields))
            self._left += 1
        self._poll()

    def unacknowledged(self) -> int:
        """Return the number of messages that the broker has not acknowledged."""
        self._poll()
        return self._left

    def silent_s(self) -> float:
        """Return for how long the broker has acknowledged nothing, although messages wait, seconds."""
        return time.monotonic() - self._progress_s if self.unacknowledged() else 0.0

    def check(self) -> None:
        """Replace the producer if it has lost its broker.

        Raises
        ------
        UserError
            This client may not write to the topic.
        FatalError
            The broker refused a message, or has not answered for too long.
        """
        super().check()
        now_s = time.monotonic()
        if now_s - self._look_s < _CHECK_S and not self._broken:
            return
        self._look_s = now_s
        left = self.unacknowledged()
        if left and now_s - self._progress_s > self._outage_s:
            self._raise_undelivered(left)
        if left and self._outage_s < math.inf and now_s - self._progress_s > _SILENT_S:
            self._say_silence(left)
        stuck = left > 0 and now_s - max(self._progress_s, self._began_s) > self._stuck_s
        if self._broken or (stuck and self._reachability.responds()):
            self._replace()

    def flush(self, timeout_s: float = _OUTAGE_S) -> None:
        """Wait until the broker has acknowledged every message.

        Raises
        ------
        UserError, FatalError
            See `check`; or `timeout_s` seconds have passed.
        """
        deadline = time.monotonic() + timeout_s
        while left := self.unacknowledged():
            if time.monotonic() > deadline:
                self._raise_undelivered(left)
            try:
                self.producer.flush(min(_CHECK_S, timeout_s))
            except KafkaException as error:
                self._raise_fatal(error)
            self.check()

    def _say_silence(self, left: int) -> None:
        """Say once that the broker acknowledges nothing: a feed, which waits without end, says it itself."""
        if self._said_s < self._progress_s:
            self._said_s = self._progress_s
            WAITING.warning(
                "kafka: %s has acknowledged nothing for %g s: %d messages wait, up to %g s",
                self.cluster, _SILENT_S, left, self._outage_s, extra={"event": "waiting"},
            )  # fmt: skip

    def _settings(self) -> Mapping[str, object]:
        return _SETTINGS | {"on_delivery": partial(weakly(self._on_report), self.replaced)}

    def _on_report(self, number: int, error: KafkaError | None, message: Message) -> None:
        """Handle a report of producer ``number``, unless it has been replaced."""
        if number != self.replaced:
            return
        if error is None:
            place = message.topic() or "", message.key()
            self._waiting[place].popleft()
            if not self._waiting[place]:
                del self._waiting[place]  # keys may come and go
            self._left -= 1
            self._progress_s = time.monotonic()
        elif error.code() < 0 or error.code() in _FORGOTTEN:
            self._broken = True
        else:
            self._on_delivery(error, message)

    def _queued(self, topic: str, key: bytes | None, value: bytes | None, headers: Headers | None) -> bool:
        """Queue one message; return False if the buffer is full."""
        try:
            if headers is None:
                self.producer.produce(topic, value, key)
            else:
                self.producer.produce(topic, value, key, headers=headers)  # type: ignore[arg-type]
        except BufferError:
            return False
        except KafkaException as error:
            self._raise_fatal(error, topic)
        return True

    def _replace(self) -> None:
        """Open another producer, and send what waits again."""
        abandoned, self.replaced = self.producer, self.replaced + 1
        threading.Thread(target=_close, args=(abandoned,), name="kafka-abandoned", daemon=True).start()
        self.producer = self._open(self._settings())
        self._broken, self._began_s = False, time.monotonic()
        for (topic, key), values in list(self._waiting.items()):
            for value, headers in list(values):
                while not self._queued(topic, key, value, headers):
                    self._poll(0.05)

    def _raise_fatal(self, error: KafkaException, topic: str = "") -> None:
        """Raise UserError if this client may not write; a producer that has ended otherwise is replaced."""
        try:
            super()._raise_fatal(error, topic)
        except KafkaException as cause:
            if not (cause.args[0].fatal() or cause.args[0].code() == KafkaError._FATAL):  # noqa: SLF001
                raise
            self._broken = True


def _close(producer: Producer) -> None:
    """Close a producer that has lost its broker; this may not return."""
    producer.purge()
    producer.close()
