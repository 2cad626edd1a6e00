"""Readers outside the group: the present alerts, and a topic as it grows, decoded for people.

In: a topic. Out: its committed messages, or records decoded from them. No state: a reader joins no group and commits
nothing.
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
    """Return every alert whose last state is not ``off``, in the order of those last states.

    Parameters
    ----------
    bootstrap, topic
        The broker's address ``host:port[,host:port...]``, and the compacted topic of alerts.
    timeout_s
        Longest time for reading the topic to its present end, seconds.

    Raises
    ------
    FatalError
        The end was not reached within `timeout_s` seconds.
    """
    last: dict[bytes, bytes | None] = {}
    for key, value in read_to_end(bootstrap, topic, timeout_s=timeout_s):
        last.pop(key or b"", None)  # a dictionary keeps the place of a key that it already has
        last[key or b""] = value
    alerts = [json.loads(value) for value in last.values() if value]
    return [alert for alert in alerts if alert.get("state") != _OFF]


def read_to_end(bootstrap: str, topic: str, *, timeout_s: float = 60.0) -> Iterator[tuple[bytes | None, bytes | None]]:
    """Yield key and value of every committed message up to the present end of `topic`.

    Waits for the end of transactions that are open before that point.

    Raises
    ------
    FatalError
        The end was not reached within `timeout_s` seconds.
    """
    ends = topics.end_offsets(bootstrap, topic)
    unfinished = {p for p, end in ends.items() if end > 0}
    deadline = time.monotonic() + timeout_s
    with _reader(bootstrap) as consumer:
        consumer.assign([TopicPartition(topic, p, 0) for p in unfinished])
        while unfinished:
            if time.monotonic() > deadline:
                raise FatalError(
                    f"kafka: expected to read {topic} at {bootstrap} to its end in {timeout_s:g} s; "
                    f"got no end of partition {', '.join(map(str, sorted(unfinished)))}"
                )
            for message in consumer.consume(10_000, 0.02):
                error, partition, offset = message.error(), message.partition() or 0, message.offset() or 0
                if error is None and offset < ends[partition]:
                    yield message.key(), message.value()
                at_end = error is not None and error.code() == KafkaError._PARTITION_EOF  # noqa: SLF001
                if (error is None and offset + 1 >= ends[partition]) or (at_end and offset >= ends[partition]):
                    unfinished.discard(partition)


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
        Ends the iteration within a tenth of a second; without it the iteration does not end.
    earliest
        Begin with the oldest message instead of the next one.

    Raises
    ------
    UserError
        No broker answers at `bootstrap`, or the topic does not exist.
    """
    stopped = stop or threading.Event()
    topics.check_broker(bootstrap, [topic])
    ends = topics.end_offsets(bootstrap, topic)
    begin = dict.fromkeys(ends, 0) if earliest else ends
    with _reader(bootstrap) as consumer:
        consumer.assign([TopicPartition(topic, p, offset) for p, offset in begin.items()])
        while not stopped.is_set():
            first = consumer.consume(1, 0.1)
            for message in first + (consumer.consume(10_000, 0) if first else []):
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
    """Yield the beats or the alerts that the monitor publishes, decoded.

    Parameters
    ----------
    kind
        ``beats`` or ``alerts``.
    bootstrap
        ``host:port[,host:port...]``.
    stop, earliest
        See `follow`.
    notes
        Called with one line for each message that is skipped because it cannot be decoded.

    Raises
    ------
    UserError
        `kind` is neither; no broker answers at `bootstrap`; the topic does not exist.
    """
    if kind not in _TOPIC_OF:
        raise UserError(f"tail: expected 'beats' or 'alerts'; got {kind!r}")
    decode = decode_beat if kind == "beats" else _decode_alert
    for key, value in follow(bootstrap, _TOPIC_OF[kind], stop=stop, earliest=earliest):
        try:
            yield decode(value)
        except ValueError as error:
            notes(f"{_TOPIC_OF[kind]}: message with key {key!r} skipped: {error}")


def _decode_alert(value: bytes) -> dict[str, Any]:
    alert = json.loads(value)
    if not isinstance(alert, dict):
        raise ValueError(f"expected a JSON object; got {str(alert)[:40]!r}")
    return alert


def line_of(kind: str, record: dict[str, Any]) -> str:
    """Return a beat or an alert as one line of text."""
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
        topics.client_settings(
            bootstrap,
            {
                "group.id": f"beatwire-reader-{uuid.uuid4()}",  # required by librdkafka; the group is never joined
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
