"""Features of the rhythm before a beat, and of the earlier beats that look like it.

In:    a beat, the last beats of its stream and its normal beat (``kernels.classes.normal_beat``)
Out:   the features of ``RHYTHM`` and ``LIKENESS``
State: none

In atrial fibrillation any interval may be short: so an interval is judged by its rank and by how much intervals
change, at the least of three distances, which is small in bigeminy and trigeminy.
"""

import math

from numpy import float64

from beatwire.kernels.classes.beat_shape import QRS_BEGIN, QRS_END, likeness_to, spread_of
from beatwire.kernels.classes.normal_beat import COUNT, place_of, ranked
from beatwire.kernels.classes.stored_shape import is_unknown, load_shape
from beatwire.records import F32, I16
from beatwire.records.beat_classes import ClassBeats, ClassHistory, ClassScratch

RHYTHM = (
    "rank", "deviation", "change", "least change", "rr over mean of 3", "two over median", "unlike before",
    "share of unlike", "rr over longest of 8", "median of 8 over median",
)  # fmt: skip
LIKENESS = (
    "alike", "rr of alike", "share of alike", "like last", "next rr of alike", "early of alike", "match of alike",
    "most alike",
)  # fmt: skip
ALIKE = 0.92  # correlation of the QRS complexes of beats that look alike
UNLIKE = 0.85  # correlation with the normal beat of a beat that does not look like it
EARLY = 0.88  # of the median interval
LAGS = 3  # intervals apart
MEAN_OF = 3
LONGEST_OF = 8
LEAST_SPREAD_S = 0.02


def write_rhythm(b: int, slot: int, beats: ClassBeats, history: ClassHistory, work: ClassScratch, out: F32) -> None:
    """Write the features of ``RHYTHM`` of beat ``b``."""
    ring, past, rr = history.ring[slot], history.rr_s[slot], float64(beats.rr_s[b])
    count, numbers = int(ring[COUNT]), work.numbers[0]
    n = shorter = 0
    for back in range(count):
        one = float64(past[place_of(ring, back)])
        if one > 0.0:
            numbers[n] = one
            n += 1
            shorter += bool(one < rr)
    for k in range(len(RHYTHM)):
        out[k] = 1.0
    out[0], out[1], out[2], out[3], out[6], out[7] = 0.5, 0.0, 0.0, 0.0, 0.0, 0.0
    write_unlike(slot, history, out)
    if n < MEAN_OF or not rr > 0.0:
        return
    median, total, longest = ranked(numbers, n, n // 2), 0.0, 0.0
    for k in range(min(n, LONGEST_OF)):
        longest = max(longest, numbers[k])
        total += numbers[k] if k < MEAN_OF else 0.0
    few = min(n, LONGEST_OF)
    out[0] = shorter / n
    out[4] = rr * MEAN_OF / total
    out[5] = 0.5 * (rr + numbers[0]) / median
    out[8] = rr / longest
    out[9] = ranked(numbers, few, few // 2) / median
    least = math.inf
    for lag in range(1, LAGS + 1):
        m = n - lag
        for k in range(m):
            work.numbers[1, k] = abs(numbers[k] - numbers[k + lag])
        if m > 0:
            found = ranked(work.numbers[1], m, m // 2) / median
            least = min(least, found)
            if lag == 1:
                out[2] = found
    out[3] = least
    for k in range(n):
        work.numbers[1, k] = abs(numbers[k] - median)
    out[1] = max(-20.0, min(20.0, (rr - median) / (ranked(work.numbers[1], n, n // 2) + LEAST_SPREAD_S)))


def write_unlike(slot: int, history: ClassHistory, out: F32) -> None:
    """Write how many beats just before do not look like the normal beat, and the share of all that do not."""
    ring, run, unlike = history.ring[slot], 0, 0
    count = int(ring[COUNT])
    for back in range(count):
        if history.match[slot, place_of(ring, back)] < UNLIKE:
            run += run == back
            unlike += 1
    out[6], out[7] = run, unlike / max(1, count)


def write_likeness(slot: int, leads: int, history: ClassHistory, shape: I16, work: ClassScratch, out: F32) -> None:
    """Write the features of ``LIKENESS`` of a beat, ``shape`` [SHAPE_LEADS, COLUMNS]."""
    ring = history.ring[slot]
    count, alike, early, followed = int(ring[COUNT]), 0, 0, 0
    own = after = match = like_last = 0.0
    most = -1.0
    first, other = spread_of(shape[0], QRS_BEGIN, QRS_END), spread_of(shape[leads - 1], QRS_BEGIN, QRS_END)
    for back in range(count):
        place = place_of(ring, back)
        like = -1.0
        if not is_unknown(history.shape[slot, place, 0]):
            like = 0.0
            for lead in range(leads):
                total, spread = first if lead == 0 else other
                load_shape(history.shape[slot, place, lead], work.shapes[0, 0])
                like += likeness_to(work.shapes[0, 0], shape[lead], total, spread, QRS_BEGIN, QRS_END) / leads
            if back == 0:
                like_last = like
        if like > most:
            most = like
        if like > ALIKE:
            alike += 1
            own += float64(history.ratio[slot, place])
            early += bool(float64(history.ratio[slot, place]) < EARLY)
            match += float64(history.match[slot, place])
            if back > 0:
                followed += 1
                after += float64(history.ratio[slot, place_of(ring, back - 1)])
    out[0], out[1], out[2] = alike, own / alike if alike > 0 else 1.0, alike / max(1, count)
    out[3] = like_last
    out[4] = after / followed if followed > 0 else 1.0
    out[5] = early / alike if alike > 0 else 0.5
    out[6] = match / alike if alike > 0 else 0.0
    out[7] = most
