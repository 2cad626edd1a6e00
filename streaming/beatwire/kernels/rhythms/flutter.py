"""Body that finds blocks of a lead that hold one wave after another and nothing else: flutter or fibrillation.

In:    the blocks of a pass that became complete, and the rings
Out:   their kind, and a description for the judge of fibrillation (``kernels.rhythms.wave_shape``)
State: none

The criterion is the VF filter leakage (Kuo and Dillman, Computer detection of ventricular fibrillation, Computers in
Cardiology 1978): the mean period of a signal follows from its size and its slope; the signal is added to itself half a
period later, which cancels a sine, and the leakage is the share that remains. Beats leak, since there is little signal
between them and more than one frequency in them. The published limits are 0.406 for large and 0.625 for small signals;
here it is 0.5 for all.

The lead is resampled to 64 points a second first, each the mean of four samples spread over its time, and its mean and
slope are removed. All sums are of integers: the same on every backend.
"""

import math

from beatwire.kernels.extremes import least_and_largest
from beatwire.kernels.intake.converter import is_limited
from beatwire.kernels.intake.holes import NO_VALUE
from beatwire.kernels.rhythms.wave_shape import ABSENT, CONSTANT, KIND_BITS, KIND_MASK, LIMITED, pack_description
from beatwire.kernels.team import WIDTH, added, member, narrow, wait
from beatwire.records import I16, I32
from beatwire.records.columns import NO_BLOCK
from beatwire.records.detection import FreshLanes
from beatwire.records.selection import ListedBlocks

POINTS = 128  # of a block of two seconds
SPREAD = 4  # samples of a point
SHORTEST, LONGEST = 4, 16  # half a period, in points: waves of 2 to 8 a second
FINE = 16  # a point's value is in sixteenths of a device's unit
NO_SIGN = (1 << 62) - 1  # mask of a column: proves that no index is negative, which saves a test
FLAT, WAVES = 1, 2  # kinds of blocks
REST, SATURATED, POSSIBLE = (
    4,
    8,
    16,
)  # added by ``kernels.rhythms.rhythm``: at rest, at the limits, fibrillation is possible
BLIND = 32  # added by ``kernels.rhythms.rhythm``: one of several leads lacks values
BUSY = 64  # added by ``kernels.rhythms.rhythm``: one wave after the other, as steep as this stream's beats
TOO_FAST = 128  # added by ``kernels.rhythms.rhythm``: they are as high as each other, too
STILL = 256  # added by ``kernels.rhythms.rhythm`` to flat ones: no lead changes its value
MOST_LEAKAGE = 50  # per cent, of waves


def find_waves(i: int, blocks: ListedBlocks, fresh: FreshLanes, length: int, x: I16, work: I32) -> None:
    """Describe block ``i`` if it is not ``FLAT``; its kind is ``WAVES`` if it holds waves. Mark one at a limit.

    A row that is ``NO_BLOCK`` or ``RESIZED`` stays as it is.

    Parameters
    ----------
    blocks
        Their ``kind`` is read, with the nanovolts of a unit above its ``KIND_BITS``, and written.
    fresh
        The lanes of the pass.
    length
        Samples of a block.
    x : int16 [lanes, leads, R]
        Rings that still hold the block; the first lead that has values all through it is described.
    work : int32 [1 or more, POINTS or more]
        Scratch.
    """
    row = blocks.row[i]
    if blocks.kind[i] <= NO_BLOCK:
        return
    first = int(blocks.end[i]) - length
    kind, nanovolts = int(blocks.kind[i]) & KIND_MASK, int(blocks.kind[i]) >> KIND_BITS
    wait()
    if first < fresh.base[row]:
        if member() == 0:
            blocks.kind[i] = kind
        return
    lead, marks = look_at_leads(x[fresh.lane[row]], first, length, nanovolts)
    if kind != FLAT:
        marks &= ~CONSTANT
    if kind == FLAT or lead < 0:
        if member() == 0:
            blocks.kind[i] = kind | marks
        return
    points = work[0][:POINTS]
    to_points(x[fresh.lane[row], lead], first, length, points)
    leakage = leakage_of(points)
    description = pack_description(points, nanovolts, FINE, leakage)
    if member() == 0:
        blocks.kind[i] = description | marks | (WAVES if leakage < MOST_LEAKAGE else 0)


def look_at_leads(leads: I16, first: int, length: int, nanovolts: int) -> tuple[int, int]:
    """Return the first lead with values all through a block, -1 if none has, and the marks of the block.

    It is ``CONSTANT`` if each lead has one value throughout, or lacks some. All members call it.
    """
    found, marks = -1, CONSTANT
    for k in range(leads.shape[0]):
        least, largest = least_and_largest(leads[k], first, length)
        if least == NO_VALUE:
            marks |= ABSENT
            continue
        if found < 0:
            found = k
        if least < largest:
            marks &= ~CONSTANT
        if is_limited(leads[k], first, length, least, largest, nanovolts):
            marks |= LIMITED
    return found, marks


def to_points(ring: I16, first: int, length: int, points: I32) -> None:
    """Write the means of the samples in ``POINTS`` equal parts of a block, without the block's mean and slope."""
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
    """Write the mean of each part of the ``length`` samples from column ``before`` on, in ``1 / FINE``."""
    size = len(ring)
    for j in range(member(), POINTS, WIDTH):
        point = 0
        for k in range(SPREAD):
            column = before + length * (SPREAD * j + k) // (SPREAD * POINTS)
            point += int(ring[(column if column < size else column - size) & NO_SIGN])
        points[j] = point * (FINE // SPREAD)


def leakage_of(points: I32) -> int:
    """Return the share that remains of a block when it is added to itself half a period later, in 1/100 rounded down.

    It is 100 if half the period is not between ``SHORTEST`` and ``LONGEST``.
    """
    slope = size = narrow(0)
    for j in range(member(), POINTS, WIDTH):
        size = narrow(size + abs(int(points[j])))
    later = points[1:]
    for j in range(member(), POINTS - 1, WIDTH):
        slope = narrow(slope + abs(int(later[j]) - int(points[j])))
    size = added(size)
    slope = added(slope)
    half = int(math.floor(math.pi * size / max(slope, 1) + 0.5))
    rest = whole = narrow(0)
    if half >= SHORTEST and half <= LONGEST:
        later = points[half:]
        for j in range(member(), POINTS - half, WIDTH):
            rest = narrow(rest + abs(int(later[j]) + int(points[j])))
            whole = narrow(whole + abs(int(later[j])) + abs(int(points[j])))
    rest = added(rest)
    whole = added(whole)
    return 100 * rest // whole if whole > 0 else 100
