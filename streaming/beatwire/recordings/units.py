"""The conversion of numbers of any unit into the int16 samples of a recording.

In:  float64 [n] for each lead, NaN or infinite where there is no value; microvolts per value of each lead
Out: int16 ``[leads, n]``, -32768 where there is no value; microvolts per unit

All leads share one scale. Integers that fit keep their values. Otherwise an offset is subtracted from each lead, and
then the scale is made coarser or finer; both are reported in ``Recording.notes``.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from beatwire.recordings.columns.names import UV_PER
from beatwire.recordings.record import NO_VALUE
from beatwire.records import F64, I16
from beatwire.tables import array_module

_LARGEST = 32767  # of int16
_PLAUSIBLE_MV = (0.03, 100.0)  # peak to peak of an ordinary stretch; other numbers without a unit are not in millivolts
_LARGEST_UV = 1000.0 * _PLAUSIBLE_MV[1]  # what spans more in a calibrated recording is no ECG
_STRETCH = 4096  # values of such a stretch: a second at 4 kHz
_STRETCHES = 4  # that are examined in a block
_SHORT_STRETCH, _SHORT_STRETCHES = 256, 8  # the same in a short recording
_FEWEST_STEPS = 200  # units peak to peak; below, the scale is made finer
_FEWEST_USUAL_STEPS = 50  # of an ordinary stretch; below, rare values far outside are clipped
_FEWEST_READABLE = 20  # the same; below, and beside a lead that is much larger, the scale is too coarse
_NOTHING = 1e-8  # of the size of another lead: a constant, rounded
_RARE = 0.5  # of the values of a lead
_CALIBRATED_STEPS = 2_000  # units peak to peak after that, if the unit is known
_UNCALIBRATED_STEPS = 20_000  # the same for fractions without a unit
_LATER_UV = 10_000.0  # room for what follows a first block, which may be quiet: the size of a large ECG, ...
_LATER_STEPS = 2_000  # ... or, without a unit, 16 times the size of the block
_NARROW_UV = 2_000.0  # integers of 16 bits that reach no further are no ECG: they have more bits
_SAME_UNIT = 1e-3  # microvolts per value that differ by less are one
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
    typical     peak to peak of an ordinary stretch: what happens once (a shock, a drift) does not count
    """

    low: float
    high: float
    integers: bool
    complete: bool
    any_valid: bool
    typical: float = field(default=0.0, repr=False, compare=False)


def value_ranges(columns: Sequence[Any]) -> list[ValueRange]:
    """Return the range of each column of numbers.

    >>> value_ranges([np.array([1.0, np.nan, 3.0])])
    [ValueRange(low=1.0, high=3.0, integers=True, complete=False, any_valid=True)]
    """
    return [_value_range(column) for column in columns]


def _value_range(column: Any) -> ValueRange:
    xp = array_module(column)
    low, high, integers, complete = np.inf, -np.inf, True, True
    ordinary: list[float] = []
    for block in _blocks(column):
        values = column[block]
        ordinary += _peaks_to_peaks(values)
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
    typical = float(np.median(ordinary)) if ordinary else 0.0
    return ValueRange(low if any_valid else 0.0, high if any_valid else 0.0, integers, complete, any_valid, typical)


def _peaks_to_peaks(values: Any) -> list[float]:
    """Return the peak to peak of a few stretches of a block; those without values are left out."""
    xp = array_module(values)
    found = []
    size = min(_STRETCH, max(_SHORT_STRETCH, len(values) // _SHORT_STRETCHES))
    count = _STRETCHES if size == _STRETCH else _SHORT_STRETCHES
    for first in sorted({int(k) for k in np.linspace(0, max(0, len(values) - size), count)}):
        stretch = values[first : first + size]
        finite = stretch[xp.isfinite(stretch)]
        if len(finite):
            found.append(float(finite.max() - finite.min()))
    return found


def _blocks(column: Any) -> Iterator[slice]:
    """Yield slices of a column that fit the CPU cache, or the memory of a GPU."""
    n = len(column)
    step = _HOST_BLOCK if isinstance(column, np.ndarray) else _DEVICE_BLOCK
    for first in range(0, n, step):
        yield slice(first, min(n, first + step))


class Block(NamedTuple):
    """A stretch of a recording that is read in blocks.

    rate_hz        sampling rate
    leads          names of the leads
    columns        float64 [n] for each lead, NaN where there is no value
    uv_per_value   microvolts per value of each lead; 0 if unknown
    notes          remarks, one sentence each
    """

    rate_hz: float
    leads: tuple[str, ...]
    columns: list[Any]
    uv_per_value: list[float]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Scale:
    """How the numbers of all leads become int16.

    offset            float64 [leads], subtracted from the values
    units_per_value   float64 [leads]
    uv_per_unit       microvolts per unit; 0 unless all leads are calibrated
    notes             what was changed, one sentence each
    """

    offset: F64
    units_per_value: F64
    uv_per_unit: float
    notes: tuple[str, ...]

    def apply(self, columns: Sequence[Any], ranges: Sequence[ValueRange]) -> I16:
        """Return columns as int16 [leads, n], rounded to units; values out of range are clipped."""
        xp = array_module(columns[0])
        samples: I16 = xp.empty((len(columns), len(columns[0])), np.int16)
        for row, column in enumerate(columns):
            for block in _blocks(column):
                units = xp.floor((column[block] - self.offset[row]) * self.units_per_value[row] + (0.5 + _TIE))
                clipped = xp.clip(units, -_LARGEST, _LARGEST)
                complete = ranges[row].complete
                samples[row, block] = clipped if complete else xp.where(xp.isfinite(units), clipped, NO_VALUE)
        return samples

    def beyond(self, columns: Sequence[Any], ranges: Sequence[ValueRange]) -> int:
        """Return how many values are clipped."""
        limits = _LARGEST / self.units_per_value
        return sum(
            int((abs(column[np.isfinite(column)] - zero) > limit).sum())
            for column, r, zero, limit in zip(columns, ranges, self.offset, limits, strict=True)
            if max(zero - r.low, r.high - zero) > limit
        )


def scale_for(
    columns: Sequence[Any], uv_per_value: Sequence[float], ranges: Sequence[ValueRange], *, more: bool = False
) -> Scale:
    """Return the scale that suits the numbers of all leads, and ``more`` that follow; else as :func:`to_units`."""
    lows, highs = np.array([(r.low, r.high) for r in ranges]).T
    integers = all(r.integers for r in ranges)
    notes: list[str] = []
    if min(uv_per_value) > 0:
        scale = np.array(uv_per_value)  # microvolts per value, for each lead
        unit = float(scale.min()) if integers else 1.0
        uv_per_unit = unit
    else:
        scale = _relative(uv_per_value, ranges)
        integers = integers and bool((scale == 1.0).all())
        unit, uv_per_unit = 1.0, 0.0
        notes.append("not calibrated: amplitudes are relative to this recording")
    usual = np.array([r.typical for r in ranges]) * scale
    peak_to_peak = float(((highs - lows) * scale).max())
    parted = [size for size, r in zip(usual, ranges, strict=True) if size > 0 and not r.integers]
    least = peak_to_peak if uv_per_unit else min(parted, default=0.0)  # what needs steps: a microvolt is small enough
    finest = unit
    room = _LATER_UV / _LARGEST if uv_per_unit and more else 0.0
    if integers and unit * _LARGEST < _NARROW_UV:
        finest = max(room, unit)
    if not integers and 0 < least < _FEWEST_STEPS * unit:
        steps = _CALIBRATED_STEPS if uv_per_unit else _LATER_STEPS if more else _UNCALIBRATED_STEPS
        finest = max(room, min(peak_to_peak / steps, least / _FEWEST_STEPS))
    offset = np.zeros(len(columns))
    if max(np.abs(lows * scale).max(), np.abs(highs * scale).max()) > _LARGEST * finest:
        offset = np.rint(np.array([_median(c) for c in columns]) * scale / finest) * finest / scale
        if offset.any():
            notes.append("subtracted an offset: " + ", ".join(f"{o:g}" for o in offset))
    coarser = float(max(np.abs((lows - offset) * scale).max(), np.abs((highs - offset) * scale).max())) / _LARGEST
    coarser = max(coarser, room) if coarser > 2 * finest else coarser  # as integers of more than 16 bits
    is_ecg = usual <= (_LARGEST_UV if uv_per_unit and usual.min() <= _LARGEST_UV else np.inf)
    size = float(usual[is_ecg].max())
    if 0 < size < _FEWEST_USUAL_STEPS * coarser:
        limit = size / _FEWEST_STEPS * _LARGEST
        beyond = np.array([int((abs(c - o) * s > limit).sum()) for c, o, s in zip(columns, offset, scale, strict=True)])
        if beyond[is_ecg].max() <= _RARE * len(columns[0]):  # a lead that is off, a spark: not the size of the ECG
            coarser = limit / _LARGEST
            notes.append(f"{beyond.sum()} values far beyond the others are clipped")
    if max(coarser, finest) != unit:
        unit = max(coarser, finest)
        notes.append(f"rescaled: one unit is {unit:.4g} {'microvolts' if uv_per_unit else 'of the source'}")
        uv_per_unit = unit if uv_per_unit else 0.0
    few = int(((usual > _NOTHING * size) & (usual < min(_FEWEST_READABLE * unit, size / _FEWEST_STEPS))).sum())
    if few and coarser >= unit:
        are = "lead spans" if few == 1 else "leads span"
        notes.append(f"{few} {are} few steps, as another is far larger (choose with --lead or --column)")
    return Scale(offset, scale / unit, uv_per_unit, tuple(notes))


def _relative(uv_per_value: Sequence[float], ranges: Sequence[ValueRange]) -> F64:
    """Return factors that bring leads in volts to the size of those of an unknown unit beside them."""
    uv, size = np.array(uv_per_value, np.float64), np.array([r.typical for r in ranges])
    known = uv > 0
    if not known.any() or not (size * known).any() or not (size * ~known).any():
        return np.ones(len(uv))
    return np.where(known, uv * size[~known].max() / (uv * size)[known].max(), 1.0)


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
    scale = scale_for(columns, uv_per_value, ranges)
    return scale.apply(columns, ranges), scale.uv_per_unit, scale.notes


def unit_guess(ranges: Sequence[ValueRange]) -> tuple[float, str | None]:
    """Return the microvolts per value of numbers whose unit nobody gave, and why they are not calibrated.

    Numbers with fractions whose range suits an ECG are millivolts. Otherwise the first value is 0.

    >>> unit_guess(value_ranges([np.array([-0.5, 1.2])])), unit_guess(value_ranges([np.array([-0.5e-3, 1.2e-3])]))
    ((1000.0, None), (0.0, 'the numbers are too small for millivolts'))
    """
    if all(r.integers for r in ranges):
        return 0.0, "integers without a unit"
    sizes = [r.typical for r in ranges if r.any_valid and r.high > r.low]
    if sizes and max(sizes) > _PLAUSIBLE_MV[1]:
        return 0.0, "the numbers are too large for millivolts"
    if sizes and max(sizes) < _PLAUSIBLE_MV[0]:
        return 0.0, "the numbers are too small for millivolts"
    return 1000.0, None


def unit_note(given: str, uv_per_value: float, named: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return a note on columns, by name and unit, that state another unit than the one that is given, which counts.

    >>> unit_note("--gain 200", 5.0, [("II (mV)", "mv"), ("V1 (adu)", "adu")])
    ("--gain 200 counts, not the unit of 'II (mV)'",)
    """
    stated = [(name, UV_PER[unit]) for name, unit in named if unit in UV_PER]
    other = ", ".join(repr(name) for name, uv in stated if abs(uv_per_value / uv - 1) > _SAME_UNIT)
    return (f"{given} counts, not the unit of {other}",) if other else ()


def _median(column: Any) -> float:
    """Return the median of the values; 0 if there is none."""
    xp = array_module(column)
    finite = column[xp.isfinite(column)]
    return float(xp.median(finite)) if len(finite) else 0.0
