"""Signed integers that were written without their sign, as 65535 for -1.

In:  float64 [n], NaN where there is no value; or integers [n] of so many bits, by their file
Out: the same with signs, and by how many bits they were written

Numbers of 16, 24 or 32 bits are such if they lie near 0 and near the largest of so many bits, and nowhere between.
Where a file states the bits they may fill them: they are such if they jump less with signs.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from beatwire.records import F64
from beatwire.tables import array_module

_BITS = (16, 24, 32)
_NEAR_END = 0.25  # of the range
_FEWEST, _DISTINCT = 8, 4  # numbers near each end, and different ones near the upper end: a code is one number


def with_sign(column: Any, finite: Any, known: int = 0) -> tuple[Any, int]:
    """Return a column with the signs that its values, ``finite``, lost, and their bits; 0 if they lost none.

    ``known`` are the bits of earlier values of the same column.

    >>> import numpy as np
    >>> values = np.array([1.0, 65535.0, 2.0, 65530.0] * 3 + [0.0, 9.0, 65531.0, 65529.0])
    >>> with_sign(values, values)[0][:4].tolist()
    [1.0, -1.0, 2.0, -6.0]
    """
    bits = known or _lost_bits(finite)
    return (signed(column, bits), bits) if bits else (column, 0)


def signed(values: Any, bits: int, no_value: int | None = None) -> Any:
    """Return numbers of so many bits with their signs; ``no_value``, and numbers of more bits, are left.

    >>> import numpy as np
    >>> signed(np.array([1, 4095, 2048, 4096]), 12, 2048).tolist()
    [1, -1, 2048, 4096]
    """
    whole = 1 << bits
    is_negative = (values >= whole // 2) & (values < whole) & (True if no_value is None else values != no_value)
    return array_module(values).where(is_negative, values - whole, values)


def lost_sign(values: Any, bits: int, no_value: int | None) -> bool:
    """Return True if integers [n] of ``bits``, stored in more, lost their sign, as 4095 for -1: with it they jump less.

    A converter without signs, which is stated wrong, has such numbers too: with signs it would jump more.
    """
    found = values.astype(np.int64)
    found = found if no_value is None else found[found != no_value]
    half = 1 << max(0, bits - 1)
    if bits < 2 or not len(found) or found.min() < 0 or not half <= found.max() < 2 * half:
        return False
    return bool(np.abs(np.diff(signed(found, bits))).sum() < np.abs(np.diff(found)).sum())


def _lost_bits(finite: Any) -> int:
    """Return the bits by which numbers were written without their sign; 0 if they were not."""
    xp = array_module(finite)
    high = float(finite.max()) if len(finite) else 0.0
    bits = next((b for b in _BITS if (1 - _NEAR_END) * 2.0**b < high < 2.0**b), 0)
    if not bits or float(finite.min()) < 0 or not bool((finite == xp.rint(finite)).all()):
        return 0
    whole, half = 2.0**bits, 2.0 ** (bits - 1)
    upper = finite[finite > (1 - _NEAR_END) * whole]
    lower = int((finite < _NEAR_END * whole).sum())
    between = len(finite) - len(upper) - lower - int((finite == half).sum())  # the least is written for no value
    is_code = min(lower, len(upper)) < _FEWEST or len(xp.unique(upper[:4096])) < _DISTINCT
    return 0 if between or is_code else bits


class SignJumps:
    """The leads of a stream that jump from end to end of the integers of so many bits, to different numbers each time.

    Rows that are looked at are parts of one stream: any cutting finds the same.
    """

    def __init__(self, leads: int) -> None:
        self._last = np.full(leads, np.nan)
        self._upper: dict[tuple[int, int], set[float]] = {}

    def pass_by(self, values: F64) -> None:
        """Take numbers, float64 [leads, n], none of which is near an upper end or unknown."""
        if values.shape[1]:
            self._last = values[:, -1]

    def found(self, values: F64) -> Iterator[tuple[int, int]]:
        """Yield the leads that turn out to have lost their sign, and the bits; numbers are float64 [leads, n]."""
        last = self._last.copy()
        for k, row in enumerate(values):
            known = row[np.isfinite(row)]
            if not len(known):
                continue
            before, last[k] = np.concatenate((self._last[k : k + 1], known[:-1])), known[-1]
            for bits in _BITS if known.max() > (1 - _NEAR_END) * 2.0 ** _BITS[0] else ():
                whole = 2.0**bits
                jumps = (
                    (before >= 0) & (before < _NEAR_END * whole) & (known > (1 - _NEAR_END) * whole) & (known < whole)
                )
                upper = self._upper.setdefault((k, bits), set())
                new = set(known[jumps].tolist()) - upper if jumps.any() and len(upper) < _DISTINCT else set()
                upper |= new
                if new and len(upper) >= _DISTINCT and all(map(float.is_integer, upper)):
                    yield k, bits
        self._last = last
