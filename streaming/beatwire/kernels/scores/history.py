"""Bodies that compare a beat with its stream's last minute: its size, latents, reconstruction error and interval.

In:    the beats of a tick or pass (``TimedBeats``), by stream and in order (``BeatRuns``)
Out:   the usual size of each stream's beats; ``Comparison``; the terms of the score (``records.Terms``)
State: ``SizeHistory`` and ``BeatHistory``, by slot

Work item ``i`` is one stream's beats of the tick: ``order[run[i]]`` up to ``order[run[i + 1] - 1]``. The state of a
slot are short lists of its beats in a trailing window of time. What is computed from a list is a median, a quantile, or
a mean of integers.

Reference beats are the least premature half of a list: those whose RR is at least its median. An RR of 0 is unknown;
such a beat is never a reference.

Invariant: results do not depend on how the beats are cut into ticks.

``find_usual_size`` and ``compare_with_history`` are written for a team (``kernels.team``).
"""

import math

from numpy import float32

from beatwire.kernels.classes.ascending import insert, remove
from beatwire.kernels.scores.stored_beat import (
    CLOSENESS_PARTS,
    LATENT_PARTS,
    LONGEST,
    TICKS,
    closeness_of,
    in_parts,
    samples_of,
    seconds_of,
    tick_of,
)
from beatwire.kernels.short_times import SHORT_RANGE, shortest, until
from beatwire.kernels.team import WIDTH, added, member, most, wait
from beatwire.records import F32, F64, I16, I64, U8, Bool, Terms
from beatwire.records.history import BeatHistory, BeatRuns, Comparison, SizeHistory, TimedBeats

SIZES, SIZES_S = 16, 10.0  # beats, and seconds, whose sizes are stored
BEATS, BEATS_S = 96, 60.0  # the same of latents and intervals; above 96/min the 96 beats are less than 60 s
LATENTS = 8
STORED = 4  # latents of a past beat, the last ones: a decoder hardly reads the others (``model.checkpoint``)
HIGH_QUANTILE, LOW_QUANTILE = 0.8, 0.2  # of the intervals
FEWEST_INTERVALS, FEWEST_REFERENCES = 4, 4
INFINITE = 3.0e38  # above every size and interval; a float32
LEAST_SIZE = 1.0e-30  # below every size
OLDEST = SHORT_RANGE - 1  # the age of no size
DISTANCE_OFFSET, SPREAD_OFFSET = 0.05, 0.1  # smaller distances and spreads of latents hardly differ from these
USUAL_SHARE, USUAL_CENTRE = 0.6, 1.0  # how much of its stream's usual error is deducted, and from where on
SPREAD_EXPONENT = 0.75  # how much of its own spread is deducted from a beat's distance: 0 nothing, 1 all
IRREGULARITY_OFFSET = 0.1  # irregularity at which prematurity counts half as much as in a regular rhythm

# Columns of ``BeatHistory.ring``: place of the oldest beat, number of beats, of known intervals, time of the last beat.
HEAD, COUNT, INTERVAL_COUNT, LAST = range(4)
RING_COLUMNS = 4


def time_beat(
    i: int, sample: I64, rr_s: F64, rate_hz: float, longest_rr_s: float, time_s: F64, known_rr_s: F64
) -> None:
    """Write when beat ``i`` occurred, and its RR, NaN where that is above ``longest_rr_s``."""
    time_s[i] = sample[i] / rate_hz
    known_rr_s[i] = rr_s[i] if rr_s[i] <= longest_rr_s else math.nan


def write_scale(i: int, amplitude: F32, usual_size: F32, scale: F32) -> None:
    """Write the size of beat ``i`` over the usual size of its stream; NaN where either is unknown."""
    scale[i] = amplitude[i] / usual_size[i]


def mark_embedded(i: int, scale: F32, error: F32, scored: bool, embedded: Bool) -> None:
    """Write whether beat ``i`` has latents: it has a scale and an error, and beats of its tick are ``scored``."""
    embedded[i] = scored and not math.isnan(scale[i]) and not math.isnan(error[i])


def write_terms(i: int, rr_s: F64, embedded: Bool, found: Comparison, terms: Terms) -> None:
    """Write the terms of beat ``i``, NaN where they are unknown.

    ``terms.early`` is ``found.prematurity`` and written before, as are ``reconstruction_error`` and ``latent`` of a
    beat that is ``embedded``.
    """
    terms.prematurity[i] = found.prematurity[i] / (found.irregularity[i] + IRREGULARITY_OFFSET)
    terms.rate_term[i] = -rr_s[i]
    if embedded[i]:
        unusual = found.usual_error[i] - USUAL_CENTRE
        terms.population[i] = terms.reconstruction_error[i] - (0.0 if math.isnan(unusual) else USUAL_SHARE * unusual)
        spread = SPREAD_EXPONENT * math.log(found.spread[i] + SPREAD_OFFSET)
        terms.history[i] = math.log(found.distance[i] + DISTANCE_OFFSET) - spread
    else:
        terms.history[i] = terms.population[i] = terms.reconstruction_error[i] = math.nan
        for j in range(LATENTS):
            terms.latent[i, j] = math.nan


def find_usual_size(
    i: int, runs: BeatRuns, beats: TimedBeats, amplitude: F32, history: SizeHistory, usual_size: F32
) -> None:
    """Find for each beat of stream ``i`` the usual size of the stream's beats, itself included.

    Parameters
    ----------
    amplitude : float32 [b]
        NaN where a beat has no window.
    history
        Read and written.
    usual_size : float32 [b], written
        NaN where no beat of the history has a size.
    """
    for k in range(runs.run[i], runs.run[i + 1]):
        b = runs.order[k]
        slot = beats.slot[b]
        times, rr, sizes = history.time[slot], history.rr_s[slot], history.size[slot]
        now = tick_of(beats.time_s[b])
        late = now - history.last[slot] > SIZES_S * TICKS
        for j in range(member(), SIZES, WIDTH):
            if beats.restart[b] or (amplitude[b] > 0.0 and (late or until(now, int(times[j])) > SIZES_S * TICKS)):
                sizes[j] = math.nan
            if amplitude[b] > 0.0 and not sizes[j] > 0.0:
                times[j] = shortest(now - OLDEST)
                rr[j] = -1.0
        wait()
        if amplitude[b] > 0.0 and member() == 0:
            oldest = 0
            for j in range(SIZES):
                if until(now, int(times[j])) > until(now, int(times[oldest])):
                    oldest = j
            times[oldest] = shortest(now)
            history.last[slot] = now
            rr[oldest] = 0.0
            if beats.rr_s[b] > 0.0:
                rr[oldest] = beats.rr_s[b]
            sizes[oldest] = amplitude[b]
        wait()
        usual = reference_size(rr, sizes)
        if member() == 0:
            usual_size[b] = usual


def reference_size(rr: F32, size: F32) -> float:
    """Return the median size of the reference beats; NaN where no beat has a size."""
    any_size = float32(INFINITE)
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
    """Return how many of the ``SIZES`` values are below the limit, of those whose gate is at least ``least``."""
    count = 0
    for k in range(SIZES):
        count += (gate[k] >= least) & (values[k] < limit)
    return count


def compare_with_history(
    i: int, runs: BeatRuns, beats: TimedBeats, latent: F32, error: F32, embedded: Bool, history: BeatHistory,
    found: Comparison,
) -> None:  # fmt: skip
    """Compare each beat of stream ``i`` with the up to 96 beats of the 60 s before it, then store it among them.

    Parameters
    ----------
    latent, error, embedded : float32 [b, LATENTS], float32 [b], bool [b]
        Latents and reconstruction error, and whether a beat has them.
    history
        Read and written.
    found
        Written.
    """
    for k in range(runs.run[i], runs.run[i + 1]):
        b = runs.order[k]
        slot = beats.slot[b]
        ring, rr, ascending = history.ring[slot], history.rr[slot], history.ascending[slot]
        if member() == 0:
            now = tick_of(beats.time_s[b])
            if beats.restart[b] or now - ring[LAST] > BEATS_S * TICKS:
                ring[COUNT] = 0
                ring[INTERVAL_COUNT] = 0
            last = int(ring[LAST])
            while ring[COUNT] > 0 and now - last + until(last, int(history.time[slot, ring[HEAD]])) > BEATS_S * TICKS:
                drop_oldest(rr, ascending, ring)
        wait()
        n = ring[INTERVAL_COUNT]
        median = abs(int(rr[int(ascending[(n - 1) // 2])])) if n > 0 else LONGEST
        distance, spread, usual_error = distance_to_references(
            b, latent, history.latent[slot], history.closeness[slot], rr, median, ring[HEAD], ring[COUNT]
        )
        wait()
        if member() == 0:
            found.distance[b] = distance
            found.spread[b] = spread
            found.usual_error[b] = usual_error
            found.prematurity[b] = math.nan
            found.irregularity[b] = math.nan
            if n >= FEWEST_INTERVALS and beats.rr_s[b] > 0.0:
                high = seconds_of(rr[int(ascending[int(HIGH_QUANTILE * n)])], beats.rate_hz)
                low = seconds_of(rr[int(ascending[int(LOW_QUANTILE * n)])], beats.rate_hz)
                found.prematurity[b] = 1.0 - beats.rr_s[b] / high
                found.irregularity[b] = 1.0 - low / high
            store_beat(b, beats, error, embedded, history)
        wait()
        newest = (ring[HEAD] + ring[COUNT] - 1) % BEATS
        for j in range(member(), STORED, WIDTH):
            history.latent[slot, newest, j] = in_parts(latent[b, LATENTS - STORED + j]) if embedded[b] else 0
        wait()


def store_beat(b: int, beats: TimedBeats, error: F32, embedded: Bool, history: BeatHistory) -> None:
    """Store time, interval and closeness of beat ``b`` in the history of its slot."""
    slot = beats.slot[b]
    ring, rr, ascending = history.ring[slot], history.rr[slot], history.ascending[slot]
    if ring[COUNT] == BEATS:
        drop_oldest(rr, ascending, ring)
    at = (ring[HEAD] + ring[COUNT]) % BEATS
    ring[COUNT] += 1
    ring[LAST] = tick_of(beats.time_s[b])
    history.time[slot, at] = shortest(int(ring[LAST]))
    rr[at] = 0
    if beats.rr_s[b] > 0.0:
        rr[at] = samples_of(beats.rr_s[b], beats.rate_hz)
    if rr[at] > 0:
        insert(ascending, ring[INTERVAL_COUNT], at, rr)
        ring[INTERVAL_COUNT] += 1
    history.closeness[slot, at] = closeness_of(error[b]) if embedded[b] else 0
    if not embedded[b]:
        rr[at] = -rr[at]


def distance_to_references(
    b: int, latent: F32, past_latent: I16, closeness: U8, rr: I16, threshold: int, head: int, count: int
) -> tuple[float, float, float]:
    """Return the distance of beat ``b`` from the mean of the past beats with RR >= threshold, their spread and error.

    Their usual error is that of the mean of ``closeness`` to the power of four: few beats with large errors hardly
    change it, such as ventricular ones among them.

    The latents are written out one by one: so the sums stay in registers.
    """
    s0 = s1 = s2 = s3 = total = near = found = 0
    for j in range(member(), count, WIDTH):
        k = head + j
        if k >= BEATS:
            k -= BEATS
        use = 1 if rr[k] >= threshold else 0
        found += use
        square = use * int(closeness[k]) * int(closeness[k])
        near += square * square
        z0 = use * int(past_latent[k, 0])
        z1 = use * int(past_latent[k, 1])
        z2 = use * int(past_latent[k, 2])
        z3 = use * int(past_latent[k, 3])
        s0 += z0
        s1 += z1
        s2 += z2
        s3 += z3
        total += z0 * z0 + z1 * z1 + z2 * z2 + z3 * z3
    found = added(found)
    if found < FEWEST_REFERENCES:
        return math.nan, math.nan, math.nan
    squares = added(total) / (LATENT_PARTS * LATENT_PARTS)
    parts = LATENT_PARTS * found
    m0, m1, m2, m3 = added(s0) / parts, added(s1) / parts, added(s2) / parts, added(s3) / parts
    mean_square = m0 * m0 + m1 * m1 + m2 * m2 + m3 * m3
    own = latent[b, LATENTS - STORED :]
    d0, d1, d2, d3 = float(own[0]) - m0, float(own[1]) - m1, float(own[2]) - m2, float(own[3]) - m3
    distance = math.sqrt(d0 * d0 + d1 * d1 + d2 * d2 + d3 * d3)
    usual_error = -0.5 * math.log(added(near) / (float(found) * CLOSENESS_PARTS**4))
    return distance, math.sqrt(max(squares / found - mean_square, 0.0)), usual_error


def drop_oldest(rr: I16, ascending: U8, ring: I64) -> None:
    """Remove the oldest beat of a slot and its interval."""
    if rr[ring[HEAD]] != 0:
        remove(ascending, ring[INTERVAL_COUNT], ring[HEAD], rr)
        ring[INTERVAL_COUNT] -= 1
    ring[HEAD] = (ring[HEAD] + 1) % BEATS
    ring[COUNT] -= 1
