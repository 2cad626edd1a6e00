"""Body that measures the shape of a beat in each lead, and what is computed from one or two shapes.

In:    R of each beat, the newest sample that its decision depends on, and the rings
Out:   float32 [n, SHAPE_LEADS, POINTS]: the mean of the samples in each of 60 boxes of 10 ms, R at the 31st
State: none

Invariant: a shape depends on the samples in [R - 0.30 s, R + 0.30 s) up to the newest one that the decision depends on,
which stands for those after it. Sums are of integers, and each mean is rounded once: the same on every backend.
"""

from __future__ import annotations

import math

from numpy import float64

from beatwire.kernels.holes import present_lead
from beatwire.kernels.team import WIDTH, member
from beatwire.records import F32, I16, I64

SHAPE_LEADS = 2  # more leads are measured by the detector, but a beat's class depends on the first two
POINTS, POINT_S = 60, 0.010
BEFORE_R = 30  # points before R
QRS_BEGIN, QRS_END = 20, 44  # points: from 100 ms before R to 140 ms after it
P_BEGIN, P_END = 4, 20
T_BEGIN, T_END = 44, 60
FURTHEST = 2  # points that a QRS complex may be moved to lie on that of the normal beat
STEEP = 0.25  # of the steepest slope: a QRS complex extends between the first and last slopes above it
TINY = 1e-9


def measure_shape(i: int, lane: I64, at: I64, decided: I64, base: I64, edges: I64, x: I16, shape: F32) -> None:
    """Write ``shape[i]`` of the beat with R at sample ``at[i]`` of ``lane[i]``.

    Parameters
    ----------
    lane, at, decided, base : int64 [n]
        Lane and R of each beat, the newest sample that may be read, and the first sample of the lane.
    edges : int64 [POINTS + 1]
        Where the boxes begin and end, samples after R.
    x : int16 [lanes, leads, R]
        Rings of at least 0.6 s.
    shape : float32 [n, SHAPE_LEADS, POINTS], written
        Of the first two leads that have values there; of a single one twice, which changes no class. NaN where no lead
        has, and where the shape would begin before ``base``; 0 for the second lead of a stream that has one.
    """
    size, leads = x.shape[2], x.shape[1]
    begin = int(at[i] + edges[0])
    reach = min(int(at[i] + edges[POINTS]), int(decided[i]) + 1) - begin
    one = present_lead(x[lane[i]], begin, begin, reach, 0)
    other = present_lead(x[lane[i]], begin, begin, reach, one + 1) if leads > 1 else -1
    if other < 0:
        other = one
    whole = begin >= base[i] and one >= 0
    for j in range(member(), SHAPE_LEADS * POINTS, WIDTH):
        row, k = j // POINTS, j % POINTS
        if not whole:
            shape[i, row, k] = math.nan
        elif row >= leads:
            shape[i, row, k] = 0.0
        else:
            lead = one if row == 0 else other
            first = int(at[i] + edges[k])
            n = max(1, int(edges[k + 1] - edges[k]))
            total = 0
            for a in range(first, first + n):
                total += int(x[lane[i], lead, min(a, int(decided[i])) % size])
            shape[i, row, k] = total / n


def extent(shape: F32, begin: int, end: int) -> float:
    """Return the largest minus the least of the points ``[begin, end)``."""
    least = most = shape[begin]
    for k in range(begin + 1, end):
        least = min(least, shape[k])
        most = max(most, shape[k])
    return float64(most) - float64(least)


def steepest(shape: F32) -> float:
    """Return the largest slope of the QRS complex, over two points."""
    most = 0.0
    for k in range(QRS_BEGIN, QRS_END):
        most = max(most, abs(float64(shape[k + 1]) - float64(shape[k - 1])))
    return most


def duration(shape: F32, slope: float) -> float:
    """Return the points from the first to the last slope of the QRS complex above a quarter of ``slope``."""
    first, last = QRS_END, QRS_BEGIN
    for k in range(QRS_BEGIN, QRS_END):
        if abs(float64(shape[k + 1]) - float64(shape[k - 1])) > STEEP * slope:
            first = min(first, k)
            last = max(last, k)
    return 1.0 * max(1, last - first + 1)


def slope_spread(shape: F32) -> float:
    """Return the standard deviation in time of the energy of the slope of the QRS complex, in points."""
    energy = first = second = 0.0
    for k in range(QRS_BEGIN, QRS_END):
        slope = float64(shape[k + 1]) - float64(shape[k - 1])
        square = slope * slope
        energy += square
        first += (k - BEFORE_R) * square
        second += (k - BEFORE_R) * (k - BEFORE_R) * square
    mean = first / (energy + TINY)
    return math.sqrt(max(0.0, second / (energy + TINY) - mean * mean))


def deflection(shape: F32) -> float:
    """Return the largest deflection of the QRS complex from the points before it, with its sign."""
    level = 0.0
    for k in range(QRS_BEGIN - 4, QRS_BEGIN):
        level += 0.25 * float64(shape[k])
    most = 0.0
    for k in range(QRS_BEGIN, QRS_END - 6):
        if abs(float64(shape[k]) - level) > abs(most):
            most = float64(shape[k]) - level
    return most


def correlation(one: F32, other: F32, begin: int, end: int, shift: int) -> float:
    """Return the correlation of points ``[begin, end)`` of ``other`` with those ``shift`` later of ``one``."""
    n = end - begin
    a = b = ab = aa = bb = 0.0
    for k in range(begin, end):
        u, v = float64(one[k + shift]), float64(other[k])
        a += u
        b += v
        ab += u * v
        aa += u * u
        bb += v * v
    spread = max(0.0, aa - a * a / n) * max(0.0, bb - b * b / n)
    return (ab - a * b / n) / math.sqrt(spread + TINY)


def difference(one: F32, other: F32, begin: int, end: int, shift: int) -> float:
    """Return the root mean square of the difference of points, as ``correlation`` pairs them."""
    total = 0.0
    for k in range(begin, end):
        apart = float64(one[k + shift]) - float64(other[k])
        total += apart * apart
    return math.sqrt(total / (end - begin))


def level_apart(one: F32, other: F32, begin: int, end: int) -> float:
    """Return the mean difference of the points ``[begin, end)`` of two shapes."""
    total = 0.0
    for k in range(begin, end):
        total += float64(one[k]) - float64(other[k])
    return total / (end - begin)
