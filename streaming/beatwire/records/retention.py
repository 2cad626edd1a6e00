"""What retention deleted before the monitor was done with it."""

from __future__ import annotations

from typing import NamedTuple


class Expired(NamedTuple):
    """Messages of a partition that a group had not finished with, and that retention has deleted.

    unread   after the position of the group: nothing was published for them
    replay   before it: they would have been replayed
    first    offset of the first one that was never read; 0 without one
    """

    unread: int = 0
    replay: int = 0
    first: int = 0

    def __or__(self, later: Expired) -> Expired:
        """Return both together; ``first`` is that of the earlier ones.

        >>> Expired(20, 0, first=60) | Expired(5, 2, first=90)
        Expired(unread=25, replay=2, first=60)
        """
        first = self.first if self.unread else later.first
        return Expired(self.unread + later.unread, self.replay + later.replay, first)
