"""What a member has taken of its partitions, and whether it may go on with its state when a new epoch begins.

In: the ticks that the monitor takes, and the group's commits at the beginning of an epoch. Out: the offsets from which
the partitions go on that the member had before. State: where the last tick began and ended, and whether its outcome is
unknown.

A member that keeps all of its partitions needs no replay of them: its graph is what a replay would make of them. That
is so if it has lost none since its last tick, and the group's commits are where its last tick ended. They may also be
where it began, if it is unknown whether that tick was published: then it was not, and has to be published again.
"""

from collections.abc import Mapping
from enum import Enum, auto


class Beginning(Enum):
    """How an epoch begins.

    ANEW         with an empty state, and a replay of all partitions
    GOING_ON     with the state of the epoch before, and a replay of the partitions that are new
    UNPUBLISHED  the same, and the last tick of the epoch before has to be published again
    """

    ANEW = auto()
    GOING_ON = auto()
    UNPUBLISHED = auto()


class Progress:
    """What one member has taken.

    Attributes
    ----------
    epoch : int
        Of the last tick.
    beginning : Beginning
        Of the newest epoch.

    Examples
    --------
    >>> progress = Progress()
    >>> progress.begin_epoch(1, {0: 7})
    >>> progress.take({0: 9})
    {0: 7}
    >>> progress.go_on_from({0: 9, 1: 5}), progress.beginning
    ({0: 9}, <Beginning.GOING_ON: 2>)
    """

    def __init__(self) -> None:
        self.epoch = 0
        self.beginning = Beginning.ANEW
        self._before: dict[int, int] = {}
        self._after: dict[int, int] = {}
        self._unknown = False  # whether the last tick was published
        self._lost_in = 0  # the last epoch in which a partition was lost, or the state

    # ---- called by the monitor ----

    def begin_epoch(self, epoch: int, start: Mapping[int, int]) -> None:
        """Note the first offsets of an epoch of which the first tick is taken."""
        self.epoch, self._unknown = epoch, False
        self._before = self._after = dict(start)

    def take(self, positions: Mapping[int, int]) -> dict[int, int]:
        """Note a tick by the offsets after it; return partition -> the offset at which it begins."""
        self._before, self._after, self._unknown = self._after, self._after | dict(positions), False
        return dict(self._before)

    def doubt(self) -> None:
        """Note that it is unknown whether the last tick was published."""
        self._unknown = True

    # ---- called by the polling thread, and by the monitor ----

    def lose(self, epoch: int) -> None:
        """Note that in ``epoch`` a partition was lost, which others may have worked on since, or the state was."""
        self._lost_in = max(self._lost_in, epoch)

    # ---- called by the polling thread, while no tick is in work ----

    def go_on_from(self, committed: Mapping[int, int]) -> dict[int, int]:
        """Find out how the next epoch begins.

        Parameters
        ----------
        committed
            partition -> the offset that the group has committed, of the assigned partitions.

        Returns
        -------
        dict
            partition -> the offset from which it goes on without a replay.
        """
        self.beginning = self._beginning(committed)
        return {} if self.beginning is Beginning.ANEW else dict(self._after)

    def _beginning(self, committed: Mapping[int, int]) -> Beginning:
        if self._lost_in >= self.epoch or not self._after or not self._after.keys() <= committed.keys():
            return Beginning.ANEW
        own = {partition: committed[partition] for partition in self._after}
        moved = self._before != self._after  # else the commits do not tell whether the tick was published
        if own == self._after and (moved or not self._unknown):
            return Beginning.GOING_ON
        if own == self._before and moved and self._unknown:
            return Beginning.UNPUBLISHED
        return Beginning.ANEW
