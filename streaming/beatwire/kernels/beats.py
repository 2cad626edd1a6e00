"""Bodies of the beats stage: which peaks are heartbeats, where their R is, and their intervals.

In:    the peaks of the lanes of a pass with their levels and logits; stretches in which no beat may be
Out:   ``LaneBeats``, then ``ListedBeats`` without holes; ``ListedBlocks``
State: int64 ``state[lane, BEAT_STATE_COLUMNS]``

Quiet stretches that are less than two margins apart are stored as one. So the ``QUIET_STRETCHES`` stored ones reach
farther back than any peak that is still undecided.
"""

from __future__ import annotations

import math

from beatwire.kernels.classify import beat_probability
from beatwire.kernels.fast_rhythm import (
    DECIDE,
    FAST_AT,
    FAST_COLUMNS,
    FAST_DOUBTS,
    FAST_ERRORS,
    FAST_LAST,
    FAST_LEVEL,
    FAST_QUALITY,
    FAST_UNTIL,
    LONGEST,
    MOST_DOUBTS,
    SHARE,
    continues,
    links_to,
    next_link,
    store_links,
)
from beatwire.kernels.r_peak import mark_r
from beatwire.kernels.team import WIDTH, member, narrow, wait
from beatwire.kernels.wave_shape import KIND_BITS
from beatwire.records import F64, I32, I64
from beatwire.records.columns import (
    BEAT_ERRORS,
    BEAT_MEDIAN_RR,
    BEAT_PEAK,
    BEAT_QUALITY,
    BEAT_R,
    BEAT_RESPONSE,
    BEAT_RESTART,
    BEAT_RR,
    BLOCK_END,
    BLOCK_MAXIMUM,
    LONGEST_RR,
    PEAK_MEDIAN,
    PEAK_QUANTILE,
    PEAK_RESPONSE,
    PEAK_SAMPLE,
    PEAK_VALLEYS,
    QUIET_LANE,
    QUIET_MARGIN,
    QUIET_START,
    QUIET_STOP,
    RATE_WINDOW,
)
from beatwire.records.detection import FreshLanes, PeakTable, Rings
from beatwire.records.selection import BeatPlaces, BeatSettings, FlatLimits, LaneBeats, ListedBeats, ListedBlocks

QUIET_STRETCHES = 8  # stored of a lane
INTERVALS = 8  # stored of a lane: the rate is the median of these
# Of a beat in a fast rhythm: the least quality and the most errors expected; errors expected where it may be fast.
LEAST_QUALITY, MOST_ERRORS, DOUBT_ERRORS = 0.95, 0.25, 3.0
NO_INTERVAL = (1 << 31) - 1  # longer than any interval

# Columns of the state:
#   LAST_R          sample of the last beat, -1: none
#   INTERVAL_COUNT  intervals stored so far
#   QUIET_COUNT     quiet stretches stored so far
#   FIRST_QUIET     ``QUIET_STRETCHES`` pairs [start, stop) of samples in which no beat may be
#   FIRST_INTERVAL  ``INTERVALS`` pairs: sample of a beat, its RR in samples
#   HAS_RESTARTED   1 if the lane began after its last beat
LAST_R, INTERVAL_COUNT, QUIET_COUNT, FIRST_QUIET = range(4)
FIRST_INTERVAL = FIRST_QUIET + 2 * QUIET_STRETCHES
HAS_RESTARTED = FIRST_INTERVAL + 2 * INTERVALS
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


def first_row(quiet: I64, lane: int) -> int:
    """Return the first row of ``quiet`` whose lane is at least ``lane``."""
    low = 0
    high = quiet.shape[0]
    while low < high:
        middle = (low + high) // 2
        if quiet[middle, QUIET_LANE] < lane:
            low = middle + 1
        else:
            high = middle
    return low


def is_quiet(state: I64, quiet: I64, begin: int, end: int, sample: int, margin: int) -> bool:
    """Return True if ``sample`` is within ``margin`` of a quiet stretch, stored or in rows ``[begin, end)``."""
    for k in range(min(QUIET_STRETCHES, int(state[QUIET_COUNT]))):
        if state[FIRST_QUIET + 2 * k] - margin <= sample < state[FIRST_QUIET + 2 * k + 1] + margin:
            return True
    for k in range(begin, end):
        if quiet[k, QUIET_START] - margin <= sample < quiet[k, QUIET_STOP] + margin:
            return True
    return False


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
    if near and not is_interrupted(state, quiet, begin, end, r):
        interval = float(r - state[LAST_R])
        at = FIRST_INTERVAL + 2 * (int(state[INTERVAL_COUNT]) % INTERVALS)
        state[at] = r
        state[at + 1] = r - state[LAST_R]
        state[INTERVAL_COUNT] += 1
    state[LAST_R] = r
    return interval


def median_interval(state: I64, oldest: int, values: I32) -> float:
    """Return the median of the last intervals of beats from sample ``oldest`` on; NaN without any.

    ``values`` [INTERVALS or more] is scratch. A median is found by counting: it is the largest value such that at most
    half of the others are below it.
    """
    n = min(INTERVALS, int(state[INTERVAL_COUNT]))
    used = 0
    for p in range(INTERVALS):
        counts = p < n and state[FIRST_INTERVAL + 2 * p] >= oldest
        values[p] = narrow(int(state[FIRST_INTERVAL + 2 * p + 1])) if counts else narrow(NO_INTERVAL)
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


def select_beats(
    i: int, fresh: FreshLanes, peaks: PeakTable, quiet: I64, uv_per_unit: F64, logits: F64, settings: BeatSettings,
    rings: Rings, state: I64, work: I32, found: LaneBeats,
) -> None:  # fmt: skip
    """Select the beats among the peaks of lane ``fresh.lane[i]``.

    Parameters
    ----------
    quiet : int64 [q, 3]
        Stretches of this pass in which no beat may be, by lane: lane, start, stop.
    uv_per_unit : float64 [n]
        0: not calibrated, the floor does not apply.
    logits : float64 [n, most, 2]
        As ``kernels.classify.classify_peaks`` writes them: a peak with a logit above 0 may be a beat.
    state : int64 [lanes, BEAT_STATE_COLUMNS]
        Read and written.
    work : int32 [3, capacity]
        Scratch, see ``kernels.r_peak.mark_r``.
    found
        Written.
    """
    row = state[fresh.lane[i]]
    if fresh.start[i] == fresh.base[i]:
        if member() == 0:
            row[LAST_R] = -1
            row[INTERVAL_COUNT] = 0
            row[QUIET_COUNT] = 0
            row[HAS_RESTARTED] = 1
            for column in range(FAST_COLUMNS):
                row[FIRST_FAST + column] = 0
        wait()
    floor = 0
    if uv_per_unit[i] > 0:
        floor = round(settings.floor / uv_per_unit[i])
    begin, end = first_row(quiet, int(fresh.lane[i])), first_row(quiet, int(fresh.lane[i]) + 1)
    trees = settings.probability.shape[0] > 1
    last_decided = int(fresh.stop[i]) - int(settings.links[DECIDE])
    lane, base, n = int(fresh.lane[i]), int(fresh.base[i]), 0
    x, rhythm = rings.x[lane], row[FIRST_FAST:]
    for k in range(peaks.found[i]):
        peak = peaks.peaks[i, k]
        c, height, quantile = int(peak[PEAK_SAMPLE]), int(peak[PEAK_RESPONSE]), int(peak[PEAK_QUANTILE])
        level = max(10 * int(peak[PEAK_MEDIAN]), 3 * quantile)
        if level == 0:
            level = 10 * height  # there was no signal in the last blocks: the peak is its own level
        if height < floor or 100 * height <= (9 * quantile if trees else 3 * level):
            continue
        if rhythm[FAST_UNTIL] > 0:
            n = add_hidden(n, c, row, quiet, begin, end, rings, lane, base, settings, work, found.ints[i], found.floats[i])
        is_beat = not trees or logits[i, k, 0] > 0.0
        response = 10.0 * height / level
        if trees:
            quality, errors = beat_probability(logits[i, k, 0], settings.probability), float(logits[i, k, 1])
        else:  # high: well above the limit of 0.3, and between deep valleys
            high = min(1.0, max(0.0, (response - 0.3) / 0.7))
            quality = math.sqrt(high) * min(1.0, max(0.0, 1.0 - int(peak[PEAK_VALLEYS]) / height))
            errors = math.nan
        links = links_to(int(rhythm[FAST_LAST]) - 1, c, height, rings, lane, base, settings, work)
        linked = links > 0 or continues(c, height, rhythm, rings, lane, base, settings, work)
        wait()
        if member() == 0:
            store_links(rhythm, c, links, settings.links)
        wait()
        if linked and rhythm[FAST_UNTIL] > 0:
            is_beat, quality = True, max(quality, LEAST_QUALITY)
            if errors > MOST_ERRORS:
                errors = MOST_ERRORS
        elif trees and rhythm[FAST_DOUBTS] == MOST_DOUBTS and not errors > DOUBT_ERRORS:
            errors = DOUBT_ERRORS
        if member() == 0:
            rhythm[FAST_LEVEL], rhythm[FAST_QUALITY] = level, int(quality * SHARE)
            rhythm[FAST_ERRORS] = int(min(errors, 1000.0) * SHARE) if errors >= 0.0 else -1
            if is_beat:
                rhythm[FAST_AT] = c
        wait()
        if not is_beat:
            continue
        r = mark_r(x, base, c, height, settings.marking, settings.taps, work)
        if member() > 0 or is_quiet(row, quiet, begin, end, r, int(settings.durations[QUIET_MARGIN])):
            continue
        write_beat(r, c, response, quality, errors, row, quiet, begin, end, settings, work, found.ints[i, n], found.floats[i, n])
        n += 1
    if rhythm[FAST_UNTIL] > 0:
        n = add_hidden(n, last_decided, row, quiet, begin, end, rings, lane, base, settings, work, found.ints[i], found.floats[i])
    if member() == 0:
        found.counts[i] = n


def write_beat(
    r: int, c: int, response: float, quality: float, errors: float, row: I64, quiet: I64, begin: int, end: int,
    settings: BeatSettings, work: I32, ints: I64, floats: F64,
) -> None:  # fmt: skip
    """Write the beat at ``r``, of the peak at ``c``, and store its interval."""
    ints[BEAT_R] = r
    ints[BEAT_PEAK] = c
    ints[BEAT_RESTART] = row[HAS_RESTARTED]
    row[HAS_RESTARTED] = 0
    oldest = r - int(settings.durations[RATE_WINDOW])
    floats[BEAT_RR] = store_interval(row, quiet, begin, end, r, int(settings.durations[LONGEST_RR]))
    floats[BEAT_MEDIAN_RR] = median_interval(row, oldest, work[2])  # not ``work[0]``: others mark the next R
    floats[BEAT_RESPONSE] = response
    floats[BEAT_QUALITY] = quality
    floats[BEAT_ERRORS] = errors


def add_hidden(
    n: int, stop: int, row: I64, quiet: I64, begin: int, end: int, rings: Rings, lane: int, base: int,
    settings: BeatSettings, work: I32, ints: I64, floats: F64,
) -> int:  # fmt: skip
    """Write the beats of a fast rhythm before sample ``stop`` that are no peaks; return the beats of the pass so far."""
    rhythm = row[FIRST_FAST:]
    while True:
        last = int(rhythm[FAST_AT])
        c = next_link(last + 1, stop, last, rings, lane, base, settings, work)
        ended = c >= stop or c > rhythm[FAST_UNTIL]
        late = stop > last + settings.links[LONGEST]
        wait()
        if ended:
            if member() == 0 and (late or c < stop):
                rhythm[FAST_UNTIL] = 0
            wait()
            return n
        height = int(rings.f[lane, c % rings.f.shape[1]])
        r = mark_r(rings.x[lane], base, c, height, settings.marking, settings.taps, work)
        if member() == 0:
            rhythm[FAST_AT] = c
            if not is_quiet(row, quiet, begin, end, r, int(settings.durations[QUIET_MARGIN])):
                errors = math.nan if rhythm[FAST_ERRORS] < 0 else rhythm[FAST_ERRORS] / SHARE
                write_beat(
                    r, c, 10.0 * height / rhythm[FAST_LEVEL], rhythm[FAST_QUALITY] / SHARE, errors, row, quiet, begin, end,
                    settings, work, ints[n], floats[n],
                )
                n += 1
        wait()


def store_quiet(i: int, quiet: I64, margin: int, state: I64) -> None:
    """Store the quiet stretches of a lane in its state, where row ``i`` is the lane's first."""
    if i > 0 and quiet[i, QUIET_LANE] == quiet[i - 1, QUIET_LANE]:
        return
    k = i
    while k < quiet.shape[0] and quiet[k, QUIET_LANE] == quiet[i, QUIET_LANE]:
        add_quiet(state[quiet[k, QUIET_LANE]], int(quiet[k, QUIET_START]), int(quiet[k, QUIET_STOP]), margin)
        k += 1


def list_beats(
    i: int, first: I64, found: LaneBeats, fresh: FreshLanes, rate_hz: float, delay: int, places: BeatPlaces,
    beats: ListedBeats,
) -> None:  # fmt: skip
    """Copy the beats of row ``i`` to rows ``first[i]``, ``first[i] + 1``, ... of columns without holes.

    A beat was decided ``delay`` samples after the peak of its response.
    """
    for k in range(member(), found.counts[i], WIDTH):
        b = first[i] + k
        ints, floats = found.ints[i, k], found.floats[i, k]
        places.lane[b] = fresh.lane[i]
        places.slot[b] = fresh.slot[i]
        places.base[b] = fresh.base[i]
        beats.row[b] = i
        beats.sample[b] = ints[BEAT_R]
        beats.decided[b] = ints[BEAT_PEAK] + delay
        beats.restart[b] = ints[BEAT_RESTART] > 0
        beats.rr_s[b] = floats[BEAT_RR] / rate_hz
        beats.median_rr_s[b] = floats[BEAT_MEDIAN_RR] / rate_hz
        beats.response[b] = floats[BEAT_RESPONSE]
        beats.quality[b] = floats[BEAT_QUALITY]
        beats.expected_errors[b] = floats[BEAT_ERRORS]


def list_blocks(
    i: int, first: I64, peaks: PeakTable, uv_per_unit: F64, limits: FlatLimits, blocks: ListedBlocks
) -> None:
    """Copy the complete blocks of row ``i`` to columns; their kind is 1 (``flutter.FLAT``) if they are flat, else 0.

    Above the bits of the kind are the nanovolts of a unit, which ``flutter.find_waves`` reads.
    """
    nanovolts = int(math.floor(1000.0 * uv_per_unit[i] + 0.5))
    least = limits.unit_response * limits.flat_units
    if uv_per_unit[i] > 0:
        least = limits.unit_response * (limits.flat_uv / uv_per_unit[i])
    for k in range(peaks.closed[i]):
        b = first[i] + k
        blocks.row[b] = i
        blocks.end[b] = peaks.blocks[i, k, BLOCK_END]
        blocks.kind[b] = int(peaks.blocks[i, k, BLOCK_MAXIMUM] < least) | (nanovolts << KIND_BITS)
