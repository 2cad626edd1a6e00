"""How many rows arrays have, a little more than are needed, so that they grow rarely; and columns of rings."""

import math
from typing import Any

import numpy as np

from beatwire.backends.base import Backend

LEAST_ROWS = 64
PARTS = 32  # sizes from a power of two to the next one
ROUNDED = 3  # samples that a sum of durations may be longer: each is rounded
LINE_BYTES = 64  # of a cache


def room_for(rows: int) -> int:
    """Return the size of an array of at least ``rows`` rows: at most a 32nd larger, or ``LEAST_ROWS``.

    >>> room_for(1), room_for(64), room_for(65), room_for(16_000)
    (64, 64, 128, 16128)
    """
    apart = max(LEAST_ROWS, (1 << max(0, rows - 1).bit_length()) // (2 * PARTS))
    return max(1, -(-rows // apart)) * apart


def columns_for(seconds: float, rate_hz: float, dtype: Any) -> int:
    """Return the samples of a ring: whole cache lines.

    >>> columns_for(1.0, 250.0, np.int16), columns_for(1.0, 250.0, np.int32)
    (256, 256)
    """
    line = LINE_BYTES // int(np.dtype(dtype).itemsize)
    return math.ceil((seconds * rate_hz + ROUNDED) / line) * line


def grown_of(arrays: dict[int, Any], number: int, backend: Backend, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return the array of bank ``number`` (xp) with at least ``shape[0]`` rows; those that are new are zeros."""
    array = arrays.get(number)
    if array is None or len(array) < shape[0]:
        array = arrays[number] = backend.grown(array, shape, dtype)
    return array
