"""The scale of a stream whose numbers may have no unit: it is judged once they change, and anew if they outgrow it.

In:  chunks of numbers, float64 or int16 [leads, n]
Out: int16 [leads, n] in parts; another signal begins where the scale is judged, and needs another session
State: the scale of the chunks (``chunk_scale``); of numbers without a unit the last ten seconds

An electrode may be off at first: numbers that do not change have no unit, and are passed on without one. They are
judged by the first second in which they change, of the first two seconds if possible. They are judged anew if of ten
seconds the ordinary one is too large for int16 on every lead. Everything is decided at samples that follow from the
numbers alone: any cutting into chunks gives the same. A size that no heart has is said of the first ten seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from beatwire.recordings.chunk_scale import HELD_S, ChunkScale
from beatwire.recordings.codes import CODES
from beatwire.recordings.stated_size import ChunkSize
from beatwire.records import F64, I16

__all__ = ["HELD_S", "JudgedScale"]

_ENOUGH_S = 1.0  # of numbers that change, to judge them
_MISFIT = 10  # seconds that are looked at
_CODES = np.array([*CODES])


class Part(NamedTuple):
    """Samples of one signal.

    first        index of the first one
    samples      int16 [leads, n]
    uv_per_unit  microvolts per unit; 0: not calibrated
    renewed      number of the signal, from 0
    """

    first: int
    samples: I16
    uv_per_unit: float
    renewed: int

    def followed_by(self, other: Part) -> Part:
        """Return this part and one behind it together."""
        return self._replace(samples=np.concatenate([self.samples, other.samples], axis=1))


class JudgedScale:
    """Converts the chunks of one stream; parameters as of `ChunkScale`.

    Attributes
    ----------
    renewed : int
        How often what is passed on has become another signal.
    begun : bool
        Whether numbers may be passed on: their unit is known, or `begin` was called.
    """

    def __init__(
        self, fs: float, leads: Sequence[str], uv: float | None, exact: bool, resolution_uv: float,
        notes: Callable[[str], None], *, hint: str = "give units or gain",
    ) -> None:  # fmt: skip
        self._notes, self._hint = notes, hint
        self._type: str | None = "" if uv is not None else None  # of the first numbers without a unit; "" is enough
        self._make = partial(ChunkScale, fs, leads, uv, exact, resolution_uv, notes, hint=hint)
        self._chunks = self._make()
        self._size = ChunkSize(fs, leads, notes)
        self._is_judged = not self._chunks.decided
        self._last: deque[F64] = deque()  # of numbers without a unit
        self._sizes: deque[F64] = deque(maxlen=_MISFIT)  # peak to peak of each lead, second by second
        self._low = self._high = np.full(len(leads), np.nan)  # in the present second
        self._kept = self._seen = 0  # samples in `_last`, and in the present second
        self._changing: int | None = None  # samples since the change; None: there was none
        self._second, self._enough = max(1, round(fs)), max(1, round(_ENOUGH_S * fs))
        self.renewed, self.begun = 0, self._chunks.decided

    @property
    def decided(self) -> bool:
        """Return True if the unit is known, or was judged."""
        return self._chunks.decided

    @property
    def uv_per_unit(self) -> float:
        """Microvolts per unit of what is passed on; 0: not calibrated."""
        return self._chunks.uv_per_unit

    @property
    def held_samples(self) -> int:
        """Samples for `begin`."""
        return self._chunks.held_samples

    def take_unit(self, uv: float) -> None:
        """Take values of ``uv`` microvolts each; 0: they are not calibrated."""
        self._type = ""
        self._chunks.take_unit(uv)
        self.begun = self._chunks.decided
        self._is_judged = not self.begun

    def look_at(self, dtype: Any) -> None:
        """Say once that chunks without a unit change between int16 and other numbers, which mean other units."""
        found = "int16" if dtype == np.int16 else "other numbers"
        if self._type is None:
            self._type = found
        elif self._type and self._type != found:
            self._notes(f"chunks of {found} after {self._type} are taken in the same unit ({self._hint})")
            self._type = ""

    def take_as_converter(self) -> None:
        """Decide that numbers without a unit are those of a converter."""
        self._chunks.take_as_converter()
        self.begun, self._is_judged = True, False

    def begin(self, values: F64) -> None:
        """Judge the first numbers, float64 [leads, n], before any is passed on."""
        self.begun = True
        values = self._chunks.numbers(values)
        if self._is_judged and values.shape[1] - _begin_of_change(values, values[:, :1]) >= self._enough:
            self._chunks.decide(values)

    def parts(self, values: Any, first: int) -> list[Part]:
        """Return a chunk that begins at sample ``first``, in one part for each signal."""
        found = self._parts(values, first)
        for part in found:
            self._size.look_at(part.samples, part.uv_per_unit)
        return found

    def _parts(self, values: Any, first: int) -> list[Part]:
        """Return a chunk in one part for each signal."""
        if not self._is_judged:
            return [Part(first, self._chunks.samples(values, first), self.uv_per_unit, self.renewed)]
        found: list[Part] = []
        at, count = 0, values.shape[1]
        while at < count:
            stop = min(count, at + self._until_look(values[:, at:]))
            numbers = self._chunks.numbers(values[:, at:stop])
            samples = self._chunks.samples(values[:, at:stop], first + at)
            part = Part(first + at, samples, self.uv_per_unit, self.renewed)
            if found and found[-1].renewed == self.renewed:
                part = found.pop().followed_by(part)
            found.append(part)
            self._look(numbers)
            at = stop
        return found

    def _until_look(self, values: Any) -> int:
        """Return after how many of these numbers something may be decided."""
        if self.decided:
            return self._second - self._seen
        if self._changing is None:
            values = self._chunks.numbers(values)
            begin = _begin_of_change(values, self._last[-1][:, -1:] if self._last else values[:, :1])
            if begin:
                return begin
            self._changing = 0
        return max(1, self._enough - self._changing)

    def _look(self, values: F64) -> None:
        """Remember numbers that are passed on; decide the scale by them, or decide it anew, if they show that."""
        self._last.append(values)
        self._kept += values.shape[1]
        while self._kept - self._last[0].shape[1] >= _MISFIT * self._second:
            self._kept -= self._last.popleft().shape[1]
        if not self.decided:
            if self._changing is not None:
                self._changing += values.shape[1]
                if self._changing >= self._enough:
                    self._decide(self._changing, "its numbers change now")
            return
        self._low = np.fmin(self._low, np.fmin.reduce(values, axis=1))
        self._high = np.fmax(self._high, np.fmax.reduce(values, axis=1))
        self._seen += values.shape[1]
        if self._seen >= self._second:
            self._sizes.append(np.nan_to_num(self._high - self._low, posinf=0.0))
            self._low, self._high, self._seen = self._low * np.nan, self._high * np.nan, 0
            if len(self._sizes) == _MISFIT and not self._chunks.fits(np.median(self._sizes, axis=0)):
                self._decide(_MISFIT * self._second, "its numbers are much larger than before")

    def _decide(self, count: int, why: str) -> None:
        """Decide the scale by the last numbers."""
        self._notes(f"{why}: a new session")
        self.renewed += 1
        self._chunks = self._make()
        self._chunks.decide(np.concatenate(self._last, axis=1)[:, -count:])
        self._sizes.clear()
        self._low, self._high, self._seen = self._low * np.nan, self._high * np.nan, 0


def _begin_of_change(values: F64, before: F64) -> int:
    """Return which sample is the first that differs from the one before it; their count if none does.

    What may be a code for "no value" is no change.
    """
    values, before = (np.where(np.isin(np.abs(a), _CODES), np.nan, a) for a in (values, before))
    last = np.concatenate([before, values[:, :-1]], axis=1)
    at = np.flatnonzero(((values != last) & np.isfinite(values) & np.isfinite(last)).any(axis=0))
    return int(at[0]) if len(at) else int(values.shape[1])
