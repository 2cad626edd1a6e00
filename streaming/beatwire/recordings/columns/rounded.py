"""The rate of rows that are hardly farther apart than what their times are rounded to, as 977 Hz in whole milliseconds.

In:  float64 [n], the time of each row in seconds
Out: the rate in Hz; None: the times are not such ones

Their steps are one unit, and two now and then: as if samples of a higher rate were missing. But what is missing is
missing at random, or in each so many rows. Of an even clock that is rounded, the numbers of rows from one long step to
the next differ by one. Where they are all equal, as at 990 Hz, the rate that the user gave decides.
"""

from beatwire.records import F64
from beatwire.tables import array_module

_UNITS_S = (0.1, 0.01, 0.001, 0.0001, 0.00001)
_NEAR = 0.02  # units: what is that near to a whole number is one
_USUAL = 0.98  # of the steps
_FEWEST = 6  # numbers of rows between long steps
_REGULAR = 0.8  # of them
_FEW = 0.03  # of them that differ
_GIVEN = 1e-3  # by which the rate may differ from the given one


def rounded_rate(seconds: F64, fs: float | None = None) -> float | None:
    """Return the rate of rounded times; ``fs`` is the rate that the user gave, in Hz.

    >>> import numpy as np
    >>> f"{rounded_rate(np.round(np.arange(5000) / 977, 3)):.1f}", rounded_rate(np.arange(5000) / 1000)
    ('977.0', None)
    """
    xp = array_module(seconds)
    steps = xp.diff(seconds)
    middle = float(xp.median(steps)) if len(steps) else 0.0
    unit = next((u for u in _UNITS_S if abs(middle / u - 1) < _NEAR), None)
    if unit is None:
        return None
    units = xp.rint(steps / unit)
    if float(((xp.abs(steps / unit - units) < _NEAR) & (units <= 2)).mean()) < _USUAL:
        return None
    rows = xp.diff(xp.flatnonzero(units == 2))  # from one long step to the next
    if len(rows) < _FEWEST:
        return None
    regular = xp.abs(rows - float(xp.median(rows))) <= 1
    if float(regular.mean()) < _REGULAR:
        return None
    found = rows[regular]
    rate_hz = 1.0 / (unit * (1.0 + 1.0 / float(found.mean())))
    shorter = float((found == found.min()).mean())
    is_given = fs is not None and abs(rate_hz / fs - 1.0) < _GIVEN
    return rate_hz if is_given or _FEW < shorter < 1.0 - _FEW else None
