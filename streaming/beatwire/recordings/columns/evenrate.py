"""The even sampling rate of uneven times, and the gaps: the rows are samples at equal distances.

In:  float64 [n], the time of each row in seconds: exact, rounded, late, early, or shared by the rows of a packet
Out: the rate in Hz; int64 [n], the sample index of each row, if there are gaps

A clock that is coarser than the sampling interval is exact where it changes; only those rows are used.
"""

from itertools import pairwise

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.falls import without_falls
from beatwire.recordings.columns.laterate import COMMON_HZ, likely_spacing
from beatwire.recordings.columns.lattice import lattice_of
from beatwire.recordings.columns.rounded import rounded_rate
from beatwire.recordings.record import LONGEST_GAP_S
from beatwire.recordings.remarks import gaps_note
from beatwire.records import F64, I64
from beatwire.tables import array_module, host_array

_HOUR_S = 3600.0
_MINUTE_TURN, _HOUR_TURN = 40.0, 4040.0  # from second 59 to the next minute or hour, of hhmmss read as seconds
_AT_ONCE = 0.4  # of the rows are written with the one before, where there are packets
_SMALLEST_PACKET = 3
_PARTS = 64  # of a recording, whose rates are compared
_PART_S = 3.0  # the shortest part
_UNEVEN_S, _UNEVEN = 0.4, 0.05  # a part may be so much longer or shorter, in seconds, and of its length
_BENT = 0.02  # so much of the whole
_TOLERANCE = 0.01  # between the rate of the user and that of the times


def rate_and_positions(
    where: str, name: str, seconds: F64, fs: float | None, begins: I64 | None = None
) -> tuple[float, I64 | None, tuple[str, ...]]:
    """Return the sampling rate of a time column and the sample index of each row.

    Parameters
    ----------
    where, name
        For errors and notes.
    seconds
        The times.
    fs
        The rate that the user gave, in Hz.
    begins
        The row of each time, rising: the first of a packet. None: each row has a time.

    Returns
    -------
    rate_hz, position, notes
        ``position`` is int64 [times], strictly rising; None if there is no gap.

    Raises
    ------
    UserError
        ``fs`` differs by more than 1 % from the rate of times that are fine enough to measure it, a gap is longer
        than a day, or the times are hhmmss.
    """
    xp = array_module(seconds)
    seconds, notes = without_falls(name, seconds)
    exact, times = _exact_points(seconds)
    begins = xp.arange(len(seconds)) if begins is None else begins
    rows = begins[exact]
    coarse = len(rows) <= int(begins[-1])
    if len(rows) < 3 and coarse:
        if fs is None:
            raise UserError(
                f"{where}: expected a sampling rate; the times of column {name!r} change too rarely to measure it: "
                "give --fs, in Hz"
            )
        rarely = f"the times of column {name!r} change too rarely to measure the rate: {fs:g} Hz as given"
        return fs, None, (*notes, rarely)
    rounded = rounded_rate(rows, times, fs)
    grid = None if rounded else lattice_of(rows, times)
    if grid:
        rate_hz, missing, jitter = grid
    else:
        rate_hz, missing, jitter = likely_spacing(rows, times, rounded, coarse)
    _check_one_rate(where, name, rows, times, missing, rate_hz)
    lost = int(missing.sum())
    duration_s = float(times[-1] - times[0])
    samples = float(rows[-1] - rows[0])
    rate_hz = nominal_rate(rate_hz, ((0.0 if grid else 1.0) + 4.0 * jitter) / samples)
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
    if steps[k] > LONGEST_GAP_S:
        got = f"{float(steps[k]):.0f} s after row {int(rows[k]) + 1}"
        raise UserError(f"{where}: expected gaps shorter than a day in column {name!r}; got {got}")
    _check_that_it_is_seconds(where, name, steps, times)
    added = xp.zeros(len(seconds), np.int64)
    added[exact[1:]] = missing
    position = begins + xp.cumsum(added)
    gap_note = gaps_note(gaps, lost / rate_hz)
    return rate_hz, position, (*notes, gap_note, *_summer_note(steps, times))


def _check_that_it_is_seconds(where: str, name: str, steps: F64, times: F64) -> None:
    """Raise UserError if times are clock times without signs: 095959.996 and then 100000 are 4040 s apart."""
    near_s = max(0.1, 2.0 * float(array_module(steps).median(steps)))
    after = times[1:]
    is_minute = (abs(steps - _MINUTE_TURN) <= near_s) & (after % 100.0 <= near_s)
    is_hour = (abs(steps - _HOUR_TURN) <= near_s) & (after % 10_000.0 <= near_s)
    k = int((is_minute | is_hour).argmax())
    if (is_minute | is_hour)[k] and bool(((times % 100.0 < 60.0) & (times % 10_000.0 < 6_000.0)).all()):
        got = f"{float(times[k]):.10g} and then {float(after[k]):.10g}"
        raise UserError(f"{where}: expected seconds in column {name!r}; got {got}, as hhmmss: write hh:mm:ss")


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


def nominal_rate(rate_hz: float, tolerance: float) -> float:
    """Return the nearest common or integer rate if the times cannot tell the two apart, else the measured rate."""
    for near in (min(COMMON_HZ, key=lambda hz: abs(hz - rate_hz)), round(rate_hz)):
        if abs(near - rate_hz) <= max(2e-4, tolerance) * rate_hz:
            return float(near)
    return rate_hz
