"""CloudEvents 1.0 in Kafka's binary mode: what a message is, when and of whom, in its headers.

In: what is published. Out: its headers; the value stays as it is. No state.

====================== =================== ======================================================================
message                source              id
====================== =================== ======================================================================
``beatwire.alert``     monitor             id of the alert, its state, sample at which that was decided, reminder
``beatwire.beat``      monitor             stream, session, index of the R peak
``beatwire.ack``       staff               id of the alert, time
``beatwire.limits``    staff               stream, time
``beatwire.audit``     who has written it  stream or id of the alert, what was recorded, time
====================== =================== ======================================================================

``ce_time`` of an alert is when it was decided, of a beat that of the R peak, both by the device's clock; of the others
when it was entered. ``ce_subject`` is the stream id. ``content-type`` is ``application/json``, of a beat
``application/avro``.

An event that is computed again after a crash has the same source and id, so a reader can drop repetitions.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from beatwire.records import I64

Which = Literal["alerts", "all"]
Headers = list[tuple[str, bytes]]

ENTERED = "limits entered"  # the record of the audit log that the command writes, not the monitor
MONITOR, STAFF = b"urn:beatwire:monitor", b"urn:beatwire:staff"
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - in UTC; without a zone it is written without "+00:00"
_EARLIEST_US, _LATEST_US = -62_135_596_800_000_000, 253_402_300_799_999_999  # years 1 to 9999: all that RFC 3339 has


def alert_headers(alert: Mapping[str, Any]) -> Headers:
    """Return the headers of a transition of an alert.

    >>> alert = {"id": "ab", "stream": "bed-1", "state": "on", "decided": 7, "decided_us": 1_000_000}
    >>> dict(alert_headers(alert))["ce_id"], dict(alert_headers(alert | {"reminders": 2}))["ce_id"]
    (b'ab/on/7', b'ab/on/7/reminder 2')
    """
    event_id = f"{alert['id']}/{alert['state']}/{int(alert['decided'])}"
    if alert.get("reminders"):
        event_id += f"/reminder {alert['reminders']}"
    if alert["state"] == "on" and not alert["decided"] and alert.get("value"):  # a sum that grows while it is on
        event_id += f"/{alert['value']}"
    return _json("alert", MONITOR, event_id, int(alert["decided_us"]), str(alert["stream"]))


def ack_headers(ack: Mapping[str, Any]) -> Headers:
    """Return the headers of an acknowledgement."""
    return _json("ack", STAFF, f"{ack['alert']}/{ack['at_us']}", int(ack["at_us"]), str(ack["stream"]))


def limits_headers(entry: Mapping[str, Any]) -> Headers:
    """Return the headers of limits of a stream, as they were entered."""
    return _json("limits", STAFF, f"{entry['stream']}/{entry['at_us']}", int(entry["at_us"]), str(entry["stream"]))


def audit_headers(record: Mapping[str, Any]) -> Headers:
    """Return the headers of a record of the audit log.

    >>> record = {"what": "limits entered", "stream": "bed-1", "at_us": 5}
    >>> dict(audit_headers(record))["ce_id"]
    b'bed-1/limits entered/5'
    """
    source = STAFF if record["what"] == ENTERED else MONITOR
    event_id = f"{record.get('alert', record['stream'])}/{record['what']}/{record['at_us']}"
    return _json("audit", source, event_id, int(record["at_us"]), str(record["stream"]))


def beat_headers(keys: Sequence[bytes], session: I64, sample: I64, time_us: I64) -> list[Headers]:
    """Return the headers of the beats of a tick.

    Parameters
    ----------
    keys
        The stream id of each beat, ``b`` of them.
    session, sample, time_us : int64 [b]
        Session, index and device time of its R peak.
    """
    fixed = _fixed("beat", MONITOR, b"application/avro")
    rows = zip(keys, session.tolist(), sample.tolist(), map(time_of, time_us.tolist()), strict=True)
    return [
        [*fixed, ("ce_id", b"%b/%d/%d" % (key, number, at)), ("ce_subject", key), ("ce_time", time)]
        for key, number, at, time in rows
    ]


def time_of(time_us: int) -> bytes:
    """Return a time as RFC 3339 writes it, in UTC; one outside the years 1 to 9999 as the nearest in them.

    >>> time_of(1_767_323_045_678_000)
    b'2026-01-02T03:04:05.678000Z'
    """
    within = _EPOCH + timedelta(microseconds=min(max(time_us, _EARLIEST_US), _LATEST_US))
    return within.isoformat(timespec="microseconds").encode() + b"Z"


def _json(kind: str, source: bytes, event_id: str, time_us: int, subject: str) -> Headers:
    return [
        *_fixed(kind, source, b"application/json"),
        ("ce_id", event_id.encode()),
        ("ce_subject", subject.encode()),
        ("ce_time", time_of(time_us)),
    ]


def _fixed(kind: str, source: bytes, content_type: bytes) -> Headers:
    return [
        ("ce_specversion", b"1.0"),
        ("ce_type", f"beatwire.{kind}".encode()),
        ("ce_source", source),
        ("content-type", content_type),
    ]
