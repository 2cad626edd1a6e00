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

from beatwire.kernels.intake.holes import NO_VALUE
from beatwire.kernels.peaks.past_samples import first_recent, value_at
from beatwire.kernels.team import WIDTH, added, member, wait
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


def read(ring: I16, past: U8, is_past: bool, a: int) -> int:
    """Return a sample of the ring or a value of the past; ``NO_VALUE`` where there is none."""
    return value_at(past, a) if is_past else int(ring[a % ring.shape[0]])


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


def held_before(ring: I16, past: U8, base: int, c: int, grid: WaveGrid, q: int) -> int:
    """Return the value that is held when point ``q`` is read: the last one before it, else the last one up to ``c``."""
    while q > 0:
        q -= 1
        is_past, at, count, lowest, _, _ = place_of_point(base, c, grid, q)
        for k in range(count - 1, -1, -1):
            value = read(ring, past, is_past, max(lowest, at // FRACTION + k))
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
    points, sums, n = numbers[POINT], numbers[SUM], grid.offset.shape[0]
    first, stop = start_of(n, member()), start_of(n, member() + 1)
    last = held_before(ring, past, base, c, grid, first)
    before_base = total = 0
    for q in range(first, stop):
        is_past, at, count, lowest, highest, early = place_of_point(base, c, grid, q)
        whole, part = at // FRACTION, at % FRACTION
        before_base += early
        value = 0
        for k in range(count):
            a = max(lowest, whole + k)
            left = read(ring, past, is_past, a)
            if left == NO_VALUE:
                left = last
            last = left
            right = left
            if part > 0 and whole + k >= lowest:
                right = read(ring, past, is_past, min(a + 1, highest))
                if right == NO_VALUE:
                    right = left
            value += left * (FRACTION - part) + right * part
        points[q] = value // count
        total += int(points[q])
        sums[q] = total
    accumulate(sums, n)
    return added(before_base)


def sum_of(sums: I64, first: int, stop: int) -> int:
    """Return the sum of the points ``[first, stop)``; points before 0 have the value of point 0."""
    low = sums[first - 1] if first > 0 else first * int(sums[0])
    high = sums[stop - 1] if stop > 0 else stop * int(sums[0])
    return int(high - low)


def write_channels(numbers: I64, n: int, compressed: I16, early: int, out: F32) -> int:
    """Write the channels of ``n`` points from ``BEFORE`` on to ``out[(q - BEFORE) * CHANNELS + channel]``.

    Points that are ``early`` are before the lane's first sample. Returns the largest magnitude.
    """
    points, sums, parts, magnitudes = numbers[POINT], numbers[SUM], numbers[PART], numbers[SUM_OF_PARTS]
    channel = largest = 0
    first, stop = start_of(n, member()), start_of(n, member() + 1)
    for band in range(3):
        total = 0
        for q in range(first, stop):
            if band == 0:
                value = points[q] - sum_of(sums, q + 1 - MEAN, q + 1) // MEAN
            else:
                short, lag, long = BANDS[band - 1]
                near = sum_of(sums, q + 1 - lag - short, q + 1 - lag)
                value = (long // short * near - sum_of(sums, q + 1 - long, q + 1)) // long
            if q < MEAN - 1 and early == 0:
                value = 0
            parts[q] = value
            total += abs(int(value))
            magnitudes[q] = total
        accumulate(magnitudes, n)
        for span in MAGNITUDES:
            for q in range(BEFORE + member(), n, WIDTH):
                mean = max(1, int(magnitudes[q] - magnitudes[q - span]) if q >= span else int(magnitudes[q]))
                value = int(parts[q])
                ratio = min(compressed.shape[0] - 1, abs(value) * (PER_RATIO * span) // mean)
                out[(q - BEFORE) * CHANNELS + channel] = compressed[ratio] if value >= 0 else -compressed[ratio]
            channel += 1
        largest = max(largest, int(magnitudes[n - 1]))
        wait()
    return largest
