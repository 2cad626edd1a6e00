"""Body that tells whether two seconds of a lead are one wave after another and nothing else.

The VF filter leakage (Kuo and Dillman, Computers in Cardiology 1978): the mean period of a signal follows
from its size and its slope; added to itself half a period later, what is a sine is gone and what leaks
through is the rest. Beats leak, since between them there is little and in them there is more than one
frequency. The published limits are 0.406 and 0.625, for large signals and small ones; here it is a half.

The lead is brought to 64 points a second first, each the mean of four samples spread over its time, without mean
and slope. All sums are in integers: the same on every backend.
"""

from __future__ import annotations

import math

from beatwire.kernels.team import WIDTH, added, member, wait
from beatwire.records import I16, I32, I64

POINTS = 128
SPREAD = 4  # samples of a point
SHORTEST, LONGEST = 4, 16  # half a period, in points: 8 to 2 a second
FINE = 16  # a point's value in sixteenths of a device's unit
NO_SIGN = (1 << 62) - 1  # of a column: seen to be no negative index, which would cost a test
FLAT, WAVES = 1, 2  # what a block may be


def find_waves(i: int, row: I64, end: I64, lane: I64, base: I64, length: int, x: I16, work: I32, flat: I64) -> None:
    """Set ``flat[i]`` of block ``i`` to ``WAVES`` if it is that, and not ``FLAT``.

    Parameters
    ----------
    row, end : int64 [n]
        Row of its lane in ``lane`` and ``base``, where it ends.
    length
        Samples of a block.
    x : int16 [lanes, leads, R]
        Still holds the block.
    work : int32 [1 or more, 128 or more]
        Scratch.
    flat : int64 [n], written
        ``FLAT`` where it held no signal, 0 otherwise.
    """
    first = int(end[i]) - length
    if flat[i] == FLAT or first < base[row[i]]:
        return
    points = work[0]
    to_points(x[lane[row[i]], 0], first, length, points)
    found = leaks_little(points)
    if found and member() == 0:
        flat[i] = WAVES


def to_points(ring: I16, first: int, length: int, points: I32) -> None:
    """Write the means of samples in ``POINTS`` equal parts of a block, without the block's mean and slope."""
    add_spread(ring, first % len(ring), length, points)
    total = 0
    moment = 0
    for j in range(member(), POINTS, WIDTH):
        point = int(points[j])
        total += point
        moment += point * (2 * j - (POINTS - 1))
    total = added(total)
    moment = added(moment)
    wait()
    level = total // POINTS
    tilt = (moment << 16) // (POINTS * (POINTS * POINTS - 1) // 3)
    for j in range(member(), POINTS, WIDTH):
        points[j] = int(points[j]) - level - (((2 * j - (POINTS - 1)) * tilt) >> 16)
    wait()


def add_spread(ring: I16, before: int, length: int, points: I32) -> None:
    """Write the mean, in ``1 / FINE``, of the samples of each part of ``length`` samples that begin at a column."""
    size = len(ring)
    for j in range(member(), POINTS, WIDTH):
        point = 0
        for k in range(SPREAD):
            column = before + length * (SPREAD * j + k) // (SPREAD * POINTS)
            point += int(ring[(column if column < size else column - size) & NO_SIGN])
        points[j] = point * (FINE // SPREAD)


def leaks_little(points: I32) -> bool:
    """Tell whether less than half of the signal is left when it is added to itself half a period later."""
    slope = 0
    size = 0
    for j in range(member(), POINTS, WIDTH):
        size += abs(int(points[j]))
        if j > 0:
            slope += abs(int(points[j]) - int(points[j - 1]))
    size = added(size)
    slope = added(slope)
    half = int(math.floor(math.pi * size / max(slope, 1) + 0.5))
    left = 0
    both = 0
    if half >= SHORTEST and half <= LONGEST:
        for j in range(half + member(), POINTS, WIDTH):
            left += abs(int(points[j]) + int(points[j - half]))
            both += abs(int(points[j])) + abs(int(points[j - half]))
    left = added(left)
    both = added(both)
    return 2 * left < both
