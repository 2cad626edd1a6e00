"""Bodies that bring what happened in a tick into the order of each stream. Serial: one call, no items.

Beats and blocks of a pass come by lane and in order, so they are merged; only what alignment tells (restarts, gaps,
leads) has to find its place, and that is little. Events travel as int64 rows: pass, slot, kind (``records.Event``),
sample, value, session.
"""

from __future__ import annotations

from beatwire.kernels.events import write_event
from beatwire.records import I64
from beatwire.records.events import BEAT, BLOCK, RESTART, WATERMARK

KINDS = 8  # more than there are: at the same sample the kind decides


def merge_pass(
    number: int, slot: I64, session: I64, watermark: I64, row: I64, sample: I64, first: int, block_row: I64,
    block_end: I64, block_value: I64, events: I64, n: int,
) -> int:  # fmt: skip
    """Append the beats and blocks of a pass to ``n`` events, by lane and sample, and how far each lane is watermark.

    Parameters
    ----------
    slot, session, watermark : int64 [lanes]
        Of the lanes of the pass.
    row, sample : int64 [b], by lane and in order
        Row of a beat's lane, its sample; ``first`` is the number of the first beat in the tick.
    block_row, block_end, block_value : int64 [k], by lane and in order
        The same of the blocks, and what each is.
    events : int64 [., 6], written

    Returns
    -------
    int
        How many events there are now.
    """
    b = 0
    k = 0
    for lane in range(len(slot)):
        while True:
            beat = b < len(row) and row[b] <= lane
            block = k < len(block_row) and block_row[k] <= lane
            if beat and (not block or sample[b] <= block_end[k]):
                write_event(events, n, number, slot[row[b]], BEAT, sample[b], first + b, session[row[b]])
                b += 1
            elif block:
                of = block_row[k]
                write_event(events, n, number, slot[of], BLOCK, block_end[k], block_value[k], session[of])
                k += 1
            else:
                break
            n += 1
        write_event(events, n, number, slot[lane], WATERMARK, watermark[lane], watermark[lane], session[lane])
        n += 1
    return n


def by_stream(events: I64, first: I64, at: I64, place: I64, ordered: I64) -> None:
    """Write events by slot, pass and sample; a restart opens its pass, ``WATERMARK`` ends it; else as they come.

    Parameters
    ----------
    events : int64 [e, 6]
        Nearly in order within each slot: what is not is moved there one by one.
    first : int64 [slots + 1]
        Zeros.
    at, place : int64 [slots], [e]
        Scratch.
    ordered : int64 [e, 5], written
        slot, session, kind, sample, value.
    """
    for e in range(len(events)):
        first[events[e, 1] + 1] += 1
    for slot in range(len(first) - 1):
        first[slot + 1] += first[slot]
        at[slot] = first[slot]
    for e in range(len(events)):
        slot = events[e, 1]
        to = at[slot]
        at[slot] += 1
        while to > first[slot] and is_before(events[e], events[place[to - 1]]):
            place[to] = place[to - 1]
            to -= 1
        place[to] = e
    for to in range(len(events)):
        e = place[to]
        ordered[to, 0] = events[e, 1]
        ordered[to, 1] = events[e, 5]
        ordered[to, 2] = events[e, 2]
        ordered[to, 3] = events[e, 3]
        ordered[to, 4] = events[e, 4]


def is_before(one: I64, other: I64) -> bool:
    """Tell whether an event of the same stream belongs before the other."""
    if one[0] != other[0]:
        return bool(one[0] < other[0])
    here, there = rank(one[2]), rank(other[2])
    if here != there:
        return here < there
    return bool(KINDS * one[3] + one[2] < KINDS * other[3] + other[2])


def rank(kind: int) -> int:
    """Tell where in its pass an event of a kind stands."""
    if kind == RESTART:
        return 0
    return 2 if kind == WATERMARK else 1


def find_runs(events: I64, run: I64) -> int:
    """Write where the events of each stream begin, and where the last one's end; return how many streams there are.

    ``events``: [e, any], the slot first, by slot; ``run``: int64 [e + 1].
    """
    n = 0
    for e in range(len(events)):
        if e == 0 or events[e, 0] != events[e - 1, 0]:
            run[n] = e
            n += 1
    run[n] = len(events)
    return n
