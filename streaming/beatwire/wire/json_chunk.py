r"""A JSON sample message: its rules, and its translation into a plain Avro SampleChunk.

In:  one message, or one row of a table of messages. Out: Avro bytes; or ValueError with the reason, one short line in
     the words of JSON. State: none.

The JSON object has the fields of SampleChunk; other fields are ignored, as a reader of Avro with a registry ignores
those that its schema does not have. A number may be written in any way: ``12.0`` is 12. ``samples`` is a list of
integers, or one such list per lead; ``null`` is a missing sample. Optional fields and their defaults: ``session`` 0,
``time`` 0, ``uv_per_unit`` 5, ``lead_off`` 0, ``leads`` ``lead0``, ``lead1``, ... One that is ``null`` is absent.

Invariant: `encode_fields` is the only place that judges fields, so a message alone and in a table has one result.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from beatwire.kernels.intake import avro
from beatwire.records import I16
from beatwire.wire.avro import encode_chunk

_NO_VALUE = -32768
_LONGEST_SHOWN = 40  # characters of what was received, in a reason
_INT64 = (-(1 << 63), (1 << 63) - 1)
_REQUIRED = ("stream", "first", "rate_hz", "samples")
_DEFAULTS = {"session": 0, "time": 0, "uv_per_unit": 5.0, "lead_off": 0}


def json_to_avro(value: bytes) -> bytes:
    r"""Translate a JSON sample message into a plain Avro SampleChunk.

    Raises
    ------
    ValueError
        The message cannot be used; one line names the field, the expected and the actual value.

    Examples
    --------
    >>> from beatwire.wire import decode_chunk
    >>> value = json_to_avro(b'{"stream": "bed-1", "first": 0, "rate_hz": 250, "samples": [1, null]}')
    >>> decode_chunk(value)["samples"]
    b'\x01\x00\x00\x80'
    """
    try:
        chunk = json.loads(value)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"JSON: expected text in UTF-8; got the byte 0x{value[error.start]:02x} at {error.start}"
        ) from None
    except RecursionError:
        raise ValueError("JSON: expected lists in a list at most; got a deeper nesting") from None
    except ValueError as error:
        raise ValueError(f"JSON: {error}") from None
    if not isinstance(chunk, dict):
        raise ValueError(f"JSON: expected an object; got {shown(chunk)}")
    for name in _REQUIRED:
        if chunk.get(name) is None:
            raise ValueError(f"JSON: field {name!r} is missing")
    return encode_fields(
        {name: value for name, value in chunk.items() if value is not None}, _samples(chunk["samples"])
    )


def encode_fields(chunk: Mapping[str, Any], samples: I16) -> bytes:
    """Return a SampleChunk in Avro, of the fields of a JSON object and its samples.

    Parameters
    ----------
    chunk
        The fields, as ``json.loads`` returns them; none is None, and the required ones are there. ``samples`` is not
        read, nor are fields that SampleChunk does not have.
    samples : int16 [leads, n]

    Raises
    ------
    ValueError
        A field is wrong.
    """
    count = len(samples)
    if not 1 <= count <= avro.MAX_LEADS:
        raise ValueError(f"JSON: field 'samples': expected 1-{avro.MAX_LEADS} lists, one a lead; got {count}")
    if not samples.shape[1]:
        raise ValueError("JSON: field 'samples': expected at least 1 sample a lead; got none")
    leads = chunk.get("leads", [f"lead{k}" for k in range(count)])
    if not isinstance(leads, list) or len(leads) != count:
        raise _wrong("leads", f"a list of {count}, one name a lead", leads)
    size = len(_text("stream", chunk["stream"]))
    if not 1 <= size <= avro.MAX_ID:
        raise ValueError(f"JSON: field 'stream': expected 1-{avro.MAX_ID} bytes; got {size}")
    for name in leads:
        _text("leads", name)
    given = _DEFAULTS | {name: chunk[name] for name in ("first", "rate_hz", *_DEFAULTS) if name in chunk}
    most = avro.MAX_INDEX
    return encode_chunk(
        chunk["stream"],
        _whole("session", given["session"], *_INT64, "a whole number of 64 bits"),
        _whole("first", given["first"], 0, most, "a whole number within 0..2^53"),
        _whole("time", given["time"], -most, most, "a whole number within -2^53..2^53"),
        _fraction("rate_hz", given["rate_hz"], avro.MIN_RATE_HZ, avro.MAX_RATE_HZ),
        leads,
        samples,
        uv_per_unit=_fraction("uv_per_unit", given["uv_per_unit"], 0.0, avro.MAX_UV_PER_UNIT),
        lead_off=_whole("lead_off", given["lead_off"], 0, (1 << count) - 1, "a whole number with one bit a lead"),
    )


def shown(value: Any) -> str:
    """Return a value of JSON for a reason, with at most 40 characters of it.

    >>> shown(None), shown(True), len(shown("x" * 1000)), shown([1, 2])
    ('null', 'true', 42, 'a list of 2')
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return repr(value[:_LONGEST_SHOWN])
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, int) and value.bit_length() > 128:
        return "an integer of many digits"
    return str(value)[:_LONGEST_SHOWN]


def _wrong(field: str, expected: str, got: Any) -> ValueError:
    return ValueError(f"JSON: field {field!r}: expected {expected}; got {shown(got)}")


def _text(name: str, value: Any) -> bytes:
    """Return a text in UTF-8."""
    if not isinstance(value, str):
        raise _wrong(name, "a text in quotes", value)
    try:
        return value.encode()
    except UnicodeEncodeError:  # an escape that is half of a pair
        raise _wrong(name, "characters of Unicode", value) from None


def _whole(name: str, value: Any, smallest: int, largest: int, limits: str) -> int:
    """Return a field that is a whole number, written in any way."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if type(value) is not int or not smallest <= value <= largest:
        raise _wrong(name, limits, value)
    return value


def _fraction(name: str, value: Any, smallest: float, largest: float) -> float:
    """Return a field that is a number."""
    if type(value) not in (int, float) or not smallest <= value <= largest:
        raise _wrong(name, f"a number within {smallest:g}..{largest:g}", value)
    return float(value)


def _samples(rows: Any) -> I16:
    """Return ``samples`` of a message as int16 [leads, n]."""
    if not isinstance(rows, list):
        raise _wrong("samples", "a list", rows)
    nested: Sequence[Any] = rows if rows and isinstance(rows[0], list) else [rows]
    for row in nested:
        if not isinstance(row, list):
            raise _wrong("samples", "lists of equal length, one a lead", row)
        if len(row) != len(nested[0]):
            got = f"{len(nested[0])} and {len(row)}"
            raise ValueError(f"JSON: field 'samples': expected lists of equal length, one a lead; got {got}")
    return np.array([[_sample(value) for value in row] for row in nested], np.int16)


def _sample(value: Any) -> int:
    if type(value) is int and _NO_VALUE <= value <= 32767:
        return value
    if value is None:
        return _NO_VALUE
    if isinstance(value, float) and value.is_integer() and _NO_VALUE <= value <= 32767:
        return int(value)
    raise _wrong("samples", "integers within int16, or null", value)
