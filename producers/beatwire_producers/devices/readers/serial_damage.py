"""The numbers that place lines of a port, a count or a clock: those that are damaged are mended from their neighbours.

In:  the numbers of lines that have come, float64 [n]; NaN where a line has none
Out: the same of the lines that are settled; NaN where there is no room for a sample
State: the number of the last line

A number is damaged if the one after it goes on where the one before it ended. Until that one has come, the line waits.
A count that begins again, a clock that was set and a gap are no damage: there the next number goes on from this one.
"""

import numpy as np
from beatwire.records import F64

_NEAR, _ROOM = 0.5, 1.5  # steps: so near is the next number; from one number to the next but one
_AFTER = 4  # lines that are looked at for the next number


class Rising:
    """Numbers that rise line by line.

    Parameters
    ----------
    step
        By which they rise.
    may_stay
        Lines that follow each other may have one number, as times of a coarse clock.
    """

    def __init__(self, step: float, *, may_stay: bool) -> None:
        self._step, self._least = step, -_NEAR * step if may_stay else (1 - _NEAR) * step
        self._last = np.nan

    def settled(self, numbers: F64, *, all_came: bool) -> F64:
        """Return the numbers of the first lines, those that are settled; ``all_came``: nothing is waited for.

        >>> rising = Rising(1, may_stay=False)
        >>> settled = rising.settled(np.array([7, 8, 90, 10, 11, np.nan, 12, 15]), all_came=False)
        >>> rising.passed(settled)
        >>> settled.tolist(), rising.settled(np.array([15.0, 16.0, 0.0, 1.0]), all_came=False).tolist()
        ([7.0, 8.0, 9.0, 10.0, 11.0, nan, 12.0], [15.0, 16.0, 0.0, 1.0])
        """
        settled, step, last = numbers.copy(), self._step, self._last
        for k, number in enumerate(numbers):
            if not (self._least < number - last < (1 + _NEAR) * step) and np.isfinite(last):
                ahead = np.flatnonzero(np.isfinite(numbers[k + 1 : k + 1 + _AFTER]))
                if len(ahead):
                    lines = int(ahead[0]) + 1
                    after = float(numbers[k + lines])
                    goes_on = abs(after - number - lines * step) <= abs(after - last - (lines + 1) * step)
                    if not (goes_on or last < number < after):
                        settled[k] = last + step if last + _ROOM * step <= after else np.nan
                elif not all_came:
                    return settled[:k]
            if np.isfinite(settled[k]):
                last = float(settled[k])
        return settled

    def passed(self, settled: F64) -> None:
        """Take settled numbers as those of the lines that came before."""
        known = settled[np.isfinite(settled)]
        self._last = float(known[-1]) if len(known) else self._last
