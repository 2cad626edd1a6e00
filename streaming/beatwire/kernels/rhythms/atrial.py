"""Features by which the last minute of beats is judged to be atrial fibrillation.

In:    the last 64 beats of a stream, those of a minute; the measures of its normal beat
       (``kernels.classes.normal_beat``)
Out:   float32 features in the order of ``NAMES``
State: none

In atrial fibrillation an interval is unlike the one before, and so is each difference: pairs of differences fill many
cells of a plane (Sarkar, Ritscher, Mehra, IEEE Trans Biomed Eng 55, 2008). Ectopic beats fill few cells, and the
intervals two beats apart are alike in bigeminy; sinus arrhythmia changes slowly. In atrial fibrillation there is no P
wave: before the QRS complex the beats do not look like their mean, as they do in sinus arrhythmia and between ectopic
beats.
"""

from beatwire.kernels.rhythms.beat_ring import BEATS, DOUBTFUL, LONGEST, UNKNOWN, UNSURE
from beatwire.records import F32, U8, U16

MINUTE_S = 60.0
FEWEST = 12  # intervals
LEAST_UNLIKE = 0.3  # share of intervals that differ from the one before by 5 %: with fewer the rhythm is regular
CELL = 20  # cells of a difference: a twentieth of the typical interval each
MOST_CELLS = 12  # larger differences are in the last cell

NAMES = (
    "intervals", "typical interval", "differ by 5 %", "by 10 %", "by 20 %", "cells", "zero cells", "alike two apart",
    "short then long", "near the typical", "mean difference", "turns", "doubtful", "unsure", "short", "long",
    "steadiness of p", "most steadiness of p", "p size", "share of normal", "spread",
)  # fmt: skip
DOUBTFUL_SHARE = 12  # the feature "doubtful"
FIRST_NORMAL = 16  # the measures of the normal beat, written by ``kernels.rhythms.rhythm``


def write_features(rate_hz: float, count: int, intervals: U16, flags: U8, features: F32) -> bool:
    """Write the features of the last beats, and return True; False if they are too few or regular.

    Parameters
    ----------
    count
        Beats of the stream so far; ``intervals``, ``flags`` [BEATS] are the last ones, a ring.
    """
    room = int(MINUTE_S * rate_hz)
    n = doubtful = unsure = 0
    while n + 1 < min(BEATS, count):
        at = (count - 1 - n) % BEATS
        if int(flags[at]) & UNKNOWN != 0 or int(intervals[at]) > room:
            break
        room -= int(intervals[at])
        doubtful += int(flags[at]) & DOUBTFUL > 0
        unsure += int(flags[at]) & UNSURE > 0
        n += 1
    if n < FEWEST:
        return False
    unlike = share_unlike(n, count, intervals)
    if unlike < LEAST_UNLIKE:
        return False
    typical = typical_interval(n, count, intervals)
    features[0] = n
    features[1] = 1000.0 * typical / rate_hz
    features[2] = unlike
    features[DOUBTFUL_SHARE] = doubtful / n
    features[13] = unsure / n
    write_shares(n, count, intervals, typical, features)
    features[5] = share_of_cells(n, count, intervals, typical)
    return True


def interval(k: int, count: int, intervals: U16) -> int:
    """Return the ``k``-th last interval in samples."""
    return int(intervals[(count - 1 - k) % BEATS]) & LONGEST  # in machine code signed from here on


def share_unlike(n: int, count: int, intervals: U16) -> float:
    """Return the share of intervals that differ from the one before by more than 5 % of the shorter one."""
    unlike = 0
    for k in range(n - 1):
        newer, older = interval(k, count, intervals), interval(k + 1, count, intervals)
        unlike += 20 * abs(newer - older) > min(newer, older)
    return unlike / (n - 1)


def typical_interval(n: int, count: int, intervals: U16) -> int:
    """Return the median of the last ``n`` intervals, the lower one of two."""
    found = 0
    for p in range(n):
        value = interval(p, count, intervals)
        below = 0
        for q in range(n):
            below += interval(q, count, intervals) < value
        if below <= (n - 1) // 2:
            found = max(found, value)
    return max(found, 1)


def cell(difference: int, typical: int) -> int:
    """Return the cell of a difference of intervals."""
    return min(MOST_CELLS, max(-MOST_CELLS, (2 * CELL * difference + typical) // (2 * typical)))


def write_shares(n: int, count: int, intervals: U16, typical: int, features: F32) -> None:
    """Write the features that are shares of intervals, of differences and of pairs of these."""
    by_10 = by_20 = pairs = near = zeros = alike = turns = short = long = 0
    total = 0
    for k in range(n):
        newer = interval(k, count, intervals)
        short += 5 * newer < 4 * typical
        long += 5 * newer > 6 * typical
        if k + 1 < n:
            older = interval(k + 1, count, intervals)
            difference, least = newer - older, min(newer, older)
            size = abs(difference)
            total += size
            by_10 += 10 * size > least
            by_20 += 5 * size > least
            pairs += 100 * older < 88 * typical and 100 * newer > 105 * typical
            near += is_near(older, typical) and is_near(newer, typical)
            if k + 2 < n:
                before = interval(k + 2, count, intervals)
                alike += 100 * abs(newer - before) < 6 * typical
                zeros += cell(difference, typical) * cell(older - before, typical) == 0
                turns += (difference > 0) != (older > before)
    differences, triples = n - 1, n - 2
    features[3] = by_10 / differences
    features[4] = by_20 / differences
    features[6] = zeros / triples
    features[7] = alike / triples
    features[8] = pairs / differences
    features[9] = near / differences
    features[10] = total / (differences * typical)
    features[11] = turns / triples
    features[14] = short / n
    features[15] = long / n


def is_near(value: int, typical: int) -> bool:
    """Return True if an interval is within 12 % of the typical one."""
    return 100 * abs(value - typical) < 12 * typical


def share_of_cells(n: int, count: int, intervals: U16, typical: int) -> float:
    """Return the number of cells that pairs of consecutive differences fill, over the number of pairs."""
    filled = 0
    for p in range(n - 2):
        x, y = pair_of_cells(p, count, intervals, typical)
        is_new = True
        for q in range(p):
            x_before, y_before = pair_of_cells(q, count, intervals, typical)
            if x == x_before and y == y_before:
                is_new = False
                break
        filled += is_new
    return filled / (n - 2)


def pair_of_cells(k: int, count: int, intervals: U16, typical: int) -> tuple[int, int]:
    """Return the cells of the ``k``-th last difference of intervals and of the one before."""
    newest, middle, oldest = (
        interval(k, count, intervals), interval(k + 1, count, intervals), interval(k + 2, count, intervals),
    )  # fmt: skip
    return cell(newest - middle, typical), cell(middle - oldest, typical)
