"""Bodies that describe a block of a lead in eight small numbers: what a judge of fibrillation reads.

In:    the points of a block (``kernels.rhythms.flutter.to_points``), and the size of a unit
Out:   the numbers, each 0-127, in one integer with the kind of the block
State: none

All sums are of integers, and quotients are rounded the same way everywhere: the numbers are equal on every backend.
"""

import math

from beatwire.kernels.team import WIDTH, added, member, most, narrow
from beatwire.records import I32

# The numbers, in the order in which they are packed:
#   LEAKAGE   share of the signal that remains when it is added to itself half a period later, in 1/100
#   HALF      half of the mean period, in quarters of a point
#   SIZE      logarithm of the mean size in microvolts, in eighths of an octave; not calibrated: in quarters of a unit
#   BASELINE  share of points that are less than a quarter of the largest, in 1/127
#   CREST     the largest point over the mean size, in 1/8
#   STEEP     the steepest slope over the mean slope, in 1/4
#   BEND      mean change of the slope over the mean slope, in 1/50
#   UPWARD    how often the signal exceeds an eighth of the largest point anew
LEAKAGE, HALF, SIZE, BASELINE, CREST, STEEP, BEND, UPWARD = range(8)
NUMBERS = 8
BITS, LARGEST = 7, 127
KIND_BITS = 2  # of the kind, below the numbers; the following bits are above them
KIND_MASK = 3
# Flags above the numbers, up to the sign of an int64. They are all that fit: a further name fails at import, and needs
# a column of its own, or a number of fewer bits.
#   DESCRIBED     the block has a description
#   UNCALIBRATED  ``SIZE`` compares blocks of one stream only
#   LIMITED       a lead stands at the limits of its converter; a block without description may have it
#   ABSENT        one of several leads lacks values; a block without description may have it
#   CROWDED       one wave after the other is as high: in P waves, beats and T waves it is every third
CONSTANT = 1 << KIND_BITS  # of a flat block, which has no numbers: no lead changes its value
DESCRIBED, UNCALIBRATED, LIMITED, ABSENT, CROWDED = (1 << bit for bit in range(KIND_BITS + NUMBERS * BITS, 63))
UNIT_NANOVOLTS = 4000  # of a stream that is not calibrated, for ``SIZE``
CROWDED_WAVES = 8  # so many in a block are more than 240 a minute


def number_of(packed: int, k: int) -> int:
    """Return a number of a packed description."""
    return (packed >> (KIND_BITS + BITS * k)) & LARGEST


def known_number(packed: int, k: int) -> int:
    """Return a number of a packed description that compares streams; 0: it is not known."""
    return 0 if k == SIZE and packed & UNCALIBRATED > 0 else number_of(packed, k)


def eighths_of_octaves(value: int) -> int:
    """Return 8 log2 of a positive value, linear between powers of two, and at most ``LARGEST``; 0 for less than 2.

    >>> [eighths_of_octaves(v) for v in (0, 1, 2, 3, 4, 1024)]
    [0, 0, 8, 12, 16, 80]
    """
    octave = 0
    while value >> (octave + 1) > 0:
        octave += 1
    if octave == 0:
        return 0
    return min(LARGEST, 8 * octave + (8 * (value - (1 << octave)) >> octave))


def pack_description(points: I32, nanovolts: int, fine: int, leakage: int) -> int:
    """Return the description of a block without its kind; all members of the team call it.

    Parameters
    ----------
    points : int32 [n]
        The block, without its mean and slope, in ``1 / fine`` of a unit.
    nanovolts
        Of a unit; 0: not calibrated.
    leakage
        See ``LEAKAGE``.
    """
    n, second, third = len(points), points[1:], points[2:]
    size = slope = bend = narrow(0)
    largest = steepest = narrow(0)
    for j in range(member(), n, WIDTH):
        point = narrow(abs(int(points[j])))
        size = narrow(size + point)
        largest = max(largest, point)
    for j in range(member(), n - 1, WIDTH):
        step = narrow(abs(int(second[j]) - int(points[j])))
        slope = narrow(slope + step)
        steepest = max(steepest, step)
    for j in range(member(), n - 2, WIDTH):
        bend = narrow(bend + abs(int(third[j]) - 2 * int(second[j]) + int(points[j])))
    size, slope, bend = added(size), added(slope), added(bend)
    largest, steepest = most(largest), most(steepest)
    low = upward = high = deep = narrow(0)
    for j in range(member(), n, WIDTH):
        low = narrow(low + (narrow(4 * abs(int(points[j]))) < largest))
    for j in range(member(), n - 1, WIDTH):
        point, before = int(second[j]), int(points[j])
        upward = narrow(upward + ((narrow(8 * point) > largest) & (narrow(8 * before) <= largest)))
        high = narrow(high + ((narrow(2 * point) > largest) & (narrow(2 * before) <= largest)))
        deep = narrow(deep + ((narrow(-2 * point) > largest) & (narrow(-2 * before) <= largest)))
    low, upward, high, deep = added(low), added(upward), added(high), added(deep)
    half = int(math.floor(4.0 * math.pi * size / max(slope, 1) + 0.5))
    microvolts = size * (nanovolts if nanovolts > 0 else UNIT_NANOVOLTS) // (n * fine * 1000)
    packed = min(LARGEST, leakage)
    packed |= min(LARGEST, half) << (BITS * HALF)
    packed |= eighths_of_octaves(microvolts) << (BITS * SIZE)
    packed |= (LARGEST * low // n) << (BITS * BASELINE)
    packed |= min(LARGEST, 8 * n * largest // max(size, 1)) << (BITS * CREST)
    packed |= min(LARGEST, 4 * n * steepest // max(slope, 1)) << (BITS * STEEP)
    packed |= min(LARGEST, 50 * bend // max(slope, 1)) << (BITS * BEND)
    packed |= min(LARGEST, upward) << (BITS * UPWARD)
    known = DESCRIBED if nanovolts > 0 else DESCRIBED | UNCALIBRATED
    if max(high, deep) >= CROWDED_WAVES:
        known |= CROWDED
    return known | (packed << KIND_BITS)
