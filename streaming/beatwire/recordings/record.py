"""What a recording is, and how numbers of any kind become its int16 samples.

The samples of all leads stand on one scale. Numbers that are fine as they are stay as they are;
otherwise an offset is taken away, then the scale is made coarser, and the recording notes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.records import I16
from beatwire.tables import array_module

NO_VALUE = -32768
MAX_LEADS = 12
MIN_RATE_HZ = 50.0
MAX_RATE_HZ = 4000.0

_LARGEST = 32767
_PLAUSIBLE_MV = 100.0  # peak to peak, beyond which a number without a unit is not millivolts
_FEWEST_STEPS = 200  # peak to peak, below which the scale is made finer
_UNCALIBRATED_STEPS = 20_000  # peak to peak, of fractions that have no unit
_BLOCK = 1 << 17  # values that are looked at at once: they stay in the cache
_DEVICE_BLOCK = 1 << 24
_TIE = 1e-6  # parsers differ in the last bit: what is this near to a half goes up on every backend


@dataclass(frozen=True, slots=True)
class Span:
    """What a column holds: its least and greatest value, whether all are whole, are there, or any is."""

    low: float
    high: float
    whole: bool
    complete: bool
    known: bool


@dataclass(frozen=True)
class Recording:
    """One recording.

    name          what it is called, without folders
    rate_hz       samples a second, 50-4000
    leads         names of the 1-12 leads
    uv_per_unit   microvolts of one unit of a sample; 0 where the source is not calibrated
    samples       int16 [leads, n], NumPy's or CuPy's; -32768 where there is no value
    notes         what was changed or left out while reading, a sentence each
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

    def pick(self, *wanted: str | int) -> Recording:
        """Keep some leads: ``first``, a name, or a number counted from 0.

        Raises
        ------
        UserError
            naming the leads there are.
        """
        rows = [find_lead(self.name, self.leads, lead) for lead in wanted]
        kept = self.samples if rows == list(range(len(self.leads))) else self.samples[rows]
        return replace(
            self, leads=tuple(self.leads[r] for r in rows), samples=array_module(kept).ascontiguousarray(kept)
        )


def find_lead(where: str, leads: Sequence[str], wanted: str | int, what: str = "lead") -> int:
    """Return the position of a lead by name, by number from 0, or ``first``.

    A name comes before a number, and capitals matter only between names that differ in nothing else.

    Raises
    ------
    UserError
        There is no such lead: the message begins with ``where`` and lists each ``what`` there is.
    """
    text = str(wanted).strip()
    if text in leads:
        return list(leads).index(text)
    folded = [name.casefold() for name in leads]
    if folded.count(text.casefold()) == 1:
        return folded.index(text.casefold())
    if text == "first":
        return 0
    if text.isdecimal() and int(text) < len(leads):
        return int(text)
    there = ", ".join(f"{k} {name!r}" for k, name in enumerate(leads[:30])) + (", ..." if len(leads) > 30 else "")
    raise UserError(f"{where}: expected one of its {what}s, {there}; got {text!r}")


def check_rate(where: str, rate_hz: float) -> float:
    """Return the rate in hertz, if it is one that the wire format can carry.

    Raises
    ------
    UserError
        It is not; ``where`` says whose it is.
    """
    if not MIN_RATE_HZ <= rate_hz <= MAX_RATE_HZ:
        raise UserError(f"{where}: expected a rate of {MIN_RATE_HZ:g}-{MAX_RATE_HZ:g} Hz; got {rate_hz:g}")
    return float(rate_hz)


def spans_of(values: Sequence[Any]) -> list[Span]:
    """Look at columns of numbers; NaN and infinite are no values.

    >>> spans_of([np.array([1.0, np.nan, 3.0])])
    [Span(low=1.0, high=3.0, whole=True, complete=False, known=True)]
    """
    return [_span(v) for v in values]


def _span(values: Any) -> Span:
    xp = array_module(values)
    low, high, whole, complete = np.inf, -np.inf, True, True
    for block in _blocks(values):
        part = values[block]
        least, most = float(part.min()), float(part.max())
        if not np.isfinite([least, most]).all():
            complete = False
            part = part[xp.isfinite(part)]
            if len(part) == 0:
                continue
            least, most = float(part.min()), float(part.max())
        low, high = min(low, least), max(high, most)
        whole = whole and bool((part == xp.rint(part)).all())
    known = low <= high
    return Span(low if known else 0.0, high if known else 0.0, whole, complete, known)


def _blocks(values: Any) -> Iterator[slice]:
    """Cut an array for the host's caches, or for the memory of a GPU."""
    n = len(values)
    step = _BLOCK if isinstance(values, np.ndarray) else _DEVICE_BLOCK
    for first in range(0, n, step):
        yield slice(first, min(n, first + step))


def to_units(
    values: Sequence[Any], uv_per_value: Sequence[float], spans: Sequence[Span] | None = None
) -> tuple[I16, float, tuple[str, ...]]:
    """Put the numbers of all leads on one int16 scale.

    Parameters
    ----------
    values
        float64 [n] for each lead, of NumPy or CuPy; NaN or infinite where there is no value.
    uv_per_value
        microvolts of one, for each lead; 0 where that is not known.
    spans
        As ``spans_of`` finds them.

    Returns
    -------
    samples, uv_per_unit, notes
        int16 [leads, n]; uv_per_unit is 0 unless all leads are calibrated.
    """
    spans = spans_of(values) if spans is None else spans
    lows, highs = np.array([(span.low, span.high) for span in spans]).T
    whole = all(span.whole for span in spans)
    notes: list[str] = []
    if min(uv_per_value) > 0:
        scale = np.array(uv_per_value)  # microvolts of one, lead by lead
        unit = float(scale.min()) if whole else 1.0
        uv_per_unit = unit
    else:
        scale = np.ones(len(values))
        unit, uv_per_unit = 1.0, 0.0
        notes.append("not calibrated: amplitudes are relative to this recording")
    offset = np.zeros(len(values))
    if max(np.abs(lows * scale).max(), np.abs(highs * scale).max()) > _LARGEST * unit:
        offset = np.rint(np.array([_middle(v) for v in values]) * scale / unit) * unit / scale
        notes.append("an offset was taken away: " + ", ".join(f"{o:g}" for o in offset))
    peak = float(max(np.abs((lows - offset) * scale).max(), np.abs((highs - offset) * scale).max()))
    span = float(((highs - lows) * scale).max())
    coarser = peak / _LARGEST
    finer = span / (_UNCALIBRATED_STEPS if uv_per_unit == 0 else 2000)
    if coarser > unit or (not whole and 0 < span < _FEWEST_STEPS * unit):
        new = max(coarser, finer if not whole else 0.0)
        notes.append(f"rescaled: one unit is {new:.4g} {'microvolts' if uv_per_unit else 'of the source'}")
        uv_per_unit = new if uv_per_unit else 0.0
        unit = new
    xp = array_module(values[0])
    samples = xp.empty((len(values), len(values[0])), np.int16)
    for row, column in enumerate(values):
        for block in _blocks(column):
            units = xp.floor((column[block] - offset[row]) * (scale[row] / unit) + (0.5 + _TIE))
            clipped = xp.clip(units, -_LARGEST, _LARGEST)
            samples[row, block] = clipped if spans[row].complete else xp.where(xp.isfinite(units), clipped, NO_VALUE)
    return samples, uv_per_unit, tuple(notes)


def plausible_mv(spans: Sequence[Span]) -> bool:
    """Say whether numbers without a unit can be millivolts of an ECG."""
    return all(span.high - span.low <= _PLAUSIBLE_MV for span in spans)


def _middle(values: Any) -> float:
    xp = array_module(values)
    finite = values[xp.isfinite(values)]
    return float(xp.median(finite)) if len(finite) else 0.0
