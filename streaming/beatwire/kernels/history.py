"""Bodies that remember a stream's own last beats: how large, how they looked, when they came.

Work item ``i`` is one stream's beats of the tick: ``order[run[i]]`` up to ``order[run[i + 1] - 1]``.
Everything remembered is a short list per slot of beats in a trailing window of time;
what is told is a selection (median, quantile) or a mean over such a list in its order, so that it
does not depend on how the beats fall into ticks.

Reference beats are the least premature half of the list: those whose RR is at least its median.
An RR of 0 stands for unknown; such a beat is never a reference.

``find_usual_size`` and ``compare_with_history`` are written for a team (``kernels.team``).
"""

from __future__ import annotations

import math

from numpy import float32

from beatwire.kernels.ascending import insert, remove
from beatwire.kernels.team import WIDTH, added, member, most, wait
from beatwire.records import F32, F64, I64, Bool

SIZES = 16
BEATS = 96
LATENTS = 8
SIZES_S = 10.0
BEATS_S = 60.0
HIGH, LOW = 0.8, 0.2
FEWEST_INTERVALS = 4
FEWEST_REFERENCES = 4
HUGE = 3.0e38
LEAST_SIZE = 1.0e-30
NEAR, TIGHT = 0.05, 0.1  # distances and spreads of latents that are as good as none
OWN = 0.75  # how much of a stream's own spread is forgiven: 0 none, 1 all
STEADY = 0.1  # irregularity at which prematurity counts half of what it does in a clockwork


def place_in_time(
    i: int, sample: I64, rr_s: F64, rate_hz: float, longest_s: float, time_s: F64, known_rr_s: F64
) -> None:
    """Tell when beat ``i`` was, and its RR; NaN where that is longer than ``longest_s``."""
    time_s[i] = sample[i] / rate_hz
    known_rr_s[i] = rr_s[i] if rr_s[i] <= longest_s else math.nan


def in_usual_size(i: int, amplitude: F32, usual: F32, scale: F32) -> None:
    """Tell the size of beat ``i`` in the usual size of its stream; NaN where either is not known."""
    scale[i] = amplitude[i] / usual[i]


def is_known(i: int, scale: F32, scored: bool, known: Bool) -> None:
    """Tell whether beat ``i`` has something to be compared by: a scale, in a tick that is ``scored``."""
    known[i] = scored and not math.isnan(scale[i])


def in_terms(
    i: int,
    rr_s: F64,
    known: Bool,
    distance: F32,
    spread: F32,
    early: F32,
    irregular: F32,
    population: F32,
    history: F32,
    prematurity: F32,
    rate_term: F32,
    latent: F32,
) -> None:
    """Put what was found out of beat ``i`` into terms; what is not known is NaN."""
    prematurity[i] = early[i] / (irregular[i] + STEADY)
    rate_term[i] = -rr_s[i]
    if known[i]:
        history[i] = math.log(distance[i] + NEAR) - OWN * math.log(spread[i] + TIGHT)
    else:
        history[i] = math.nan
        population[i] = math.nan
        for j in range(LATENTS):
            latent[i, j] = math.nan


def find_usual_size(
    i: int,
    run: I64,
    order: I64,
    slot: I64,
    time_s: F64,
    rr_s: F64,
    restart: Bool,
    amplitude: F32,
    past_time: F64,
    past_rr: F32,
    past_size: F32,
    reference: F32,
) -> None:
    """Tell for each beat the usual size of the stream's beats, itself included.

    The last 16 beats of 10 s are looked at; slot arrays are ``[slots, 16]``, size NaN where there
    is none. ``reference`` is NaN where no beat has a size.
    """
    for k in range(run[i], run[i + 1]):
        b = order[k]
        s = slot[b]
        times = past_time[s]
        rr = past_rr[s]
        size = past_size[s]
        for j in range(member(), SIZES, WIDTH):
            if restart[b] or (amplitude[b] > 0.0 and times[j] < time_s[b] - SIZES_S):
                size[j] = math.nan
            if amplitude[b] > 0.0 and not size[j] > 0.0:
                times[j] = -math.inf
                rr[j] = -1.0
        wait()
        if amplitude[b] > 0.0 and member() == 0:
            oldest = 0
            for j in range(SIZES):
                if times[j] < times[oldest]:
                    oldest = j
            times[oldest] = time_s[b]
            rr[oldest] = 0.0
            if rr_s[b] > 0.0:
                rr[oldest] = rr_s[b]
            size[oldest] = amplitude[b]
        wait()
        usual = reference_size(rr, size)
        if member() == 0:
            reference[b] = usual


def reference_size(rr: F32, size: F32) -> float:
    """Return the median size of the least premature half."""
    any_size = float32(HUGE)
    known = count_below(size, float32(LEAST_SIZE), size, any_size)
    half = -1.0
    for j in range(member(), SIZES, WIDTH):
        if 2 * count_below(rr, rr[j], rr, any_size) >= known:
            half = max(half, float(rr[j]))
    least = float32(max(0.0, most(half)))
    chosen = count_below(rr, least, rr, any_size)
    found = -1.0
    for j in range(member(), SIZES, WIDTH):
        if rr[j] >= least and 2 * count_below(rr, least, size, size[j]) < chosen:
            found = max(found, float(size[j]))
    found = most(found)
    return found if found > 0.0 else math.nan


def count_below(gate: F32, least: float32, values: F32, limit: float32) -> int:
    """Return how many of the ``SIZES`` values are below the limit, of those whose gate is ``least`` or more."""
    count = 0
    for k in range(SIZES):
        count += (gate[k] >= least) & (values[k] < limit)
    return count


def compare_with_history(
    i: int,
    run: I64,
    order: I64,
    slot: I64,
    time_s: F64,
    rr_s: F64,
    restart: Bool,
    latent: F32,
    seen: Bool,
    past_time: F64,
    past_rr: F32,
    past_latent: F32,
    ordered: F32,
    place: I64,
    distance: F32,
    spread: F32,
    prematurity: F32,
    irregularity: F32,
) -> None:
    """Compare each beat with the up to 96 beats of the 60 s before it, then remember it.

    Per slot: ``past_*[slot, 96]`` a circular list from ``place[slot, 0]`` on with ``place[slot, 1]``
    beats, and their ``place[slot, 2]`` known RR intervals in ascending order. A beat
    without a window (not ``seen``) has the latent 0 and a negative RR in the list.

    Out: ``distance`` to the mean latent of the reference beats and the ``spread`` of these about it, a
    root mean square (both NaN with fewer than four references), ``prematurity`` = 1 - RR over the 80 %
    quantile of the RRs before, and their ``irregularity`` = 1 - 20 % quantile over 80 % quantile (both NaN
    with fewer than four).
    """
    for k in range(run[i], run[i + 1]):
        b = order[k]
        s = slot[b]
        times = past_time[s]
        rr = past_rr[s]
        intervals = ordered[s]
        if member() == 0:
            if restart[b]:
                place[s, 1] = 0
                place[s, 2] = 0
            while place[s, 1] > 0 and times[place[s, 0]] < time_s[b] - BEATS_S:
                forget_oldest(rr, intervals, place, s)
        wait()
        n = place[s, 2]
        threshold = intervals[(n - 1) // 2] if n > 0 else HUGE
        far, wide = to_references(b, latent, past_latent[s], rr, threshold, place[s, 0], place[s, 1])
        wait()
        if member() == 0:
            distance[b] = far
            spread[b] = wide
            prematurity[b] = math.nan
            irregularity[b] = math.nan
            if n >= FEWEST_INTERVALS and rr_s[b] > 0.0:
                long = intervals[int(HIGH * n)]
                prematurity[b] = 1.0 - rr_s[b] / long
                irregularity[b] = 1.0 - intervals[int(LOW * n)] / long
            if place[s, 1] == BEATS:
                forget_oldest(rr, intervals, place, s)
            at = (place[s, 0] + place[s, 1]) % BEATS
            place[s, 1] += 1
            times[at] = time_s[b]
            rr[at] = 0.0
            if rr_s[b] > 0.0:
                rr[at] = rr_s[b]
            if rr[at] > 0.0:
                insert(intervals, place[s, 2], rr[at])
                place[s, 2] += 1
            if not seen[b]:
                rr[at] = -rr[at]
        wait()
        newest = (place[s, 0] + place[s, 1] - 1) % BEATS
        for j in range(member(), LATENTS, WIDTH):
            past_latent[s, newest, j] = latent[b, j] if seen[b] else 0.0
        wait()


def to_references(
    b: int, latent: F32, past: F32, rr: F32, threshold: float, head: int, count: int
) -> tuple[float, float]:
    """Return the distance of beat ``b`` to the mean of the past beats with RR >= threshold, and their spread."""
    m0 = m1 = m2 = m3 = m4 = m5 = m6 = m7 = squares = 0.0
    found = 0.0
    for j in range(member(), count, WIDTH):
        k = head + j
        if k >= BEATS:
            k -= BEATS
        use = 1.0 if rr[k] >= threshold else 0.0
        found += use
        z0 = use * float(past[k, 0])
        z1 = use * float(past[k, 1])
        z2 = use * float(past[k, 2])
        z3 = use * float(past[k, 3])
        z4 = use * float(past[k, 4])
        z5 = use * float(past[k, 5])
        z6 = use * float(past[k, 6])
        z7 = use * float(past[k, 7])
        m0 += z0
        m1 += z1
        m2 += z2
        m3 += z3
        m4 += z4
        m5 += z5
        m6 += z6
        m7 += z7
        squares += z0 * z0 + z1 * z1 + z2 * z2 + z3 * z3 + z4 * z4 + z5 * z5 + z6 * z6 + z7 * z7
    found = added(found)
    if found < FEWEST_REFERENCES:
        return math.nan, math.nan
    squares = added(squares)
    m0 = added(m0) / found
    m1 = added(m1) / found
    m2 = added(m2) / found
    m3 = added(m3) / found
    m4 = added(m4) / found
    m5 = added(m5) / found
    m6 = added(m6) / found
    m7 = added(m7) / found
    middle = m0 * m0 + m1 * m1 + m2 * m2 + m3 * m3 + m4 * m4 + m5 * m5 + m6 * m6 + m7 * m7
    d0 = float(latent[b, 0]) - m0
    d1 = float(latent[b, 1]) - m1
    d2 = float(latent[b, 2]) - m2
    d3 = float(latent[b, 3]) - m3
    d4 = float(latent[b, 4]) - m4
    d5 = float(latent[b, 5]) - m5
    d6 = float(latent[b, 6]) - m6
    d7 = float(latent[b, 7]) - m7
    distance = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3 + d4 * d4 + d5 * d5 + d6 * d6 + d7 * d7)
    return distance, math.sqrt(max(squares / found - middle, 0.0))


def forget_oldest(rr: F32, intervals: F32, place: I64, s: int) -> None:
    """Drop the oldest beat of slot ``s`` and its interval."""
    gone = abs(rr[place[s, 0]])
    place[s, 0] = (place[s, 0] + 1) % BEATS
    place[s, 1] -= 1
    if gone > 0.0:
        remove(intervals, place[s, 2], gone)
        place[s, 2] -= 1
