"""The signals of a recording whose file describes them: which become leads, and their values on one time axis.

In:  :class:`Signals`, as a reader of a format opens them: name, rate and unit of each, and a function that reads values
Out: a :class:`Recording`, or its blocks

Without a choice of the user, leads are the signals in volts whose names are not those of other signals. Those
named like P1, which may be an electrode of the head, are leads only where no other signal remains. Where none is in
volts, or only signals of an unknown unit are named as an ECG, leads are those, which are not calibrated. Leads of
different rates are brought to the highest of their rates by linear interpolation: one that is read alone keeps its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.kinds import is_ecg, is_of_head, is_other, may_be_of_head
from beatwire.recordings.leads import find_lead, find_leads, unique_names
from beatwire.recordings.record import MAX_LEADS, MIN_RATE_HZ, Recording, check_rate
from beatwire.recordings.units import Block, to_units
from beatwire.records import F64

_SAME_RATE = 1e-6  # rates that differ by less are one: files state them with few digits


@dataclass(frozen=True)
class Signal:
    """One signal of a recording.

    name           as the file gives it
    rate_hz        its own sampling rate
    length         number of its samples, gaps included
    uv_per_value   microvolts per value; 0 if it is not calibrated, None if it is no voltage
    read           returns the samples ``[first, last)`` as float64, NaN where there is no value
    at             returns the signal at another rate, where its stretches are placed anew; None: it has no gaps
    """

    name: str
    rate_hz: float
    length: int
    uv_per_value: float | None
    read: Callable[[int, int], F64]
    at: Callable[[float], Signal] | None = None


@dataclass(frozen=True)
class Signals:
    """What a file of signals holds.

    where      the file or record, for error messages
    name       of the recording
    signals    in the order of the file
    notes      what was assumed, one sentence each
    rate_of    what states the rate, for error messages
    many       True if a file of this format usually holds other signals in volts too: where some are named as an ECG,
               only those are leads
    remarks    returns what was found out by reading all samples, one sentence each
    """

    where: str
    name: str
    signals: tuple[Signal, ...]
    notes: tuple[str, ...] = ()
    rate_of: str = "its header"
    many: bool = False
    remarks: Callable[[], tuple[str, ...]] = tuple


@dataclass(frozen=True)
class _Leads:
    """The leads that were chosen, on one time axis."""

    leads: tuple[str, ...]
    signals: tuple[Signal, ...]
    rate_hz: float
    length: int
    uv_per_value: list[float]
    notes: tuple[str, ...]

    def columns(self, first: int, last: int) -> list[F64]:
        """Return the samples ``[first, last)`` of each lead."""
        return [at_rate(signal, self.rate_hz, first, last) for signal in self.signals]


def recording_of(
    source: Signals, fs: float | None, column: str | None, lead: str | int | None, gain: float | None
) -> Recording:
    """Return the recording of a file of signals; parameters as for :func:`beatwire.recordings.read_recording`.

    Raises
    ------
    UserError
        There is no such lead or no sample, or ``fs`` differs from the rate of the file.
    """
    chosen = _chosen(source, fs, column, lead, gain)
    values = chosen.columns(0, chosen.length)
    if not any(np.isfinite(v).any() for v in values):
        raise UserError(
            f"{source.where}: expected samples; every sample of {chosen.leads[0]!r} is marked as having no value"
        )
    samples, uv_per_unit, scale_notes = to_units(values, chosen.uv_per_value)
    notes = (*chosen.notes, *source.remarks(), *scale_notes)
    return Recording(source.name, chosen.rate_hz, chosen.leads, uv_per_unit, samples, notes)


def check_choice(
    source: Signals, fs: float | None, column: str | None, lead: str | int | None, gain: float | None
) -> None:
    """Raise UserError if a file of signals has no such leads, or another rate; errors as of :func:`recording_of`."""
    _chosen(source, fs, column, lead, gain)


def blocks_of(
    source: Signals, fs: float | None, column: str | None, lead: str | int | None, gain: float | None, samples: int
) -> Iterator[Block]:
    """Yield a file of signals in blocks of so many samples of each lead; errors as of :func:`recording_of`."""
    chosen = _chosen(source, fs, column, lead, gain)
    for first in range(0, chosen.length, samples):
        columns = chosen.columns(first, min(first + samples, chosen.length))
        notes = chosen.notes if first == 0 else ()
        notes += source.remarks() if first + samples >= chosen.length else ()
        yield Block(chosen.rate_hz, chosen.leads, columns, chosen.uv_per_value, notes)


def of_array(values: F64, name: str, rate_hz: float, uv_per_value: float | None) -> Signal:
    """Return the signal of values in memory, NaN where there is none."""
    return Signal(name, rate_hz, len(values), uv_per_value, partial(_part_of, values))


def of_digital(
    digital: Any,
    name: str,
    rate_hz: float,
    gain: float,
    offset: float,
    uv_per_unit: float | None,
    missing: int | None = None,
) -> Signal:
    """Return the signal of digital values: ``digital * gain + offset``, in units of ``uv_per_unit`` microvolts.

    Values stay digital, without the one that means 0, to half a digit. A gain of 0 means not calibrated.
    """
    zero = np.rint(-offset / gain) if gain and digital.dtype.kind in "iu" else -offset / gain if gain else 0.0
    uv = uv_per_unit and abs(gain) * uv_per_unit

    def read(first: int, last: int) -> F64:
        part = digital[first:last]
        values: F64 = np.asarray(part, np.float64) - zero
        if gain < 0:
            values = -values
        if missing is not None:
            values[part == missing] = np.nan
        return values

    return Signal(name, rate_hz, len(digital), uv, read)


def _part_of(values: F64, first: int, last: int) -> F64:
    return np.asarray(values[first:last], np.float64)


def _chosen(
    source: Signals, fs: float | None, column: str | None, lead: str | int | None, gain: float | None
) -> _Leads:
    """Choose leads and their common rate."""
    where, signals = source.where, source.signals
    if not any(signal.length for signal in signals):
        raise UserError(f"{where}: expected samples; there are none")
    names = unique_names([signal.name or f"lead {k}" for k, signal in enumerate(signals)])
    rows, notes = _rows(source, names, column)
    if lead is not None and lead != "all":
        rows = [rows[find_lead(where, [names[k] for k in rows], lead)]]
    notes += [*source.notes]
    rate_hz = max(signals[k].rate_hz for k in rows)
    slow = [k for k in rows if signals[k].rate_hz < MIN_RATE_HZ <= rate_hz]
    if slow:
        notes.append(f"left out below {MIN_RATE_HZ:g} Hz: " + ", ".join(names[k] for k in slow))
        rows = [k for k in rows if k not in slow]
    rate_hz = _rate(source, rate_hz, fs)
    other = [k for k in rows if abs(signals[k].rate_hz / rate_hz - 1) > _SAME_RATE]
    if other:
        slower = ", ".join(f"{names[k]} ({signals[k].rate_hz:g} Hz)" for k in other)
        notes.append(f"brought to {rate_hz:g} Hz by linear interpolation: {slower}")
    uv = [signals[k].uv_per_value or 0.0 for k in rows]
    if gain is not None and all(uv):
        notes.append(f"--gain {gain:g} was not needed: {source.rate_of} states the unit")
    elif gain is not None:
        uv = [unit or 1000.0 / gain for unit in uv]
    leads = [at(rate_hz) if k in other and (at := signals[k].at) is not None else signals[k] for k in rows]
    length = max(round(one.length * Fraction(rate_hz) / Fraction(one.rate_hz)) for one in leads)
    return _Leads(tuple(names[k] for k in rows), tuple(leads), rate_hz, length, uv, tuple(notes))


def _rows(source: Signals, names: tuple[str, ...], column: str | None) -> tuple[list[int], list[str]]:
    """Return the indices of the signals that are leads, and notes about those that are left out."""
    where, signals = source.where, source.signals
    if column is not None:
        requested = find_leads(where, names, column)
        if len(requested) > MAX_LEADS:
            raise UserError(f"{where}: expected 1-{MAX_LEADS} leads; got {len(requested)}")
        return list(requested), []
    may_be = [k for k, signal in enumerate(signals) if signal.length and signal.uv_per_value is not None]
    of_head = [k for k in may_be if may_be_of_head(names[k])]
    may_be = [k for k in may_be if not is_other(names[k])]
    notes: list[str] = []
    if of_head and not may_be and not any(map(is_of_head, names)):
        may_be = of_head
        notes.append("named like electrodes of the head, read as ECG: " + ", ".join(names[k] for k in of_head))
    named = [k for k in may_be if is_ecg(names[k])] or may_be
    volts = [k for k in named if signals[k].uv_per_value]
    rows = volts or named
    if not source.many:
        rows = [k for k in may_be if bool(signals[k].uv_per_value) == bool(volts)]
    if not rows:
        found = ", ".join(names[:30]) + (", ..." if len(names) > 30 else "")
        said = ", named like other signals" if any(signal.uv_per_value for signal in signals) else ""
        raise UserError(f"{where}: expected a lead in volts; got {found}{said} (choose with --column)")
    if len(rows) < len(names):
        notes.append("left out: " + ", ".join(names[k] for k in range(len(names)) if k not in rows))
    if len(rows) > MAX_LEADS:
        notes.append(f"left out beyond {MAX_LEADS} leads: " + ", ".join(names[k] for k in rows[MAX_LEADS:]))
    return rows[:MAX_LEADS], notes


def _rate(source: Signals, rate_hz: float, fs: float | None) -> float:
    """Return the rate of the leads; raise UserError if ``fs`` differs from it, or if it is out of range."""
    checked = check_rate(source.where, rate_hz)
    if fs is not None and abs(fs - checked) > 0.01 * checked:
        got = f"the rate of {source.rate_of}, or no --fs; got --fs {fs:g}"
        raise UserError(f"{source.where}: expected --fs {checked:g}, {got}")
    return checked


def at_rate(signal: Signal, rate_hz: float, first: int, last: int) -> F64:
    """Return the samples ``[first, last)`` of a signal at another rate, by linear interpolation; NaN behind its end."""
    if abs(signal.rate_hz / rate_hz - 1) <= _SAME_RATE:
        end = max(first, min(last, signal.length))
        values = signal.read(first, end) if end > first else np.empty(0)
        return values if end == last else np.concatenate([values, np.full(last - end, np.nan)])
    step = (Fraction(signal.rate_hz) / Fraction(rate_hz)).limit_denominator(1_000_000)
    place = np.arange(first, last, dtype=np.int64) * step.numerator  # in parts of a sample: integers in any block
    below, part = np.divmod(place, step.denominator)
    begin, end = int(below[0]), max(int(below[0]), min(int(below[-1]) + 2, signal.length))
    values = np.full(int(below[-1]) + 3 - begin, np.nan)
    if end > begin:
        values[: end - begin] = signal.read(begin, end)
    if begin < signal.length <= int(below[-1]) + 1:
        values[signal.length - begin] = values[signal.length - 1 - begin]  # the last sample lasts until the end
    left, right = values[below - begin], values[below - begin + 1]
    out: F64 = np.where(part == 0, left, left + (right - left) * (part / step.denominator))
    out[below >= signal.length] = np.nan
    return out
