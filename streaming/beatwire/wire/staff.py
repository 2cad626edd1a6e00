"""The JSON of what staff enter: values of ``ecg.acks`` and ``ecg.settings``.

In: bytes from anybody. Out: plain values, or ValueError with what was expected and what was found. The schemas are
``schemas/ack.schema.json`` and ``schemas/settings.schema.json``.
"""

import json
from collections.abc import Mapping
from typing import Any

from beatwire.errors import shown
from beatwire.records.staff import LimitChange
from beatwire.wire.fields import Field, checked, is_integer, is_number, json_object

LONGEST = 64
NAME = f"1-{LONGEST} printable characters, not only spaces"
STREAM_ID = f"1-{LONGEST} bytes of printable text"


def ack_entry(alert: str, stream: str, by: str, at_us: int) -> dict[str, Any]:
    """Return the fields of a message on ``ecg.acks``."""
    return {"alert": alert, "stream": stream, "by": by, "at_us": at_us}


def limits_entry(
    stream: str, limits: Mapping[str, float], before: Mapping[str, float], by: str, at_us: int
) -> dict[str, Any]:
    """Return the fields of a message on ``ecg.settings``: the limits of a stream that differ from the defaults."""
    return {"stream": stream, "limits": dict(limits), "before": dict(before), "by": by, "at_us": at_us}


def encode_entry(entry: Mapping[str, Any]) -> bytes:
    """Return the value of the message.

    >>> encode_entry(limits_entry("bed-1", {"asystole": 5.0}, {}, "Ada", 0))
    b'{"stream": "bed-1", "limits": {"asystole": 5.0}, "before": {}, "by": "Ada", "at_us": 0}'
    """
    return json.dumps(dict(entry), ensure_ascii=False, allow_nan=False).encode()


def decode_limits(value: bytes, key: bytes | None) -> dict[str, Any]:
    """Return the fields of a message on ``ecg.settings``; whether the values of the limits can be meant is not checked.

    Raises
    ------
    ValueError
        A field is missing or not what it should be, or the key is not the stream: the broker would keep it in the place
        of another one's limits. Nothing else is raised, whatever the bytes are.
    """
    return _keyed(checked(json_object(value), (*_ENTERED, *_LIMITS)), "stream", key)


def decode_ack(value: bytes, key: bytes | None) -> dict[str, Any]:
    """Return the fields of a message on ``ecg.acks``.

    Raises
    ------
    ValueError
        A field is missing or not what it should be, or the key is not the id of the alert; nothing else is raised,
        whatever the bytes are.
    """
    return _keyed(checked(json_object(value), (*_ENTERED, Field("alert", is_name, NAME))), "alert", key)


def _keyed(found: dict[str, Any], name: str, key: bytes | None) -> dict[str, Any]:
    if found[name].encode() != key:
        raise ValueError(f"expected the key to be the {name} {shown(found[name])}; got {shown(key)}")
    return found


def is_name(text: Any) -> bool:
    """Return True for what `NAME` says: the only rule for the name of a person, in the page, commands and the monitor.

    >>> is_name("Ada"), is_name("\u963f" * 64), is_name(" "), is_name(3)
    (True, True, False, False)
    """
    return isinstance(text, str) and text.isprintable() and bool(text.strip()) and len(text) <= LONGEST


def is_stream_id(text: Any) -> bool:
    """Return True for what `STREAM_ID` says.

    >>> is_stream_id("bed-1"), is_stream_id("\u963f" * 64), is_stream_id("")
    (True, False, False)
    """
    return isinstance(text, str) and text.isprintable() and 1 <= len(text.encode()) <= LONGEST


def _is_limits(value: Any) -> bool:
    return isinstance(value, dict) and all(map(is_number, value.values()))


_ENTERED = (
    Field("stream", is_stream_id, STREAM_ID),
    Field("by", is_name, NAME),
    Field("at_us", is_integer, "an integer of 64 bits"),
)
_LIMITS = tuple(Field(name, _is_limits, "an object of numbers") for name in ("limits", "before"))


def limits_record(what: str, change: LimitChange) -> dict[str, Any]:
    """Return the record of a change of limits."""
    return {
        "what": what,
        "stream": change.stream,
        "by": change.by,
        "at_us": change.at_us,
        "before": dict(change.before),
        "after": dict(change.limits),
    }
