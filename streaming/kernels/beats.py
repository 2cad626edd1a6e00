"""Bodies of the beats stage: which peaks are heartbeats, where their R is, and their intervals.

Lane state, int64 ``state[lane, column]``: 0 R of the last beat (-1: none), 1 intervals kept,
2 quiet stretches kept, then ``QUIET`` pairs [start, stop) where no beat may be, then ``KEPT``
pairs (sample of the beat, its RR in samples). Stretches nearer to each other than two margins are
one, so that ``QUIET`` of them reach farther back than any peak that is not decided yet.
"""

from __future__ import annotations

import math

from streaming.kernels.ricker import magnitude
from streaming.records import F64, I16, I32, I64

QUIET = 8
KEPT = 8
LAST, INTERVALS, STRETCHES = range(3)
FIRST_QUIET = 3
FIRST_INTERVAL = FIRST_QUIET + 2 * QUIET
BEAT_COLUMNS = FIRST_INTERVAL + 2 * KEPT


def add_quiet(state: I64, start: int, stop: int, margin: int) -> None:
    """Remember a stretch of a lane in which no beat may be; the oldest is forgotten."""
    for k in range(min(QUIET, int(state[STRETCHES]))):
        at = FIRST_QUIET + 2 * k
        if start - margin <= state[at + 1] + margin and state[at] - margin <= stop + margin:
            state[at] = min(start, int(state[at]))
            state[at + 1] = max(stop, int(state[at + 1]))
            return
    at = FIRST_QUIET + 2 * (int(state[STRETCHES]) % QUIET)
    state[at] = start
    state[at + 1] = stop
    state[STRETCHES] += 1


def is_quiet(state: I64, quiet: I64, begin: int, end: int, sample: int, margin: int) -> bool:
    """Tell whether ``sample`` lies in a quiet stretch, kept or of this pass, or within ``margin`` of it."""
    for k in range(min(QUIET, int(state[STRETCHES]))):
        if state[FIRST_QUIET + 2 * k] - margin <= sample < state[FIRST_QUIET + 2 * k + 1] + margin:
            return True
    for k in range(begin, end):
        if quiet[k, 1] - margin <= sample < quiet[k, 2] + margin:
            return True
    return False


def interrupted(state: I64, quiet: I64, begin: int, end: int, sample: int) -> bool:
    """Tell whether a quiet stretch began between the last beat and ``sample``."""
    for k in range(min(QUIET, int(state[STRETCHES]))):
        if state[LAST] < state[FIRST_QUIET + 2 * k] <= sample:
            return True
    for k in range(begin, end):
        if state[LAST] < quiet[k, 1] <= sample:
            return True
    return False


def median_interval(state: I64, oldest: int) -> float:
    """Return the median of the last intervals of beats from sample ``oldest`` on; NaN without any."""
    n = min(KEPT, int(state[INTERVALS]))
    used = 0
    for p in range(n):
        used += state[FIRST_INTERVAL + 2 * p] >= oldest
    if used == 0:
        return math.nan
    lower = 0.0
    upper = 0.0
    for p in range(n):
        if state[FIRST_INTERVAL + 2 * p] < oldest:
            continue
        value = int(state[FIRST_INTERVAL + 2 * p + 1])
        below = 0
        for q in range(n):
            if state[FIRST_INTERVAL + 2 * q] >= oldest:
                other = int(state[FIRST_INTERVAL + 2 * q + 1])
                below += (other < value) | ((other == value) & (q < p))
        if below == (used - 1) // 2:
            lower = float(value)
        if below == used // 2:
            upper = float(value)
    return 0.5 * (lower + upper)


def accept(
    i: int,
    lanes: I64,
    base: I64,
    found: I64,
    peaks: I64,
    run: I64,
    quiet: I64,
    floor: I64,
    durations: I64,
    taps: I32,
    shift: int,
    x: I16,
    state: I64,
    work: I32,
    count: I64,
    samples: I64,
    floats: F64,
) -> None:
    """Decide which of the peaks of lane ``lanes[i]`` are beats.

    Parameters
    ----------
    found, peaks
        As ``kernels.nms.suppress`` writes them.
    run, quiet : int64 [n, 2], [q, 3]
        Stretches of this pass where no beat may be: lane, start, stop; those of lane ``i`` are the
        rows from ``run[i, 0]`` to ``run[i, 1]``.
    floor : int64 [n]
        Least ``f`` of a beat (0: not calibrated).
    durations : int64 [5]
        In samples: mark reach before and after, margin of quiet stretches, longest interval, age of
        the oldest interval in the median.
    count, samples, floats : [n], [n, most, 2], [n, most, 4], written
        Beats, their R and peak of the response, and RR (samples; NaN), median RR (samples; NaN), response, quality.
    """
    lane = lanes[i]
    row = state[lane]
    before, after = int(durations[0]), int(durations[1])
    n = 0
    for k in range(found[i]):
        c, value = int(peaks[i, k, 0]), int(peaks[i, k, 1])
        median, quantile, valleys = int(peaks[i, k, 2]), int(peaks[i, k, 3]), int(peaks[i, k, 4])
        level = max(10 * median, 3 * quantile)
        if level == 0:
            level = 10 * value  # no signal for so long that this is a beginning
        if 100 * value <= 3 * level or value < floor[i]:
            continue
        first = max(int(base[i]), c - before)
        a = magnitude(x[lane], int(base[i]), first, c + after + 1 - first, taps, shift, work)
        r = first
        for j in range(c + after + 1 - first):
            if a[j] > a[r - first]:
                r = first + j
        if is_quiet(row, quiet, int(run[i, 0]), int(run[i, 1]), r, int(durations[2])):
            continue
        rr = math.nan
        together = row[LAST] >= 0 and r - row[LAST] <= durations[3]
        if together and not interrupted(row, quiet, int(run[i, 0]), int(run[i, 1]), r):
            rr = float(r - row[LAST])
            at = FIRST_INTERVAL + 2 * (int(row[INTERVALS]) % KEPT)
            row[at] = r
            row[at + 1] = r - row[LAST]
            row[INTERVALS] += 1
        row[LAST] = r
        response = 10.0 * value / level
        steep = min(1.0, max(0.0, 1.0 - valleys / value))
        high = min(1.0, max(0.0, (response - 0.3) / 0.7))
        samples[i, n, 0] = r
        samples[i, n, 1] = c
        floats[i, n, 0] = rr
        floats[i, n, 1] = median_interval(row, r - int(durations[4]))
        floats[i, n, 2] = response
        floats[i, n, 3] = math.sqrt(high) * steep
        n += 1
    count[i] = n
