"""Packed messages of MQTT: fields, then the samples of all leads, moment by moment.

In:  payloads, and the fields before the samples (``mqtt_map``)
Out: fields with checked values, samples int16 [leads, n], and a note on an order of bytes that seems to be the other
State: how much the first samples change, in both orders of their bytes
"""

import json
import math
import struct
from typing import Any

import numpy as np
from beatwire.errors import UserError, shown

from beatwire_producers.devices.mqtt_json import UnreadableError

LAYOUTS = {"int16": "<i2", "int16be": ">i2"}
TIMES = {"time": None, "time_s": 1.0, "time_ms": 1e3, "time_us": 1e6, "time_ns": 1e9}  # per second
_FIELDS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i16": "h", "i32": "i", "i64": "q", "f32": "f", "f64": "d"}
_JUDGED, _ROUGHER = 1000, 8.0  # samples; by so much the other order of bytes changes them less


class PackedMessages:
    """Packed messages -> fields and samples.

    Parameters
    ----------
    dtype
        Of a sample, as NumPy writes it.
    header
        The fields before the samples, ``NAME:TYPE,...``.
    leads
        Their number.

    Attributes
    ----------
    notes : list of str
        A note on the order of bytes.

    Raises
    ------
    UserError
        The header names what is unknown.
    """

    def __init__(self, dtype: str, header: str, leads: int) -> None:
        self.notes: list[str] = []
        self._dtype, self._leads = dtype, leads
        self._names: list[str] = []
        self._judged, self._change, self._swapped = 0, 0.0, 0.0
        codes = []
        for part in filter(None, header.split(",")):
            name, _, kind = part.partition(":")
            if kind not in _FIELDS or name not in (*TIMES, "count", "battery", "contact", "skip"):
                known = f"count, battery, contact, skip, {', '.join(TIMES)} and types {', '.join(_FIELDS)}"
                raise UserError(f"feed mqtt: expected header=NAME:TYPE,... with {known}; got {part!r}")
            self._names.append(name)
            codes.append(_FIELDS[kind])
        self._header = struct.Struct(dtype[0] + "".join(codes))

    def read(self, topic: str, payload: bytes, now_s: float) -> tuple[dict[str, Any], Any]:
        """Return the fields of a message, and its samples [leads, n]; ``now_s`` says nothing here.

        Raises
        ------
        UnreadableError
            It is none.
        """
        del now_s
        begin, moment = self._header.size, 2 * self._leads
        if len(payload) <= begin or (len(payload) - begin) % moment:
            raise UnreadableError(f"expected {begin} bytes and {moment} for each moment; got {len(payload)} bytes")
        if _is_json(payload):
            raise UnreadableError(f"expected packed samples; got JSON, {shown(payload)} (format=json in the address)")
        fields = dict(zip(self._names, self._header.unpack_from(payload), strict=True))
        for name, value in fields.items():
            if not math.isfinite(value) and name != "skip":
                raise UnreadableError(f"expected {name}: a number; got {value}")
        if isinstance(fields.get("count"), float):
            fields["count"] = int(fields["count"])
        samples = np.frombuffer(payload, self._dtype, offset=begin).reshape(-1, self._leads).T
        if self._judged < _JUDGED:
            self._judge_order(topic, samples)
        return fields, samples if self._dtype == "<i2" else samples.astype(np.int16)

    def _judge_order(self, topic: str, samples: Any) -> None:
        """Say that the first samples change much less in the other order of bytes."""
        self._judged += samples.size
        self._change += float(np.abs(np.diff(samples.astype(np.int64))).sum())
        self._swapped += float(np.abs(np.diff(samples.byteswap().astype(np.int64))).sum())
        if self._judged >= _JUDGED and self._change > _ROUGHER * self._swapped > 0:
            other = next(name for name, dtype in LAYOUTS.items() if dtype != self._dtype)
            self.notes.append(f"{topic}: its samples jump; in the other order of bytes they do not: format={other}?")


def _is_json(payload: bytes) -> bool:
    """Return True for an object or a list; numbers alone may be samples whose bytes are digits and spaces."""
    if payload[:1] not in (b"{", b"["):
        return False
    try:
        json.loads(payload)
    except ValueError:
        return False
    return True
