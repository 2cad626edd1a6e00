"""Packed messages of MQTT: fields, then the samples of all leads, moment by moment.

In:  payloads, and the fields before the samples (``mqtt_map``)
Out: fields with checked values, samples [leads, n], and a note on a format that seems to be another
State: which format changes the first samples least, of this one and those that look like it
"""

import json
import math
import struct
from typing import Any, Literal

import numpy as np
from beatwire.errors import UserError, shown

from beatwire_producers.devices.mqtt_json import ALL_OFF, UnreadableError
from beatwire_producers.devices.mqtt_shape import Readings

_SIZES = {"int16": 2, "uint16": 2, "int24": 3, "int32": 4, "float32": 4}  # bytes
LAYOUTS: dict[str, tuple[str, Literal["<", ">"]]] = {
    **{kind: (kind, "<") for kind in _SIZES}, **{f"{kind}be": (kind, ">") for kind in _SIZES}
}  # fmt: skip
_ALIKE = (("int16", "uint16"), ("int24",), ("int32",), ("float32",))  # kinds that may be taken for one another
TIMES = {"time": None, "time_s": 1.0, "time_ms": 1e3, "time_us": 1e6, "time_ns": 1e9}  # per second
_FIELDS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i16": "h", "i32": "i", "i64": "q", "f32": "f", "f64": "d"}
_ROUGHER = 8.0  # by so much another format changes samples less
_PLAUSIBLE = 1e-9, 1e12  # decimals of any unit


class PackedMessages:
    """Packed messages -> fields and samples.

    Parameters
    ----------
    layout
        Of a sample: one of ``LAYOUTS``.
    header
        The fields before the samples, ``NAME:TYPE,...``.
    leads
        Their number.

    Attributes
    ----------
    notes : list of str
        A note on the format.

    Raises
    ------
    UserError
        The header names what is unknown.
    """

    def __init__(self, layout: str, header: str, leads: int) -> None:
        self.notes: list[str] = []
        self._layout, self._leads = layout, leads
        self._names: list[str] = []
        own, order = LAYOUTS[layout]
        alike = next(kinds for kinds in _ALIKE if own in kinds)
        others = [other for other, (one, _) in LAYOUTS.items() if one in alike and other != layout]
        self._readings = Readings((layout, *others), _ROUGHER)
        self._size = _SIZES[own]
        codes = []
        for part in filter(None, header.split(",")):
            name, _, kind = part.partition(":")
            if kind not in _FIELDS or name not in (*TIMES, "count", "battery", "contact", "skip"):
                known = f"count, battery, contact, skip, {', '.join(TIMES)} and types {', '.join(_FIELDS)}"
                raise UserError(f"feed mqtt: expected header=NAME:TYPE,... with {known}; got {part!r}")
            self._names.append(name)
            codes.append(_FIELDS[kind])
        self._header = struct.Struct(order + "".join(codes))

    def read(self, topic: str, payload: bytes, now_s: float) -> tuple[dict[str, Any], Any]:
        """Return the fields of a message, and its samples [leads, n]; ``now_s`` says nothing here.

        Raises
        ------
        UnreadableError
            It is none.
        """
        del now_s
        begin, moment = self._header.size, self._size * self._leads
        if len(payload) <= begin or (len(payload) - begin) % moment:
            raise UnreadableError(f"expected {begin} bytes and {moment} for each moment; got {len(payload)} bytes")
        if _is_json(payload):
            raise UnreadableError(f"expected packed samples; got JSON, {shown(payload)} (format=json in the address)")
        fields = dict(zip(self._names, self._header.unpack_from(payload), strict=True))
        for name, value in fields.items():
            if not math.isfinite(value) and name != "skip":
                raise UnreadableError(f"expected {name}: a number; got {value}")
        if "contact" in fields:
            fields["lead_off"] = 0 if fields.pop("contact") else ALL_OFF
        if isinstance(fields.get("count"), float):
            fields["count"] = int(fields["count"])
        numbers = payload[begin:]
        other = self._readings.better(
            len(numbers) // self._size, lambda layout: _roughness(_unpacked(numbers, layout, self._leads))
        )
        if other is not None:
            self.notes.append(f"{topic}: its samples jump; with format={other} they would not")
        return fields, _unpacked(numbers, self._layout, self._leads)


def _roughness(samples: Any) -> float:
    """Return how much samples [leads, n] jump; of decimals, how many are too small or too large to be samples."""
    if samples.dtype.kind == "f":
        size = np.abs(samples)
        return 1e-3 + np.count_nonzero((size > 0) & ~((size > _PLAUSIBLE[0]) & (size < _PLAUSIBLE[1])))
    return float(np.abs(np.diff(samples.astype(np.float64))).sum())


def _unpacked(numbers: bytes, layout: str, leads: int) -> Any:
    """Return samples [leads, n]: int16, float32, or int32 for all other formats."""
    kind, order = LAYOUTS[layout]
    if kind == "int24":
        low, middle, high = np.frombuffer(numbers, np.uint8).reshape(-1, 3).T[:: 1 if order == "<" else -1]
        values = (low.astype(np.int32) << 8 | middle.astype(np.int32) << 16 | high.astype(np.int32) << 24) >> 8
    else:
        values = np.frombuffer(numbers, np.dtype(kind).newbyteorder(order))
        values = values.astype(np.int32 if kind == "uint16" else kind)
    return values.reshape(-1, leads).T


def _is_json(payload: bytes) -> bool:
    """Return True for an object or a list; numbers alone may be samples whose bytes are digits and spaces."""
    if payload[:1] not in (b"{", b"["):
        return False
    try:
        json.loads(payload)
    except ValueError:
        return False
    return True
