"""Samples in resources of FHIR: the SampledData of an Observation, or of Observations in a Bundle.

A value is ``origin + factor * number``, in the unit of the origin; R4 states a period in milliseconds, R5 an interval
and its unit. E, U and L are samples without a value. The components of an Observation are leads, as are Observations
of one subject and one time whose leads differ. Pieces of a lead that follow each other, by time offsets or by the times
of Observations, are one lead; with a gap between Observations that is longer than all their samples they are several
recordings.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.kinds import uv_per_unit_of
from beatwire.recordings.signals import Signal, Signals, of_digital
from beatwire.recordings.stretches import ROUNDED_S, Stretch, in_time
from beatwire.records import F64

_NO_VALUE = ("E", "U", "L")  # an error, above and below the limits of detection
_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0}  # of UCUM
_PER_SECOND = {"Hz": 1.0, "kHz": 1e3, "/s": 1.0}
_LEAD = re.compile(r"MDC_ECG_(?:LEAD|ELEC_POTL)_(\w+)")
_CODES = {"131329": "I", "131330": "II", "131389": "III", "131390": "aVR", "131391": "aVL", "131392": "aVF"} | {
    str(131330 + k): f"V{k}" for k in range(1, 7)
}  # fmt: skip  # of ISO/IEEE 11073
_OFFSET = re.compile(r"/observation-time-?offset$", re.IGNORECASE)  # an extension, in milliseconds
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[-+]\d\d:\d\d)")
_COARSE_S = 0.999  # by which the distance of two times in whole seconds may be wrong
_SAME_RATE = 1e-3
_DEEPEST = 20
_SHOWN = 3


class _Sampled(NamedTuple):
    """The samples of one element: the number of its resource, what describes it, and the element."""

    resource: int
    owner: Mapping[str, Any]
    samples: Mapping[str, Any]


class _Piece(NamedTuple):
    """When the signals of an element begin, in seconds, the number of its resource, and the signals."""

    begin_s: float
    resource: int
    signals: list[Signal]

    @property
    def end_s(self) -> float:
        """When the longest of them ends."""
        return self.begin_s + max(signal.length / signal.rate_hz for signal in self.signals)


def signals_of(path: Path, document: Any, fs: float | None) -> Signals | None:
    """Return the signals of a document; None if it holds no SampledData.

    Raises
    ------
    UserError
        They are several recordings, state no rate, or are damaged.
    """
    where = path.name
    resources: list[Mapping[str, Any]] = []
    found = list(_sampled(document, {}, resources, 0))
    if not found:
        return None
    holders = {one.resource: resources[one.resource] for one in found}
    starts_s = _starts_s(holders)
    pieces = [
        _Piece(starts_s.get(one.resource, 0.0) + _begin_s(where, one), one.resource, _signals(where, one, fs))
        for one in found
    ]
    _check_that_they_are_one(where, pieces, holders, starts_s)
    is_coarse = len(set(starts_s.values())) > 1 and all(start_s % 1 == 0 for start_s in starts_s.values())
    return _whole(path, pieces, is_coarse)


def _check_that_they_are_one(
    where: str, pieces: Sequence[_Piece], holders: Mapping[int, Mapping[str, Any]], starts_s: Mapping[int, float]
) -> None:
    """Raise UserError if resources are of several recordings, or samples of a lead of one time."""
    at = Counter((signal.name, piece.begin_s) for piece in pieces for signal in piece.signals)
    twice = next((name for (name, _), count in at.items() if name and count > 1), None)
    if len(holders) > 1 and (twice or not _are_one(pieces, starts_s)):
        ids = [str(one.get("id") or f"number {n}") for n, one in enumerate(holders.values(), 1)]
        got = ", ".join(ids[:_SHOWN]) + (", ..." if len(ids) > _SHOWN else "")
        raise UserError(
            f"{where}: expected one recording; got {len(ids)} resources with samples, {got}: save one of them alone"
        )
    if twice:
        raise UserError(f"{where}: expected the samples of a lead one after the other; got several of {twice!r}")


def _whole(path: Path, pieces: Sequence[_Piece], is_coarse: bool) -> Signals:
    """Return the leads of pieces, each at its time; ``is_coarse``: these are whole seconds."""
    leads: dict[str, list[Stretch]] = {}
    first_s = min(piece.begin_s for piece in pieces)
    for piece in pieces:
        for signal in piece.signals:
            parts = leads.setdefault(signal.name or f"\0{len(leads)}", [])  # each without a name is one
            parts.append(Stretch(piece.begin_s - first_s, len(parts) + 1, signal))
    whole, notes = [], list[str]()
    for parts in leads.values():
        joined, left = in_time(path.name, parts, parts[0].signal.name, "piece", _COARSE_S if is_coarse else ROUNDED_S)
        whole.append(joined)
        notes += left
    if (count := max(map(len, leads.values()))) > 1:
        coarse = ", which are whole seconds: less is no gap" if is_coarse else ""
        notes.insert(0, f"{count} pieces of a lead, placed by their times{coarse}")
    return Signals(path.name, path.stem, tuple(whole), tuple(notes), rate_of="its period", many=True)


def _starts_s(holders: Mapping[int, Mapping[str, Any]]) -> dict[int, float]:
    """Return the times of the resources of one recording in seconds, by their numbers; none if they are of several."""
    if len({str(one.get("subject")) for one in holders.values()}) > 1:
        return {}
    times = [{key: one for key, one in each.items() if key.startswith("effective")} for each in holders.values()]
    if all(time == times[0] for time in times):
        return dict.fromkeys(holders, 0.0)
    starts_s = {k: start_s for k, time in zip(holders, times, strict=True) if (start_s := _instant(time)) is not None}
    return {} if len(starts_s) < len(holders) else starts_s


def _instant(time: Mapping[str, Any]) -> float | None:
    """Return when the time that a resource states begins, in seconds; None if it has no time of day, or no zone."""
    period = time.get("effectivePeriod")
    start = period.get("start") if isinstance(period, Mapping) else None
    texts = [str(one) for one in (time.get("effectiveDateTime"), time.get("effectiveInstant"), start) if one]
    if len(texts) != 1 or not _INSTANT.fullmatch(texts[0]):
        return None
    try:
        return datetime.fromisoformat(texts[0]).timestamp()
    except ValueError:
        return None


def _are_one(pieces: Sequence[_Piece], starts_s: Mapping[int, float]) -> bool:
    """Return True if several resources are one recording: leads of one length, or such leads one after the other."""
    together: dict[float, list[Signal]] = {}
    for piece in pieces:
        together.setdefault(starts_s.get(piece.resource, math.nan), []).extend(piece.signals)
    names = {tuple(sorted(signal.name for signal in each)) for each in together.values()}
    rates = {signal.rate_hz for piece in pieces for signal in piece.signals}
    is_even = all(len({signal.length for signal in each}) == 1 for each in together.values())
    is_one_kind = len(names) == len(rates) == 1 and all(names.pop()) and is_even
    return bool(starts_s) and is_one_kind and not _is_mostly_gap(pieces)


def _is_mostly_gap(pieces: Sequence[_Piece]) -> bool:
    """Return True if one gap between pieces is longer than all that they hold: two ECGs of a day, not one."""
    held_s, gap_s, end_s = 0.0, 0.0, -math.inf
    for piece in sorted(pieces, key=itemgetter(0)):
        gap_s = max(gap_s, piece.begin_s - end_s if end_s > -math.inf else 0.0)
        held_s += max(0.0, piece.end_s - max(piece.begin_s, end_s))
        end_s = max(end_s, piece.end_s)
    return gap_s > held_s


def _sampled(
    value: Any, owner: Mapping[str, Any], resources: list[Mapping[str, Any]], depth: int
) -> Iterator[_Sampled]:
    """Yield the SampledData within a value; resources that are met are added."""
    if depth > _DEEPEST:
        return
    if isinstance(value, Mapping):
        if "resourceType" in value or not resources:
            resources.append(value)
        number = len(resources) - 1
        for key, one in value.items():
            if isinstance(one, Mapping) and isinstance(one.get("origin"), Mapping):
                yield _Sampled(number, owner if key == "SampledData" else value, one)
            else:
                yield from _sampled(one, value, resources, depth + 1)
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        for one in value:
            yield from _sampled(one, owner, resources, depth + 1)


def _signals(where: str, one: _Sampled, fs: float | None) -> list[Signal]:
    """Return the signal of an element, or one for each of its dimensions."""
    stated = one.samples
    name = _name(one.owner)
    called = f"{where}: SampledData{f' of {name}' if name else ''}"
    factor = _number(called, "factor", stated.get("factor", 1))
    origin, count = stated["origin"], int(_number(called, "dimensions", stated.get("dimensions", 1)))
    values = _values(called, stated.get("data"))
    if count < 1 or len(values) % count or factor == 0:
        raise UserError(f"{called}: expected {count} dimensions and a factor; got {len(values)} numbers, {factor:g}")
    rate_hz = _rate(called, stated, fs)
    unit = uv_per_unit_of(str(origin.get("code") or origin.get("unit") or ""))
    zero = _number(called, "origin", origin.get("value", 0))
    names = [name] if count == 1 else [f"{name or 'lead'} {k}" for k in range(count)]
    return [
        of_digital(values[k::count], name, rate_hz, factor, zero, unit) for k, name in enumerate(names)
    ]  # fmt: skip


def _begin_s(where: str, one: _Sampled) -> float:
    """Return how long after the time of its resource an element begins, in seconds."""
    for holder in (one.samples, one.owner):
        listed = holder.get("extension")
        for extension in listed if isinstance(listed, list) else []:
            if isinstance(extension, Mapping) and _OFFSET.search(str(extension.get("url"))):
                return _number(where, "time offset", extension.get("valueInteger")) / 1000
    return 0.0


def _values(where: str, text: Any) -> F64:
    """Return the numbers of a text, NaN for a code."""
    if not isinstance(text, str):
        raise UserError(f"{where}: expected data as a text of numbers; got {type(text).__name__}")
    cells = text.split()
    try:
        return np.array([np.nan if cell in _NO_VALUE else float(cell) for cell in cells], np.float64)
    except ValueError as error:
        raise UserError(f"{where}: expected numbers, E, U or L; got: {str(error)[:80]}") from None


def _rate(where: str, stated: Mapping[str, Any], fs: float | None) -> float:
    """Return the sampling rate that an element states; else that of the user."""
    if "offsets" in stated:
        raise UserError(f"{where}: expected samples at even intervals; got offsets")
    steps = [("period", "ms"), ("interval", str(stated.get("intervalUnit") or ""))]
    rates = [_rate_by(where, key, stated[key], unit) for key, unit in steps if key in stated]
    if not rates and fs is None:
        raise UserError(f"{where}: expected a period or an interval; got none: give --fs, in Hz")
    if len(rates) > 1 and abs(rates[0] / rates[1] - 1) > _SAME_RATE:
        raise UserError(
            f"{where}: expected one rate; got {rates[0]:g} Hz by its period, {rates[1]:g} Hz by its interval"
        )
    return rates[-1] if rates else float(fs or 0)


def _rate_by(where: str, key: str, value: Any, unit: str) -> float:
    """Return the sampling rate by an interval between samples; it may be stated in Hz."""
    step = _number(where, key, value)
    hz = (
        step * _PER_SECOND[unit]
        if unit in _PER_SECOND
        else 1 / (step * _SECONDS[unit])
        if unit in _SECONDS and step
        else 0
    )
    if not hz > 0:
        raise UserError(f"{where}: expected an interval in a unit of time or in Hz; got {step:g} {unit!r}")
    return float(f"{hz:.9g}")


def _number(where: str, name: str, value: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and np.isfinite(value):
        return float(value)
    raise UserError(f"{where}: expected a number as {name}; got {str(value)[:40]!r}")


def _name(owner: Mapping[str, Any]) -> str:
    """Return the lead that a code states; empty if it states none."""
    code = owner.get("code")
    codings = code.get("coding") if isinstance(code, Mapping) else None
    codings = [one for one in codings if isinstance(one, Mapping)] if isinstance(codings, list) else []
    texts = [str(one.get(key) or "") for one in codings for key in ("display", "code")]
    for text in texts:
        lead = _LEAD.fullmatch(text)
        if lead is not None or text in _CODES:
            return lead[1] if lead is not None else _CODES[text]
    said = [str(code.get("text") or "")] if isinstance(code, Mapping) else []
    found = [text.strip() for text in (*said, *texts) if text.strip()]
    return next((text for text in found if not text.startswith("MDC_")), found[0] if found else "")
