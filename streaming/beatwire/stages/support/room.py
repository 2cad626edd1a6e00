"""How many rows arrays have: by lane or by slot a little more than are needed, so that they grow rarely."""

from bisect import bisect_left
from itertools import accumulate, repeat

from beatwire.records import I64

LEAST_ROWS = 64
PART = 16
_SIZES: tuple[int, ...] = tuple(
    accumulate(repeat(LEAST_ROWS, 300), lambda size, least: size + max(least, size // PART))
)


def room_for(rows: int) -> int:
    """Return the size of an array of at least ``rows`` rows: sizes differ by a sixteenth, and by ``LEAST_ROWS``.

    >>> room_for(1), room_for(64), room_for(65), room_for(16_000)
    (64, 64, 128, 16545)
    """
    return _SIZES[bisect_left(_SIZES, rows)]


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
