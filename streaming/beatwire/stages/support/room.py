"""How many rows arrays have: by lane or by slot a little more than are needed, so that they grow rarely."""

from typing import Any

from beatwire.backends.base import Backend
from beatwire.records import I64

LEAST_ROWS = 64
PARTS = 32  # sizes from a power of two to the next one


def room_for(rows: int) -> int:
    """Return the size of an array of at least ``rows`` rows: at most a 32nd larger, or ``LEAST_ROWS``.

    >>> room_for(1), room_for(64), room_for(65), room_for(16_000)
    (64, 64, 128, 16128)
    """
    apart = max(LEAST_ROWS, (1 << max(0, rows - 1).bit_length()) // (2 * PARTS))
    return max(1, -(-rows // apart)) * apart


def grown_of(arrays: dict[int, Any], number: int, backend: Backend, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return the array of bank ``number`` (xp) with at least ``shape[0]`` rows; those that are new are zeros."""
    array = arrays.get(number)
    if array is None or len(array) < shape[0]:
        array = arrays[number] = backend.grown(array, shape, dtype)
    return array


def most_in(samples: I64, apart: int) -> int:
    """Return how often something can occur in stretches of so many samples, int64 [n], that is ``apart`` at least.

    >>> import numpy as np
    >>> most_in(np.array([64, 64]), 50), most_in(np.array([64, 49]), 50)
    (4, 3)
    """
    longest = int(samples.max(initial=0))
    if (samples == longest).all():  # as a rule; divisions take longer than all else here
        return len(samples) * (longest // apart + 1)
    return int((samples // apart + 1).sum())
