"""How many rows arrays have: by lane or by slot a little more than are needed, so that they grow rarely."""

from typing import Any

from beatwire.backends.base import Backend

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
