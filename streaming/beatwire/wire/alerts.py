"""The JSON of an alert: the value of a message on ``ecg.alerts``, and a line of a file of alerts.

In: a transition of an alert as a mapping. Out: one line of JSON, ``schemas/alert.schema.json``. JSON has no NaN: a
number that is not finite is null. And back: bytes from anybody become an alert, or ValueError with the reason.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from beatwire.alerts.rule import PRIORITIES
from beatwire.errors import shown
from beatwire.wire.fields import LATEST_US, Field, checked, is_integer, is_number, is_text, json_object
from beatwire.wire.staff import NAME, STREAM_ID, is_name, is_stream_id

STATES = ("on", "latched", "ack", "off")
MOST_TEXT = 1_000  # characters


def encode_alert(alert: Mapping[str, Any]) -> str:
    """Return an alert as one line of JSON; NumPy's scalars and arrays become plain values.

    >>> encode_alert({"rule": "pause", "onset": np.int64(5), "value": float("nan")})
    '{"rule": "pause", "onset": 5, "value": null}'

    Raises
    ------
    TypeError
        JSON cannot represent a value.
    """
    try:
        return _ENCODER.encode(dict(alert))
    except ValueError:  # a number that is not finite
        return _ENCODER.encode({name: _finite(value) for name, value in alert.items()})


def _finite(value: Any) -> Any:
    value = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"alert: expected a value that JSON has; got {value!r}")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=_plain)


def decode_alert(value: bytes | str, key: bytes | None = None) -> dict[str, Any]:
    """Return the fields of a message on ``ecg.alerts``; fields that are not in its schema are left out.

    Parameters
    ----------
    value
        The value of the message, or a line of a file of alerts.
    key
        Its key, where that is to be the id of the alert.

    Raises
    ------
    ValueError
        It is no alert; nothing else is raised, whatever the bytes are.

    Notes
    -----
    A rule of a newer version is a rule: a page shows it, and a monitor passes over it
    (`beatwire.kafka.reading.readers`).
    """
    found = checked(json_object(value), _FIELDS)
    if key is not None and found["id"].encode() != key:
        raise ValueError(f"expected the key to be the id {found['id']}; got {shown(key)}")
    return found


def _is_count(value: Any) -> bool:
    return is_integer(value, 0, LATEST_US)


_COUNT, _TIME = f"an integer of 0 to {LATEST_US}", "an integer of 64 bits"
_TEXT = f"at most {MOST_TEXT} characters of text"
_FIELDS = (
    Field("id", is_name, NAME),
    Field("stream", is_stream_id, STREAM_ID),
    Field("session", is_integer, "an integer of 64 bits"),
    Field("rule", is_name, NAME),
    Field("priority", lambda v: isinstance(v, str) and v in PRIORITIES, ", ".join(PRIORITIES)),
    Field("technical", lambda v: isinstance(v, bool), "true or false"),
    Field("state", lambda v: isinstance(v, str) and v in STATES, ", ".join(STATES)),
    Field("onset", _is_count, _COUNT),
    Field("onset_us", is_integer, _TIME),
    Field("decided", _is_count, _COUNT),
    Field("decided_us", is_integer, _TIME),
    Field("value", lambda v: v is None or is_number(v), "a number or null"),
    Field("limit", is_number, "a number"),
    Field("definition", lambda v: is_text(v, MOST_TEXT), _TEXT, optional=True),
    Field("text", lambda v: is_text(v, MOST_TEXT), _TEXT),
    Field("ack_by", lambda v: v is None or is_name(v), f"null or {NAME}", optional=True),
    Field("ack_us", lambda v: v is None or is_integer(v), "null or an integer of 64 bits", optional=True),
    Field("reminders", _is_count, _COUNT, optional=True),
    Field("partition", lambda v: is_integer(v, 0, 2**31 - 1), "an integer of 0 to 2147483647", optional=True),
    Field("model", lambda v: is_text(v, MOST_TEXT), _TEXT, optional=True),
)
