"""Sort the events of a tick into the order of each stream. These bodies have no items: one call does all.

Beats and blocks of a pass come by lane and in order, so they are merged. Only the events of align (restarts, gaps,
lead-off masks) have to be moved to their place, and they are few.
"""

from __future__ import annotations

from beatwire.kernels.intake.events import write_event
from beatwire.records import I64
from beatwire.records.alignment import PassBeats, PassLanes
from beatwire.records.columns import (
    EVENT_BANK,
    EVENT_KIND,
    EVENT_PASS,
    EVENT_SAMPLE,
    EVENT_SESSION,
    EVENT_SLOT,
    EVENT_VALUE,
    ORDERED_BANK,
    ORDERED_KIND,
    ORDERED_SAMPLE,
    ORDERED_SESSION,
    ORDERED_SLOT,
    ORDERED_VALUE,
)
from beatwire.records.events import BEAT, BLOCK, RESTART, WATERMARK
from beatwire.records.selection import ListedBlocks

KINDS = 11  # at least the number of kinds: at the same sample, kinds are in the order of ``records.events``


def merge_pass(
    number: int, lanes: PassLanes, beats: PassBeats, first: int, blocks: ListedBlocks, events: I64, n: int
) -> int:
    """Append the beats and blocks of a pass to ``n`` events, by lane and sample, and the watermark of each lane.

    Parameters
    ----------
    number
        Of the pass.
    first
        Number of the first beat of the pass in the tick; a BEAT event has the number of its beat as value.
    events : int64 [., EVENT_COLUMNS], written from row ``n`` on

    Returns
    -------
    int
        The number of events.
    """
    b = 0
    k = 0
    for lane in range(len(lanes.slot)):
        slot, session, bank = lanes.slot[lane], lanes.session[lane], lanes.bank
        while True:
            beat = b < len(beats.row) and beats.row[b] <= lane
            block = k < len(blocks.row) and blocks.row[k] <= lane
            if beat and (not block or beats.sample[b] <= blocks.end[k]):
                write_event(events[n], number, slot, BEAT, beats.sample[b], first + b, session, bank)
                b += 1
            elif block:
                write_event(events[n], number, slot, BLOCK, blocks.end[k], blocks.kind[k], session, bank)
                k += 1
            else:
                break
            n += 1
        watermark = lanes.watermark[lane]
        write_event(events[n], number, slot, WATERMARK, watermark, watermark, session, bank)
        n += 1
    return n


def by_stream(events: I64, first: I64, at: I64, place: I64, ordered: I64) -> None:
    """Write events by slot, pass and sample; RESTART is the first of its pass, WATERMARK the last, equal ones stay.

    Parameters
    ----------
    events : int64 [e, EVENT_COLUMNS]
        Nearly in order within each slot: each that is not is moved past those before it one by one.
    first : int64 [slots + 1]
        Zeros.
    at, place : int64 [slots], [e]
        Scratch.
    ordered : int64 [e, ORDERED_COLUMNS], written
    """
    for e in range(len(events)):
        first[events[e, EVENT_SLOT] + 1] += 1
    for slot in range(len(first) - 1):
        first[slot + 1] += first[slot]
        at[slot] = first[slot]
    for e in range(len(events)):
        slot = events[e, EVENT_SLOT]
        to = at[slot]
        at[slot] += 1
        while to > first[slot] and is_before(events[e], events[place[to - 1]]):
            place[to] = place[to - 1]
            to -= 1
        place[to] = e
    for to in range(len(events)):
        event, row = events[place[to]], ordered[to]
        row[ORDERED_SLOT] = event[EVENT_SLOT]
        row[ORDERED_SESSION] = event[EVENT_SESSION]
        row[ORDERED_KIND] = event[EVENT_KIND]
        row[ORDERED_SAMPLE] = event[EVENT_SAMPLE]
        row[ORDERED_VALUE] = event[EVENT_VALUE]
        row[ORDERED_BANK] = event[EVENT_BANK]


def is_before(one: I64, other: I64) -> bool:
    """Return True if an event belongs before another one of the same stream."""
    if one[EVENT_PASS] != other[EVENT_PASS]:
        return bool(one[EVENT_PASS] < other[EVENT_PASS])
    own_rank, other_rank = rank(one[EVENT_KIND]), rank(other[EVENT_KIND])
    if own_rank != other_rank:
        return own_rank < other_rank
    own_place = KINDS * one[EVENT_SAMPLE] + one[EVENT_KIND]
    return bool(own_place < KINDS * other[EVENT_SAMPLE] + other[EVENT_KIND])


def rank(kind: int) -> int:
    """Return 0 for the kind that begins a pass, 2 for the one that ends it, 1 for others."""
    if kind == RESTART:
        return 0
    return 2 if kind == WATERMARK else 1


def find_runs(events: I64, run: I64) -> int:
    """Write the first row of each stream's events, and after them the number of rows; return the number of streams.

    Parameters
    ----------
    events : int64 [e, any]
        By slot, which is the first column.
    run : int64 [e + 1], written
    """
    n = 0
    for e in range(len(events)):
        if e == 0 or events[e, ORDERED_SLOT] != events[e - 1, ORDERED_SLOT]:
            run[n] = e
            n += 1
    run[n] = len(events)
    return n
