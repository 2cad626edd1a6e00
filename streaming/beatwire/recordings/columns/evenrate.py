"""The even sampling rate of uneven times, and the gaps: the rows are samples at equal distances.

In:  float64 [n], the time of each row in seconds: exact, rounded, late, early, or shared by the rows of a packet
Out: the rate in Hz; int64 [n], the sample index of each row, if there are gaps

A clock that is coarser than the sampling interval is exact where it changes; only those rows are used. How far the
clock is ahead of the rows, in samples, rises by a gap and stays there; a late row is ahead only until later rows make
up for it.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.falls import without_falls
from beatwire.recordings.columns.lattice import Lattice, lattice_of
from beatwire.recordings.columns.rounded import Rounded, rounded_rate
from beatwire.records import F64, I64
from beatwire.tables import array_module, host_array

_LONGEST_GAP_S = 86400.0  # a day without samples is another recording
_HOUR_S = 3600.0
_COMMON_HZ = (100, 125, 128, 130, 200, 250, 256, 257, 300, 360, 400, 480, 500, 512, 600, 977, 1000, 1024, 2000, 2048)
_LAST_ROWS = 16  # no later rows can make up for a late row among the last, at least: only a long step is a gap
_AT_ONCE = 0.4  # of the rows are written with the one before, where there are packets
_SMALLEST_PACKET = 3
_MANY = 1e-3  # of the rows: with so many missing samples another rate may fit the times better
_FIRM = 0.4  # samples: with less jitter a gap of one sample is certain, and the rate after it
_SURE = 0.012  # with less difference the rate over windows is that without gaps, and more exact than that of steps
_SAME = 0.001  # without a gap, steps whose rate differs by more from that of all rows are rounded, not exact
_PARTS = 64  # of a recording, whose rates are compared
_PART_S = 3.0  # the shortest part
_UNEVEN_S, _UNEVEN = 0.4, 0.05  # a part may be so much longer or shorter, in seconds, and of its length
_BENT = 0.02  # so much of the whole
_TOLERANCE = 0.01  # between the rate of the user and that of the times


def rate_and_positions(
    where: str, name: str, seconds: F64, fs: float | None
) -> tuple[float, I64 | None, tuple[str, ...]]:
    """Return the sampling rate of a time column and the sample index of each row.

    Returns
    -------
    rate_hz, position, notes
        ``position`` is int64 [rows], strictly rising; None if there is no gap.

    Raises
    ------
    UserError
        ``fs`` differs by more than 1 % from the rate of times that are fine enough to measure it, or a gap is longer
        than a day.
    """
    xp = array_module(seconds)
    seconds, notes = without_falls(name, seconds)
    rows, times = _exact_points(seconds)
    coarse = len(rows) < len(seconds)
    if len(rows) < 3 and coarse:
        if fs is None:
            raise UserError(
                f"{where}: expected a sampling rate; the times of column {name!r} change too rarely to measure it: "
                "give --fs, in Hz"
            )
        rarely = f"the times of column {name!r} change too rarely to measure the rate: {fs:g} Hz as given"
        return fs, None, (*notes, rarely)
    rounded = rounded_rate(rows, times, fs)
    grid = None if coarse or rounded else lattice_of(times)
    if grid:
        rate_hz, missing, jitter = grid
    else:
        rate_hz, missing, jitter = _likely(rows, times, rounded, coarse)
    _check_one_rate(where, name, rows, times, missing, rate_hz)
    lost = int(missing.sum())
    duration_s = float(times[-1] - times[0])
    samples = float(rows[-1] - rows[0])
    rate_hz = nominal_rate(rate_hz, (1.0 + 4.0 * jitter) / samples)
    if fs is not None:
        if abs(fs - rate_hz) > _TOLERANCE * rate_hz:
            if not coarse:
                raise UserError(
                    f"{where}: expected --fs {rate_hz:g}, the rate of its time column {name!r}, or no --fs; "
                    f"got --fs {fs:g}"
                )
            every_s = duration_s / len(rows)
            rarely = f"column {name!r} changes only every {every_s:.3g} s: {fs:g} Hz as given, not {rate_hz:.5g}"
            return fs, None, (*notes, rarely)
        rate_hz = fs
    gaps = int((missing > 0).sum())
    if gaps == 0:
        return rate_hz, None, notes
    steps = xp.diff(times)
    k = int(steps.argmax())
    if steps[k] > _LONGEST_GAP_S:
        got = f"{float(steps[k]):.0f} s after row {int(rows[k]) + 1}"
        raise UserError(f"{where}: expected gaps shorter than a day in column {name!r}; got {got}")
    added = xp.zeros(len(seconds), np.int64)
    added[rows[1:]] = missing
    position = xp.arange(len(seconds)) + xp.cumsum(added)
    gap_note = f"{gaps} gap{'s'[: gaps > 1]} in its times, {lost / rate_hz:.3g} s without samples"
    return rate_hz, position, (*notes, gap_note, *_summer_note(steps, times))


def _summer_note(steps: F64, times: F64) -> tuple[str, ...]:
    """Return a note if a gap is as long as an hour and ends at a full one: a clock may have been set to summer time."""
    near_s = max(0.1, 2.0 * float(array_module(steps).median(steps)))
    is_hour = (abs(steps - _HOUR_S) <= near_s) & (times[1:] % _HOUR_S <= near_s)
    if not bool(is_hour.any()):
        return ()
    return (
        "a gap of 3600 s ends at a full hour: if summer time began there, no sample is missing (give times of UTC)",
    )


def _exact_points(seconds: F64) -> tuple[I64, F64]:
    """Return the rows whose times are exact, and these times: all, or the first of each packet or time."""
    xp = array_module(seconds)
    pauses = _pauses(seconds)
    if pauses is not None:
        return pauses + 1, seconds[pauses + 1]
    steps = xp.diff(seconds)
    rows: I64 = xp.arange(len(seconds))
    if float((steps == 0).mean()) < 0.1:  # a few rows share a time
        return rows, seconds
    rows = xp.flatnonzero(steps) + 1
    return rows, seconds[rows]


def _likely(rows: I64, times: F64, rounded: Rounded | None, coarse: bool) -> Lattice:
    """Return rate, missing samples and jitter of times that may be late, early, or shared by rows."""
    rough_hz = rounded.rate_hz if rounded else _rough_rate(rows, times)
    missing, jitter = _missing(rows, times, rough_hz, rounded.unit_s * rough_hz if rounded and coarse else 0.0)
    rate_hz = even_rate(rows, times, missing, rough_hz)
    if coarse and jitter < 0.5 and (bool(missing.any()) or abs(rate_hz / rough_hz - 1) < _SAME):
        rate_hz = rough_hz
    is_open = rounded is None and jitter <= _FIRM
    if is_open and (abs(rate_hz / rough_hz - 1) > 2e-4 or int(missing.sum()) > _MANY * len(rows)):
        least = _unevenness(rows, times, missing, rate_hz)
        for tried_hz in (rate_hz, *(hz for hz in _COMMON_HZ if abs(hz / rough_hz - 1) < 0.03)):
            found, _ = _missing(rows, times, tried_hz)
            even_hz = even_rate(rows, times, found, tried_hz)
            uneven = _unevenness(rows, times, found, even_hz)
            if uneven < 0.9 * least:
                missing, rate_hz, least = found, even_hz, uneven
    return Lattice(rate_hz, missing, jitter)


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


def _unevenness(rows: I64, times: F64, missing: I64, rate_hz: float) -> float:
    """Return how far the times are from those of samples at an even rate, in samples, on average."""
    xp = array_module(times)
    index = rows.astype(np.float64)
    index[1:] += xp.cumsum(missing)
    ahead = (times - times[0]) * rate_hz - index
    return float(xp.abs(ahead - xp.median(ahead)).mean())


def _check_one_rate(where: str, name: str, rows: I64, times: F64, missing: I64, rate_hz: float) -> None:
    """Raise UserError if the rate of a part of the rows is another one. Late rows do not count."""
    xp = array_module(times)
    parts = int(min(_PARTS, (times[-1] - times[0]) // _PART_S, len(times) // 64))
    if parts < 2:
        return
    index = rows.astype(np.float64)
    index[1:] += xp.cumsum(missing)
    ahead = times - index / rate_hz  # seconds
    at = np.linspace(0, len(times), parts + 1).astype(int)
    least = np.array([float(ahead[a:b].min()) for a, b in pairwise(at.tolist())])
    length_s = host_array(times)[at[1:-1]] - host_array(times)[at[:-2]]
    bent = np.abs(least - np.linspace(least[0], least[-1], parts))
    is_even = (np.abs(np.diff(least)) <= _UNEVEN_S + _UNEVEN * length_s).all()
    if is_even and bent.max() <= _UNEVEN_S + _BENT * float(times[-1] - times[0]):
        return
    bend = 1 + int(np.argmax(bent[1:-1])) if parts > 2 else 1
    ends = (0, int(at[bend]), len(times) - 1)
    hz = [float((index[b] - index[a]) / (times[b] - times[a])) for a, b in pairwise(ends)]
    raise UserError(
        f"{where}: expected one sampling rate; the times of column {name!r} give {hz[0]:.4g} Hz up to row "
        f"{int(rows[at[bend]]) + 1} and {hz[1]:.4g} Hz after it"
    )


def _pauses(seconds: F64) -> I64 | None:
    """Return the steps before packets whose rows are written at once, at their arrival; None if there are none.

    Most steps are short, and long ones come after equally many rows.
    """
    xp = array_module(seconds)
    steps, window = xp.diff(seconds), min(512, max(1, len(seconds) // 4))
    even = float(xp.median(seconds[window:] - seconds[:-window])) / window
    if float((steps < 0.5 * even).mean()) < _AT_ONCE:
        return None
    pauses: I64 = xp.flatnonzero(steps > 1.5 * even)
    between = xp.diff(pauses)
    if len(between) < 5:
        return None
    middle = float(xp.median(between))
    is_regular = middle >= _SMALLEST_PACKET and float((xp.abs(between - middle) <= 0.2 * middle).mean()) > 0.7
    return pauses if is_regular else None


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


def nominal_rate(rate_hz: float, tolerance: float) -> float:
    """Return the nearest common or integer rate if the times cannot tell the two apart, else the measured rate."""
    for near in (min(_COMMON_HZ, key=lambda hz: abs(hz - rate_hz)), round(rate_hz)):
        if abs(near - rate_hz) <= max(2e-4, tolerance) * rate_hz:
            return float(near)
    return rate_hz
