"""Groups of streams whose chunks threads align side by side: who is in which, and room for the rows that they write.

In:    the chunks of a tick with their slots
Out:   ``AlignGroups`` and ``AlignRows`` for the kernels; the rows that were written, in one order
State: none

On one thread, and with few chunks, there is one group, whose rows are in order as they are.
"""

from typing import NamedTuple

import numpy as np

from beatwire.jit import cpu, threads
from beatwire.kernels.intake import arrivals
from beatwire.records import I64
from beatwire.records.alignment import AlignChunks, AlignGroups, AlignRows
from beatwire.records.columns import CHUNK_COUNT, EVENT_COLUMNS, FRESH_COLUMNS, PLACE_COLUMNS
from beatwire.records.slot_columns import EVENT_ROWS, FRESH_ROWS, PASSES, PLACED_ROWS, SIZES, STATUS

WORTH = 256  # chunks of a group at least
OF_A_THREAD = 4  # groups of each thread: one that has less to do takes another
_WRITTEN = [PLACED_ROWS, FRESH_ROWS, EVENT_ROWS]  # columns of sizes, as in ``AlignRows``
_LINE = 32  # numbers of a row of sizes, of which each group has one: threads write to lines of their own


class Stop(NamedTuple):
    """Where a group has stopped that needs a lane: the chunk, and the group."""

    chunk: int
    group: int


class Grouped:
    """The chunks of a tick by groups.

    Parameters
    ----------
    given
        The chunks.
    slots
        Number of slots that are in use.
    """

    def __init__(self, given: AlignChunks, slots: int) -> None:
        n, count = len(given.slot), _groups(len(given.slot))
        self._samples = given.ints[:, CHUNK_COUNT]
        begin, stop, at, samples = np.empty((4, count), np.int64)
        wrote = np.zeros((n if count > 1 else 0, 3), np.int64)
        groups = AlignGroups(np.empty(n, np.int64), begin, stop, at, np.zeros(count + 1, np.int64), wrote)
        cpu.kernels.group_chunks(given.slot, given.ints, slots, groups, samples)
        room = 2 * (stop - begin) + 128 + samples // 256
        np.cumsum(room, out=groups.room[1:])
        self.groups = groups
        self.rows = _empty_rows(int(room.sum()), np.zeros((count, _LINE), np.int64))

    @property
    def all(self) -> I64:
        """Return the numbers of all groups."""
        return np.arange(len(self.groups.at))

    def stopped(self, run: I64) -> tuple[list[Stop], I64]:
        """Return where groups of those that ran need a lane, and the groups that need more room for rows."""
        status = self.rows.sizes[run, STATUS]
        late = run[status == arrivals.NO_LANE]
        stops = np.column_stack([self.groups.chunk[self.groups.at[late]], late])
        return [Stop(*row) for row in stops.tolist()], run[status == arrivals.NO_ROOM]

    def pass_over(self, group: int) -> None:
        """Let a group go on behind the chunk at which it stopped."""
        self.groups.at[group] += 1

    def enlarge(self, full: I64) -> None:
        """Make more room for the rows of some groups: twice as much, and more for the chunk at which each has stopped.

        Groups that have filled half of their room get twice as much as well. So the room is bounded by what was
        written, and groups that fill up one after the other do not have all rows copied for each.
        """
        old, before = self.rows, self.groups.room
        size, wrote = np.diff(before), old.sizes[:, _WRITTEN]
        more = np.where(2 * wrote.max(axis=1) > size, size, 0)
        more[full] = size[full] + 8 * self._samples[self.groups.chunk[self.groups.at[full]]] + 128
        room = np.concatenate([[0], np.cumsum(size + more)])
        self.rows = _empty_rows(int(room[-1]), old.sizes)
        for rows, to, written in zip(old[:3], self.rows[:3], wrote.T.tolist(), strict=True):
            for at, begin, n in zip(before.tolist(), room.tolist(), written, strict=False):
                to[begin : begin + n] = rows[at : at + n]
        self.groups = self.groups._replace(room=room)

    def in_order(self) -> AlignRows:
        """Return the rows in the order in which one group of all streams writes them; ``sizes`` of all [SIZES]."""
        rows, groups = self.rows, self.groups
        sizes = rows.sizes.sum(axis=0)[:SIZES]
        sizes[PASSES] = rows.sizes[:, PASSES].max(initial=0)
        if len(groups.at) > 1:
            first = np.empty_like(groups.wrote)
            cpu.kernels.count_before(groups.wrote, first)
            ordered = _empty_rows(int(sizes[:PASSES].max()), sizes)
            cpu.kernels.order_rows(len(groups.at), groups, first, rows, ordered)
            rows = ordered
        placed, begun, happened = sizes[_WRITTEN].tolist()
        return AlignRows(rows.place[:placed], rows.fresh[:begun], rows.event[:happened], sizes)


def rehearse() -> None:
    """Call the kernels that only several groups need, for no group: so they are compiled."""
    none = np.zeros(0, np.int64)
    groups = AlignGroups(none, none, none, none, none, np.zeros((0, 3), np.int64))
    rows, ordered = _empty_rows(0, np.zeros((0, _LINE), np.int64)), _empty_rows(0, none)
    cpu.kernels.count_before(groups.wrote, groups.wrote)
    cpu.kernels.order_rows(0, groups, groups.wrote, rows, ordered)


def _groups(chunks: int) -> int:
    """Return the number of groups for so many chunks on the threads in use."""
    count, smallest = threads.helpers.count, threads.helpers.smallest
    return max(1, min(OF_A_THREAD * count, chunks // (smallest or WORTH))) if count > 1 else 1


def _empty_rows(n: int, sizes: I64) -> AlignRows:
    """Return room for ``n`` rows of each kind."""
    return AlignRows(
        place=np.empty((n, PLACE_COLUMNS), np.int64),
        fresh=np.empty((n, FRESH_COLUMNS), np.int64),
        event=np.empty((n, EVENT_COLUMNS), np.int64),
        sizes=sizes,
    )
