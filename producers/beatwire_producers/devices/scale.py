"""Numbers of a device, in any unit, as int16.

In:  the numbers of a stream, [leads, n], in order, without holes
Out: int16 [leads, n], -32768 where there is no value; microvolts per unit
State: the scale of its chunks; of numbers without a unit the last ten seconds

Integers of 16 bits keep their values. All else becomes what ``beatwire.Live`` makes of it
(``beatwire.recordings.chunk_scale``): the offset of an electrode is followed, so it may drift, jump, or come late.

Numbers without a unit are judged by the first second or two in which they change: an electrode may be off until then,
and what is sent before has no unit. They are judged anew if in ten seconds the ordinary one is too large for int16.
What is sent then is another signal: it begins a session.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from beatwire.recordings.chunk_scale import HELD_S, ChunkScale
from beatwire.records import F64, I16
from numpy.typing import DTypeLike, NDArray

__all__ = ["HELD_S", "Scale"]

_ENOUGH_S = 1.0  # of numbers that change, to judge them
_MISFIT_S = 10  # that are looked at
_STEP_UV = 1.0  # of numbers that are not those of a converter
_HINT = "--gain gives a unit, in numbers per millivolt"


class Scale:
    """Converts the numbers of one stream.

    Parameters
    ----------
    rate_hz, leads
        Of the stream.
    uv
        Microvolts per number; 0: not calibrated; None: unknown.
    dtype
        Of the first numbers.
    note
        Called with a sentence where something is assumed.

    Attributes
    ----------
    renewed : int
        How often what is sent has become another signal.
    """

    def __init__(
        self, rate_hz: float, leads: tuple[str, ...], uv: float | None, dtype: DTypeLike, note: Callable[[str], None]
    ) -> None:
        kind = np.dtype(dtype)
        is_whole, is_short = kind.kind in "iub", kind.kind in "iub" and kind.itemsize <= 2
        self._given = rate_hz, leads, uv
        self._note, self._rate_hz = note, rate_hz
        step_uv = uv if uv and is_short else _STEP_UV
        self._chunks = ChunkScale(rate_hz, leads, uv or None, is_whole and not is_short, step_uv, note, hint=_HINT)
        if not uv and is_short:
            self._chunks.take_as_converter()
        self._is_judged = not uv and not is_short
        self._last: deque[F64] = deque()  # of numbers without a unit
        self._sizes: deque[F64] = deque(maxlen=_MISFIT_S)  # peak to peak of each lead, second by second
        self._low = self._high = np.full(len(leads), np.nan)  # in the present second
        self._at = self._look_at = self._changing = self._kept = 0
        self.renewed = 0

    @property
    def decided(self) -> bool:
        """Return True if the unit is stated, or decided by what came."""
        return self._chunks.decided

    @property
    def uv_per_unit(self) -> float:
        """Microvolts per unit of what is sent; 0: not calibrated."""
        return self._chunks.uv_per_unit

    def samples(self, values: NDArray[Any]) -> I16:
        """Return the next numbers as int16 [leads, n]."""
        if values.dtype != np.int16:
            values = values.astype(np.float64)
        if self._is_judged:
            self._judge(values)
        at, self._at = self._at, self._at + values.shape[1]
        return self._chunks.samples(values, at)

    def _judge(self, values: NDArray[Any]) -> None:
        """Decide the scale, or decide it anew, if these numbers show that."""
        self._last.append(values.astype(np.float64))
        self._kept += values.shape[1]
        while self._kept - self._last[0].shape[1] >= _MISFIT_S * self._rate_hz:
            self._kept -= self._last.popleft().shape[1]
        if not self.decided:
            self._changing += values.shape[1] - _begin_of_change(self._last[-1], anew=self._changing == 0)
            if self._changing >= _ENOUGH_S * self._rate_hz:
                self._decide(self._changing, "its numbers change now", is_new=self._at > 0)
            return
        low, high = np.fmin.reduce(values, axis=1), np.fmax.reduce(values, axis=1)
        self._low, self._high = np.fmin(self._low, low), np.fmax(self._high, high)
        if self._at - self._look_at >= self._rate_hz:
            self._sizes.append(np.nan_to_num(self._high - self._low, posinf=0.0))
            self._look_at = self._at
            self._low, self._high = self._low * np.nan, self._high * np.nan
            if len(self._sizes) == _MISFIT_S and not self._chunks.fits(np.median(self._sizes, axis=0)):
                self._decide(self._kept, "its numbers are much larger than before", is_new=True)

    def _decide(self, count: int, why: str, *, is_new: bool) -> None:
        """Decide the scale by the last numbers; ``is_new``: others were sent before."""
        rate_hz, leads, uv = self._given
        if is_new:
            self._note(f"{why}: a new session")
            self.renewed += 1
        self._chunks = ChunkScale(rate_hz, leads, uv, False, _STEP_UV, self._note, hint=_HINT)
        self._chunks.decide(np.concatenate(self._last, axis=1)[:, -count:])
        self._sizes.clear()
        self._look_at = self._at


def _begin_of_change(values: F64, *, anew: bool) -> int:
    """Return from which sample on numbers change; 0 if they have changed before."""
    if not anew:
        return 0
    changes = (np.diff(values, axis=1) != 0) & np.isfinite(values[:, 1:]) & np.isfinite(values[:, :-1])
    at = np.flatnonzero(changes.any(axis=0))
    return int(at[0]) if len(at) else values.shape[1]
