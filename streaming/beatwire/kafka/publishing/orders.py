"""What staff enter, published: acknowledgements and limits, with their records in the audit log.

In: a cluster, and what is entered. Out: messages that the broker has stored. No state.
"""

import contextlib
import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

from beatwire.alerts.limits import check_limits
from beatwire.alerts.rule import SHORTEST_ID
from beatwire.errors import UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.reading.newest import Read, place_of
from beatwire.kafka.reading.readers import read_active_alerts, read_records
from beatwire.records import LimitChange
from beatwire.wire import names
from beatwire.wire.alerts import encode_alert
from beatwire.wire.cloud_events import ENTERED, Headers, ack_headers, audit_headers, limits_headers
from beatwire.wire.staff import (
    NAME,
    STREAM_ID,
    ack_entry,
    decode_limits,
    encode_entry,
    is_name,
    is_stream_id,
    limits_entry,
    limits_record,
)

_DELIVERY_S = 10.0


def acknowledge(cluster: Cluster, alert: str, by: str) -> list[dict[str, Any]]:
    """Acknowledge an alert that is in force, or all of a stream that nobody has acknowledged; return these.

    Parameters
    ----------
    alert
        A stream id; or the id of an alert, or its first digits, ``SHORTEST_ID`` at least, if no other alert in force
        begins with the same.
    by
        Who acknowledges it.

    Raises
    ------
    UserError
        No such alert is in force, or `by` cannot be a name.
    FatalError
        The broker did not answer.
    """
    check_name("ack", by)
    in_force = read_active_alerts(cluster)
    chosen = [one for one in in_force if one["stream"] == alert]
    if chosen:
        chosen = [one for one in chosen if one["state"] != "ack"]
        if not chosen:
            raise UserError(f"ack: expected alerts of {alert!r} that nobody has acknowledged; got none")
    else:
        is_id = len(alert) >= SHORTEST_ID
        chosen = [one for one in in_force if is_id and one["id"].startswith(alert)]
        if len(chosen) != 1:
            got = "no such alert" if not chosen else f"{len(chosen)} alerts whose ids begin like that"
            expected = f"a stream with alerts in force, or {SHORTEST_ID} digits of the id of one (see: beatwire alerts)"
            raise UserError(f"ack: expected {expected}; got {alert!r}: {got}")
    acks = [ack_entry(one["id"], one["stream"], by, time.time_ns() // 1000) for one in chosen]
    with Sender(cluster, {"linger.ms": 0}) as sender:
        sender.send_with_headers(
            names.ACKS,
            [ack["alert"].encode() for ack in acks],
            list(map(encode_entry, acks)),
            list(map(ack_headers, acks)),
        )
        sender.flush(_DELIVERY_S)
    return [one | {"ack_by": by, "ack_us": ack["at_us"]} for one, ack in zip(chosen, acks, strict=True)]


def read_limits(cluster: Cluster, stream: str, defaults: tuple[float, ...]) -> dict[str, float]:
    """Return the limits of a stream that differ from the defaults; like the monitor, pass over what cannot be used.

    Raises
    ------
    FatalError
        The broker did not answer.
    """
    entries = _read_entries(cluster, stream, defaults)
    return dict(entries[-1]["limits"]) if entries else {}


def change_limits(
    cluster: Cluster, stream: str, after: Mapping[str, float], before: Mapping[str, float], by: str,
    defaults: tuple[float, ...],
) -> dict[str, Any] | None:  # fmt: skip
    """Publish the limits of a stream, and before them the record of the change in the audit log.

    In this order, so that no limit is ever in force without a record.

    Returns
    -------
    dict or None
        The fields of the change that somebody else entered since ``before`` was read, and that this one has replaced.

    Raises
    ------
    UserError
        The limits cannot be meant, or `by` cannot be a name.
    FatalError
        The broker did not store them.
    """
    check_name("limits", by)
    if not is_stream_id(stream):
        raise UserError(f"limits: expected a stream id of {STREAM_ID}; got {json.dumps(stream)}")
    check_limits(stream, after, defaults)
    at_us = time.time_ns() // 1000
    record = limits_record(ENTERED, LimitChange(stream, after, before, by, at_us, 0))
    _publish(cluster, names.AUDIT, stream, encode_alert(record).encode(), audit_headers(record))
    entry = limits_entry(stream, after, before, by, at_us)
    _publish(cluster, names.SETTINGS, stream, encode_entry(entry), limits_headers(entry))
    entries = _read_entries(cluster, stream, defaults)
    own = next((k for k, one in enumerate(entries) if (one["by"], one["at_us"]) == (by, at_us)), 0)
    # The broker keeps the change before this one for half an hour at least (`topics.TOPICS`).
    return entries[own - 1] if own and entries[own - 1]["limits"] != entry["before"] else None


def restore_limits(cluster: Cluster, changes: Iterable[LimitChange]) -> list[str]:
    """Publish again the limits that are in force of streams of which the topic has no message any more.

    A worker that reads only these messages decides as this one does, since before they came.

    Parameters
    ----------
    changes
        What was read while the topic had it, those of a stream in order.

    Returns
    -------
    list of str
        The streams.

    Raises
    ------
    UserError
        This client may not write to the topic.
    FatalError
        The broker did not store them.
    """
    newest = {change.stream: change for change in changes}
    there = {record.key for record in read_records(cluster, names.SETTINGS)}
    lost = [change for change in newest.values() if change.limits and change.stream.encode() not in there]
    for change in lost:
        entry = limits_entry(change.stream, change.limits, change.limits, change.by, change.at_us)
        _publish(cluster, names.SETTINGS, change.stream, encode_entry(entry), limits_headers(entry))
    return [change.stream for change in lost]


def _read_entries(cluster: Cluster, stream: str, defaults: tuple[float, ...]) -> list[dict[str, Any]]:
    """Return the changes of a stream's limits that the broker has, in order; pass over what cannot be used."""
    entries: list[Read[dict[str, Any]]] = []
    for record in read_records(cluster, names.SETTINGS):
        if record.key == stream.encode() and record.value is not None:
            with contextlib.suppress(ValueError, UserError):
                found = decode_limits(record.value, record.key)
                check_limits(stream, found["limits"], defaults)
                one = Read(record.partition, record.time_us, found)
                entries.insert(place_of(one, entries), one)
    return [one.content for one in entries]


def check_name(command: str, text: str) -> None:
    """Raise UserError if a text cannot be the name of a person."""
    if not is_name(text):
        raise UserError(f"{command}: expected a name of {NAME}; got {json.dumps(text)}")


def _publish(cluster: Cluster, topic: str, key: str, value: bytes, headers: Headers) -> None:
    with Sender(cluster, {"linger.ms": 0}) as sender:
        sender.send_with_headers(topic, [key.encode()], [value], [headers])
        sender.flush(_DELIVERY_S)
