"""What a clock says about samples: the line of a clock, sample by sample, as packets arrive.

In:  index of the first sample of a packet, and its time, in seconds
Out: how far the clock is ahead of the samples; the time of any sample; the jitter; the true rate
State: the last second of points, and for two minutes the point of each second that is least ahead

It is the online form of ``beatwire.recordings.columns.evenrate``, with its words and thresholds. A late packet is ahead
of the line, and no packet is behind it for long: the *level* is the least of the last second. What the clock is ahead
of the level rises where samples are missing, and stays there.
"""

from collections import deque

import numpy as np
from beatwire.recordings.columns.laterate import jitter_of, shortest_gap
from beatwire.recordings.columns.rounded import unit_of

_LEVEL_S, _LEVEL_POINTS = 1.0, 16  # the points that the level is the least of: both at least
_MOST_POINTS = 512
_BLOCK_S, _BLOCKS, _FEWEST_BLOCKS = 1.0, 120, 16
_STEPS, _FEWEST_STEPS = 64, 8
_MOST = 0.01  # a rate that is further from the stated one is another rate
_AT_ONCE = 4  # packets in a row that may come with the one before: of more there was a stall, which is no jitter
_AGAIN = 16  # packets between two computations of the jitter, and of the unit
_SHOWS = 0.01  # of the unit, by which steps are longer or shorter than their samples
_COARSEST_S = 0.1  # a clock that is coarser is looked at as one that is set all the time
_SPANS = ((365.25 * 86400.0, "years"), (86400.0, "days"), (3600.0, "h"), (60.0, "min"), (0.0, "s"))


class ClockLine:
    """A line through the times of samples.

    Parameters
    ----------
    rate_hz
        The stated rate.
    jitter
        The jitter until it is measured, samples.

    Attributes
    ----------
    hz : float
        Samples per second of this clock.
    """

    def __init__(self, rate_hz: float, jitter: float) -> None:
        self.rate_hz = self.hz = rate_hz
        self._jitter = jitter
        self._zero: tuple[int, float] | None = None  # a sample and its time
        self._points: deque[tuple[int, float]] = deque()
        self._lowest: deque[tuple[float, tuple[int, float]]] = deque()  # points below all later ones: see `_rebuild`
        self._last = 0.0  # `raw` of the last point
        self._blocks: deque[tuple[int, float]] = deque(maxlen=_BLOCKS)
        self._least: tuple[float, tuple[int, float]] | None = None  # of the block that is not over, with its `raw`
        self._block_from = 0
        self._steps: deque[float] = deque(maxlen=_STEPS)
        self._at_once = 0  # packets in a row that came with the one before
        self._seen, self._unit_s = 0, 0.0
        self._jitter_at = _FEWEST_STEPS + 1  # packets, when it is computed again

    def raw(self, index: int, time_s: float) -> float:
        """Return how far a time is ahead of a sample, in samples, from an arbitrary zero."""
        zero, zero_s = self._zero if self._zero is not None else (index, time_s)
        return (time_s - zero_s) * self.hz - (index - zero)

    @property
    def level(self) -> float:
        """The least of :meth:`raw` in the last second."""
        return self._lowest[0][0] if self._lowest else 0.0

    @property
    def long_level(self) -> float:
        """The least of :meth:`raw` in the last two minutes."""
        least = self.level if self._least is None else min(self._least[0], self.level)
        return min([self.raw(i, t) for i, t in self._blocks] + [least])

    @property
    def last(self) -> float:
        """:meth:`raw` of the last point."""
        return self._last

    @property
    def jitter(self) -> float:
        """How unequally the clock gains on the samples, in samples."""
        if self._seen >= self._jitter_at:
            self._jitter_at = self._seen + _AGAIN
            self._jitter = jitter_of(np.array(self._steps))
        return self._jitter

    def shortest_gap(self, together: int) -> float:
        """Return how far the clock is ahead where samples are missing, at least; for packets of so many samples.

        A clock that is rounded gains a unit on the samples at times.
        """
        return max(shortest_gap(together, self.jitter), 1.01 * self._unit_s * self.hz)

    def add(self, index: int, time_s: float) -> None:
        """Add a packet that belongs to the line."""
        point, points, lowest = (index, time_s), self._points, self._lowest
        if self._zero is None:
            self._zero = point
            self._block_from = index
        ahead = (time_s - self._zero[1]) * self.hz - (index - self._zero[0])
        if points:
            gained = ahead - self._last
            self._at_once = self._at_once + 1 if 2 * gained < points[-1][0] - index else 0
            if self._at_once <= _AT_ONCE:
                self._steps.append(gained)
        self._last = ahead
        points.append(point)
        while lowest and lowest[-1][0] >= ahead:
            lowest.pop()
        lowest.append((ahead, point))
        oldest = index - _LEVEL_S * self.rate_hz
        while len(points) > _LEVEL_POINTS and (points[0][0] < oldest or len(points) > _MOST_POINTS):
            if points.popleft() is lowest[0][1]:
                lowest.popleft()
        if self._least is None or ahead < self._least[0]:
            self._least = ahead, point
        if index - self._block_from >= _BLOCK_S * self.rate_hz:
            self._end_block(index)
        self._seen += 1
        if self._seen < _AGAIN or self._seen % _AGAIN == 0:
            self._unit_s = self._rounded_to_s()

    def time_of(self, index: int) -> float:
        """Return the time of a sample, in seconds."""
        zero, zero_s = self._zero if self._zero is not None else (index, 0.0)
        return zero_s + (index - zero + self.level) / self.hz

    def set_to(self, index: int, time_s: float) -> None:
        """Begin the line anew, with what is known of rate and jitter: the clock was set."""
        self._zero = self._least = None
        self._points.clear()
        self._lowest.clear()
        self._blocks.clear()
        self.add(index, time_s)

    def _end_block(self, index: int) -> None:
        assert self._least is not None
        self._blocks.append(self._least[1])
        self._least, self._block_from = None, index
        if len(self._blocks) >= _FEWEST_BLOCKS:
            rows, times = (np.array(column) for column in zip(*self._blocks, strict=True))
            half = len(rows) // 2  # the median of slopes over half of the time (Theil and Sen): some blocks are late
            per_s = float(np.median((times[half:] - times[:-half]) / (rows[half:] - rows[:-half])))
            hz = 1.0 / per_s if per_s > 0 else self.rate_hz  # it stands still
            self.hz = min(max(hz, self.rate_hz * (1 - _MOST)), self.rate_hz * (1 + _MOST))
        self._zero = self._blocks[-1]
        self._rebuild()

    def _rebuild(self) -> None:
        """Compute how far the points are ahead, from another zero.

        Of these the ones that are less than all later ones are kept: the first is the least, and when it leaves the
        next one is.
        """
        self._lowest.clear()
        for point in self._points:
            self._last = self.raw(*point)
            while self._lowest and self._lowest[-1][0] >= self._last:
                self._lowest.pop()
            self._lowest.append((self._last, point))

    def _rounded_to_s(self) -> float:
        """Return what the times of the last second are rounded to, in seconds; 0: nothing that shows."""
        index, times = (np.array(column) for column in zip(*self._points, strict=True))
        steps_s = np.diff(times)
        unit_s = unit_of(steps_s)
        if unit_s is None or unit_s > _COARSEST_S:
            return 0.0
        gained_s = steps_s - np.diff(index) / self.hz
        shows = float(np.median(np.abs(gained_s))) > _SHOWS * unit_s or np.ptp(np.cumsum(gained_s)) > 0.5 * unit_s
        return unit_s if shows else 0.0


def span(seconds: float) -> str:
    """Return a length of time in a few digits.

    >>> span(7200.0), span(90.0), span(8.5e8), span(0.5)
    ('2 h', '1.5 min', '27 years', '0.5 s')
    """
    least, unit = next((least, unit) for least, unit in _SPANS if seconds >= least)
    return f"{seconds / (least or 1.0):.2g} {unit}"
