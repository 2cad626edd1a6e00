"""Alerts about the feed and the monitor rather than one stream.

Nothing arrives at all; a partition is not monitored; samples of a partition were deleted before they were read.

Their stream is the topic of the samples, or one partition of it. The clock decides them. When nothing arrives from
anywhere, one alert says so, and the streams of the ward raise no ``no data`` of their own: a nurse needs to know that
the feed has failed, and when it works again which beds do not return.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from beatwire.alerts.rule import Rule, alert_id
from beatwire.alerts.rules import INTERRUPTED, NUMBERS, RULES, SAMPLES_LOST
from beatwire.records import I64, Bool, Expired
from beatwire.stages.support.alerts.open_alerts import OpenAlerts
from beatwire.wire.names import SAMPLES

FEED_S = 2.0  # without a chunk from any stream, after which that is an alert
FORGOTTEN_S = 86_400.0  # a feed that has been silent for a day was switched off
FEW = 3  # so many streams at most that fell silent with the feed raise an alert each
OTHERS_US = 1_250_000  # a chunk of another stream that arrived so much later shows that the feed works
_NO_DATA = RULES[NUMBERS["no data"]]


def feed_transition(alerts: OpenAlerts, newest_us: int, now_us: int) -> list[dict[str, Any]]:
    """Return the message that begins or ends the alert that nothing arrives from any stream, if there is one.

    Parameters
    ----------
    alerts
        The alerts that are not off; it is added or removed.
    newest_us, now_us
        When the newest chunk arrived, and the time, microseconds since 1970.
    """
    if not newest_us:
        return []
    silent_s = (now_us - newest_us) / 1e6
    current = alerts.current.get((SAMPLES, _NO_DATA.name, _NO_DATA.priority))
    if current is None and FEED_S < silent_s < FORGOTTEN_S:
        text = f"no message from any stream for {FEED_S:g} s"
        definition = f"No message has arrived from any stream for {FEED_S:g} s."
        begun = service_message(SAMPLES, _NO_DATA, newest_us, 0, FEED_S, text, definition)
        alerts.add(begun, -1, now_us)
        return [begun]
    if current is not None and silent_s <= FEED_S:
        one = alerts.by_id[current]
        alerts.remove(one)
        lasted_s = (newest_us - one.message["onset_us"]) / 1e6
        return [ended(one.message, newest_us, lasted_s)]
    return []


def end_of_interrupted(alerts: OpenAlerts, now_us: int) -> list[dict[str, Any]]:
    """Return the messages that end the alerts of partitions that were not monitored: those of this worker are."""
    over = [one for one in alerts.of_service.values() if one.message["rule"] == INTERRUPTED.name]
    for one in over:
        alerts.remove(one)
    return [ended(one.message, now_us, (now_us - one.message["onset_us"]) / 1e6) for one in over]


def interrupted_messages(partitions: Iterable[int], since_us: int, limit_s: float) -> list[dict[str, Any]]:
    """Return the alerts of partitions that have not been monitored since a time."""
    return [
        service_message(
            stream_of(partition), INTERRUPTED, since_us, partition, limit_s, INTERRUPTED.text.format(limit=limit_s),
            INTERRUPTED.definition_of(limit_s),
        )
        for partition in partitions
    ]  # fmt: skip


def begin_of_expired(alerts: OpenAlerts, expired: Mapping[int, Expired], now_us: int) -> list[dict[str, Any]]:
    """Return the messages about samples that retention deleted before they were read.

    The session of such an alert is the offset of the first message that was not read, so its id is the same if it is
    published again. While it is on it goes on with what is deleted later: its value is the sum.

    Parameters
    ----------
    alerts
        The alerts that are not off; they are added.
    expired
        partition -> what was deleted. Messages that would only have been replayed raise no alert: they have been
        analysed.
    now_us
        The time, microseconds since 1970.
    """
    published = []
    for partition, missing in sorted(expired.items()):
        stream = stream_of(partition)
        known = {alerts.by_id[name].message["session"] for name in alerts.of_stream.get(stream, ())}
        if not missing.unread or missing.first in known:
            continue
        one = alerts.by_id.get(alerts.current.get((stream, SAMPLES_LOST.name, SAMPLES_LOST.priority), ""))
        unread = missing.unread + (0 if one is None else one.message["value"] or 0)
        text = SAMPLES_LOST.text.format(value=unread)
        if one is None:
            message = service_message(
                stream, SAMPLES_LOST, now_us, partition, 0.0, text, SAMPLES_LOST.definition, session=missing.first
            )
            alerts.add(message | {"value": unread}, -1, now_us)
            one = alerts.by_id[message["id"]]
        else:
            one.message = one.message | {"value": unread, "decided_us": now_us, "text": f"{SAMPLES_LOST.name}: {text}"}
        published.append(one.message)
    return published


def end_of_expired(alerts: OpenAlerts, now_us: int, shortest_s: float) -> list[dict[str, Any]]:
    """Return the messages that end alerts of `begin_of_expired`: every message at the broker has been read.

    They last for ``shortest_s`` at least, by the clock. The value stays the number of messages.
    """
    over = [
        one
        for one in alerts.of_service.values()
        if one.message["rule"] == SAMPLES_LOST.name and now_us - one.message["decided_us"] >= shortest_s * 1e6
    ]
    for one in over:
        alerts.remove(one)
    return [
        ended(one.message, now_us, (now_us - one.message["onset_us"]) / 1e6) | {"value": one.message["value"]}
        for one in over
    ]


def stream_of(partition: int) -> str:
    """Return the stream of alerts about a partition.

    >>> stream_of(3)
    'ecg.samples/3'
    """
    return f"{SAMPLES}/{partition}"


def service_message(
    stream: str,
    rule: Rule,
    onset_us: int,
    partition: int,
    limit_s: float,
    text: str,
    definition: str,
    *,
    session: int | None = None,
) -> dict[str, Any]:
    """Return the message of an alert that is on; without another one its session is the time at which it began."""
    session = onset_us if session is None else session
    return {
        "id": alert_id(stream, session, rule.name, 0),
        "stream": stream,
        "session": session,
        "rule": rule.name,
        "priority": rule.priority,
        "technical": True,
        "state": "on",
        "onset": 0,
        "onset_us": onset_us,
        "decided": 0,
        "decided_us": onset_us + round(limit_s * 1e6),
        "value": None,
        "limit": limit_s,
        "definition": definition,
        "text": f"{rule.name}: {text}",
        "ack_by": None,
        "ack_us": None,
        "reminders": 0,
        "partition": partition,
    }


def ended(message: dict[str, Any], at_us: int, lasted_s: float) -> dict[str, Any]:
    """Return the message that ends an alert; its value is how long it lasted, seconds."""
    text = f"ended: {message['rule']}, after {lasted_s:.1f} s"
    return message | {"state": "off", "decided_us": at_us, "value": round(lasted_s, 3), "text": text}


def explained_by_feed(late: I64, last_us: I64, newest_us: int) -> Bool:
    """Return of each silent stream whether the whole feed is silent: then its silence is no alert of its own.

    Parameters
    ----------
    late, last_us : int64 [n], [streams]
        Slots of streams that are silent, and when the last chunk of use of every stream was read.
    newest_us
        Arrival of the newest chunk of any stream; 0: unknown.
    """
    with_feed: Bool = (last_us > 0) & (last_us + OTHERS_US > newest_us)  # also those whose limit is still to come
    return with_feed[late] if newest_us and with_feed.sum() > FEW else np.zeros(len(late), np.bool_)
