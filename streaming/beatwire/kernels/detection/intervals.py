"""Bodies that store the beats of a lane: their intervals, and the stretches in which no beat may be.

In:    the R of a beat; stretches in which no beat may be
Out:   the interval of a beat, and the median of the last ones
State: int64 ``state[lane, BEAT_STATE_COLUMNS]``

Quiet stretches that are less than two margins apart are stored as one. So the ``QUIET_STRETCHES`` stored ones reach
farther back than any peak that is still undecided.
"""

import math

from beatwire.kernels.detection.fast_rhythm import FAST_COLUMNS
from beatwire.kernels.short_times import RANGE, TIME_BITS, since
from beatwire.kernels.team import narrow
from beatwire.records import F64, I32, I64
from beatwire.records.columns import (
    BEAT_DISTURBANCE,
    BEAT_ERRORS,
    BEAT_MEDIAN_RR,
    BEAT_PEAK,
    BEAT_QUALITY,
    BEAT_R,
    BEAT_RESPONSE,
    BEAT_RESTART,
    BEAT_RR,
    LONGEST_RR,
    QUIET_LANE,
    QUIET_START,
    QUIET_STOP,
    RATE_WINDOW,
)
from beatwire.records.selection import BeatSettings

QUIET_STRETCHES = 8  # stored of a lane
INTERVALS = 8  # stored of a lane: the rate is the median of these
NO_INTERVAL = (1 << 31) - 1  # longer than any interval
LONG_AGO = 1 << 27  # samples, longer than intervals are read for; ``INTERVALS`` times this is a time in 32 bits

# Columns of the state:
#   LAST_R          sample of the last beat, -1: none
#   INTERVAL_COUNT  intervals stored so far
#   QUIET_COUNT     quiet stretches stored so far
#   FIRST_QUIET     ``QUIET_STRETCHES`` pairs [start, stop) of samples in which no beat may be
#   FIRST_INTERVAL  ``INTERVALS`` beats: the lower 32 bits of the sample of each, and above them its RR in samples
#   HAS_RESTARTED   1 if the lane began after its last beat
#   FIRST_FAST      columns of ``kernels.detection.fast_rhythm``
LAST_R, INTERVAL_COUNT, QUIET_COUNT, FIRST_QUIET = range(4)
FIRST_INTERVAL = FIRST_QUIET + 2 * QUIET_STRETCHES
HAS_RESTARTED = FIRST_INTERVAL + INTERVALS
FIRST_FAST = HAS_RESTARTED + 1
BEAT_STATE_COLUMNS = FIRST_FAST + FAST_COLUMNS


def add_quiet(state: I64, start: int, stop: int, margin: int) -> None:
    """Store a stretch of a lane in which no beat may be, in place of the oldest one."""
    for k in range(min(QUIET_STRETCHES, int(state[QUIET_COUNT]))):
        at = FIRST_QUIET + 2 * k
        if start - margin <= state[at + 1] + margin and state[at] - margin <= stop + margin:
            state[at] = min(start, int(state[at]))
            state[at + 1] = max(stop, int(state[at + 1]))
            return
    at = FIRST_QUIET + 2 * (int(state[QUIET_COUNT]) % QUIET_STRETCHES)
    state[at] = start
    state[at + 1] = stop
    state[QUIET_COUNT] += 1


def is_quiet(state: I64, quiet: I64, begin: int, end: int, sample: int, margin: int) -> bool:
    """Return True if ``sample`` is within ``margin`` of a quiet stretch, stored or in rows ``[begin, end)``."""
    for k in range(min(QUIET_STRETCHES, int(state[QUIET_COUNT]))):
        if state[FIRST_QUIET + 2 * k] - margin <= sample < state[FIRST_QUIET + 2 * k + 1] + margin:
            return True
    for k in range(begin, end):
        if quiet[k, QUIET_START] - margin <= sample < quiet[k, QUIET_STOP] + margin:
            return True
    return False


def is_too_near(state: I64, sample: int, apart: int) -> bool:
    """Return True if ``sample`` is at most ``apart`` after the last beat, or before it: it is the same beat."""
    return bool(state[LAST_R] >= 0 and sample - state[LAST_R] <= apart)


def is_interrupted(state: I64, quiet: I64, begin: int, end: int, sample: int) -> bool:
    """Return True if a quiet stretch began between the last beat and ``sample``."""
    for k in range(min(QUIET_STRETCHES, int(state[QUIET_COUNT]))):
        if state[LAST_R] < state[FIRST_QUIET + 2 * k] <= sample:
            return True
    for k in range(begin, end):
        if state[LAST_R] < quiet[k, QUIET_START] <= sample:
            return True
    return False


def store_interval(state: I64, quiet: I64, begin: int, end: int, r: int, longest: int) -> float:
    """Store the beat at ``r`` and its interval, and return the interval in samples; NaN if it is unknown.

    It is unknown if it is longer than ``longest`` or a quiet stretch began in it.
    """
    interval = math.nan
    near = state[LAST_R] >= 0 and r - state[LAST_R] <= longest
    if r - state[LAST_R] > LONG_AGO:
        state[INTERVAL_COUNT] = 0
    if near and not is_interrupted(state, quiet, begin, end, r):
        interval = float(r - state[LAST_R])
        at = FIRST_INTERVAL + int(state[INTERVAL_COUNT]) % INTERVALS
        state[at] = ((r - int(state[LAST_R])) << TIME_BITS) | (r & (RANGE - 1))
        state[INTERVAL_COUNT] += 1
    state[LAST_R] = r
    return interval


def median_interval(state: I64, r: int, window: int, values: I32) -> float:
    """Return the median of the last intervals of the beats in the ``window`` up to sample ``r``; NaN without any.

    ``values`` [INTERVALS or more] is scratch. A median is found by counting: it is the largest value such that at most
    half of the others are below it.
    """
    n = min(INTERVALS, int(state[INTERVAL_COUNT]))
    used = 0
    for p in range(INTERVALS):
        beat = int(state[FIRST_INTERVAL + p])
        counts = p < n and since(r, beat) <= window
        values[p] = narrow(beat >> TIME_BITS) if counts else narrow(NO_INTERVAL)
        used += counts
    if used == 0:
        return math.nan
    lower = upper = 0
    for p in range(n):
        below = narrow(0)
        for q in range(INTERVALS):
            below = narrow(below + (values[q] < values[p]))
        if values[p] < NO_INTERVAL and below <= (used - 1) // 2:
            lower = max(lower, int(values[p]))
        if values[p] < NO_INTERVAL and below <= used // 2:
            upper = max(upper, int(values[p]))
    return 0.5 * (lower + upper)


def write_beat(
    r: int, c: int, response: float, quality: float, errors: float, disturbance: float, row: I64, quiet: I64,
    begin: int, end: int, settings: BeatSettings, work: I32, ints: I64, floats: F64,
) -> None:  # fmt: skip
    """Write the beat at ``r``, of the peak at ``c``, and store its interval."""
    ints[BEAT_R] = r
    ints[BEAT_PEAK] = c
    ints[BEAT_RESTART] = row[HAS_RESTARTED]
    row[HAS_RESTARTED] = 0
    floats[BEAT_RR] = store_interval(row, quiet, begin, end, r, int(settings.durations[LONGEST_RR]))
    floats[BEAT_MEDIAN_RR] = median_interval(
        row, r, int(settings.durations[RATE_WINDOW]), work[2]
    )  # not ``work[0]``: others mark the next R
    floats[BEAT_RESPONSE] = response
    floats[BEAT_QUALITY] = quality
    floats[BEAT_ERRORS] = errors
    floats[BEAT_DISTURBANCE] = disturbance


def store_quiet(i: int, quiet: I64, margin: int, state: I64) -> None:
    """Store the quiet stretches of a lane in its state, where row ``i`` is the lane's first."""
    if i > 0 and quiet[i, QUIET_LANE] == quiet[i - 1, QUIET_LANE]:
        return
    k = i
    while k < quiet.shape[0] and quiet[k, QUIET_LANE] == quiet[i, QUIET_LANE]:
        add_quiet(state[quiet[k, QUIET_LANE]], int(quiet[k, QUIET_START]), int(quiet[k, QUIET_STOP]), margin)
        k += 1
