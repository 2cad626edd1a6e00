"""Samples of the past in six bits: what the network of doubtful peaks reads of the time before a peak's surroundings.

In:    the ring of a lane
Out:   the past of its leads: blocks of ``VALUES`` values
State: the past

A value is the mean of 1, 2, 4, ... samples, from a multiple of their number on; it is not known if one of them has no
value. A block holds the least of its values, by how much the largest is greater, and of each value the nearest of
``STEPS + 1`` levels from the one to the other: without a QRS complex a block is about as exact as the device.

Blocks are counted from sample 0 of the stream, and one is written when its samples are ``WaveGrid.recent`` samples old.
Samples before the lane's first one are as that one.

Invariant: integers alone; a block depends on its samples and on the lane's first one.
"""

from beatwire.kernels.extremes import lowest
from beatwire.kernels.intake.holes import MOST, NO_VALUE
from beatwire.kernels.team import WIDTH, fewest, member, most, narrow, part, parts, wait
from beatwire.records import I16, I32, I64, U8
from beatwire.records.detection import FreshLanes
from beatwire.records.waveform import WaveGrid

STORED_HZ = 125  # the rate of values is at least this, as long as that of the samples is, and less than twice as much
RECENT_S = 0.8  # before a peak: what is read from the ring
VALUES = 32  # of a block
LONGEST_BLOCK_S = VALUES / 50  # at the lowest sampling rate
STEPS = 62
UNKNOWN = STEPS + 1  # code of a value that is not known
PARTS = 3  # of two bits, of the codes that have no byte
CODES = VALUES // (1 + PARTS)  # of them
WHOLE = PARTS * CODES  # codes that have a byte; its upper bits are a part of another code
HEADER = 4  # bytes of the least value and of the range
BLOCK_BYTES = HEADER + WHOLE
UNSIGNED = 32768  # added to the least value, which is stored without a sign
FRACTION_BITS = 24  # of a level
WORD = (1 << 32) - 1  # a level and its fraction fit: on a CPU, products of 32 bits are faster


def span_of(grid: WaveGrid) -> int:
    """Return the samples of a block."""
    return VALUES << grid.halvings


def first_recent(c: int, grid: WaveGrid) -> int:
    """Return the first sample that is read from the ring where the peak at sample ``c`` is judged."""
    span = span_of(grid)
    return (c - grid.recent) // span * span


def store_past(i: int, fresh: FreshLanes, grid: WaveGrid, x: I16, past: U8, work: I32) -> None:
    """Write the blocks of row ``i`` whose samples are old enough since this pass.

    Parameters
    ----------
    x : int16 [lanes, leads, R]
        Rings of what is new in the pass, ``grid.recent`` and a block.
    past : uint8 [lanes, leads, blocks, BLOCK_BYTES], written
        Block ``k`` of a lane is in row ``k % blocks``.
    work : int32 [1, VALUES]
        Scratch.
    """
    lane, base, span = int(fresh.lane[i]), int(fresh.base[i]), span_of(grid)
    begin = max(base, int(fresh.start[i]) - grid.recent) // span
    n = max(0, (int(fresh.stop[i]) - grid.recent) // span - begin)
    first, stop = begin + n * part() // parts(), begin + n * (part() + 1) // parts()
    for lead in range(x.shape[1]):
        is_known = first < stop and lowest(x[lane, lead], first * span, (stop - first) * span) != NO_VALUE
        for k in range(first, stop):
            store_block(x[lane, lead], base, k, grid.halvings, is_known, past[lane, lead, k % past.shape[2]], work[0])


def store_block(ring: I16, base: int, k: int, halvings: int, is_known: bool, block: U8, values: I32) -> None:
    """Write block ``k`` of a lead; ``values`` [VALUES] is scratch. ``is_known``: all samples have values."""
    first, n = (k * VALUES) << halvings, VALUES << halvings
    column = first % ring.shape[0]
    if is_known and first >= base and column + n <= ring.shape[0]:
        write_block(ring[column : column + n], halvings, block, values)
    else:
        low, high = write_known_means(ring, base, first, halvings, values)
        write_codes(low, high, block, values)


def write_block(samples: I16, halvings: int, block: U8, values: I32) -> None:
    """Write a block whose samples all have values."""
    low, high = write_means(samples, halvings, values)
    write_codes(low, high, block, values)


def write_codes(low: int, high: int, block: U8, values: I32) -> None:
    """Write a block of means, of which ``low`` is the least and ``high`` the largest; ``NO_VALUE`` is less than any."""
    reach = max(1, high - low)
    factor, half = (STEPS << FRACTION_BITS) // reach, 1 << (FRACTION_BITS - 1)
    for j in range(member(), VALUES, WIDTH):
        above = int(values[j]) - low
        values[j] = ((above * factor + half) & WORD) >> FRACTION_BITS if above >= 0 else UNKNOWN
    wait()
    for part_of in range(PARTS):
        whole, out = values[part_of * CODES : (part_of + 1) * CODES], block[HEADER + part_of * CODES :]
        for j in range(member(), CODES, WIDTH):
            out[j] = int(whole[j]) | ((int(values[WHOLE + j]) >> (2 * part_of)) & 3) << 6
    if member() == 0:
        low += UNSIGNED
        block[0], block[1], block[2], block[3] = low & 255, low >> 8, reach & 255, reach >> 8
    wait()


def write_means(samples: I16, halvings: int, values: I32) -> tuple[int, int]:
    """Write the means of samples that all have values; return the least and the largest of them."""
    values[member()] = mean_in(samples, member(), halvings)
    least = largest = values[member()]
    if halvings == 1:  # a loop of vectors
        for j in range(member(), VALUES, WIDTH):
            values[j] = (int(samples[2 * j]) + int(samples[2 * j + 1])) >> 1
            least, largest = min(least, values[j]), max(largest, values[j])
    else:
        for j in range(member(), VALUES, WIDTH):
            values[j] = mean_in(samples, j, halvings)
            least, largest = min(least, values[j]), max(largest, values[j])
    return fewest(narrow(int(least))), most(narrow(int(largest)))


def mean_in(samples: I16, j: int, halvings: int) -> int:
    """Return mean ``j`` of samples that all have values."""
    total = 0
    for s in range(1 << halvings):
        total += int(samples[(j << halvings) + s])
    return total >> halvings


def write_known_means(ring: I16, base: int, first: int, halvings: int, values: I32) -> tuple[int, int]:
    """Write the means of samples from ``first`` on; return the least and the largest of those that are known."""
    low, high = MOST, -MOST
    for j in range(member(), VALUES, WIDTH):
        value = mean_of(ring, base, first + (j << halvings), halvings)
        values[j] = value
        if value != NO_VALUE:
            low, high = min(low, value), max(high, value)
    return fewest(narrow(low)), most(narrow(high))


def mean_of(ring: I16, base: int, a: int, halvings: int) -> int:
    """Return the mean of the samples from ``a`` on; ``NO_VALUE`` if one of them has none."""
    size, total = ring.shape[0], 0
    column = a % size
    for s in range(1 << halvings):
        at = column + max(s, base - a)
        value = int(ring[at if at < size else at - size])
        if value == NO_VALUE:
            return NO_VALUE
        total += value
    return total >> halvings


def read_past(past: U8, first: int, stop: int, values: I64) -> None:
    """Write the values of blocks ``[first, stop)`` of a lead of the past, ``NO_VALUE`` where one is not known."""
    for k in range(first + member(), stop, WIDTH):
        read_block(past[k % past.shape[0]], values[(k - first) * VALUES :])
    wait()


def read_block(block: U8, values: I64) -> None:
    """Write the values of a block."""
    low, reach = (int(block[0]) | int(block[1]) << 8) - UNSIGNED, int(block[2]) | int(block[3]) << 8
    codes, out = block[HEADER:], values[:VALUES]
    for j in range(WHOLE):
        out[j] = value_of(int(codes[j]) & UNKNOWN, low, reach)
    for j in range(CODES):
        code = int(codes[j]) >> 6 | int(codes[CODES + j]) >> 6 << 2 | int(codes[2 * CODES + j]) >> 6 << 4
        out[WHOLE + j] = value_of(code, low, reach)


def value_of(code: int, low: int, reach: int) -> int:
    """Return the value of a code; ``NO_VALUE`` if it is not known."""
    return low + (code * reach + STEPS // 2) // STEPS if code != UNKNOWN else NO_VALUE
