"""How many rows arrays by lane or by slot have: a little more than are needed, so that they grow rarely."""

from bisect import bisect_left
from itertools import accumulate, repeat

LEAST_ROWS = 64
PART = 8
_SIZES: tuple[int, ...] = tuple(
    accumulate(repeat(LEAST_ROWS, 150), lambda size, least: size + max(least, size // PART))
)


def room_for(rows: int) -> int:
    """Return the size of an array of at least ``rows`` rows: sizes differ by an eighth, and by ``LEAST_ROWS``.

    >>> room_for(1), room_for(64), room_for(65), room_for(16_000)
    (64, 64, 128, 17457)
    """
    return _SIZES[bisect_left(_SIZES, rows)]
