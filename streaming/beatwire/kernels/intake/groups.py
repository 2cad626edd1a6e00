"""Align the chunks of a tick by groups of streams, which threads share, and put what they wrote into one order.

The streams of a group are those of consecutive slots. Streams do not depend on each other, and the chunks of a group
keep their order of arrival; each group has rows of its own. ``order_rows`` copies them into the order in which one
group of all streams would have written them, so output does not depend on the number of groups.
"""

from beatwire.kernels.intake.arrivals import DONE, align_chunk
from beatwire.records import I64, Bool
from beatwire.records.alignment import AlignChunks, AlignGroups, AlignRows, AlignVerdicts, StreamState
from beatwire.records.columns import EVENT_COLUMNS, FRESH_COLUMNS, PLACE_COLUMNS, PLACEMENT_COLUMNS
from beatwire.records.samples import SlotColumns
from beatwire.records.slot_columns import (
    EVENT_ROWS,
    FRESH_ROWS,
    PLACED_ROWS,
    SLOT_ACTIVE_US,
    SLOT_ARRIVED_US,
    SLOT_BANK,
    SLOT_EXPECTED,
    SLOT_LANE,
    SLOT_SESSION,
    SLOT_USED_TICK,
    SLOT_USED_US,
    STATUS,
)


def align_group(
    g: int, run: I64, chunks: AlignChunks, limits: I64, tick: int, streams: StreamState, groups: AlignGroups,
    rows: AlignRows, verdicts: AlignVerdicts,
) -> None:  # fmt: skip
    """Place the chunks of group ``run[g]`` in order; stop at the first that needs a lane or more room.

    ``rows.sizes[run[g], STATUS]`` is then DONE, NO_LANE or NO_ROOM, see ``kernels.intake.arrivals``, and
    ``groups.at[run[g]]`` the place of the chunk at which it stopped: nothing of that has been done.
    """
    group = run[g]
    begin, end = groups.room[group], groups.room[group + 1]
    sizes = rows.sizes[group]
    own = AlignRows(rows.place[begin:end], rows.fresh[begin:end], rows.event[begin:end], sizes)
    sizes[STATUS] = DONE
    for at in range(groups.at[group], groups.stop[group]):
        i = groups.chunk[at]
        placed, begun, happened = int(sizes[PLACED_ROWS]), int(sizes[FRESH_ROWS]), int(sizes[EVENT_ROWS])
        status = align_chunk(i, chunks, limits, tick, streams, own, verdicts)
        if status != DONE:
            sizes[STATUS] = status
            groups.at[group] = at
            break
        if groups.wrote.shape[0] > 0:
            groups.wrote[i, 0] = sizes[PLACED_ROWS] - placed
            groups.wrote[i, 1] = sizes[FRESH_ROWS] - begun
            groups.wrote[i, 2] = sizes[EVENT_ROWS] - happened


def order_rows(g: int, groups: AlignGroups, first: I64, rows: AlignRows, ordered: AlignRows) -> None:
    """Copy the rows of group ``g`` to their places: those of chunk ``i`` begin at ``first[i]``, int64 [n, 3]."""
    placed = begun = happened = groups.room[g]
    for at in range(groups.begin[g], groups.stop[g]):
        i = groups.chunk[at]
        for to in range(first[i, 0], first[i, 0] + groups.wrote[i, 0]):
            for k in range(PLACE_COLUMNS):
                ordered.place[to, k] = rows.place[placed, k]
            placed += 1
        for to in range(first[i, 1], first[i, 1] + groups.wrote[i, 1]):
            for k in range(FRESH_COLUMNS):
                ordered.fresh[to, k] = rows.fresh[begun, k]
            begun += 1
        for to in range(first[i, 2], first[i, 2] + groups.wrote[i, 2]):
            for k in range(EVENT_COLUMNS):
                ordered.event[to, k] = rows.event[happened, k]
            happened += 1


def take_fresh(i: int, order: I64, fresh: I64, columns: I64) -> None:
    """Write row ``order[i]`` of ``fresh`` to ``columns[:, i]``, int64 [FRESH_COLUMNS, n]."""
    row = fresh[order[i]]
    for k in range(FRESH_COLUMNS):
        columns[k, i] = row[k]


def take_place(i: int, order: I64, place: I64, taken: I64) -> None:
    """Write the columns of row ``order[i]`` of ``place`` that a placement has to ``taken[i]``."""
    row = place[order[i]]
    for k in range(PLACEMENT_COLUMNS):
        taken[i, k] = row[k]


def copy_position(i: int, slots: I64, tick: int, columns: SlotColumns, used: Bool) -> None:
    """Copy the columns of slot ``i`` that later stages read, and whether it had a chunk of use in this tick."""
    state = slots[i]
    columns.session[i] = state[SLOT_SESSION]
    columns.bank[i] = state[SLOT_BANK]
    columns.lane[i] = state[SLOT_LANE]
    columns.expected[i] = state[SLOT_EXPECTED]
    columns.arrived_us[i] = state[SLOT_ARRIVED_US]
    columns.used_us[i] = state[SLOT_USED_US]
    columns.active_us[i] = state[SLOT_ACTIVE_US]
    used[i] = state[SLOT_USED_TICK] == tick
