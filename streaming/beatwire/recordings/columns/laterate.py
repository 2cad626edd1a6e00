"""The likely rate of times that may be late, early or shared by rows, and the samples that are missing.

In:  the rows whose times are exact, int64 [n], and these times in seconds, float64 [n]
Out: the rate in Hz, and the missing samples before each of the rows but the first

How far the clock is ahead of the rows, in samples, rises by a gap and stays there; a late row is ahead only until later
rows make up for it.
"""

from typing import Any

import numpy as np

from beatwire.recordings.columns.lattice import Spacing
from beatwire.recordings.columns.rounded import Rounded
from beatwire.records import F64, I64
from beatwire.tables import array_module, host_array

COMMON_HZ = (100, 125, 128, 130, 200, 250, 256, 257, 300, 360, 400, 480, 500, 512, 600, 977, 1000, 1024, 2000, 2048)
_LAST_ROWS = 16  # no later rows can make up for a late row among the last, at least: only a long step is a gap
_MANY = 1e-3  # of the rows: with so many missing samples another rate may fit the times better
_FIRM = 0.4  # samples: with less jitter a gap of one sample is certain, and the rate after it
_SURE = 0.012  # with less difference the rate over windows is that without gaps, and more exact than that of steps
_SAME = 0.001  # without a gap, steps whose rate differs by more from that of all rows are rounded, not exact


def likely_spacing(rows: I64, times: F64, rounded: Rounded | None, coarse: bool) -> Spacing:
    """Return rate, missing samples and jitter of times that may be late, early, or shared by rows."""
    rough_hz = rounded.rate_hz if rounded else _rough_rate(rows, times)
    missing, jitter = _missing(rows, times, rough_hz, rounded.unit_s * rough_hz if rounded and coarse else 0.0)
    rate_hz = even_rate(rows, times, missing, rough_hz)
    same = _SAME if rounded else min(_SAME, 1.0 / float(rows[-1] - rows[0]))
    if coarse and jitter < 0.5 and (bool(missing.any()) or abs(rate_hz / rough_hz - 1) < same):
        rate_hz = rough_hz if rounded else _unbroken_rate(rows, times, missing, rough_hz)
    is_open = rounded is None and jitter <= _FIRM
    if is_open and (abs(rate_hz / rough_hz - 1) > 2e-4 or int(missing.sum()) > _MANY * len(rows)):
        least = _unevenness(rows, times, missing, rate_hz)
        for tried_hz in (rate_hz, *(hz for hz in COMMON_HZ if abs(hz / rough_hz - 1) < 0.03)):
            found, _ = _missing(rows, times, tried_hz)
            even_hz = even_rate(rows, times, found, tried_hz)
            uneven = _unevenness(rows, times, found, even_hz)
            if uneven < 0.9 * least:
                missing, rate_hz, least = found, even_hz, uneven
    return Spacing(rate_hz, missing, jitter)


def _rough_rate(rows: I64, times: F64) -> float:
    """Return the rate over most of the rows: gaps and jitter do not count."""
    xp = array_module(times)
    steps, apart = xp.diff(times), xp.diff(rows)
    middle = float(xp.nanmedian(apart / xp.where(steps > 0, steps, np.nan)))
    near = xp.abs(steps * middle - apart) < (1.01 + 0.02 * apart if bool((apart > 1).any()) else 0.75)
    by_windows = []
    for window in (32, 128, 512):
        if len(times) > 4 * window or window == 32:
            w = min(window, max(1, (len(times) - 1) // 4))
            by_windows.append(float(xp.median((rows[w:] - rows[:-w]) / xp.maximum(times[w:] - times[:-w], 1e-9))))
    wide = float(xp.median(xp.abs(steps * middle - apart))) > _FIRM and not bool((apart > 1).any())
    if wide or float(near.mean()) < (0.4 if bool((apart > 1).any()) else 0.7):
        return max(by_windows)  # a gap in most windows makes the rate smaller
    by_steps = float(apart[near].sum() / steps[near].sum())
    return max(by_windows) if abs(max(by_windows) / by_steps - 1) < _SURE else by_steps


def even_rate(rows: I64, times: F64, missing: I64, rough_hz: float) -> float:
    """Return the rate from a row near the beginning to a row near the end, neither of which is late."""
    xp = array_module(times)
    index = rows.astype(np.float64)
    index[1:] += xp.cumsum(missing)
    ahead = times * rough_hz - index
    few = max(1, min(256, len(times) // 8))
    first, last = int(xp.argmin(ahead[:few])), len(times) - few + int(xp.argmin(ahead[-few:]))
    return float((index[last] - index[first]) / (times[last] - times[first])) if last > first else rough_hz


def _unbroken_rate(rows: I64, times: F64, missing: I64, rough_hz: float) -> float:
    """Return the rate over the most rows between two gaps; ``rough_hz`` where these are too few to be better."""
    xp = array_module(times)
    ends = xp.concatenate([xp.array([-1]), xp.flatnonzero(missing), xp.array([len(missing)])])
    k = int(xp.diff(ends).argmax())
    first, last = int(ends[k]) + 1, int(ends[k + 1])
    if int(rows[last] - rows[first]) * _SAME < 1.0:
        return rough_hz
    return even_rate(rows[first : last + 1], times[first : last + 1], missing[first:last], rough_hz)


def _unevenness(rows: I64, times: F64, missing: I64, rate_hz: float) -> float:
    """Return how far the times are from those of samples at an even rate, in samples, on average."""
    xp = array_module(times)
    index = rows.astype(np.float64)
    index[1:] += xp.cumsum(missing)
    ahead = (times - times[0]) * rate_hz - index
    return float(xp.abs(ahead - xp.median(ahead)).mean())


def _missing(rows: I64, times: F64, rate_hz: float, unit: float = 0.0) -> tuple[I64, float]:
    """Return the number of missing samples before each point but the first, int64 [points - 1], and the jitter.

    ``unit`` is what the times of packets are rounded to, in samples: a gap is longer.
    """
    xp = array_module(times)
    steps = xp.diff(times) * rate_hz
    apart = xp.diff(rows)
    missing: I64 = xp.zeros(len(steps), np.int64)
    excess = steps - apart
    ahead = _without_single_dips((times - times[0]) * rate_hz - (rows - rows[0]))
    jitter = jitter_of(excess)
    together = float(xp.median(apart))  # rows
    needed = max(shortest_gap(together, jitter), unit)
    at = host_array(xp.flatnonzero(excess >= needed))
    least = max(0.0, -float(xp.median(excess)))  # by so much rounded times fall behind the rows, step by step
    last = max(1, _LAST_ROWS // together, 1.0 / least if least > 1.0 / len(steps) else 0.0)
    at = at[(at < len(steps) - last) | (host_array(excess[at]) > 0.1 * rate_hz + unit)]
    if len(at) == 0:
        return missing, jitter
    window = int(min(max(16, rate_hz / together), max(16, len(times) // 8)))
    after = host_array(_least_ahead(ahead, window))
    level = host_array(_least_ahead(ahead[::-1], window))[::-1]  # the least of the points up to each
    plausible = at[after[at + 1] - level[at] >= needed]
    ahead_host = host_array(ahead)
    found = np.zeros(len(steps), np.int64)
    begin = 0  # of the points since the gap before
    for k in plausible.tolist():
        gap = float(after[k + 1] - ahead_host[max(begin, k + 1 - window) : k + 1].min())
        if gap >= needed:
            found[k] = max(1, round(gap))
            begin = k + 1
    missing[:] = xp.asarray(found)
    return missing, jitter


def jitter_of(excess: Any) -> float:
    """Return the jitter of a clock, in samples: how unequally it gains on the rows, [steps]."""
    xp = array_module(excess)
    return 1.4826 * float(xp.median(xp.abs(excess - float(xp.median(excess)))))


def shortest_gap(together: float, jitter: float) -> float:
    """Return by how many samples a clock is ahead where samples are missing, at least.

    >>> shortest_gap(1, 0.0), shortest_gap(73, 2.0)
    (0.5, 4.5)
    """
    return (0.5 if together == 1 else 1.5) + 1.5 * jitter


def _without_single_dips(values: Any) -> Any:
    """Return values without one that is below both of its neighbours: a time that is written twice, a row too early."""
    xp = array_module(values)
    out = values.copy()
    out[1:-1] = xp.maximum(values[1:-1], xp.minimum(values[:-2], values[2:]))
    return out


def _least_ahead(values: Any, window: int) -> Any:
    """Return the least of each value and the ``window - 1`` after it."""
    xp = array_module(values)
    least, reach = values.copy(), 1
    while reach < window:
        by = min(reach, window - reach)
        least[:-by] = xp.minimum(least[:-by].copy(), least[by:].copy())
        reach += by
    return least
