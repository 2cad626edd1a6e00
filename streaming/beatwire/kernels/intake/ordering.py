"""Sort the events of a tick into the order of each stream.

Beats and blocks of a pass come by lane and in order, so they are merged, and the lanes of a pass are those of different
streams: threads share them. Only the events of align (restarts, gaps, lead-off masks) may have to be moved to their
place, and they are few.
"""

from beatwire.records import I64
from beatwire.records.alignment import EventPlaces, PassBeats, PassLanes
from beatwire.records.columns import (
    EVENT_BANK,
    EVENT_KIND,
    EVENT_PASS,
    EVENT_SAMPLE,
    EVENT_SESSION,
    EVENT_SLOT,
    EVENT_VALUE,
    NO_BLOCK,
    ORDERED_BANK,
    ORDERED_KIND,
    ORDERED_SAMPLE,
    ORDERED_SESSION,
    ORDERED_SLOT,
    ORDERED_VALUE,
)
from beatwire.records.events import BEAT, BLOCK, DENIED, RESTART, WATERMARK

KINDS = 13  # at least the number of kinds: at the same sample, kinds are in the order of ``records.events``


def count_entered(events: I64, counts: I64) -> None:
    """Write how many of the events [e, EVENT_COLUMNS] each slot has, int64 [slots]."""
    for slot in range(counts.shape[0]):
        counts[slot] = 0
    for e in range(len(events)):
        counts[events[e, EVENT_SLOT]] += 1


def find_begins(i: int, row: I64, begins: I64) -> None:
    """Write where the rows of each lane begin among ascending ones, and their number: int64 [lanes + 1].

    Item ``i`` is a row, and the end behind them: it writes the lanes from that of the row before on, up to its own.
    """
    last = int(row[i - 1]) if i > 0 else -1
    own = int(row[i]) if i < row.shape[0] else begins.shape[0] - 1
    for lane in range(last + 1, own + 1):
        begins[lane] = i


def count_merged(i: int, slot: I64, beats: PassBeats, counts: I64) -> None:
    """Add the beats and blocks of lane ``i`` of a pass and its watermark to ``counts`` of its slot."""
    merged = beats.first[i + 1] - beats.first[i] + beats.first_block[i + 1] - beats.first_block[i]
    counts[slot[i]] += merged + 1


def place_counted(counts: I64, first: I64, at: I64, run: I64) -> int:
    """Write where the events of each slot go; return the number of slots that have some.

    Parameters
    ----------
    counts : int64 [slots]
        Events of each slot.
    first, at : int64 [slots + 1] and [slots], written
        As in ``EventPlaces``.
    run : int64 [slots + 1], written
        Row of the first event of each slot that has some, and their number.
    """
    n = to = 0
    for slot in range(counts.shape[0]):
        first[slot] = at[slot] = to
        if counts[slot] > 0:
            run[n] = to
            n += 1
            to += counts[slot]
    first[counts.shape[0]] = run[n] = to
    return n


def enter_events(events: I64, places: EventPlaces, ordered: I64) -> None:
    """Write events by slot, pass and sample; RESTART is the first of its pass, WATERMARK the last, equal ones stay.

    Parameters
    ----------
    events : int64 [e, EVENT_COLUMNS]
        Nearly in order within each slot: each that is not is moved past those before it one by one.
    ordered : int64 [., ORDERED_COLUMNS], written
    """
    for e in range(len(events)):
        row = events[e]
        slot, kind, sample = int(row[EVENT_SLOT]), int(row[EVENT_KIND]), int(row[EVENT_SAMPLE])
        to = place_of(slot, int(row[EVENT_PASS]), kind, sample, places, ordered)
        write_ordered(
            ordered[to], slot, int(row[EVENT_SESSION]), kind, sample, int(row[EVENT_VALUE]), int(row[EVENT_BANK])
        )


def merge_lane(
    i: int, number: int, lanes: PassLanes, beats: PassBeats, first: int, places: EventPlaces, ordered: I64
) -> None:
    """Write the beats and blocks of lane ``i`` of a pass by sample, and its watermark, behind the events before them.

    Parameters
    ----------
    number
        Of the pass; passes are merged in order.
    first
        Number of the first beat of the pass in the tick; a BEAT event has the number of its beat as value.
    ordered : int64 [., ORDERED_COLUMNS], written
    """
    slot, session, bank = int(lanes.slot[i]), int(lanes.session[i]), lanes.bank
    b, k = int(beats.first[i]), int(beats.first_block[i])
    last_b, last_k = int(beats.first[i + 1]), int(beats.first_block[i + 1])
    while b < last_b or k < last_k:
        if b < last_b and (k == last_k or beats.sample[b] <= beats.end[k]):
            kind, sample, value = BEAT, int(beats.sample[b]), first + b
            b += 1
        else:
            kind, sample, value = BLOCK, int(beats.end[k]), int(beats.kind[k])
            if value <= NO_BLOCK:
                kind = DENIED
            k += 1
        to = place_of(slot, number, kind, sample, places, ordered)
        write_ordered(ordered[to], slot, session, kind, sample, value, bank)
    watermark = int(lanes.watermark[i])
    to = place_of(slot, number, WATERMARK, watermark, places, ordered)
    write_ordered(ordered[to], slot, session, WATERMARK, watermark, watermark, bank)


def place_of(slot: int, number: int, kind: int, sample: int, places: EventPlaces, ordered: I64) -> int:
    """Return the row of the next event of a slot, of pass ``number``; those that it belongs before are moved."""
    to = int(places.at[slot])
    places.at[slot] = to + 1
    while to > places.first[slot] and is_before(number, kind, sample, int(places.number[to - 1]), ordered[to - 1]):
        places.number[to] = places.number[to - 1]
        for column in range(ordered.shape[1]):
            ordered[to, column] = ordered[to - 1, column]
        to -= 1
    places.number[to] = number
    return to


def write_ordered(row: I64, slot: int, session: int, kind: int, sample: int, value: int, bank: int) -> None:
    """Write an event to a row of ordered events."""
    row[ORDERED_SLOT] = slot
    row[ORDERED_SESSION] = session
    row[ORDERED_KIND] = kind
    row[ORDERED_SAMPLE] = sample
    row[ORDERED_VALUE] = value
    row[ORDERED_BANK] = bank


def is_before(number: int, kind: int, sample: int, other_number: int, other: I64) -> bool:
    """Return True if an event belongs before another one of the same stream, by their passes, kinds and samples."""
    if number != other_number:
        return number < other_number
    own_rank, other_rank = rank(kind), rank(int(other[ORDERED_KIND]))
    if own_rank != other_rank:
        return own_rank < other_rank
    return bool(KINDS * sample + kind < KINDS * other[ORDERED_SAMPLE] + other[ORDERED_KIND])


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


def find_end(i: int, run: I64, events: I64, marks: I64, passed: I64) -> None:
    """Write the last watermark of stream ``i``, and its session: where it has none, its last restart with -1.

    Parameters
    ----------
    run, events
        The events of a tick by stream, columns ``ORDERED_...``.
    marks, passed : int64 [slots] and [slots, 2], written
        The watermark, -1: none; session and watermark, as they are without a watermark or a restart.
    """
    slot = events[run[i], ORDERED_SLOT]
    marks[slot] = -1
    has_mark = False
    for e in range(run[i], run[i + 1]):
        kind = events[e, ORDERED_KIND]
        if kind == WATERMARK:
            has_mark = True
            marks[slot] = events[e, ORDERED_SAMPLE]
        if kind == WATERMARK or (kind == RESTART and not has_mark):
            passed[slot, 0] = events[e, ORDERED_SESSION]
            passed[slot, 1] = marks[slot]
