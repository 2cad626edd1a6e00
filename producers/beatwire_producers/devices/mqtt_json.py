"""Messages of MQTT in JSON: their samples, and the fields beside them.

In:  payloads, and the names of the map (``mqtt_map``)
Out: fields with checked values, samples [leads, n], and notes on what is not used
State: the names that were seen; of each topic the device that its messages name
"""

import itertools
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
from beatwire.errors import shown
from beatwire.recordings.columns.names import Meaning, meaning
from beatwire.recordings.record import MAX_LEADS, MAX_RATE_HZ, MIN_RATE_HZ
from beatwire.recordings.remarks import few
from beatwire.wire.fields import Field, checked, is_integer, is_number, is_text, json_object

from beatwire_producers.devices.learnt import seconds_of_text
from beatwire_producers.devices.scale import stated_uv

_RENAMED = ("count", "time", "battery", "contact")
_STATED = ("leads", "rate_hz", "uv_per_unit", "lead_off")
_UNITS = ("unit", "units")
_FIELDS = (
    Field("count", is_integer, "a whole number", optional=True),
    Field("time", is_number, "a number, a date or a time of day", optional=True),
    Field(
        "leads", lambda value: isinstance(value, list) and all(is_text(one, 64) for one in value), "a list of names",
        optional=True,
    ),
    Field("rate_hz", lambda value: is_number(value) and MIN_RATE_HZ <= value <= MAX_RATE_HZ, "50-4000", optional=True),
    Field("uv_per_unit", lambda value: is_number(value) and value >= 0, "microvolts", optional=True),
)  # fmt: skip
_NUMBERS = ("count", "rate_hz", "uv_per_unit")  # some write them as text
_CONTACTS = (
    ("contact", False, "true or false"),
    ("lead_off", True, "a mask"),
)  # name, what it is of a lead that is off
ALL_OFF = -1  # the mask of all leads
_EXACT = 2.0**53  # of a whole number in float64
_NONE = (b"null", b"NaN")
_DIGITS = tuple(b"%d" % digit for digit in range(10))
_MOST_NAMES, _MOST_LISTED = 64, 8  # that are looked at; in a line
_DEVICE = re.compile(
    r"(?:device|dev|sensor|node|patient|subject|client|bed|strap|belt|wearable)"
    r"(?:[_ -]?(?:id|name|no|nr|number|serial|addr|address|uid|uuid))?"
    r"|mac(?:[_ -]?addr(?:ess)?)?|serial[_ -]?(?:no|nr|number)",
    re.IGNORECASE,
)
_REPLACED_S = 60.0  # a device that is silent for so long may have been replaced


class UnreadableError(Exception):
    """A message that is no packet; the text is the reason."""


class JsonMessages:
    """Messages in JSON -> fields and samples.

    Parameters
    ----------
    names
        What is called how: ``samples``, ``count``, ``time``, ``battery``, ``contact``; ``id`` is empty, or the name of
        what tells devices apart.

    Attributes
    ----------
    notes : list of str
        What is not used of messages.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.notes: list[str] = []
        self._names = names
        self._renamed = {name: names[name] for name in _RENAMED}
        self._own = (*self._renamed.values(), names["samples"], names["id"])
        self._used = {*self._own, *(name.partition(".")[0] for name in self._own), *_STATED, *_UNITS}
        self._single: set[str] = set()  # topics with a sample a message
        self._device_names: list[str] = []
        self._devices: dict[tuple[str, str], tuple[Any, float]] = {}  # topic and name -> the device, heard at
        self._say = few(self.notes.append)

    def read(self, topic: str, payload: bytes, now_s: float) -> tuple[dict[str, Any], Any]:
        """Return the fields of a message, and its samples [leads, n].

        Raises
        ------
        UnreadableError
            It is none, or it is of another device than those before it.
        """
        own = self._names["samples"]
        if payload.lstrip()[:1] in (b"[", b"-", *_DIGITS) or payload.strip() in _NONE:  # samples alone
            payload = b'{"%s": %s}' % (own.encode(), payload)
        try:
            found = _with_inner(json_object(payload, has_nan=True), self._own)
            fields = self._fields(topic, found)
        except ValueError as error:
            raise UnreadableError(str(error)) from None
        if own not in found:
            raise UnreadableError(
                f"expected {own!r} among its names; got {_listed(found)} (samples=NAME in the address)"
            )
        names, rows = _by_name(found[own])
        if names:
            fields |= {"leads": names, "is_by_name": True}
        if rows is None or (isinstance(rows, float) and math.isnan(rows)):  # one without a value, if each is one
            rows = math.nan if topic in self._single else None
        samples = _samples(own, rows)
        (self._single.add if samples.size == 1 else self._single.discard)(topic)
        self._look_at(topic, found)
        self._check_device(topic, found, now_s)
        return fields, samples

    def _fields(self, topic: str, found: dict[str, Any]) -> dict[str, Any]:
        fields = {name: found[own] for name, own in self._renamed.items() if found.get(own) is not None}
        if isinstance(fields.get("time"), str):
            fields["time"] = seconds_of_text(fields["time"])
        fields |= {name: found[name] for name in _STATED if found.get(name) is not None}
        if isinstance(fields.get("leads"), str):
            fields["leads"] = fields["leads"].split(",")
        charge = fields.pop("battery", None)
        contacts = [
            (name, fields.pop(name), is_off, expected) for name, is_off, expected in _CONTACTS if name in fields
        ]
        fields |= {name: number_in(fields[name]) for name in _NUMBERS if name in fields}
        fields = checked(fields, _FIELDS)
        for name, value, is_off, expected in contacts:
            if (mask := _off(value, is_off)) is None:
                self._say(f"{topic}: not used: its {name} of {shown(value)}; expected {expected}")
            else:
                fields["lead_off"] = fields.get("lead_off", 0) | mask
                if isinstance(value, list):
                    fields["contacts"] = len(value)
        if "uv_per_unit" not in fields and (uv := self._uv(topic, found)) is not None:
            fields["uv_per_unit"] = uv
        if percent(charge) is not None:
            fields["battery"] = charge
        elif charge is not None:
            self._say(f"{topic}: not used: its battery of {shown(charge)}; expected percent, 0-100")
        if self._names["id"]:
            device = found.get(self._names["id"])
            if not isinstance(device, str | int):
                raise ValueError(f"expected {self._names['id']!r}: the id of a device; got {shown(device)}")
            fields["id"] = f"{device}"
        return fields

    def _uv(self, topic: str, found: dict[str, Any]) -> float | None:
        """Return the microvolts of the unit that a message states; None: it states none."""
        stated = next((found[name] for name in _UNITS if found.get(name) is not None), None)
        units = [one for one in (stated if isinstance(stated, list) else [stated]) if isinstance(one, str)]
        if not units or len(units) != (len(stated) if isinstance(stated, list) else 1):
            if stated is not None:
                self._say(f"{topic}: not used: its unit of {shown(stated)}; expected text")
            return None
        scales = {stated_uv(unit) for unit in units}
        if len(scales) > 1:
            raise ValueError(f"expected leads of one unit; got {shown(stated)}")
        return scales.pop()

    def _look_at(self, topic: str, found: dict[str, Any]) -> None:
        """Say of names that are new that they are not used."""
        new = [name for name in found if name not in self._used]
        if not new or len(self._used) > _MOST_NAMES:
            return
        self._used.update(new)
        self._device_names += [name for name in new if _DEVICE.fullmatch(name)]
        unused = [name for name in new if name not in self._device_names]
        if unused:
            self.notes.append(f"{topic}: not used of its messages: {_listed(unused)}")

    def _check_device(self, topic: str, found: dict[str, Any], now_s: float) -> None:
        """Refuse a message of a second device: two in one stream are worse than one alone."""
        for name in () if self._names["id"] else self._device_names:
            device = found.get(name)
            if not isinstance(device, str | int):
                continue
            before, heard_s = self._devices.get((topic, name), (device, now_s))
            if device != before and now_s - heard_s < _REPLACED_S:
                raise UnreadableError(
                    f"expected messages of one device; got {name} {shown(device)} beside {shown(before)} "
                    f"(id={name} in the address makes a stream of each)"
                )
            self._devices[topic, name] = device, now_s


def _with_inner(found: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return a message with what names of the form ``outer.inner`` mean in it.

    >>> _with_inner({"data": {"ecg": [1]}}, ["data.ecg", "data.time", "count"])["data.ecg"]
    [1]
    """
    for name in names:
        outer, *inner = name.split(".")
        value: Any = found.get(outer) if inner and name not in found else None
        for one in inner:
            value = value.get(one) if isinstance(value, dict) else None
        if value is not None:
            found[name] = value
    return found


def _listed(names: Iterable[str]) -> str:
    first = [shown(name) for name in itertools.islice(names, _MOST_LISTED + 1)]
    return ", ".join(first[:_MOST_LISTED] + ["..."] * (len(first) > _MOST_LISTED)) or "none"


def percent(charge: Any) -> int | None:
    """Return a charge in whole percent; None if it is none: a part of 1, millivolts, or a code for "unknown".

    >>> percent(80.4), percent(0), percent(0.8), percent(255), percent("80"), percent(None)
    (80, 0, None, None, None, None)
    """
    return round(charge) if is_number(charge) and (charge == 0 or 1 <= charge <= 100) else None


def number_in(value: Any) -> Any:
    """Return the number that a text holds, an integer if it is whole; every other value unchanged.

    >>> number_in("250"), number_in("2.5"), number_in(12.0), number_in("fast"), number_in(True)
    (250, 2.5, 12, 'fast', True)
    """
    number = value
    if isinstance(value, str):
        with suppress(ValueError):
            number = float(value)
            return int(value)  # of as many digits as it has
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _off(value: Any, is_off: bool) -> int | None:
    """Return the mask of the leads that are off; None if the value is none. ``is_off``: what is true is off.

    >>> _off(True, False), _off(0, False), _off([True, False], False), _off(5, True), _off("yes", False)
    (0, -1, 2, 5, None)
    """
    if isinstance(value, list) and value and len(value) <= MAX_LEADS and all(one in (0, 1) for one in value):
        return sum((bool(one) is is_off) << k for k, one in enumerate(value))
    if isinstance(value, bool) or (not is_off and value in (0, 1)):
        return ALL_OFF if bool(value) is is_off else 0
    return value if is_off and is_integer(value, 0, (1 << MAX_LEADS) - 1) else None


def _by_name(rows: Any) -> tuple[list[str], Any]:
    """Return the leads of samples by their names, and a list a lead; no names where these are not leads.

    >>> _by_name({"II": [1, 2], "V1": [3, 4]}), _by_name([{"II": 1}, {"II": 2}]), _by_name({"t": 1})
    ((['II', 'V1'], [[1, 2], [3, 4]]), (['II'], [[1, 2]]), ([], {'t': 1}))
    """
    moments = rows if isinstance(rows, list) and rows else [rows]
    if not all(isinstance(one, dict) and one.keys() == moments[0].keys() for one in moments):
        return [], rows
    names = list(moments[0])
    if not _are_leads(tuple(names)):
        return [], rows
    lists = [[one[name] for one in moments] for name in names]
    return names, lists if moments is rows else [one if isinstance(one, list) else [one] for (one,) in lists]


@lru_cache(maxsize=64)
def _are_leads(names: tuple[str, ...]) -> bool:
    return bool(names) and all(meaning(name) is Meaning.LEAD for name in names)


def _samples(own: str, rows: Any) -> Any:
    try:
        rows = [rows] if is_number(rows) or isinstance(rows, float) else rows
        rows = rows if isinstance(rows, list) and rows and isinstance(rows[0], list) else [rows]
        samples = np.array(rows)
        if samples.dtype.kind == "O":  # null: no value
            samples = np.array([[np.nan if v is None else v for v in row] for row in rows if isinstance(row, list)])
        if samples.dtype.kind == "U":  # numbers as text
            samples = samples.astype(np.float64)
            if bool(((samples == np.rint(samples)) & (np.abs(samples) < _EXACT)).all()):
                samples = samples.astype(np.int64)
    except (TypeError, ValueError):  # lists of unequal length, or none
        samples = np.array(None)
    if samples.dtype.kind not in "iuf" or samples.ndim != 2 or not samples.size:
        raise UnreadableError(f"expected numbers in {own!r}, one list a lead; got {shown(rows)}")
    return samples
