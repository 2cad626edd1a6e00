"""Bodies of the beats stage: which peaks are heartbeats, where their R is, and their intervals.

Lane state, int64 ``state[lane, column]``: 0 R of the last beat (-1: none), 1 intervals kept,
2 quiet stretches kept, then ``QUIET`` pairs [start, stop) where no beat may be, then ``KEPT``
pairs (sample of the beat, its RR in samples), then whether the lane began since its last beat.
Stretches nearer to each other than two margins are one, so that ``QUIET`` of them reach farther back
than any peak that is not decided yet.
"""

from __future__ import annotations

import math

from beatwire.kernels.classify import chance
from beatwire.kernels.r_peak import mark
from beatwire.kernels.team import WIDTH, member, narrow, wait
from beatwire.records import F32, F64, I16, I32, I64, Bool

QUIET = 8
KEPT = 8
NONE = (1 << 31) - 1  # longer than any interval
LAST, INTERVALS, STRETCHES = range(3)
FIRST_QUIET = 3
FIRST_INTERVAL = FIRST_QUIET + 2 * QUIET
BEGUN = FIRST_INTERVAL + 2 * KEPT
BEAT_COLUMNS = BEGUN + 1


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


def first_row(quiet: I64, lane: int) -> int:
    """Return the first row of ``quiet`` that is not of a lane before ``lane``."""
    low = 0
    high = quiet.shape[0]
    while low < high:
        middle = (low + high) // 2
        if quiet[middle, 0] < lane:
            low = middle + 1
        else:
            high = middle
    return low


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


def median_interval(state: I64, oldest: int, values: I32) -> float:
    """Return the median of the last intervals of beats from sample ``oldest`` on; NaN without any.

    ``values`` [KEPT or more] is scratch. A median is the largest that no more than half of the others lie below.
    """
    n = min(KEPT, int(state[INTERVALS]))
    used = 0
    for p in range(KEPT):
        counts = p < n and state[FIRST_INTERVAL + 2 * p] >= oldest
        values[p] = narrow(int(state[FIRST_INTERVAL + 2 * p + 1])) if counts else narrow(NONE)
        used += counts
    if used == 0:
        return math.nan
    lower = upper = 0
    for p in range(n):
        below = narrow(0)
        for q in range(KEPT):
            below = narrow(below + (values[q] < values[p]))
        if values[p] < NONE and below <= (used - 1) // 2:
            lower = max(lower, int(values[p]))
        if values[p] < NONE and below <= used // 2:
            upper = max(upper, int(values[p]))
    return 0.5 * (lower + upper)


def select_beats(
    i: int,
    lanes: I64,
    start: I64,
    base: I64,
    found: I64,
    peaks: I64,
    quiet: I64,
    uv_per_unit: F64,
    floor: float,
    logits: F64,
    probability: F64,
    durations: I64,
    marking: I64,
    taps: I32,
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
    start, base
        As in ``kernels.ricker.respond``: where they are equal the lane begins.
    found, peaks
        As ``kernels.nms.suppress`` writes them.
    quiet : int64 [q, 3]
        Stretches of this pass where no beat may be, by lane: lane, start, stop.
    floor
        Least ``f`` of a beat in a stream of one microvolt per unit; 0 of ``uv_per_unit`` is not calibrated.
    logits : float64 [n, most, 2]
        As ``kernels.classify.judge`` writes them: a logit above 0 is a beat.
    probability : float64 [knots]
        See ``kernels.classify.chance``. A single one: the rule decides, and logits are not looked at.
    durations : int64 [3]
        In samples: margin of quiet stretches, longest interval, age of the oldest interval in the median.
    marking, taps, work
        See ``kernels.r_peak.mark``.
    count, samples, floats : [n], [n, most, 3], [n, most, 5], written
        Beats; their R, peak of the response, and whether the lane began since the last one; RR (samples; NaN),
        median RR (samples; NaN), response, quality,
        errors expected in the ten seconds up to the peak (NaN).
    """
    lane = lanes[i]
    row = state[lane]
    if start[i] == base[i]:
        if member() == 0:
            row[LAST] = -1
            row[INTERVALS] = 0
            row[STRETCHES] = 0
            row[BEGUN] = 1
        wait()
    lowest = 0
    if uv_per_unit[i] > 0:
        lowest = round(floor / uv_per_unit[i])
    begin, end = first_row(quiet, int(lane)), first_row(quiet, int(lane) + 1)
    n = 0
    for k in range(found[i]):
        c, value = int(peaks[i, k, 0]), int(peaks[i, k, 1])
        median, quantile, valleys = int(peaks[i, k, 2]), int(peaks[i, k, 3]), int(peaks[i, k, 4])
        level = max(10 * median, 3 * quantile)
        if level == 0:
            level = 10 * value  # no signal for so long that this is a beginning
        learned = probability.shape[0] > 1
        if value < lowest or 100 * value <= (9 * quantile if learned else 3 * level):
            continue
        if learned and logits[i, k, 0] <= 0.0:
            continue
        r = mark(x[lane], int(base[i]), c, value, marking, taps, work)
        if member() > 0 or is_quiet(row, quiet, begin, end, r, int(durations[0])):
            continue
        rr = math.nan
        together = row[LAST] >= 0 and r - row[LAST] <= durations[1]
        if together and not interrupted(row, quiet, begin, end, r):
            rr = float(r - row[LAST])
            at = FIRST_INTERVAL + 2 * (int(row[INTERVALS]) % KEPT)
            row[at] = r
            row[at + 1] = r - row[LAST]
            row[INTERVALS] += 1
        row[LAST] = r
        response = 10.0 * value / level
        if learned:
            quality = chance(logits[i, k, 0], probability)
        else:
            high = min(1.0, max(0.0, (response - 0.3) / 0.7))
            quality = math.sqrt(high) * min(1.0, max(0.0, 1.0 - valleys / value))
        samples[i, n, 0] = r
        samples[i, n, 1] = c
        samples[i, n, 2] = row[BEGUN]
        row[BEGUN] = 0
        floats[i, n, 0] = rr
        floats[i, n, 1] = median_interval(row, r - int(durations[2]), work[2])  # other members mark the next R
        floats[i, n, 2] = response
        floats[i, n, 3] = quality
        floats[i, n, 4] = logits[i, k, 1] if learned else math.nan
        n += 1
    if member() == 0:
        count[i] = n


def remember_quiet(i: int, quiet: I64, margin: int, state: I64) -> None:
    """Add the stretches of one lane to its state; ``i`` does something where it is the lane's first row."""
    if i > 0 and quiet[i, 0] == quiet[i - 1, 0]:
        return
    k = i
    while k < quiet.shape[0] and quiet[k, 0] == quiet[i, 0]:
        add_quiet(state[quiet[k, 0]], int(quiet[k, 1]), int(quiet[k, 2]), margin)
        k += 1


def list_beats(
    i: int,
    first: I64,
    count: I64,
    lanes: I64,
    slots: I64,
    base: I64,
    samples: I64,
    floats: F64,
    rate_hz: float,
    waited: int,
    lane: I64,
    slot: I64,
    begin: I64,
    row: I64,
    sample: I64,
    decided: I64,
    rr_s: F64,
    median_rr_s: F64,
    response: F32,
    quality: F32,
    expected_errors: F32,
    restart: Bool,
) -> None:
    """Copy the beats of row ``i`` to places ``first[i]``, ``first[i] + 1``, ... of columns without holes.

    A beat was ``decided`` ``waited`` samples after the peak of its response; ``begin`` is the first sample of its lane.
    """
    for k in range(member(), count[i], WIDTH):
        b = first[i] + k
        row[b] = i
        lane[b] = lanes[i]
        slot[b] = slots[i]
        begin[b] = base[i]
        sample[b] = samples[i, k, 0]
        decided[b] = samples[i, k, 1] + waited
        restart[b] = samples[i, k, 2] > 0
        rr_s[b] = floats[i, k, 0] / rate_hz
        median_rr_s[b] = floats[i, k, 1] / rate_hz
        response[b] = floats[i, k, 2]
        quality[b] = floats[i, k, 3]
        expected_errors[b] = floats[i, k, 4]


def list_blocks(
    i: int, first: I64, count: I64, blocks: I64, uv_per_unit: F64, unit: float, flat_uv: float, flat_units: float,
    row: I64, end: I64, flat: I64,
) -> None:  # fmt: skip
    """Copy the blocks of row ``i`` that became complete to columns: row, end, and whether there was no signal.

    ``unit`` is ``f`` of a wave of one unit; a block is flat below ``flat_uv``, or ``flat_units`` without calibration.
    """
    least = unit * flat_units
    if uv_per_unit[i] > 0:
        least = unit * (flat_uv / uv_per_unit[i])
    for k in range(count[i]):
        b = first[i] + k
        row[b] = i
        end[b] = blocks[i, k, 0]
        flat[b] = blocks[i, k, 1] < least
