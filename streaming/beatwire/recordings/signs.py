"""Signed integers that were written without their sign, as 65535 for -1.

In:  float64 [n], NaN where there is no value
Out: the same with signs, and by how many bits they were written

Numbers of 16, 24 or 32 bits are such if they lie near 0 and near the largest of so many bits, and nowhere between.
"""

from typing import Any

from beatwire.tables import array_module

_BITS = (16, 24, 32)
NEAR_END = 0.25  # of the range
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
    if not bits:
        return column, 0
    return array_module(column).where(column >= 2.0 ** (bits - 1), column - 2.0**bits, column), bits


def bits_of(high: float) -> int:
    """Return the bits of the integers whose upper end a number is near; 0 if it is near none.

    >>> bits_of(65530.0), bits_of(40000.0)
    (16, 0)
    """
    return next((b for b in _BITS if (1 - NEAR_END) * 2.0**b < high < 2.0**b), 0)


def _lost_bits(finite: Any) -> int:
    """Return the bits by which numbers were written without their sign; 0 if they were not."""
    xp = array_module(finite)
    high = float(finite.max()) if len(finite) else 0.0
    bits = bits_of(high)
    if not bits or float(finite.min()) < 0 or not bool((finite == xp.rint(finite)).all()):
        return 0
    whole, half = 2.0**bits, 2.0 ** (bits - 1)
    upper = finite[finite > (1 - NEAR_END) * whole]
    lower = int((finite < NEAR_END * whole).sum())
    between = len(finite) - len(upper) - lower - int((finite == half).sum())  # the least is written for no value
    is_code = min(lower, len(upper)) < _FEWEST or len(xp.unique(upper[:4096])) < _DISTINCT
    return 0 if between or is_code else bits
