"""How the numbers of a column behave, whatever its name: a signal, or something that rises evenly.

In:  a column of numbers, float64 [n], NumPy or CuPy; NaN where there is no value
Out: a :class:`Behaviour`; a column that is counted in turns (0-15, milliseconds of a second, a clock at midnight)
     without its turns

An ECG falls about as often as it rises; a clock or a count never falls, or by as little as its jitter. Long columns are
examined in stretches: eight of 1024 rows, and every so many rows.
"""

from enum import Enum
from typing import Any

import numpy as np

from beatwire.recordings.codes import IMPOSSIBLE
from beatwire.records import F64
from beatwire.tables import array_module, host_array

FEWEST_ROWS = 200  # in fewer rows a lead may rise as evenly as a clock

_WHOLE = 8192  # rows that are examined completely
_STRETCH = 1024
_BLOCKS = 64
_MOST_DOWN = 0.45  # of the way up: a clock of 1000 Hz with a normal jitter of 2 ms falls by 0.41 of its way up
_EVEN = 0.35  # relative deviation of a step from the median step; at least half of the steps of a clock are inside
CLOCK_TURNS = (60.0, 1e3, 1e4, 3600.0, 43200.0, 86400.0, 1e6, 1e9, 86400e3, *(2.0**k for k in range(1, 33)))
_TURNS = (100.0, *CLOCK_TURNS)
_SHARED = 0.5  # of the rows have the number of the row before them, where these are numbers of packets
_FEWEST_NUMBERS, _EVENLY = 7, 0.8  # of packets, in a turn; and how many of them have equally many rows
_LARGEST_FLAG = 255
_RARELY = 0.01  # of the rows: a value that changes so rarely is held, not sampled


class Behaviour(Enum):
    """How the numbers of a column behave."""

    EMPTY = "no value"
    CONSTANT = "constant"
    CLOCK = "rises evenly"
    TURNS = "counts in turns"
    FALLS = "falls evenly"
    STEPS = "rises in uneven steps"
    HELD = "changes rarely"
    SIGNAL = "signal"


RISING = (Behaviour.CLOCK, Behaviour.TURNS)  # of a clock or a count


def behaviour(column: Any) -> Behaviour:
    """Return how the numbers of a column behave.

    >>> behaviour(np.arange(300) * 0.004), behaviour(np.arange(300.0) % 16), behaviour(np.sin(np.arange(300.0)))
    (<Behaviour.CLOCK: 'rises evenly'>, <Behaviour.TURNS: 'counts in turns'>, <Behaviour.SIGNAL: 'signal'>)
    """
    stretches, trend = _stretches(column), _trend(column)
    finite = np.concatenate([*stretches, trend])
    finite = finite[np.isfinite(finite)]
    if len(finite) == 0:
        return Behaviour.EMPTY if not bool(array_module(column).isfinite(column).any()) else Behaviour.SIGNAL
    if finite.min() == finite.max():
        return Behaviour.CONSTANT
    if len(column) < FEWEST_ROWS:
        return Behaviour.CLOCK if len(column) >= FEWEST_ROWS // 8 and _exactly(stretches[0]) else Behaviour.SIGNAL
    if turn_of(column) is not None:
        return Behaviour.TURNS
    if _rises(stretches, trend):
        return Behaviour.CLOCK if _evenly(column) else Behaviour.STEPS
    if _rises([-s for s in stretches], -trend):
        return Behaviour.FALLS if _evenly(-column) else Behaviour.STEPS
    if _turns_in_packets(column):
        return Behaviour.TURNS
    changes = sum(int(np.count_nonzero(np.diff(s[np.isfinite(s)]))) for s in stretches)
    return Behaviour.HELD if changes < _RARELY * sum(map(len, stretches)) else Behaviour.SIGNAL


def is_flag(column: Any) -> bool:
    """Return True if a column has two values, 0 and a small one: a digital input. A lead that is off has larger ones.

    >>> is_flag(np.arange(300.0) % 7 // 4), is_flag(np.sin(np.arange(300.0))), is_flag(np.zeros(300))
    (True, False, False)
    """
    if column is None or not len(column):
        return False
    xp = array_module(column)
    for values in (column[:_STRETCH], column):
        others = values[xp.isfinite(values) & (values != 0)]
        if len(others) and bool((others != others[0]).any()):
            return False
    return bool(len(others)) and abs(float(others[0])) <= _LARGEST_FLAG and bool((column == 0).any())


def _turns_in_packets(column: Any) -> bool:
    """Return True if several rows share each number of a column that counts in turns, as a number of packets does."""
    xp = array_module(column)
    some = column[: max(_WHOLE, len(column) // 8)]
    if not bool(xp.isfinite(some).all() and (xp.diff(some) == 0).mean() > _SHARED and (some == xp.rint(some)).all()):
        return False
    if not bool(xp.isfinite(column).all()):
        return False
    first = first_rows(column)
    numbers, together = column[first], xp.diff(first)
    if len(numbers) < FEWEST_ROWS // 8 or float(numbers.max()) - float(numbers.min()) < _FEWEST_NUMBERS:
        return False  # a flag changes between two values
    is_even = float((together == xp.median(together)).mean()) > _EVENLY
    return is_even and turn_of(numbers) is not None


def first_rows(count: Any) -> Any:
    """Return the rows in which a number is not that of the row before, and the first row."""
    xp = array_module(count)
    return xp.concatenate([xp.zeros(1, np.int64), xp.flatnonzero(xp.diff(count)) + 1])


def turn_of(column: Any) -> float | None:
    """Return after how much a column that counts in turns begins again, None if it does not.

    Most of its steps are equal, and the others are that step modulo the turn.

    >>> turn_of(np.arange(100.0) % 16), turn_of(np.arange(0.0, 3000.0, 4.0) % 1000), turn_of(np.arange(100.0))
    (16.0, 1000.0, None)
    """
    stretches = [s for s in _stretches(column) if np.isfinite(s).all() and len(s) > 1]
    if not stretches:
        return None
    steps = np.concatenate([np.diff(s) for s in stretches])
    drops, climbs = steps[steps < 0], steps[steps > 0]
    if len(drops) < 2 or len(climbs) < max(0.4 * len(steps), 2):
        return None
    step, span = float(np.median(climbs)), float(max(s.max() for s in stretches) - min(s.min() for s in stretches))
    turn = next((t for t in _TURNS if span < t <= span + 2 * step), span + step)
    off = np.mod(steps - step + 0.5 * turn, turn) - 0.5 * turn
    is_even = (np.abs(off) > 0.5 * step).mean() < 0.1 and bool((drops <= step - 0.5 * turn).all())
    return turn if is_even else None


def without_turns(values: F64, turn: float) -> F64:
    """Return a column that counts in turns as one that rises.

    >>> without_turns(np.array([14.0, 15.0, 0.0, 1.0]), 16.0).tolist()
    [14.0, 15.0, 16.0, 17.0]
    """
    xp = array_module(values)
    risen: F64 = values.copy()
    risen[1:] += turn * xp.cumsum(xp.diff(values) < -0.5 * turn)
    return risen


def typical_step(values: F64) -> float:
    """Return how much a clock or a count rises from row to row, in most rows.

    Gaps do not count. If several rows share a time, or come together, it is the rise over 64 rows.

    >>> typical_step(np.array([0.0, 1.0, 2.0, 7.0, 8.0]))
    1.0
    """
    xp = array_module(values)
    step = float(xp.median(xp.diff(values)))
    window = min(64, len(values) // 4)
    over = float(xp.median(values[window:] - values[:-window])) / window if window > 16 else step
    over = over or float(values[-1] - values[0]) / (len(values) - 1)
    return over if step <= 0 or over > 1.5 * step else step


def _rises(stretches: list[F64], trend: F64) -> bool:
    """Return True if numbers rise on the whole and hardly fall on the way."""
    steps = np.concatenate([np.diff(s[np.isfinite(s)]) for s in stretches])
    drops = min(max(1, len(steps) // 1000), np.count_nonzero(steps > 0) // 20)  # of a clock at midnight
    steps = np.sort(steps)[drops:]
    up, down = float(steps[steps > 0].sum()), float(-steps[steps < 0].sum())
    if up == 0 or down > _MOST_DOWN * up:
        return False
    trend = trend[np.isfinite(trend)]
    if len(trend) < 2:
        return False
    blocks = min(_BLOCKS, max(2, len(trend) // 8))
    levels = np.array([np.median(block) for block in np.array_split(trend, blocks)])
    rising = np.diff(levels) >= 0
    if len(rising) > 8 and np.count_nonzero(~rising) > max(1, 0.1 * len(rising)):
        return False
    if down == 0:
        return bool(len(rising) > 8 or rising.mean() > 0.5)
    window = min(32, max(2, min(map(len, stretches)) // 4))
    rises = np.concatenate([s[window:] - s[:-window] for s in stretches])
    rises = rises[np.isfinite(rises)]
    if len(rises) == 0:
        return False
    middle = float(np.median(rises))
    return middle > 0 and float(np.median(np.abs(rises - middle))) < 0.25 * middle


def _exactly(values: F64) -> bool:
    """Return True if all steps are upwards and as equal as their last digit allows."""
    steps = np.diff(values)
    return bool(steps.min() > 0 and np.ptp(steps) <= 0.51 * np.median(steps))


def _evenly(column: Any) -> bool:
    """Return True if a column that rises does so evenly: step by step, or over stretches of at least 32 steps."""
    xp = array_module(column)
    values = column[xp.isfinite(column)]
    steps = xp.diff(values)
    at = xp.flatnonzero(steps)
    if len(at) < 3:
        return False
    if _about_equal(steps[at]) and (len(at) > 0.5 * len(steps) or _about_equal(xp.diff(at))):
        return True
    window = 32 * (len(values) // len(at) + 1)
    if len(values) < 4 * window:
        return False
    rises = values[window:] - values[:-window]
    middle = float(xp.median(rises))
    return float(xp.median(xp.abs(rises - middle))) < 0.25 * middle


def _about_equal(values: Any) -> bool:
    xp = array_module(values)
    middle = float(xp.median(values))
    return float((xp.abs(values - middle) <= _EVEN * abs(middle)).mean()) >= 0.5


def _stretches(column: Any) -> list[F64]:
    """Return a short column, or eight stretches of a long one, on the host."""
    n = len(column)
    if n <= _WHOLE:
        return [_finite(column)]
    starts = np.linspace(0, n - _STRETCH, 8).astype(int)
    return [_finite(column[s : s + _STRETCH]) for s in starts]


def _trend(column: Any) -> F64:
    """Return every so many rows of a column, at most about 4096, on the host."""
    return _finite(column[:: max(1, len(column) // 4096)])


def _finite(column: Any) -> F64:
    """Return values on the host, NaN for those that are infinite, or so large that their differences may be."""
    values = np.asarray(host_array(column), np.float64)
    return np.where(np.abs(values) < IMPOSSIBLE, values, np.nan)
