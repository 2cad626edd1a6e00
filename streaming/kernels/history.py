"""Bodies that remember a stream's own last beats: how large, how they looked, when they came.

Work item ``i`` is one stream's beats of the tick: ``order[run[i]]`` up to ``order[run[i + 1] - 1]``.
Everything remembered is a short list per slot of beats in a trailing window of time;
what is told is a selection (median, quantile) or a mean over such a list in its order, so that it
does not depend on how the beats fall into ticks.

Reference beats are the least premature half of the list: those whose RR is at least its median.
An RR of 0 stands for unknown; such a beat is never a reference.
"""

from __future__ import annotations

import math

from streaming.records import F32, F64, I64, Bool

SIZES = 16
BEATS = 96
LATENTS = 8
SIZES_S = 10.0
BEATS_S = 60.0
HIGH, LOW = 0.8, 0.2
FEWEST_INTERVALS = 4
FEWEST_REFERENCES = 4
HUGE = 3.0e38


def recall_size(
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
        if restart[b]:
            for j in range(SIZES):
                size[j] = math.nan
        if amplitude[b] > 0.0:
            oldest = 0
            for j in range(SIZES):
                if times[j] < time_s[b] - SIZES_S:
                    size[j] = math.nan
                if not size[j] > 0.0:
                    times[j] = -math.inf
                    rr[j] = -1.0
                if times[j] < times[oldest]:
                    oldest = j
            times[oldest] = time_s[b]
            rr[oldest] = 0.0
            if rr_s[b] > 0.0:
                rr[oldest] = rr_s[b]
            size[oldest] = amplitude[b]
        reference[b] = reference_size(rr, size)


def reference_size(rr: F32, size: F32) -> float:
    """Return the median size of the least premature half."""
    known = 0
    for j in range(SIZES):
        known += size[j] > 0.0
    threshold = HUGE
    for j in range(SIZES):
        if rr[j] >= 0.0:
            longer = 0
            for k in range(SIZES):
                longer += rr[k] > rr[j]
            if 2 * longer < known and rr[j] < threshold:
                threshold = rr[j]
    chosen = 0
    for j in range(SIZES):
        chosen += rr[j] >= threshold
    found = math.nan
    for j in range(SIZES):
        if rr[j] >= threshold:
            smaller = 0
            equal = 0
            for k in range(SIZES):
                smaller += (rr[k] >= threshold) & (size[k] < size[j])
                equal += (rr[k] >= threshold) & (size[k] == size[j])
            if 2 * smaller < chosen <= 2 * (smaller + equal):
                found = size[j]
    return found


def recall_beats(
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
    prematurity: F32,
    irregularity: F32,
) -> None:
    """Compare each beat with the up to 96 beats of the 60 s before it, then remember it.

    Per slot: ``past_*[slot, 96]`` a circular list from ``place[slot, 0]`` on with ``place[slot, 1]``
    beats, and their ``place[slot, 2]`` known RR intervals in ascending order. A beat
    without a window (not ``seen``) has the latent 0 and a negative RR in the list.

    Out: ``distance`` to the mean latent of the reference beats (NaN with fewer than four),
    ``prematurity`` = 1 - RR over the 80 % quantile of the RRs before, and their ``irregularity`` =
    1 - 20 % quantile over 80 % quantile (both NaN with fewer than four).
    """
    for k in range(run[i], run[i + 1]):
        b = order[k]
        s = slot[b]
        times = past_time[s]
        rr = past_rr[s]
        intervals = ordered[s]
        if restart[b]:
            place[s, 1] = 0
            place[s, 2] = 0
        while place[s, 1] > 0 and times[place[s, 0]] < time_s[b] - BEATS_S:
            forget_oldest(rr, intervals, place, s)
        n = place[s, 2]
        prematurity[b] = math.nan
        irregularity[b] = math.nan
        if n >= FEWEST_INTERVALS and rr_s[b] > 0.0:
            long = intervals[int(HIGH * n)]
            prematurity[b] = 1.0 - rr_s[b] / long
            irregularity[b] = 1.0 - intervals[int(LOW * n)] / long
        threshold = intervals[(n - 1) // 2] if n > 0 else HUGE
        distance[b] = to_references(b, latent, past_latent[s], rr, threshold, place[s, 0], place[s, 1])
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
        if seen[b]:
            past_latent[s, at] = latent[b]
        else:
            rr[at] = -rr[at]
            past_latent[s, at] = 0.0


def to_references(b: int, latent: F32, past: F32, rr: F32, threshold: float, head: int, count: int) -> float:
    """Return the distance of beat ``b`` to the mean of the ``count`` past beats with RR >= threshold."""
    m0 = m1 = m2 = m3 = m4 = m5 = m6 = m7 = 0.0
    found = 0
    for j in range(count):
        k = head + j
        if k >= BEATS:
            k -= BEATS
        use = 1 if rr[k] >= threshold else 0
        found += use
        m0 += use * past[k, 0]
        m1 += use * past[k, 1]
        m2 += use * past[k, 2]
        m3 += use * past[k, 3]
        m4 += use * past[k, 4]
        m5 += use * past[k, 5]
        m6 += use * past[k, 6]
        m7 += use * past[k, 7]
    if found < FEWEST_REFERENCES:
        return math.nan
    d0 = latent[b, 0] - m0 / found
    d1 = latent[b, 1] - m1 / found
    d2 = latent[b, 2] - m2 / found
    d3 = latent[b, 3] - m3 / found
    d4 = latent[b, 4] - m4 / found
    d5 = latent[b, 5] - m5 / found
    d6 = latent[b, 6] - m6 / found
    d7 = latent[b, 7] - m7 / found
    return math.sqrt(d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3 + d4 * d4 + d5 * d5 + d6 * d6 + d7 * d7)


def forget_oldest(rr: F32, intervals: F32, place: I64, s: int) -> None:
    """Drop the oldest beat of slot ``s`` and its interval."""
    gone = abs(rr[place[s, 0]])
    place[s, 0] = (place[s, 0] + 1) % BEATS
    place[s, 1] -= 1
    if gone > 0.0:
        n = place[s, 2] - 1
        k = lower_bound(intervals, n + 1, gone)
        for j in range(k, n):
            intervals[j] = intervals[j + 1]
        place[s, 2] = n


def insert(intervals: F32, n: int, value: float) -> None:
    """Put a value in its place among ``n`` ascending ones."""
    k = lower_bound(intervals, n, value)
    for j in range(n, k, -1):
        intervals[j] = intervals[j - 1]
    intervals[k] = value


def lower_bound(intervals: F32, n: int, value: float) -> int:
    """Return the first place among ``n`` ascending values that is not below ``value``."""
    low = 0
    high = n
    while low < high:
        middle = (low + high) // 2
        if intervals[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low
