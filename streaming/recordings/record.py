"""What a recording is, and how numbers of any kind become its int16 samples.

The samples of all leads stand on one scale. Numbers that are fine as they are stay as they are;
otherwise an offset is taken away, then the scale is made coarser, and the recording notes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from streaming.errors import UserError
from streaming.records import F64, I16

NO_VALUE = -32768
MAX_LEADS = 12
MIN_RATE_HZ = 50.0
MAX_RATE_HZ = 4000.0

_LARGEST = 32767
_PLAUSIBLE_MV = 100.0  # peak to peak, beyond which a number without a unit is not millivolts
_FEWEST_STEPS = 200  # peak to peak, below which the scale is made finer
_UNCALIBRATED_STEPS = 20_000  # peak to peak, of fractions that have no unit


@dataclass(frozen=True)
class Recording:
    """One recording.

    name          what it is called, without folders
    rate_hz       samples a second, 50-4000
    leads         names of the 1-12 leads
    uv_per_unit   microvolts of one unit of a sample; 0 where the source is not calibrated
    samples       int16 [leads, n]; -32768 where there is no value
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
        return replace(self, leads=tuple(self.leads[r] for r in rows), samples=np.ascontiguousarray(self.samples[rows]))


def find_lead(where: str, leads: Sequence[str], wanted: str | int, what: str = "lead") -> int:
    """Return the position of a lead by name, by number from 0, or ``first``.

    A name comes before a number, and capitals matter only between names that differ in nothing else.
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
    """Return the rate, if it is one that the wire format can carry."""
    if not MIN_RATE_HZ <= rate_hz <= MAX_RATE_HZ:
        raise UserError(f"{where}: expected a rate of {MIN_RATE_HZ:g}-{MAX_RATE_HZ:g} Hz; got {rate_hz:g}")
    return float(rate_hz)


def to_units(values: Sequence[F64], uv_per_value: Sequence[float]) -> tuple[I16, float, tuple[str, ...]]:
    """Put the numbers of all leads on one int16 scale.

    Parameters
    ----------
    values
        float64 [n] for each lead; NaN or infinite where there is no value.
    uv_per_value
        microvolts of one, for each lead; 0 where that is not known.

    Returns
    -------
    samples, uv_per_unit, notes
        int16 [leads, n]; uv_per_unit is 0 unless all leads are calibrated.
    """
    lows, highs, middles = np.array([_range(v) for v in values]).T
    whole = all(_is_whole(v) for v in values)
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
        offset = np.rint(middles * scale / unit) * unit / scale
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
    samples = np.empty((len(values), len(values[0])), np.int16)
    for row, column in enumerate(values):
        units = np.rint((column - offset[row]) * (scale[row] / unit))
        samples[row] = np.where(np.isfinite(units), np.clip(units, -_LARGEST, _LARGEST), NO_VALUE)
    return samples, uv_per_unit, tuple(notes)


def plausible_mv(values: Sequence[F64]) -> bool:
    """Say whether numbers without a unit can be millivolts of an ECG."""
    return all(high - low <= _PLAUSIBLE_MV for low, high, _ in map(_range, values))


def _range(values: F64) -> tuple[float, float, float]:
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return 0.0, 0.0, 0.0
    return float(finite.min()), float(finite.max()), float(np.median(finite))


def _is_whole(values: F64) -> bool:
    finite = values[np.isfinite(values)]
    return bool(np.all(finite == np.rint(finite)))
