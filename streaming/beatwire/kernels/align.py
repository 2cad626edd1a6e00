"""Where a stream stands, and bodies that put consecutive samples of it in their place.

Law of this file: a sample is placed by its session and its index, never by when it came. What is
known is a prefix ``[base, expected)`` of the stream plus a few *pending* intervals not further
ahead than ``reorder``; a sample inside either is a duplicate, a hole that can no longer be filled
is bridged (short) or restarts the lane (long). Chunks come to this file from ``kernels.arrivals``.

Slot state, int64 ``slots[slot, column]``::

    0 session  1 base  2 expected  3 bank  4 lane  5 leads  6 lead-off mask  7 last arrival
    8 tick of the last placement  9 pass in that tick  10 pass base  11 row in ``fresh``
    12 nanovolts per unit  13 lead-off mask last told  14 from which sample on
    15 pending intervals  16 + 2k, 17 + 2k: pending interval k (sorted, disjoint)
    from ANCHORS on: device times, see ``kernels.clock``

Output rows::

    place  int64 [?, 8]   pass, bank, lane, first index, count, position in payload, lead stride,
                          lead-off mask, its complement for samples that came before their turn
                          (count < 0: bridge of -count samples to the one at that position, or,
                          where it is -1, to the one that stands in the ring; count > 0 and position
                          -1: samples that came before their turn follow now what is known)
    fresh  int64 [?, 9]   pass, bank, lane, slot, start, stop, base, session, nanovolts per unit
    event  int64 [?, 6]   pass, slot, kind, index, value, session (CLOCK: a device time that had to
                          give way to a newer one in the slot state: from which sample on, of sample 0)
"""

from __future__ import annotations

from beatwire.kernels.events import write_event
from beatwire.records import I64
from beatwire.records.events import GAP, RESTART

SESSION, BASE, EXPECTED, BANK, LANE, LEADS, OFF, ARRIVAL = range(8)
TICK, PASS, PASS_BASE, FRESH, UNITS, TOLD, TOLD_FROM, PENDING, FIRST_PENDING = range(8, 17)
MAX_PENDING = 8
MAX_ANCHORS = 16
ANCHORS = FIRST_PENDING + 2 * MAX_PENDING
SLOT_COLUMNS = ANCHORS + 1 + 3 * MAX_ANCHORS

PLACE_COLUMNS, FRESH_COLUMNS, EVENT_COLUMNS = 8, 9, 6

PLACED_ROWS, FRESH_ROWS, EVENT_ROWS, PASSES, STATUS = range(5)
DUPLICATES, OVERLAPS, REORDERED, BRIDGED, RESTARTS, LOST, SILENCES, NO_VALUE = range(5, 13)
SIZES = 13


def open_pass(slots: I64, slot: int, fresh: I64, sizes: I64) -> None:
    """Begin a row of ``fresh`` for the slot at its expected sample."""
    row = int(sizes[FRESH_ROWS])
    sizes[FRESH_ROWS] = row + 1
    slots[slot, FRESH] = row
    slots[slot, PASS_BASE] = slots[slot, EXPECTED]
    fresh[row, 0] = slots[slot, PASS]
    fresh[row, 1] = slots[slot, BANK]
    fresh[row, 2] = slots[slot, LANE]
    fresh[row, 3] = slot
    fresh[row, 4] = slots[slot, EXPECTED]
    fresh[row, 5] = slots[slot, EXPECTED]
    fresh[row, 6] = slots[slot, BASE]
    fresh[row, 7] = slots[slot, SESSION]
    fresh[row, 8] = slots[slot, UNITS]
    if slots[slot, PASS] >= sizes[PASSES]:
        sizes[PASSES] = slots[slot, PASS] + 1


def put_event(slots: I64, slot: int, event: I64, sizes: I64, kind: int, index: int, value: int) -> None:
    """Append an event of the slot's current pass."""
    row = int(sizes[EVENT_ROWS])
    sizes[EVENT_ROWS] = row + 1
    write_event(event, row, slots[slot, PASS], slot, kind, index, value, slots[slot, SESSION])


def restart(slots: I64, slot: int, fresh: I64, event: I64, sizes: I64, index: int, value: int) -> None:
    """Forget the lane's past: it begins again at ``index``, in a pass of its own."""
    slots[slot, BASE] = index
    slots[slot, EXPECTED] = index
    slots[slot, PASS] += 1
    open_pass(slots, slot, fresh, sizes)
    put_event(slots, slot, event, sizes, RESTART, index, value)


def put(slots: I64, slot: int, place: I64, sizes: I64, first: int, count: int, at: int, stride: int, off: int) -> None:
    """Append a placement in the slot's current pass."""
    row = int(sizes[PLACED_ROWS])
    sizes[PLACED_ROWS] = row + 1
    place[row, 0] = slots[slot, PASS]
    place[row, 1] = slots[slot, BANK]
    place[row, 2] = slots[slot, LANE]
    place[row, 3] = first
    place[row, 4] = count
    place[row, 5] = at
    place[row, 6] = stride
    place[row, 7] = off


def advance(slots: I64, slot: int, place: I64, fresh: I64, sizes: I64, to: int) -> None:
    """Move the end of the known prefix to ``to``, over any pending interval that it reaches."""
    while slots[slot, PENDING] > 0 and slots[slot, FIRST_PENDING] <= to:
        stop = int(slots[slot, FIRST_PENDING + 1])
        if slots[slot, LEADS] > 1:
            put(slots, slot, place, sizes, to, stop - to, -1, 0, 0)
        to = stop
        drop_pending(slots, slot, 0)
    slots[slot, EXPECTED] = to
    fresh[slots[slot, FRESH], 5] = to


def drop_pending(slots: I64, slot: int, k: int) -> None:
    """Remove pending interval ``k``."""
    left = int(slots[slot, PENDING]) - 1
    for m in range(FIRST_PENDING + 2 * k, FIRST_PENDING + 2 * left):
        slots[slot, m] = slots[slot, m + 2]
    slots[slot, PENDING] = left


def add_pending(slots: I64, slot: int, first: int, stop: int) -> None:
    """Add an interval to the pending ones, merging what touches; the caller has checked for room."""
    k = 0
    while k < slots[slot, PENDING]:
        begin = int(slots[slot, FIRST_PENDING + 2 * k])
        end = int(slots[slot, FIRST_PENDING + 2 * k + 1])
        if first <= end and begin <= stop:
            first = min(first, begin)
            stop = max(stop, end)
            drop_pending(slots, slot, k)
        else:
            k += 1
    k = int(slots[slot, PENDING])
    while k > 0 and slots[slot, FIRST_PENDING + 2 * k - 2] > first:
        slots[slot, FIRST_PENDING + 2 * k] = slots[slot, FIRST_PENDING + 2 * k - 2]
        slots[slot, FIRST_PENDING + 2 * k + 1] = slots[slot, FIRST_PENDING + 2 * k - 1]
        k -= 1
    slots[slot, FIRST_PENDING + 2 * k] = first
    slots[slot, FIRST_PENDING + 2 * k + 1] = stop
    slots[slot, PENDING] += 1


def place_ahead(slots: I64, slot: int, place: I64, sizes: I64, first: int, stop: int, at: int, stride: int) -> None:
    """Write samples that came before their turn, except where pending ones already stand."""
    begin = first
    k = 0
    placed = 0
    while begin < stop:
        end = stop
        skip = stop
        while k < slots[slot, PENDING] and slots[slot, FIRST_PENDING + 2 * k + 1] <= begin:
            k += 1
        if k < slots[slot, PENDING]:
            end = max(begin, min(stop, int(slots[slot, FIRST_PENDING + 2 * k])))
            skip = min(stop, int(slots[slot, FIRST_PENDING + 2 * k + 1]))
        if end > begin:
            put(slots, slot, place, sizes, begin, end - begin, at + 2 * (begin - first), stride, ~int(slots[slot, OFF]))
            placed += end - begin
        begin = max(skip, end)
    if placed == 0:
        sizes[DUPLICATES] += 1
    else:
        sizes[REORDERED] += 1
        if placed < stop - first:
            sizes[OVERLAPS] += 1
        add_pending(slots, slot, first, stop)


def place_run(
    slots: I64,
    slot: int,
    limits: I64,
    place: I64,
    fresh: I64,
    event: I64,
    sizes: I64,
    first: int,
    stop: int,
    at: int,
    stride: int,
) -> None:
    """Place samples ``[first, stop)`` that stand at ``at``: in turn, ahead of it, or not at all."""
    bank = int(slots[slot, BANK])
    while True:
        expected = int(slots[slot, EXPECTED])
        if stop <= expected:
            sizes[DUPLICATES] += 1
            return
        if first <= expected:
            break
        if stop - expected <= limits[bank, 1] and slots[slot, PENDING] < MAX_PENDING:
            place_ahead(slots, slot, place, sizes, first, stop, at, stride)
            return
        close_gap(slots, slot, limits, place, fresh, event, sizes, first, at, stride)
    if first < expected or (slots[slot, PENDING] > 0 and slots[slot, FIRST_PENDING] < stop):
        sizes[OVERLAPS] += 1
        at += 2 * (expected - first)
        first = expected
    while first < stop:
        room = int(limits[bank, 0] - (slots[slot, EXPECTED] - slots[slot, PASS_BASE]))
        if room <= 0:
            slots[slot, PASS] += 1
            open_pass(slots, slot, fresh, sizes)
            continue
        count = min(stop - first, room)
        if slots[slot, PENDING] > 0:
            count = min(count, int(slots[slot, FIRST_PENDING]) - first)
        put(slots, slot, place, sizes, first, count, at, stride, int(slots[slot, OFF]))
        advance(slots, slot, place, fresh, sizes, first + count)
        passed = int(slots[slot, EXPECTED]) - first
        first += passed
        at += 2 * passed


def close_gap(
    slots: I64,
    slot: int,
    limits: I64,
    place: I64,
    fresh: I64,
    event: I64,
    sizes: I64,
    first: int,
    at: int,
    stride: int,
) -> None:
    """Give up waiting for what is missing: bridge a short gap, restart after a long one."""
    bank = int(slots[slot, BANK])
    expected = int(slots[slot, EXPECTED])
    resume = first
    if slots[slot, PENDING] > 0 and slots[slot, FIRST_PENDING] <= first:
        resume = int(slots[slot, FIRST_PENDING])
        at = -1
    sizes[LOST] += resume - expected
    if resume - expected <= limits[bank, 2] and expected > slots[slot, BASE]:
        sizes[BRIDGED] += 1
        if expected - slots[slot, PASS_BASE] >= limits[bank, 0]:
            slots[slot, PASS] += 1
            open_pass(slots, slot, fresh, sizes)
        put_event(slots, slot, event, sizes, GAP, expected, resume)
        put(slots, slot, place, sizes, expected, expected - resume, at, stride, int(slots[slot, OFF]))
    else:
        sizes[RESTARTS] += 1
        restart(slots, slot, fresh, event, sizes, resume, expected)
    advance(slots, slot, place, fresh, sizes, resume)
