"""Find the normal beat of a stream: the mean of those of its last beats that look alike and do not come early.

In:    the last beats of a slot (``records.beat_classes.ClassHistory``)
Out:   the normal beat, the share of the beats that it is the mean of, their spread, their median interval
State: the beats are stored by ``store_beat``, at most ``PAST`` of the last ``MEMORY_S`` seconds

No class is fed back: the normal beat is a function of the shapes and intervals of these beats. Candidates are beats
whose RR is at least the median. The candidate that is nearest to the others is found first; the normal beat is the mean
of all beats near it. So it is a normal beat in bigeminy too, where every other beat is premature.
"""

import math

from numpy import float64

from beatwire.kernels.classes.beat_shape import (
    EXPONENT,
    P_BEGIN,
    P_END,
    POINTS,
    QRS_BEGIN,
    QRS_END,
    SHAPE_LEADS,
    TINY,
    apart_by,
    energy,
    energy_of,
    extent,
    likeness_to,
    spread_of,
    store_mean,
)
from beatwire.kernels.classes.stored_shape import is_unknown, load_shape
from beatwire.kernels.short_times import shortened, since
from beatwire.records import F32, F64, I16, I64
from beatwire.records.beat_classes import ClassHistory, ClassScratch

PAST = 32  # beats that are stored of a stream
MEMORY_S = 30.0  # and for how long
BLOCK_S = 5.0  # the normal beat is found at the end of each block of 5 s
FEWEST = 4  # beats with an interval
CANDIDATES = 8
NEAR = 2.0  # beats at most this many times as far from the best candidate, squared, as its median distance are normal

# Columns of ``ClassHistory.ring``: place of the oldest beat, number of beats, number of the block.
HEAD, COUNT, BLOCK = range(3)
RING_COLUMNS = 3
# Columns of ``ClassHistory.known``; those from ``STEADINESS`` on have one for each lead.
SHARE, SPREAD, USUAL_RR, REACH, STEADINESS = range(5)
P_SIZE = STEADINESS + SHAPE_LEADS  # of the P wave of the normal beat over its QRS complex
KNOWN = P_SIZE + SHAPE_LEADS
# What other judgements read of the normal beat: the mean and the largest ``STEADINESS`` of the leads, their mean
# ``P_SIZE``, ``SHARE`` and ``SPREAD``.
NORMAL_MEASURES = 5
OF_SPREAD = 4  # the column of ``SPREAD`` among them
NO_NORMAL = -1.0  # each of them without a normal beat
# ``SPREAD`` where half of the beats are as far from the best as unrelated signals of its size: the squared distance is
# twice its square.
UNRELATED = math.log(2.0 * NEAR)


def forget(slot: int, history: ClassHistory) -> None:
    """Remove the beats of a slot and its normal beat."""
    history.ring[slot, COUNT] = 0
    history.ring[slot, BLOCK] = -1
    forget_normal(slot, history)


def forget_normal(slot: int, history: ClassHistory) -> None:
    """Remove the normal beat of a slot, with all that is known of it."""
    for k in range(KNOWN):
        history.known[slot, k] = 0.0


def drop_before(slot: int, sample: int, history: ClassHistory) -> None:
    """Remove the beats of a slot before ``sample``."""
    ring = history.ring[slot]
    while ring[COUNT] > 0 and since(sample, int(history.sample[slot, ring[HEAD]])) > 0:
        ring[HEAD] = (ring[HEAD] + 1) % PAST
        ring[COUNT] -= 1


def place_of(ring: I64, back: int) -> int:
    """Return the place of the last beat but ``back`` of a slot; 0 is the last one."""
    return int((ring[HEAD] + ring[COUNT] - 1 - back) % PAST)


def store_beat(slot: int, sample: int, history: ClassHistory) -> int:
    """Make room for a beat as the last one, and return its place."""
    ring = history.ring[slot]
    if ring[COUNT] == PAST:
        ring[HEAD] = (ring[HEAD] + 1) % PAST
        ring[COUNT] -= 1
    ring[COUNT] += 1
    place = place_of(ring, 0)
    history.sample[slot, place] = shortened(sample)
    return place


def ranked(values: F64, n: int, rank: int) -> float:
    """Return the value of a rank of the first ``n`` values; the least has rank 0."""
    for j in range(n):
        below = same = 0
        for k in range(n):
            below += values[k] < values[j]
            same += values[k] == values[j]
        if below <= rank < below + same:
            return float64(values[j])
    return math.nan


def find_normal(slot: int, leads: int, history: ClassHistory, work: ClassScratch) -> None:
    """Find the normal beat of a slot again; with too few beats there is none."""
    ring, rr, known = history.ring[slot], history.rr_s[slot], history.known[slot]
    n = 0
    for back in range(int(ring[COUNT])):
        place = place_of(ring, back)
        if rr[place] > 0.0 and not is_unknown(history.shape[slot, place, 0]):
            work.numbers[0, n] = rr[place]
            for lead in range(leads):
                load_shape(history.shape[slot, place, lead], work.shapes[n, lead])
            work.numbers[1, n] = energy_of(work.shapes[n], leads)
            n += 1
    forget_normal(slot, history)
    if n < FEWEST:
        return
    known[USUAL_RR] = ranked(work.numbers[0], n, n // 2)  # in bigeminy that of the normal beats
    best, reach = best_candidate(leads, n, known[USUAL_RR], work)
    near = average_near(leads, n, best, NEAR * reach, history.normal[slot], work)
    squares = TINY
    for lead in range(leads):
        normal = history.normal[slot, lead]
        squares += energy(normal)
        known[STEADINESS + lead] = steadiness(lead, near, normal, work)
        known[P_SIZE + lead] = extent(normal, P_BEGIN, P_END) / (extent(normal, QRS_BEGIN, QRS_END) + TINY)
    known[SHARE] = near / n
    known[REACH] = reach
    known[SPREAD] = math.log(reach / squares + 1.0e-6)


def measure_normal(slot: int, leads: int, history: ClassHistory, out: F32) -> None:
    """Write the measures of the normal beat of a slot, ``out`` [NORMAL_MEASURES]."""
    known = history.known[slot]
    for k in range(NORMAL_MEASURES):
        out[k] = NO_NORMAL
    if not known[SHARE] > 0.0:
        return
    mean, most, size = 0.0, -1.0, 0.0
    for lead in range(leads):
        mean += float64(known[STEADINESS + lead]) / leads
        most = max(most, float64(known[STEADINESS + lead]))
        size += float64(known[P_SIZE + lead]) / leads
    out[0], out[1], out[2] = mean, most, size
    out[3], out[4] = known[SHARE], known[SPREAD]


def best_candidate(leads: int, n: int, least_rr: float, work: ClassScratch) -> tuple[int, float]:
    """Return the candidate with the least median distance to the others, and that distance, squared.

    Candidates are at most ``CANDIDATES`` of the ``n`` beats, spread evenly over those whose RR is at least
    ``least_rr``. ``work`` holds the beats: ``shapes[j]``, their RR ``numbers[0, j]`` and energy ``numbers[1, j]``.
    """
    late = 0
    for j in range(n):
        late += work.numbers[0, j] >= least_rr
    every, seen, m = (late + CANDIDATES - 1) // CANDIDATES, 0, 0
    chosen = work.chosen
    for j in range(n):
        if work.numbers[0, j] >= least_rr:
            if seen % every == 0:
                chosen[m] = j
                m += 1
            seen += 1
    distance = work.numbers[2:]
    for j in range(m):
        distance[j, j] = 0.0
        for k in range(j):
            distance[j, k] = distance_of(int(chosen[j]), int(chosen[k]), leads, work)
            distance[k, j] = distance[j, k]
    best, reach = int(chosen[0]), math.inf
    for j in range(m):
        middle = ranked(distance[j], m, m // 2)
        if middle < reach:
            best, reach = int(chosen[j]), middle
    return best, reach


def distance_of(j: int, k: int, leads: int, work: ClassScratch) -> float:
    """Return the squared distance of two beats of ``work``."""
    return apart_by(work.shapes[j], work.numbers[1, j], work.shapes[k], work.numbers[1, k], leads)


def average_near(leads: int, n: int, best: int, furthest: float, normal: I16, work: ClassScratch) -> int:
    """Write the mean of the ``n`` beats of ``work`` that are near ``best`` as the normal beat [SHAPE_LEADS, COLUMNS].

    Return their number, and put them first in ``work.rows``.
    """
    rows, near = work.rows, 0
    for j in range(n):
        if distance_of(j, best, leads, work) <= furthest + TINY:
            rows[near] = j
            near += 1
    for lead in range(leads):
        for k in range(POINTS):
            work.total[k] = 0
        for j in range(near):
            shape = work.shapes[rows[j], lead]
            exponent = int(shape[EXPONENT])
            for k in range(POINTS):
                work.total[k] += int(shape[k]) << exponent
        store_mean(work.total, near, normal[lead])
    return near


def steadiness(lead: int, near: int, normal: I16, work: ClassScratch) -> float:
    """Return the mean correlation, before the QRS complex, of the ``near`` beats ``work.rows`` with their mean."""
    found, (total, spread) = 0.0, spread_of(normal, P_BEGIN, P_END)
    for j in range(near):
        found += likeness_to(work.shapes[work.rows[j], lead], normal, total, spread, P_BEGIN, P_END)
    return found / max(1, near)
