"""How the chunks of a stream become int16: their unit, their scale, and the offsets of electrodes.

In:  chunks, float64 or int16 [leads, n]; no value: NaN, -32768, nines that no electrode reaches (-999 mV), and codes
     among the numbers by which the scale is decided (``codes``)
Out: int16 [leads, n]; microvolts per unit. State: the samples that are held until the scale is decided; the offset that
     is subtracted from each lead

Numbers without a unit are judged as ``analyze`` judges them, by their first two seconds, which are held until then;
int16 is taken as it is. The offset of a lead is 0 as long as its values fit: beyond three quarters of int16 it follows
them, so slowly that no wave is made, and when a value would not fit at all it becomes that value, at most every 0.2 s;
between, values are clipped. Everything is decided by the values and their indices alone: any cutting into chunks gives
the same samples.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from beatwire.recordings.codes import CODES, IMPOSSIBLE, without_codes
from beatwire.recordings.columns.tables import floats
from beatwire.recordings.record import NO_VALUE
from beatwire.recordings.remarks import few
from beatwire.recordings.signs import SignJumps
from beatwire.recordings.units import unit_guess, value_ranges
from beatwire.records import F64, I16

HELD_S = 2.0  # without a unit
JUMP_S = 0.2  # between two jumps of an offset: a signal that jumps more often is noise, which must be seen as such
_LARGEST = 32767
_NEAR = 24576  # three quarters: 25 mV at 1 uV; from here on an offset follows
_FOLLOW_S = 1.0  # time constant: a drift of 8 mV/s at 1 uV is followed, and no wave is made
_FINEST_UV = 1.0  # a unit of the chunks that is finer is rounded to this: int16 would hold 33 mV at most
_STEPS = 2000  # peak to peak of numbers of an unknown unit
_HIGHEST_UV = 600_000.0  # twice the offset of an electrode that standards allow for
_CODES = np.array([*CODES, *(-code for code in CODES)])


class ChunkScale:
    """Converts the chunks of one stream.

    Parameters
    ----------
    fs, leads
        Of the stream.
    uv
        Microvolts per value; 0: not calibrated; None: no unit is given.
    exact
        True if values are those of a converter: whole numbers keep their values.
    resolution_uv
        The step in microvolts of values that are not.
    notes
        Called with each remark, one line.
    hint
        How the user gives a unit, for a remark.

    Attributes
    ----------
    uv_per_unit : float
        Microvolts per unit of the samples, 0 if they are not calibrated; final when `decided`.
    """

    def __init__(
        self, fs: float, leads: Sequence[str], uv: float | None, exact: bool, resolution_uv: float,
        notes: Callable[[str], None], *, hint: str = "give units or gain",
    ) -> None:  # fmt: skip
        self._fs, self._leads, self._uv, self._notes, self._hint = fs, tuple(leads), uv, notes, hint
        self._resolution_uv = resolution_uv
        self._note_few = few(notes)
        self._codes: list[F64] = []  # of each lead, by the numbers that decided the scale; empty: none has any
        self._offset = np.zeros(len(leads))
        self._jumped = np.full(len(leads), -(1 << 60))  # index of the last jump of each offset
        self._is_said = np.zeros(len(leads), np.bool_)  # that an offset of the lead is subtracted
        self._signs = SignJumps(len(leads))
        self._has_codes = False
        self.decided = False
        self.uv_per_unit, self._per_value = 0.0, 1.0
        if uv:
            self.take_unit(uv, exact=exact)

    @property
    def held_samples(self) -> int:
        """Samples by which the scale of numbers without a unit is decided."""
        return round(HELD_S * self._fs)

    def take_unit(self, uv: float, *, exact: bool = False) -> None:
        """Take values of ``uv`` microvolts each; 0: they are not calibrated. Parameters are those of the class."""
        self._uv = uv
        if uv:
            self.decided = True
            self.uv_per_unit = max(uv, _FINEST_UV) if exact else self._resolution_uv
            self._per_value = uv / self.uv_per_unit

    def take_as_converter(self) -> None:
        """Decide that numbers without a unit are those of a converter, as int16 says."""
        self._decide_as(0.0, 0.0, 1.0, "integers without a unit")

    def decide(self, values: F64) -> None:
        """Decide the scale of numbers without a unit by the first of them, float64 [leads, n]."""
        kept = without_codes(list(values))[0] if values.shape[1] else []
        codes = [np.unique(a[np.isnan(b) & np.isfinite(a)]) for a, b in zip(values, kept, strict=False)]
        self._codes = codes if any(map(len, codes)) else []
        known = [r for r in value_ranges(kept) if r.any_valid]
        size = max((r.high - r.low for r in known), default=0.0)
        usual = max((r.typical for r in known), default=0.0) or size
        guess, why = unit_guess(known) if known and size > 0 else (1000.0, None)
        if self._uv is not None:
            guess, why = 0.0, "numbers of a converter without a gain"
        if why is None:
            larger = guess / self._resolution_uv * usual / _NEAR
            uv_per_unit = self._resolution_uv * 10.0 ** max(0.0, np.ceil(np.log10(larger)) if larger else 0.0)
            self._decide_as(guess, uv_per_unit, guess / uv_per_unit, None)
        elif size == 0 or (all(r.integers for r in known) and size <= _NEAR):
            self._decide_as(0.0, 0.0, 1.0, why)
        else:  # a power of ten, so that it hardly depends on what the first seconds hold
            self._decide_as(0.0, 0.0, 10.0 ** np.ceil(np.log10(_STEPS / usual)), why)

    def fits(self, sizes: F64) -> bool:
        """Return False if values with these ranges, peak to peak of each lead, are too large for int16 on all leads."""
        known = sizes[sizes > 0] * self._per_value
        return not len(known) or float(known.min()) <= 2 * _LARGEST

    def _decide_as(self, uv: float, uv_per_unit: float, per_value: float, why: str | None) -> None:
        self.decided = True
        self._uv, self.uv_per_unit, self._per_value = uv, uv_per_unit, per_value
        if why is None:
            self._notes(f"numbers without a unit are taken as millivolts ({self._hint})")
        else:
            self._notes(f"{why}: not calibrated, amplitudes are relative ({self._hint})")

    def samples(self, values: Any, first: int) -> I16:
        """Return a chunk as int16, without the offsets of its leads.

        Parameters
        ----------
        values : int16 or float64 [leads, n]
        first
            Index of its first sample.
        """
        has_offset = bool(self._offset.any())
        if values.dtype == np.int16:
            if self._per_value == 1.0 and not has_offset:
                same: I16 = values  # it cannot exceed itself
                return same
            values = self.numbers(values)
        elif has_offset or not (np.abs(values) <= _NEAR / self._per_value).all() or self._may_have_codes(values):
            values = self.numbers(values)
        else:  # as a rule
            self._signs.pass_by(values)
            small: I16 = np.floor(values * self._per_value + 0.5).astype(np.int16)
            return small
        self._look_for_signs(values)
        steps = np.floor(values * self._per_value + 0.5)
        valid = np.isfinite(steps)
        out = np.full(steps.shape, NO_VALUE, np.int16)
        for k in range(len(steps)):
            row = np.where(valid[k], steps[k], self._offset[k])
            centred = self._centred(k, row, valid[k], first)
            out[k, valid[k]] = np.clip(centred, -_LARGEST, _LARGEST).astype(np.int16)[valid[k]]
        return out

    def numbers(self, values: Any) -> F64:
        """Return the numbers of a chunk, float64 [leads, n]: NaN where there is a code for "no value"."""
        if values.dtype == np.int16:
            converted: F64 = floats(values)
            return converted
        codes = (values == NO_VALUE) | (np.isfinite(values) & (np.abs(values) > IMPOSSIBLE))
        if self._uv and bool((np.abs(values) > _HIGHEST_UV / self._uv).any()):
            codes |= np.isin(values, _CODES) & (np.abs(values) > _HIGHEST_UV / self._uv)
        for k, own in enumerate(self._codes):
            codes[k] |= np.isin(values[k], own)
        if not codes.any():
            same: F64 = values
            return same
        if not self._has_codes:
            self._has_codes = True
            self._notes(f'{float(values[codes][0]):g} is taken for "no value"')
        return np.where(codes, np.nan, values)

    def _may_have_codes(self, values: F64) -> bool:
        """Return True if one of these small numbers may be a code."""
        return bool(self._codes) or bool((values == NO_VALUE).any())

    def _centred(self, k: int, row: F64, valid: Any, first: int) -> F64:
        """Return the steps of one lead without its offset, which follows them where they would not fit."""
        out: F64 = row - np.rint(self._offset[k])
        far = np.flatnonzero((np.abs(out) > _NEAR) & valid)
        if not len(far):
            return out
        offset = float(self._offset[k])
        for at in range(int(far[0]), len(row)):
            if valid[at]:
                away = float(row[at]) - offset
                if abs(away) > _LARGEST and first + at - self._jumped[k] >= JUMP_S * self._fs:
                    offset = float(row[at])
                    self._jumped[k] = first + at
                    self._note(k, offset)
                elif abs(away) > _NEAR:
                    offset += np.copysign(abs(away) - _NEAR, away) / (_FOLLOW_S * self._fs)
                    if abs(float(row[at])) > _LARGEST and not self._is_said[k]:
                        self._note(k, offset)
            out[at] = row[at] - np.rint(offset)
        self._offset[k] = offset
        return out

    def _look_for_signs(self, values: F64) -> None:
        """Say of leads that jump from end to end that they are signed integers, written without their sign."""
        for k, bits in self._signs.found(values):
            self._notes(
                f"{self._leads[k]!r} jumps by nearly {2**bits:,} again and again: expected signed numbers, got them "
                f"without their sign ({2**bits - 6:,} for -6)"
            )

    def _note(self, k: int, offset: float) -> None:
        """Say that an offset has jumped, or was followed to where numbers would not fit; a few times."""
        self._is_said[k] = True
        size = offset * self.uv_per_unit / 1000 if self.uv_per_unit else offset / self._per_value
        shown = f"{size:.4g}{' mV' if self.uv_per_unit else ''}"
        self._note_few(f"an offset of {shown} is subtracted from {self._leads[k]!r}")
