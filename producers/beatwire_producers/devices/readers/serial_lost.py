"""Single lines of a port that are lost, by an even clock in each line.

In:  the times of lines, float64 [n]; NaN where a line has none
Out: how many are missing before each line
State: the time of the last line, and the lines since

What is missing is found line by line: a place that follows the clock slowly takes one lost line after the other for a
clock that is slow. Longer holes are left to the places of packets.
"""

import numpy as np
from beatwire.records import F64, I64, Bool

_LONG = 1.6  # usual steps: a line is lost
_EVEN, _USUAL = 0.35, 0.98  # an even clock: so near to the usual step, in steps, are so many of them
_MOST_S = 0.1  # of lines that are missing at once


class EvenClock:
    """A clock whose steps are even, or rounded ones of such a clock.

    Parameters
    ----------
    times
        Of the first lines.
    per_s
        Units of the clock in a second.

    Attributes
    ----------
    step : float
        From line to line; 0: the clock is not even, and shows nothing.
    """

    def __init__(self, times: F64, per_s: float) -> None:
        steps = np.diff(times)
        steps = steps[np.isfinite(steps)]
        usual = steps[steps < _LONG * np.median(steps)] if len(steps) else steps
        step = float(usual.mean()) if len(usual) else 0.0
        is_even = step > 0 and float((np.abs(usual - step) < _EVEN * step).mean()) >= _USUAL
        self.step = step if is_even else 0.0
        self._most = max(1, round(_MOST_S * per_s / step)) if is_even else 0
        self._last, self._since = np.nan, 0

    def missing(self, times: F64) -> I64:
        """Return how many lines are missing before each of the next ones.

        >>> clock = EvenClock(np.arange(0.0, 400.0, 4.0), 1000.0)
        >>> clock.missing(np.array([400.0, 404.0, 412.0, np.nan, 424.0, 4000.0])), clock.missing(np.array([4008.0]))
        (array([0, 0, 1, 0, 1, 0]), array([1]))
        """
        lost = np.zeros(len(times), np.int64)
        if not self.step:
            return lost
        for k, time in enumerate(times.tolist()):
            self._since += 1
            if np.isfinite(time):
                missing = (time - self._last) / self.step - self._since
                if 0.5 < missing < self._most + 0.5:
                    lost[k] = round(missing)
                self._last, self._since = time, 0
        return lost

    def with_lost(self, values: F64, clock: int) -> tuple[F64, Bool]:
        """Return lines, [n, columns], with one more for each that is missing, of its time; and which these are.

        >>> EvenClock(np.arange(9.0), 1000.0).with_lost(np.array([[9.0, 5.0], [12.0, 6.0]]), 0)[0].tolist()
        [[9.0, 5.0], [10.0, 6.0], [11.0, 6.0], [12.0, 6.0]]
        """
        lost = self.missing(values[:, clock])
        behind = np.repeat(np.arange(len(values)), lost + 1)  # the line itself is the last of its own
        until = np.cumsum(lost + 1)[behind] - 1 - np.arange(len(behind))
        made = values[behind]
        made[:, clock] -= until * self.step
        return made, until > 0
