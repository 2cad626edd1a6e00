"""Align the chunks of a tick by groups of streams, which threads share, and put what they wrote into one order.

The streams of a group are those of consecutive slots. Streams do not depend on each other, and the chunks of a group
keep their order of arrival; each group has rows of its own. ``order_rows`` copies them into the order in which one
group of all streams would have written them, so output does not depend on the number of groups.
"""

from beatwire.kernels.intake.arrivals import DONE, NO_BANK, PLACED, REFUSED, align_chunk
from beatwire.records import I64, Bool
from beatwire.records.alignment import AlignChunks, AlignGroups, AlignRows, AlignVerdicts, StreamState
from beatwire.records.columns import CHUNK_COUNT, EVENT_COLUMNS, FRESH_COLUMNS, PLACE_COLUMNS, PLACEMENT_COLUMNS
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

AHEAD = 3  # chunks: so far ahead of the present one the state of a stream is prefetched
_SHIFT = 32  # of a fraction in an integer


def group_chunks(slot: I64, ints: I64, slots: int, groups: AlignGroups, samples: I64) -> None:
    """Sort the chunks of a tick into groups of consecutive slots; those of a group keep their order.

    Parameters
    ----------
    slot : int64 [n]
        Of each chunk; a negative one counts as 0.
    ints
        The chunks, see ``records.Chunks``.
    slots
        Number of slots: those of ``slot`` are below it.
    groups
        ``chunk``, ``begin``, ``stop`` and ``at`` are written.
    samples : int64 [g], written
        Samples of the chunks of each group.
    """
    count = samples.shape[0]
    scale = (count << _SHIFT) // max(1, slots)
    for g in range(count):
        groups.stop[g] = samples[g] = 0
    for i in range(slot.shape[0]):
        g = (max(0, int(slot[i])) * scale) >> _SHIFT
        groups.stop[g] += 1
        samples[g] += ints[i, CHUNK_COUNT]
    end = 0
    for g in range(count):
        groups.begin[g] = groups.at[g] = end
        end += groups.stop[g]
        groups.stop[g] = end
    for i in range(slot.shape[0]):
        g = (max(0, int(slot[i])) * scale) >> _SHIFT
        groups.chunk[groups.at[g]] = i
        groups.at[g] += 1
    for g in range(count):
        groups.at[g] = groups.begin[g]


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
    last = groups.stop[group] - 1
    for at in range(groups.at[group], groups.stop[group]):
        i = groups.chunk[at]
        foresee(groups.chunk[min(at + AHEAD, last)], chunks, streams)
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


def foresee(i: int, chunks: AlignChunks, streams: StreamState) -> None:
    """Do nothing: machine code prefetches the state of the stream of chunk ``i`` here (``jit.x86.prefetch``)."""


def count_before(wrote: I64, first: I64) -> None:
    """Write where the rows of each chunk begin, int64 [n, 3]: the sums of ``wrote`` over the chunks before it."""
    placed = begun = happened = 0
    for i in range(wrote.shape[0]):
        first[i, 0], first[i, 1], first[i, 2] = placed, begun, happened
        placed += int(wrote[i, 0])
        begun += int(wrote[i, 1])
        happened += int(wrote[i, 2])


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


def mark_seen(slot: I64, code: I64, seen: Bool) -> None:
    """Mark the slots of chunks that were placed, or for which there was no room; a negative slot is none."""
    for i in range(slot.shape[0]):
        if slot[i] >= 0 and (code[i] == PLACED or code[i] == REFUSED or code[i] == NO_BANK):
            seen[slot[i]] = True


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
