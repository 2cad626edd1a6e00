"""The input offsets at the start of each recent tick, from which the rewind offsets of commits are taken."""

from collections import deque
from collections.abc import Mapping
from itertools import islice


class TickLog:
    """Offsets of the partitions at the start of ticks, numbered from 0.

    Examples
    --------
    >>> log = TickLog()
    >>> log.add({0: 10}); log.add({0: 15})
    >>> log.offset(0, 1), log.offset(0, 7, otherwise=20)
    (15, 20)
    >>> log.add({0: 18, 1: 3})  # partition 1 was taken over
    >>> log.offset(1, 0, otherwise=9)
    3
    """

    def __init__(self) -> None:
        self._starts: deque[Mapping[int, int]] = deque()
        self._first = 0  # number of the oldest tick in `_starts`

    def add(self, start: Mapping[int, int]) -> None:
        """Add the next tick: partition -> offset at its start."""
        self._starts.append(start)

    def offset(self, partition: int, tick: int, otherwise: int = 0) -> int:
        """Return the offset of `partition` at the start of `tick`; `otherwise` for a tick that has not begun.

        A partition that was taken over since is known from then on: of an earlier tick, its first offset counts.
        """
        row = max(tick - self._first, 0)
        return next((start[partition] for start in islice(self._starts, row, None) if partition in start), otherwise)

    def discard_before(self, tick: int) -> None:
        """Discard the ticks before `tick`."""
        while self._starts and self._first < tick:
            self._starts.popleft()
            self._first += 1
