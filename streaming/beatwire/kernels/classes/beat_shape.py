"""Body that measures the shape of a beat in each lead, and what is computed from one or two shapes.

In:    R of each beat, the newest sample that its decision depends on, and the rings
Out:   int16 [n, SHAPE_LEADS, COLUMNS]: the means of the samples in each of 60 boxes of 10 ms, R at the 31st, without
       their own mean; and their exponent. A point is worth ``unit_of`` that
State: none

Invariant: a shape depends on the samples in [R - 0.30 s, R + 0.30 s) up to the newest one that the decision depends on,
which stands for those after it. It is of integers, and so are all sums of products of two shapes: the same on every
backend and in any order.
"""

import math

from numpy import float64

from beatwire.kernels.intake.holes import present_lead
from beatwire.kernels.intake.ring import unroll
from beatwire.kernels.team import WIDTH, added, member, most, narrow, wait
from beatwire.records import F32, I16, I32, I64

SHAPE_LEADS = 2  # more leads are measured by the detector, but a beat's class depends on the first two
POINTS, POINT_S = 60, 0.010
EXPONENT, COLUMNS = POINTS, 64  # the column of the exponent; a shape fills whole cache lines
UNKNOWN = -1  # exponent of a shape that is not known
PARTS_BITS = 6  # points are in 1/64 of a unit of the device, times two to the power of the exponent
MOST_POINT = (1 << 14) - 1  # the largest point: products of 60 of them and their sums are exact
EDGE, INVERSE = range(2)  # rows of ``edges``
INVERSE_BITS = 26
BEFORE_R = 30  # points before R
QRS_BEGIN, QRS_END = 20, 44  # points: from 100 ms before R to 140 ms after it
P_BEGIN, P_END = 4, 20
T_BEGIN, T_END = 44, 60
FURTHEST = 2  # points that a QRS complex may be moved to lie on that of the normal beat
STEEP = 0.25  # of the steepest slope: a QRS complex extends between the first and last slopes above it
TINY = 1e-9


def measure_shape(
    i: int, lane: I64, at: I64, decided: I64, base: I64, edges: I64, x: I16, work: I32, shape: I16
) -> None:
    """Write ``shape[i]`` of the beat with R at sample ``at[i]`` of ``lane[i]``.

    Parameters
    ----------
    lane, at, decided, base : int64 [n]
        Lane and R of each beat, the newest sample that may be read, and the first sample of the lane.
    edges : int64 [2, POINTS + 1]
        Where the boxes begin and end, samples after R; and ``1 << INVERSE_BITS`` over the samples of each.
    x : int16 [lanes, leads, R]
        Rings of at least 0.6 s.
    work : int32 [2, 0.6 s or more]
        Scratch.
    shape : int16 [n, SHAPE_LEADS, COLUMNS], written
        Of the first two leads that have values there; of a single one twice, which changes no class. ``UNKNOWN`` where
        no lead has, and where the shape would begin before ``base``; 0 for the second lead of a stream that has one.
    """
    rings, first = x[lane[i]], int(at[i] + edges[EDGE, 0])
    known = min(int(at[i] + edges[EDGE, POINTS]), int(decided[i])) + 1 - first
    reach = min(known, int(edges[EDGE, POINTS] - edges[EDGE, 0]))
    one = present_lead(rings, first, first, reach, 0)
    other = present_lead(rings, first, first, reach, one + 1) if rings.shape[0] > 1 else -1
    for row in range(SHAPE_LEADS):
        out = shape[i, row]
        if row < rings.shape[0] and first >= base[i] and one >= 0:
            unroll(rings[other if row > 0 and other >= 0 else one], first, known, work[0])
            average_boxes(work[0], known, edges, work[1], out)
        else:
            for k in range(member(), COLUMNS, WIDTH):
                out[k] = UNKNOWN if k == EXPONENT and row < rings.shape[0] else 0


def average_boxes(samples: I32, known: int, edges: I64, means: I32, out: I16) -> None:
    """Write the shape of ``samples``, of which so many are known; the last one stands for those after it."""
    begin = int(edges[EDGE, 0])
    for j in range(known + member(), int(edges[EDGE, POINTS]) - begin + 1, WIDTH):
        samples[j] = samples[known - 1]
    wait()
    total = 0
    for k in range(member(), POINTS, WIDTH):
        first = int(edges[EDGE, k]) - begin
        box = int(samples[first])
        for j in range(first + 1, int(edges[EDGE, k + 1]) - begin):
            box += int(samples[j])
        means[k] = (box * int(edges[INVERSE, k])) >> (INVERSE_BITS - PARTS_BITS)
        total += int(means[k])
    mean = narrow(added(total) // POINTS)
    largest = 0
    for k in range(member(), POINTS, WIDTH):
        largest = max(largest, abs(narrow(means[k]) - mean))
    exponent = exponent_of(most(int(largest)))
    half = (1 << exponent) >> 1
    for k in range(member(), POINTS, WIDTH):
        out[k] = (int(means[k]) - mean + half) >> exponent
    for k in range(POINTS + member(), COLUMNS, WIDTH):
        out[k] = exponent if k == EXPONENT else 0
    wait()


def exponent_of(largest: int) -> int:
    """Return the least exponent with which a point of ``largest`` fits."""
    exponent = 0
    while (largest >> exponent) > MOST_POINT:
        exponent += 1
    return exponent


def unit_of(shape: I16) -> float:
    """Return the units of the device that a point of a shape is worth for each unit of its value."""
    return float64(1 << int(shape[EXPONENT])) / (1 << PARTS_BITS)


def widen(shape: I16, out: F32) -> None:
    """Write the points of a shape in units of the device."""
    unit = unit_of(shape)
    for k in range(POINTS):
        out[k] = unit * int(shape[k])


def likeness(one: I16, other: I16, begin: int, end: int) -> float:
    """Return the correlation of points ``[begin, end)`` of two shapes."""
    total, spread = spread_of(other, begin, end)
    return likeness_to(one, other, total, spread, begin, end)


def likeness_to(one: I16, other: I16, other_total: int, other_spread: float, begin: int, end: int) -> float:
    """Return the correlation of points ``[begin, end)`` of a shape with those of one whose ``spread_of`` is known."""
    total, spread = spread_of(one, begin, end)
    both = (end - begin) * inner_product(one, other, begin, end) - total * other_total
    return float64(both) / math.sqrt(spread * other_spread + TINY)


def spread_of(shape: I16, begin: int, end: int) -> tuple[int, float]:
    """Return the sum of points ``[begin, end)`` of a shape, and their squared spread times their number squared."""
    n, total = end - begin, total_of(shape, begin, end)
    return total, float64(n * inner_product(shape, shape, begin, end) - total * total)


def apart(one: I16, other: I16, leads: int) -> float:
    """Return the squared distance of the shapes of two beats over all leads, in units of the device."""
    return apart_by(one, energy_of(one, leads), other, energy_of(other, leads), leads)


def apart_by(one: I16, one_energy: float, other: I16, other_energy: float, leads: int) -> float:
    """Return the squared distance of the shapes of two beats whose ``energy_of`` is known."""
    both = 0.0
    for lead in range(leads):
        units = unit_of(one[lead]) * unit_of(other[lead])
        both += units * inner_product(one[lead], other[lead], 0, POINTS)
    return one_energy - 2.0 * both + other_energy


def energy_of(shapes: I16, leads: int) -> float:
    """Return the energy of the shapes of a beat, over all leads."""
    total = 0.0
    for lead in range(leads):
        total += energy(shapes[lead])
    return total


def energy(shape: I16) -> float:
    """Return the sum of the squared points of a shape, in units of the device."""
    unit = unit_of(shape)
    return unit * unit * inner_product(shape, shape, 0, POINTS)


def inner_product(one: I16, other: I16, begin: int, end: int) -> int:
    """Return the sum of the products of points ``[begin, end)`` of two shapes."""
    total = 0
    for k in range(begin, end):
        total += int(one[k]) * int(other[k])
    return total


def total_of(shape: I16, begin: int, end: int) -> int:
    """Return the sum of points ``[begin, end)`` of a shape."""
    total = 0
    for k in range(begin, end):
        total += int(shape[k])
    return total


def store_mean(total: I32, n: int, out: I16) -> None:
    """Write the mean of ``n`` shapes whose sum is ``total``, in parts of a unit of the device."""
    largest = 0
    for k in range(POINTS):
        largest = max(largest, abs(int(total[k])))
    exponent = exponent_of(largest // n)
    scale = 1.0 / (n * float64(1 << exponent))
    for k in range(POINTS):
        out[k] = int(math.floor(int(total[k]) * scale + 0.5))
    out[EXPONENT] = exponent


def extent(shape: F32 | I16, begin: int, end: int) -> float:
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
