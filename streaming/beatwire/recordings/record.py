"""The record of a recording, and the conversion of numbers of any unit into its int16 samples.

In:  float64 [n] for each lead, NaN or infinite where there is no value; microvolts per value of each lead
Out: :class:`Recording`: int16 ``[leads, n]``, -32768 where there is no value

All leads share one scale. Integers that fit keep their values. Otherwise an offset is subtracted from each lead, and
then the scale is made coarser or finer; both are reported in ``Recording.notes``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.records import F64, I16
from beatwire.tables import array_module

NO_VALUE = -32768  # a sample without a value, in int16
MAX_LEADS = 12  # the wire format carries 1-12 leads
MIN_RATE_HZ = 50.0  # the range of sampling rates of the wire format
MAX_RATE_HZ = 4000.0

_LARGEST = 32767  # of int16
_PLAUSIBLE_MV = 100.0  # peak to peak; a larger range without a unit is not in millivolts
_FEWEST_STEPS = 200  # units peak to peak; below, the scale is made finer
_CALIBRATED_STEPS = 2_000  # units peak to peak after that, if the unit is known
_UNCALIBRATED_STEPS = 20_000  # the same for fractions without a unit
_HOST_BLOCK = 1 << 17  # values processed at once: they stay in the CPU cache
_DEVICE_BLOCK = 1 << 24  # the same on a GPU: a block of float64 is 128 MiB
_TIE = 1e-6  # parsers differ in the last bit: a value this close below a half is rounded up on every backend


@dataclass(frozen=True, slots=True)
class ValueRange:
    """The range of a column of numbers; NaN and infinite are no values.

    low, high   the smallest and the largest value; 0 if there is none
    integers    True if every value is an integer
    complete    True if no value is missing
    any_valid   True if there is at least one value
    """

    low: float
    high: float
    integers: bool
    complete: bool
    any_valid: bool


@dataclass(frozen=True)
class Recording:
    """One recording.

    name          of the file or record, without folder
    rate_hz       sampling rate, 50-4000 Hz
    leads         names of the 1-12 leads
    uv_per_unit   microvolts per unit of a sample; 0 if the source is not calibrated
    samples       int16 [leads, n], NumPy or CuPy; -32768 where there is no value
    notes         remarks about the conversion, one sentence each
    """

    name: str
    rate_hz: float
    leads: tuple[str, ...]
    uv_per_unit: float
    samples: I16
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        """Length in seconds."""
        return float(self.samples.shape[1] / self.rate_hz)

    def pick(self, *leads: str | int) -> Recording:
        """Return the recording with these leads only: ``first``, names, or numbers counted from 0.

        Raises
        ------
        UserError
            There is no such lead; the message lists the leads.
        """
        rows = [find_lead(self.name, self.leads, lead) for lead in leads]
        kept = self.samples if rows == list(range(len(self.leads))) else self.samples[rows]
        return replace(
            self, leads=tuple(self.leads[r] for r in rows), samples=array_module(kept).ascontiguousarray(kept)
        )


def find_lead(where: str, leads: Sequence[str], requested: str | int, kind: str = "lead") -> int:
    """Return the index of a lead, given by its name, by its number from 0, or as ``first``.

    A name takes precedence over a number. Case is ignored unless two names differ only in case.

    Parameters
    ----------
    where, kind
        For the error message: the file or recording, and what is listed (``lead`` or ``column``).

    Raises
    ------
    UserError
        There is no such lead.
    """
    text = str(requested).strip()
    if text in leads:
        return list(leads).index(text)
    folded = [name.casefold() for name in leads]
    if folded.count(text.casefold()) == 1:
        return folded.index(text.casefold())
    if text == "first":
        return 0
    if text.isdecimal() and int(text) < len(leads):
        return int(text)
    choices = ", ".join(f"{k} {name!r}" for k, name in enumerate(leads[:30])) + (", ..." if len(leads) > 30 else "")
    raise UserError(f"{where}: expected one of its {kind}s, {choices}; got {text!r}")


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Append a number to repeated names.

    >>> unique_names(["II", "V1", "II"])
    ('II', 'V1', 'II.1')
    """
    return tuple(n if names.index(n) == k else f"{n}.{names[:k].count(n)}" for k, n in enumerate(names))


def check_rate(where: str, rate_hz: float) -> float:
    """Return the sampling rate if it is 50-4000 Hz, the range of the wire format.

    Raises
    ------
    UserError
        The rate is out of range; the message begins with ``where``.
    """
    if not MIN_RATE_HZ <= rate_hz <= MAX_RATE_HZ:
        raise UserError(f"{where}: expected a rate of {MIN_RATE_HZ:g}-{MAX_RATE_HZ:g} Hz; got {rate_hz:g}")
    return float(rate_hz)


def value_ranges(columns: Sequence[Any]) -> list[ValueRange]:
    """Return the range of each column of numbers.

    >>> value_ranges([np.array([1.0, np.nan, 3.0])])
    [ValueRange(low=1.0, high=3.0, integers=True, complete=False, any_valid=True)]
    """
    return [_value_range(column) for column in columns]


def _value_range(column: Any) -> ValueRange:
    xp = array_module(column)
    low, high, integers, complete = np.inf, -np.inf, True, True
    for block in _blocks(column):
        values = column[block]
        smallest, largest = float(values.min()), float(values.max())
        if not np.isfinite([smallest, largest]).all():
            complete = False
            values = values[xp.isfinite(values)]
            if len(values) == 0:
                continue
            smallest, largest = float(values.min()), float(values.max())
        low, high = min(low, smallest), max(high, largest)
        integers = integers and bool((values == xp.rint(values)).all())
    any_valid = low <= high
    return ValueRange(low if any_valid else 0.0, high if any_valid else 0.0, integers, complete, any_valid)


def _blocks(column: Any) -> Iterator[slice]:
    """Yield slices of a column that fit the CPU cache, or the memory of a GPU."""
    n = len(column)
    step = _HOST_BLOCK if isinstance(column, np.ndarray) else _DEVICE_BLOCK
    for first in range(0, n, step):
        yield slice(first, min(n, first + step))


def to_units(
    columns: Sequence[Any], uv_per_value: Sequence[float], ranges: Sequence[ValueRange] | None = None
) -> tuple[I16, float, tuple[str, ...]]:
    """Convert the numbers of all leads to int16 on one scale.

    Parameters
    ----------
    columns
        float64 [n] for each lead, NumPy or CuPy; NaN or infinite where there is no value.
    uv_per_value
        Microvolts per value, for each lead; 0 if unknown.
    ranges
        The result of :func:`value_ranges`; computed if None.

    Returns
    -------
    samples, uv_per_unit, notes
        int16 [leads, n]; ``uv_per_unit`` is 0 unless all leads are calibrated.
    """
    ranges = value_ranges(columns) if ranges is None else ranges
    lows, highs = np.array([(r.low, r.high) for r in ranges]).T
    integers = all(r.integers for r in ranges)
    notes: list[str] = []
    if min(uv_per_value) > 0:
        scale = np.array(uv_per_value)  # microvolts per value, for each lead
        unit = float(scale.min()) if integers else 1.0
        uv_per_unit = unit
    else:
        scale = np.ones(len(columns))
        unit, uv_per_unit = 1.0, 0.0
        notes.append("not calibrated: amplitudes are relative to this recording")
    offset = np.zeros(len(columns))
    if max(np.abs(lows * scale).max(), np.abs(highs * scale).max()) > _LARGEST * unit:
        offset = np.rint(np.array([_median(c) for c in columns]) * scale / unit) * unit / scale
        notes.append("subtracted an offset: " + ", ".join(f"{o:g}" for o in offset))
    peak = float(max(np.abs((lows - offset) * scale).max(), np.abs((highs - offset) * scale).max()))
    peak_to_peak = float(((highs - lows) * scale).max())
    coarser = peak / _LARGEST
    finer = peak_to_peak / (_UNCALIBRATED_STEPS if uv_per_unit == 0 else _CALIBRATED_STEPS)
    if coarser > unit or (not integers and 0 < peak_to_peak < _FEWEST_STEPS * unit):
        unit = max(coarser, finer if not integers else 0.0)
        notes.append(f"rescaled: one unit is {unit:.4g} {'microvolts' if uv_per_unit else 'of the source'}")
        uv_per_unit = unit if uv_per_unit else 0.0
    return _quantized(columns, offset, scale / unit, ranges), uv_per_unit, tuple(notes)


def _quantized(columns: Sequence[Any], offset: F64, units_per_value: F64, ranges: Sequence[ValueRange]) -> I16:
    """Return the columns as int16 [leads, n], rounded to units."""
    xp = array_module(columns[0])
    samples: I16 = xp.empty((len(columns), len(columns[0])), np.int16)
    for row, column in enumerate(columns):
        for block in _blocks(column):
            units = xp.floor((column[block] - offset[row]) * units_per_value[row] + (0.5 + _TIE))
            clipped = xp.clip(units, -_LARGEST, _LARGEST)
            samples[row, block] = clipped if ranges[row].complete else xp.where(xp.isfinite(units), clipped, NO_VALUE)
    return samples


def plausible_mv(ranges: Sequence[ValueRange]) -> bool:
    """Return True if numbers without a unit can be millivolts of an ECG: at most 100 peak to peak."""
    return all(r.high - r.low <= _PLAUSIBLE_MV for r in ranges)


def _median(column: Any) -> float:
    """Return the median of the values; 0 if there is none."""
    xp = array_module(column)
    finite = column[xp.isfinite(column)]
    return float(xp.median(finite)) if len(finite) else 0.0
