"""Bodies that read the waveform around a peak: what the network of ``kernels.peaks.wave_network`` sees of one lead.

In:    the ring of a lane, one lead, and a peak
Out:   six channels at each point of a grid of 4 ms that ends ``AHEAD_S`` after the peak
State: none

A point is the mean of the samples of 4 ms, or a value between two samples, in sixteenths of a unit. From it follow the
signal minus its mean of 0.6 s, and two bands: the mean of 16 ms minus that of 64 ms, and of 40 ms minus that of 160 ms.
Each is divided by its mean magnitude of the last second, and by that of the last four, and compressed by a table. So no
scale, and no offset, has a part.

Before a lane's first sample the first sample is held; where there is no value, the value before is held.

Each member of a team (``kernels.team``) reads a stretch of the points, so that it knows the value before the next one.

Invariant: integers alone, and a function of the samples from ``BACK_S`` before the peak to ``AHEAD_S`` after it.
"""

import math

from beatwire.kernels.intake.holes import NO_VALUE
from beatwire.kernels.peaks.past_samples import VALUES, first_recent, read_past
from beatwire.kernels.team import WIDTH, added, fewest, member, wait
from beatwire.records import F32, I16, I64, U8
from beatwire.records.waveform import WaveGrid

GRID_HZ = 250
AHEAD_S = 0.296
BACK_S = 12.6
MEAN = 150  # points of the mean that is subtracted
BANDS = ((4, 6, 16), (10, 15, 40))  # points of the short mean, points after it, points of the long mean
MAGNITUDES = (250, 1000)  # points of the mean magnitudes
CHANNELS = 6
BEFORE = MEAN - 1 + MAGNITUDES[1]  # points before the first one whose channels are complete
PER_RATIO = 32  # entries of the table for a ratio of one
FRACTION = 16  # parts of a sample
POINT, SUM, PART, SUM_OF_PARTS = range(4)  # rows of the scratch


def start_of(n: int, j: int) -> int:
    """Return the first of the points that member ``j`` of a team reads, of ``n``."""
    return n * j // WIDTH


def accumulate(sums: I64, n: int) -> None:
    """Add to the sums of each member's points those of the members before it; all members call it."""
    wait()
    before = 0
    for j in range(member()):
        before += int(sums[start_of(n, j + 1) - 1])
    wait()
    if member() > 0:
        for q in range(start_of(n, member()), start_of(n, member() + 1)):
            sums[q] += before
    wait()


def read(ring: I16, past: I64, first: int, is_past: bool, a: int) -> int:
    """Return a sample of the ring, or value ``a`` of the past, which begins at value ``first``.

    It is ``NO_VALUE`` where there is none.
    """
    return int(past[a - first]) if is_past else int(ring[a % ring.shape[0]])


def place_of_point(base: int, c: int, grid: WaveGrid, q: int) -> tuple[bool, int, int, int, int, int]:
    """Return where point ``q`` around the peak at sample ``c`` is read.

    Returns
    -------
    tuple
        Whether it is of the past, where it begins, in sixteenths, the number of values of which it is the mean, the
        first value that there is, and the last; and 1 if it is before the lane's first sample, else 0.
    """
    at, recent = c * FRACTION + int(grid.offset[q]), first_recent(c, grid)
    early = int(at // FRACTION < base)
    if base < recent and at // FRACTION < recent:
        middle = at + (grid.apart - (1 << grid.halvings)) * (FRACTION // 2)
        return True, middle >> grid.halvings, 1, base >> grid.halvings, (recent >> grid.halvings) - 1, early
    return False, at, grid.apart, base, at // FRACTION + grid.apart, early


def held_before(ring: I16, past: I64, oldest: int, base: int, c: int, grid: WaveGrid, q: int) -> int:
    """Return the value that is held when point ``q`` is read: the last one before it, else the last one up to ``c``."""
    while q > 0:
        q -= 1
        is_past, at, count, lowest, _, _ = place_of_point(base, c, grid, q)
        for k in range(count - 1, -1, -1):
            value = read(ring, past, oldest, is_past, max(lowest, at // FRACTION + k))
            if value != NO_VALUE:
                return value
    for k in range(min(grid.recent, c - base + 1)):
        if ring[(c - k) % ring.shape[0]] != NO_VALUE:
            return int(ring[(c - k) % ring.shape[0]])
    return 0


def gather(ring: I16, past: U8, base: int, c: int, grid: WaveGrid, numbers: I64) -> int:
    """Write the points of a lead around the peak at sample ``c``, and their sums; return the points before ``base``.

    Samples that are older than ``first_recent`` are read from ``past`` [blocks, BLOCK_BYTES] of the lead.
    """
    points, sums, values, n = numbers[POINT], numbers[SUM], numbers[PART], grid.offset.shape[0]
    is_past, at, _, lowest, highest, _ = place_of_point(base, c, grid, 0)
    oldest = max(lowest, at // FRACTION) // VALUES * VALUES
    if is_past:  # its values fit: there are fewer than points
        read_past(past, oldest // VALUES, highest // VALUES + 1, values)
    first, stop = start_of(n, member()), start_of(n, member() + 1)
    last = held_before(ring, values, oldest, base, c, grid, first)
    before_base = total = 0
    for q in range(first, stop):
        is_past, at, count, lowest, highest, early = place_of_point(base, c, grid, q)
        whole, part = at // FRACTION, at % FRACTION
        before_base += early
        value = 0
        for k in range(count):
            a = max(lowest, whole + k)
            left = read(ring, values, oldest, is_past, a)
            if left == NO_VALUE:
                left = last
            last = left
            right = left
            if part > 0 and whole + k >= lowest:
                right = read(ring, values, oldest, is_past, min(a + 1, highest))
                if right == NO_VALUE:
                    right = left
            value += left * (FRACTION - part) + right * part
        points[q] = value // count
        total += int(points[q])
        sums[q] = total
    accumulate(sums, n)
    return added(before_base)


def quotient(a: int, b: int) -> int:
    """Return ``a // b`` of integers below 2^53, where ``b`` is positive; processors divide vectors of floats alone."""
    return int(math.floor(a / b))


def sum_of(sums: I64, first: int, stop: int) -> int:
    """Return the sum of the points ``[first, stop)``; points before 0 have the value of point 0."""
    low = sums[first - 1] if first > 0 else first * int(sums[0])
    high = sums[stop - 1] if stop > 0 else stop * int(sums[0])
    return int(high - low)


def write_without_mean(points: I64, sums: I64, first: int, stop: int, out: I64) -> None:
    """Write the points ``[first, stop)`` minus their mean of the last ``MEAN`` points."""
    for q in range(first, min(stop, MEAN)):
        out[q] = points[q] - quotient(sum_of(sums, q + 1 - MEAN, q + 1), MEAN)
    first = max(first, MEAN)
    new, old, point, part = sums[first:], sums[first - MEAN :], points[first:], out[first:]
    for q in range(stop - first):
        part[q] = point[q] - quotient(int(new[q] - old[q]), MEAN)


def write_band(sums: I64, short: int, lag: int, long: int, first: int, stop: int, out: I64) -> None:
    """Write a short mean, which is ``lag`` points older, minus a long one, at the points ``[first, stop)``."""
    times = long // short
    for q in range(first, min(stop, MEAN)):
        near = sum_of(sums, q + 1 - lag - short, q + 1 - lag)
        out[q] = quotient(times * near - sum_of(sums, q + 1 - long, q + 1), long)
    first = max(first, MEAN)
    new, old, part = sums[first:], sums[first - long :], out[first:]
    new_near, old_near = sums[first - lag :], sums[first - lag - short :]
    for q in range(stop - first):
        part[q] = quotient(times * int(new_near[q] - old_near[q]) - int(new[q] - old[q]), long)


def first_other(points: I64, n: int) -> int:
    """Return the first of ``n`` points that is not as point 0, ``n`` if all are; all members call it."""
    return fewest(first_in(points, start_of(n, member()), start_of(n, member() + 1), n))


def first_in(points: I64, first: int, stop: int, n: int) -> int:
    """Return the first of the points ``[first, stop)`` that is not as point 0, ``n`` if all are."""
    for q in range(first, stop):
        if points[q] != points[0]:
            return q
    return n


def write_channels(numbers: I64, n: int, compressed: I16, early: int, out: F32) -> int:
    """Write the channels of ``n`` points from ``BEFORE`` on to ``out[(q - BEFORE) * CHANNELS + channel]``.

    Points that are ``early`` are before the lane's first sample. Returns the largest magnitude.
    """
    points, sums, parts, magnitudes = numbers[POINT], numbers[SUM], numbers[PART], numbers[SUM_OF_PARTS]
    channel = largest = 0
    first, stop = start_of(n, member()), start_of(n, member() + 1)
    steady = first_other(points, n)  # up to it, as before the lane's first sample, all channels are zero
    for q in range(first, min(steady, stop)):
        magnitudes[q] = 0
    for q in range(BEFORE + member(), min(steady, n), WIDTH):
        for k in range(CHANNELS):
            out[(q - BEFORE) * CHANNELS + k] = compressed[0]
    for band in range(3):
        if band == 0:
            write_without_mean(points, sums, max(first, steady), stop, parts)
        elif band == 1:
            write_band(sums, *BANDS[0], max(first, steady), stop, parts)
        else:
            write_band(sums, *BANDS[1], max(first, steady), stop, parts)
        if early == 0:
            for q in range(max(first, steady), min(stop, MEAN - 1)):
                parts[q] = 0
        total = 0
        for q in range(max(first, steady), stop):
            total += abs(int(parts[q]))
            magnitudes[q] = total
        accumulate(magnitudes, n)
        for span in MAGNITUDES:
            begin = max(BEFORE, steady)
            new, old, part = magnitudes[begin:], magnitudes[begin - span :], parts[begin:]
            of_channel = out[(begin - BEFORE) * CHANNELS + channel :]
            for q in range(member(), n - begin, WIDTH):
                ratio = quotient(abs(int(part[q])) * (PER_RATIO * span), max(1, int(new[q] - old[q])))
                size = compressed[min(compressed.shape[0] - 1, ratio)]
                of_channel[q * CHANNELS] = size if part[q] >= 0 else -size
            channel += 1
        largest = max(largest, int(magnitudes[n - 1]))
        wait()
    return largest
