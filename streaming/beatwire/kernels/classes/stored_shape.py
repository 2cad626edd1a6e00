"""The shape of a beat in ten bits a point.

In:    a shape of ``kernels.classes.beat_shape``
Out:   uint8 [STORED_COLUMNS]: the higher eight bits of each point, ``MIDDLE`` more; the exponents of three parts; the
       lower two bits of four points in a byte, those of point ``k`` in column ``LOWER + k % LOWERS``
State: none

The parts are what is before the QRS complex, the complex, and what is behind it. Each has an exponent of its own, with
which its largest point takes ten bits: so a P wave is as exact as an R wave.
"""

from beatwire.kernels.classes.beat_shape import COLUMNS, EXPONENT, POINTS, QRS_BEGIN, QRS_END
from beatwire.kernels.classes.beat_shape import UNKNOWN as UNKNOWN_EXPONENT
from beatwire.records import I16, U8

BORDERS = (0, QRS_BEGIN, QRS_END, POINTS)  # of the parts
PARTS = 3
FIRST_EXPONENT = POINTS
LOWER, LOWERS, LOW_BITS = 64, 16, 2
STORED_COLUMNS = LOWER + LOWERS
LARGEST = 510  # the largest point before it is rounded
MIDDLE = 128  # what stands for 0 in the higher bits
UNKNOWN = 255  # exponent of a shape that is not known


def store_shape(shape: I16, stored: U8) -> None:
    """Write a shape in ten bits a point."""
    before, at, behind = shift_of(shape, 0), shift_of(shape, 1), shift_of(shape, 2)
    pack(shape, before, at, behind, stored)
    exponent = int(shape[EXPONENT])
    stored[FIRST_EXPONENT] = exponent + before if exponent != UNKNOWN_EXPONENT else UNKNOWN
    stored[FIRST_EXPONENT + 1] = max(0, exponent) + at
    stored[FIRST_EXPONENT + 2] = max(0, exponent) + behind


def is_unknown(stored: U8) -> bool:
    """Return True if the shape is not known."""
    return bool(stored[FIRST_EXPONENT] == UNKNOWN)


def load_shape(stored: U8, shape: I16) -> None:
    """Write the shape that is stored, [COLUMNS]; it is known."""
    before, at, behind = (int(stored[FIRST_EXPONENT]), int(stored[FIRST_EXPONENT + 1]), int(stored[FIRST_EXPONENT + 2]))
    least = min(before, at, behind)
    unpack(stored, before - least, at - least, behind - least, shape)
    shape[EXPONENT] = least


def shift_of(shape: I16, part: int) -> int:
    """Return by how many bits the points of a part are shifted."""
    largest, shift = largest_of(shape, BORDERS[part], BORDERS[part + 1]), 0
    while (largest >> shift) > LARGEST:
        shift += 1
    return shift


def largest_of(shape: I16, begin: int, end: int) -> int:
    """Return the largest magnitude of the points ``[begin, end)``."""
    largest = 0
    for k in range(begin, end):
        largest = max(largest, abs(int(shape[k])))
    return largest


def pack(shape: I16, before: int, at: int, behind: int, stored: U8) -> None:
    """Write the bits of the points, shifted by as many bits as are given for each part."""
    for k in range(COLUMNS):
        shift = before if k < QRS_BEGIN else at if k < QRS_END else behind
        point = (int(shape[k]) + ((1 << shift) >> 1)) >> shift if k < POINTS else 0
        stored[k] = ((point >> LOW_BITS) + MIDDLE) & 255
        low, column = (point & 3) << (LOW_BITS * (k // LOWERS)), LOWER + k % LOWERS
        stored[column] = low if k < LOWERS else int(stored[column]) | low


def unpack(stored: U8, before: int, at: int, behind: int, shape: I16) -> None:
    """Write the points, shifted by as many bits as are given for each part; what is behind them is 0."""
    for k in range(COLUMNS):
        shift = before if k < QRS_BEGIN else at if k < QRS_END else behind
        low = (int(stored[LOWER + k % LOWERS]) >> (LOW_BITS * (k // LOWERS))) & 3
        point = ((int(stored[k]) - MIDDLE) << LOW_BITS) | low
        shape[k] = point << shift if k < POINTS else 0
