"""Numbers of a device, in any unit, as int16.

In:  the first half second of a device's numbers; then all of them
Out: int16 [leads, n], -32768 where there is no value; microvolts per unit

Integers of 16 bits keep their values. What is calibrated gets a unit of 1 uV, or 2.5 uV where the numbers are larger;
an electrode's offset of more than 10 mV is subtracted. Numbers whose unit nobody states are judged as those of a file
(``beatwire.recordings.units.unit_guess``): fractions of the size of an ECG are millivolts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from beatwire.recordings.record import NO_VALUE
from beatwire.recordings.units import unit_guess, value_ranges
from beatwire.records import F64, I16
from numpy.typing import NDArray

DECIDE_S = 0.5  # of numbers from which the scale is chosen
_LARGEST = 32767  # of int16
_LEAST = np.int16(-_LARGEST)
_LARGEST_OFFSET_UV = 10_000.0
_FINE_UV, _COARSE_UV = 1.0, 2.5  # a unit
_HEADROOM = 8.0  # times the range of the first half second, where nothing else limits the numbers
_UNCALIBRATED_STEPS = 2_000  # units peak to peak


@dataclass(frozen=True)
class Scale:
    """How numbers become int16.

    offset         float64 [leads, 1], subtracted
    units          per value
    uv_per_unit    microvolts per unit; 0: not calibrated
    as_they_are    integers of 16 bits keep their values
    notes          what was assumed, one sentence each
    """

    offset: F64
    units: float
    uv_per_unit: float
    as_they_are: bool = False
    notes: tuple[str, ...] = ()

    @staticmethod
    def of(pieces: Sequence[NDArray[Any]], uv: float | None) -> Scale:
        """Choose a scale for numbers of which these are the first, [leads, n] each; ``uv`` as in `Description`."""
        values = np.concatenate(pieces, axis=1)
        nothing = np.zeros((values.shape[0], 1))
        notes: list[str] = []
        if values.dtype.kind in "iub":
            fits = values.dtype.itemsize <= 2 or bool((np.abs(values) <= _LARGEST).all())
            if uv is None:
                uv = 0.0
                notes.append("not calibrated: its numbers have no unit (--gain, in units per millivolt, gives one)")
            if fits and (uv == 0.0 or values.dtype.itemsize <= 2 or uv >= _FINE_UV):
                return Scale(nothing, 1.0, uv, True, tuple(notes))
        elif uv is None:
            uv, why = unit_guess(value_ranges(list(values.astype(np.float64))))
            notes.append(f"not calibrated: {why}" if why else "fractions without a unit are taken for millivolts")
        finite = np.where(np.isfinite(values), values, np.nan).astype(np.float64)
        middle = np.array([[np.nanmedian(row) if np.isfinite(row).any() else 0.0] for row in finite])
        reach = np.nanmax(np.abs(finite - middle), initial=0.0)
        if uv == 0.0:
            units = min(_UNCALIBRATED_STEPS / max(2 * reach, 1e-300), _LARGEST / max(_HEADROOM * reach, 1e-300))
            notes.append(f"an offset is subtracted; one unit is {1 / units:.4g} of its numbers")
            return Scale(middle, float(units), 0.0, False, tuple(notes))
        offset = np.where(np.abs(middle) * uv > _LARGEST_OFFSET_UV, middle, 0.0)
        if bool((offset != 0).any()):
            notes.append("subtracted an offset: " + ", ".join(f"{o * uv / 1000:.1f} mV" for o in offset[:, 0]))
        uv_per_unit = _FINE_UV if 2 * reach * uv < _LARGEST * _FINE_UV else _COARSE_UV
        return Scale(offset, uv / uv_per_unit, uv_per_unit, False, tuple(notes))

    def apply(self, values: NDArray[Any]) -> I16:
        """Return numbers as int16 [leads, n]; those out of range are clipped."""
        if self.as_they_are and values.dtype == np.int16:
            kept: I16 = np.maximum(values, _LEAST)
            return kept
        if self.as_they_are and values.dtype.kind in "iub":
            whole: I16 = np.clip(values, -_LARGEST, _LARGEST).astype(np.int16)
            return whole
        units = np.rint((values - self.offset) * self.units)
        clipped: I16 = np.where(np.isfinite(units), np.clip(units, -_LARGEST, _LARGEST), NO_VALUE).astype(np.int16)
        return clipped
