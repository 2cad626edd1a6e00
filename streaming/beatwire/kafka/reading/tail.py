"""A topic as it grows, decoded for people.

In: a topic. Out: records decoded from its committed messages. No state, as in ``kafka.reading.readers``.
"""

import base64
import math
import threading
import time
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any

from confluent_kafka import Message

from beatwire.errors import UserError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.batch import stamped_us
from beatwire.kafka.reading.readers import follow, read_active_alerts
from beatwire.wire import names
from beatwire.wire.alerts import decode_alert
from beatwire.wire.avro import decode_beat
from beatwire.wire.dead_letters import letters_in
from beatwire.wire.fields import Unusable

_PATIENCE_S = 5.0  # from the first record of any stream
_MOST_OTHERS = 10_000  # ids among which one that is nearest is looked for
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TOPIC_OF = {"beats": names.BEATS, "alerts": names.ALERTS, "dead-letters": names.DEAD_LETTERS}


def tail(
    kind: str,
    cluster: Cluster,
    *,
    stop: threading.Event | None = None,
    earliest: bool = False,
    in_force: bool = False,
    streams: Collection[str] = (),
    notes: Callable[[str], None] = lambda _: None,
) -> Iterator[dict[str, Any]]:
    """Yield the beats, alerts or dead letters that the monitor publishes, decoded.

    Parameters
    ----------
    kind
        ``beats``, ``alerts`` or ``dead-letters``. Of a dead letter ``stream`` is the key of the rejected message.
    stop, earliest
        See `follow`.
    in_force
        Of alerts, begin with the newest message of each that is in force.
    streams
        Ids of the streams to follow, whether or not they exist; empty: all. Every partition is read all the same: a
        topic that was given more partitions holds the older messages of a stream in another one.
    notes
        Called with one line for each message that is skipped because it cannot be decoded.

    Raises
    ------
    UserError
        `kind` is none of these; no broker answers at `cluster`; the topic does not exist.
    """
    if kind not in TOPIC_OF:
        raise UserError(f"tail: expected {', '.join(map(repr, TOPIC_OF))}; got {kind!r}")
    decode = _DECODE[kind]
    keys = {stream.encode() for stream in streams} if kind == "beats" else set()  # those of others are no stream ids
    known: list[dict[str, Any]] = []
    begin = None
    awaited = _Awaited(kind, streams, notes)
    if in_force and kind == "alerts":
        topics.check_broker(cluster, [names.ALERTS])
        begin = topics.end_offsets(cluster, names.ALERTS)  # what comes while they are read is read again
        known = read_active_alerts(cluster)
        for alert in known:
            awaited.see(alert["stream"])
            if not streams or alert["stream"] in streams:
                yield alert
    for message in follow(cluster, TOPIC_OF[kind], stop=stop, earliest=earliest, begin=begin):
        if keys and message.key() not in keys:
            awaited.see((message.key() or b"").decode(errors="backslashreplace"))
            continue
        try:
            records = decode(message)
        except ValueError as error:
            notes(str(Unusable(TOPIC_OF[kind], message.key(), str(error))))
            continue
        for record in records:
            awaited.see(record.get("stream"))
            if record not in known and (not streams or record.get("stream") in streams):
                yield record


class _Awaited:
    """Notes once which of the requested streams have not come within some seconds of the first record.

    Their ids may be misspelt. A topic on which nothing comes says nothing of them.
    """

    def __init__(self, kind: str, streams: Collection[str], notes: Callable[[str], None]) -> None:
        self._kind, self._notes = kind, notes
        self._absent = set(streams)
        self._others: set[str] = set()
        self._until_s = math.inf

    def see(self, stream: str | None) -> None:
        """Take the stream of a record into account."""
        if not self._absent or stream is None:
            return
        if stream in self._absent:
            self._absent.discard(stream)
        elif len(self._others) < _MOST_OTHERS:
            self._others.add(stream)
        self._until_s = min(self._until_s, time.monotonic() + _PATIENCE_S)
        if time.monotonic() < self._until_s:
            return
        for name in sorted(self._absent):
            nearest = get_close_matches(name, sorted(self._others), 1)
            hint = f" (nearest: {nearest[0]!r})" if nearest else ""
            self._notes(f"tail: expected {self._kind} of {name!r}; got only those of other streams so far{hint}")
        self._absent.clear()


def _decode_beat(message: Message) -> list[dict[str, Any]]:
    return [decode_beat(message.value() or b"")]


def _decode_alert(message: Message) -> list[dict[str, Any]]:
    return [decode_alert(message.value() or b"", message.key() or b"")]


def _decode_letters(message: Message) -> list[dict[str, Any]]:
    published = _EPOCH + timedelta(microseconds=stamped_us(message))
    return [
        {
            "published": published,
            "topic": letter.topic,
            "partition": letter.partition,
            "offset": letter.offset,
            "chunk": letter.chunk,
            "stream": None if letter.key is None else letter.key.decode(errors="backslashreplace"),
            "reason": letter.reason,
            "bytes": len(letter.value),
            "value_base64": base64.b64encode(letter.value).decode(),
        }
        for letter in letters_in(message.key(), message.value(), message.headers())
    ]


_DECODE = {"beats": _decode_beat, "alerts": _decode_alert, "dead-letters": _decode_letters}
