"""Readers outside the group: the alerts as they stand, and a topic as it grows, readable.

All of them see committed messages only and leave nothing behind at the broker.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from beatwire.errors import FatalError, UserError
from beatwire.kafka import topics
from beatwire.wire import names
from beatwire.wire.avro import decode_beat

_OFF = "off"
_TOPIC_OF = {"beats": names.BEATS, "alerts": names.ALERTS}


def read_active_alerts(bootstrap: str, *, topic: str = names.ALERTS, timeout_s: float = 60.0) -> list[dict[str, Any]]:
    """Return the last state of every alert that is not off, oldest first.

    Reads the compacted topic to its present end, see `read_to_end`.

    Raises
    ------
    FatalError
        The end was not reached within `timeout_s` seconds.
    """
    last: dict[bytes, bytes | None] = {}
    for key, value in read_to_end(bootstrap, topic, timeout_s=timeout_s):
        last.pop(key or b"", None)  # the order is that of the last states
        last[key or b""] = value
    alerts = [json.loads(value) for value in last.values() if value]
    return [alert for alert in alerts if alert.get("state") != _OFF]


def read_to_end(bootstrap: str, topic: str, *, timeout_s: float = 60.0) -> Iterator[tuple[bytes | None, bytes | None]]:
    """Yield key and value of every committed message up to the present end of `topic`.

    Where a transaction is still open before that end, waits until it is over.

    Raises
    ------
    FatalError
        The end was not reached within `timeout_s` seconds.
    """
    ends = topics.ends_of(bootstrap, topic)
    left = {p for p, end in ends.items() if end > 0}
    deadline = time.monotonic() + timeout_s
    with _reader(bootstrap) as consumer:
        consumer.assign([TopicPartition(topic, p, 0) for p in left])
        while left:
            if time.monotonic() > deadline:
                raise FatalError(f"kafka: expected to read {topic} at {bootstrap} to its end in {timeout_s:g} s")
            for message in consumer.consume(10_000, 0.02):
                error, partition, offset = message.error(), message.partition() or 0, message.offset() or 0
                if error is None and offset < ends[partition]:
                    yield message.key(), message.value()
                at_end = error is not None and error.code() == KafkaError._PARTITION_EOF  # noqa: SLF001
                if (error is None and offset + 1 >= ends[partition]) or (at_end and offset >= ends[partition]):
                    left.discard(partition)


def follow(
    bootstrap: str, topic: str, *, stop: threading.Event | None = None, earliest: bool = False
) -> Iterator[tuple[bytes | None, bytes]]:
    """Yield key and value of every committed message of `topic` until `stop` is set.

    Parameters
    ----------
    bootstrap
        ``host:port[,host:port...]``.
    topic
        Its name.
    stop
        Ends the iteration within a tenth of a second; without it there is no end.
    earliest
        Begin with the oldest message rather than with the next one.

    Raises
    ------
    UserError
        Nothing answers at `bootstrap`, or it has no such topic.
    """
    over = stop or threading.Event()
    topics.check_broker(bootstrap, [topic])
    begin = dict.fromkeys(topics.ends_of(bootstrap, topic), 0) if earliest else topics.ends_of(bootstrap, topic)
    with _reader(bootstrap) as consumer:
        consumer.assign([TopicPartition(topic, p, offset) for p, offset in begin.items()])
        while not over.is_set():
            waiting = consumer.consume(1, 0.1)
            for message in waiting + (consumer.consume(10_000, 0) if waiting else []):
                value = message.value()
                if message.error() is None and value is not None:
                    yield message.key(), value


def tail(
    kind: str,
    bootstrap: str,
    *,
    stop: threading.Event | None = None,
    earliest: bool = False,
    notes: Callable[[str], None] = lambda _: None,
) -> Iterator[dict[str, Any]]:
    """Yield what comes out of the monitor, decoded: ``kind`` is ``beats`` or ``alerts``.

    What is neither, because somebody else wrote to the topic, is passed over with a line to ``notes``.

    Raises
    ------
    UserError
        Another kind; nothing answers at `bootstrap`; no such topic.
    """
    if kind not in _TOPIC_OF:
        raise UserError(f"tail: expected 'beats' or 'alerts'; got {kind!r}")
    decode = decode_beat if kind == "beats" else _decode_alert
    for key, value in follow(bootstrap, _TOPIC_OF[kind], stop=stop, earliest=earliest):
        try:
            yield decode(value)
        except ValueError as error:
            notes(f"{_TOPIC_OF[kind]}: message with key {key!r} passed over: {error}")


def _decode_alert(value: bytes) -> dict[str, Any]:
    alert = json.loads(value)
    if not isinstance(alert, dict):
        raise ValueError(f"expected a JSON object; got {str(alert)[:40]!r}")
    return alert


def line_of(kind: str, record: dict[str, Any]) -> str:
    """Return `record` as one line for people."""
    if kind == "alerts":
        widths = {"stream": 16, "priority": 9, "state": 8, "rule": 20, "text": 0}
        words = " ".join(f"{record.get(name, '')!s:{width}}" for name, width in widths.items())
        return f"{_clock(record.get('onset_us'))} {words}".rstrip()
    rate = record["rate_bpm"]
    score = record["score"]
    return (
        f"{record['time']:%H:%M:%S.%f} {record['stream']:16} sample {record['sample']:>10} "
        f"{f'{rate:5.0f} /min' if rate is not None else '    - /min'} "
        f"{f'score {score:5.2f}' if score is not None else 'score     -'} ({record['scored_by']})"
    )


@contextlib.contextmanager
def _reader(bootstrap: str) -> Iterator[Consumer]:
    consumer = Consumer(
        topics.quiet(
            bootstrap,
            {
                "group.id": f"beatwire-reader-{uuid.uuid4()}",  # never joined, never committed
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 10,
            },
        )
    )
    try:
        yield consumer
    finally:
        consumer.close()


def _clock(time_us: int | None) -> str:
    return datetime.fromtimestamp(time_us / 1e6, UTC).strftime("%H:%M:%S.%f") if time_us is not None else "-"
