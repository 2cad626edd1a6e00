"""Counts of 8, 16, 24 or 32 bits: one that begins again at 0 behind the last number goes on.

In:    a count at a time
Out:   the same without turns
State: the last count, and by how much counts have turned before it
"""

_TURNS = tuple(1 << bits for bits in (8, 16, 24, 32))


class Turns:
    """The turns of one count."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._ahead = self._turn = 0

    def number(self, count: int, near: int) -> int:
        """Return a count without turns.

        Parameters
        ----------
        near
            How many numbers before and after the last one may be missing, at most an eighth of all. A count that falls
            farther begins again; one that rises as far is late, from before the turn.

        Examples
        --------
        >>> turns = Turns()
        >>> [turns.number(count, 8) for count in (254, 255, 1, 255, 2, 0)], Turns().number(300, 8)
        ([254, 255, 257, 255, 258, 256], 300)
        """
        self._ahead += self._turned(count, near)
        self._last = count
        return count + self._ahead

    def _turned(self, count: int, near: int) -> int:
        if self._last is None:
            return 0
        least, most = sorted((count, self._last))
        turn = self._turn or next((turn for turn in _TURNS if most < turn), 0)
        near = min(near, turn // 8)
        if not least < near <= turn - near <= most < turn:
            return 0
        if count < self._last:
            self._turn = turn
            return turn
        return -turn if self._ahead >= turn else 0
