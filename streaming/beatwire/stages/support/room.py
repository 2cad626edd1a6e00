"""How many rows arrays by lane or by slot have: a little more than are needed, so that they grow rarely."""

from __future__ import annotations

LEAST_ROWS = 64
PART = 16


def room_for(rows: int) -> int:
    """Return the size of an array of at least ``rows`` rows: sizes differ by a sixteenth, and by ``LEAST_ROWS``.

    >>> room_for(1), room_for(64), room_for(65), room_for(16_000)
    (64, 64, 128, 16592)
    """
    size = LEAST_ROWS
    while size < rows:
        size += max(LEAST_ROWS, size // PART)
    return size
