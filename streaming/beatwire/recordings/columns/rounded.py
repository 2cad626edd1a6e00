"""The rate of rows that are hardly farther apart than what their times are rounded to, as 977 Hz in whole milliseconds.

In:  the first rows of packets of equal length and their times in seconds, or all rows and theirs
Out: the rate in Hz, and the unit in seconds; None: the times are not such ones

Their steps are so many units, and one more now and then: as if samples of a higher rate were missing. But what is
missing is missing at random, or in each so many rows. Of an even clock that is rounded, the numbers of rows from one
longer step to the next differ by one. Where they are all equal, as at 990 Hz, the rate that the user gave decides. Rows
that are two units apart and more show their rate by themselves; packets do not.
"""

from typing import NamedTuple

import numpy as np

from beatwire.records import F64, I64
from beatwire.tables import array_module

_UNITS_S = (1.0, 0.1, 0.01, 0.001, 0.0001, 0.00001, *(2.0**-k for k in range(5, 13)))  # the last: of float32
_NEAR = 0.02  # units: what is that near to a whole number is one
_EXACT_S = 1e-6  # the same of packets, whose steps may be many units and nearly whole in larger ones
_USUAL = 0.98  # of the steps
_FEWEST = 6  # numbers of rows between long steps
_REGULAR = 0.8  # of them
_FEW = 0.03  # of them that differ
_FLOAT32 = 0.3  # of the time between rows: a float32 that is not finer hides the rate
_WITHIN = 0.75  # of their unit: rounding is half of it
_GIVEN = 1e-3  # by which the rate may differ from the given one


class Rounded(NamedTuple):
    """The rate of rounded times in Hz, and the seconds that they are rounded to."""

    rate_hz: float
    unit_s: float


def unit_of(steps: F64, near_s: float = _EXACT_S) -> float | None:
    """Return what times are rounded to, in seconds, by their steps; None if they are exact, or are all the same.

    Steps are ``near_s`` seconds, or a fiftieth of the unit, from a whole number of units, at most.

    >>> import numpy as np
    >>> unit_of(np.array([0.02, 0.02, 0.0, 0.03])), unit_of(np.array([0.0039, 0.0041]))
    (0.01, 0.0001)
    """
    xp = array_module(steps)
    for unit in _UNITS_S if len(steps) else ():
        whole = xp.rint(steps / unit)
        is_near = xp.abs(steps / unit - whole) < min(_NEAR, near_s / unit)
        if float((((whole > 0) & is_near) | (steps == 0)).mean()) >= _USUAL and bool((whole > 0).any()):
            return unit
    return None


def rounded_rate(rows: I64, seconds: F64, fs: float | None = None) -> Rounded | None:
    """Return the rate of rounded times of rows; ``fs`` is the rate that the user gave, in Hz.

    >>> import numpy as np
    >>> rows = np.arange(5000)
    >>> round(rounded_rate(rows, np.round(rows / 977, 3)).rate_hz, 1), rounded_rate(rows, rows / 1000)
    (977.0, None)
    >>> round(rounded_rate(10 * rows, np.round(10 * rows / 128, 2)).rate_hz, 1)
    128.0
    """
    return _rounded_to_float32(rows, seconds) or _rounded_to_units(rows, seconds, fs)


def _rounded_to_units(rows: I64, seconds: F64, fs: float | None) -> Rounded | None:
    """Return the rate by the numbers of rows from one longer step to the next."""
    xp = array_module(seconds)
    steps, apart = xp.diff(seconds), xp.diff(rows)
    if len(steps) < 2:
        return None
    together = int(xp.median(apart))
    if float((apart == together).mean()) < _USUAL:
        return None
    unit = unit_of(steps, _NEAR if together == 1 else _EXACT_S)
    if unit is None:
        return None
    units = xp.rint(steps / unit)
    middle = float(xp.rint(xp.median(units)))
    low = middle if float((units == middle + 1).sum()) >= float((units == middle - 1).sum()) else middle - 1
    if float(((units == low) | (units == low + 1)).mean()) < _USUAL or (together == 1 and (low, middle) != (1, 1)):
        return None
    rare = low + 1 if middle == low else low  # the other steps are more
    between = xp.diff(xp.flatnonzero(units == rare))  # rows from one such step to the next
    if len(between) < _FEWEST:
        return None
    regular = xp.abs(between - float(xp.median(between))) <= 1
    if float(regular.mean()) < _REGULAR:
        return None
    found = between[regular]
    longer = 1.0 / float(found.mean())
    rate_hz = together / (unit * (low + (longer if rare > low else 1.0 - longer)))
    shorter = float((found == found.min()).mean())
    is_given = fs is not None and abs(rate_hz / fs - 1.0) < _GIVEN
    return Rounded(rate_hz, unit) if is_given or _FEW < shorter < 1.0 - _FEW else None


def _rounded_to_float32(rows: I64, seconds: F64) -> Rounded | None:
    """Return the rate of even rows whose times are those of float32, which is coarse after hours; None if they are not.

    360 Hz is 1.4 units there after five hours, as if a third of 512 samples a second were missing.
    """
    xp = array_module(seconds)
    unit_s = float(np.spacing(np.float32(float(xp.abs(seconds).max()))))
    apart_s = float(seconds[-1] - seconds[0]) / max(1.0, float(rows[-1] - rows[0]))
    if len(rows) < _FEWEST or unit_s < _FLOAT32 * apart_s or bool((seconds != seconds.astype(np.float32)).any()):
        return None
    index, since = rows - float(rows.mean()), seconds - float(seconds.mean())
    even_s = float((index * since).sum() / (index * index).sum())
    is_even = float(xp.abs(since - index * even_s).max()) <= _WITHIN * unit_s
    return Rounded(1.0 / even_s, unit_s) if is_even else None
