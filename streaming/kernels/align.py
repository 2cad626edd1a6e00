"""Body that puts the chunks of a tick in their place: the sequential part of the align stage.

Law of this file: a sample is placed by its session and its index, never by when it came. What is
known is a prefix ``[base, expected)`` of the stream plus a few *pending* intervals not further
ahead than ``reorder``; a sample inside either is a duplicate, a hole that can no longer be filled
is bridged (short) or restarts the lane (long). Rows of a stream are read in arrival order and no
decision looks at where a tick begins or ends.

Slot state, int64 ``slots[slot, column]``::

    0 session  1 base  2 expected  3 bank  4 lane  5 leads  6 lead-off mask  7 last arrival
    8 tick of the last placement  9 pass in that tick  10 pass base  11 row in ``fresh``
    12 nanovolts per unit  13 lead-off mask last told  14 from which sample on
    15 pending intervals  16 + 2k, 17 + 2k: pending interval k (sorted, disjoint)
    from ANCHORS on: how many device times were remembered, then the last ones in turn: session,
    first sample, device time of sample 0 that the chunk implied

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

import math

from streaming.records import F64, I64, U8

SESSION, BASE, EXPECTED, BANK, LANE, LEADS, OFF, ARRIVAL = range(8)
TICK, PASS, PASS_BASE, FRESH, UNITS, TOLD, TOLD_FROM, PENDING, FIRST_PENDING = range(8, 17)
MAX_PENDING = 8
MAX_ANCHORS = 16
ANCHORS = FIRST_PENDING + 2 * MAX_PENDING
SLOT_COLUMNS = ANCHORS + 1 + 3 * MAX_ANCHORS

PLACE_COLUMNS, FRESH_COLUMNS, EVENT_COLUMNS = 8, 9, 6

DONE = 0
NO_LANE = 1
NO_ROOM = 2

RESTART = 0
GAP = 1
LEADS_CHANGED = 2
CLOCK = 6

PLACED = 0
ROW_SESSION, ARRIVED, SLOT, ROW_BANK = 3, 10, 11, 12
ROW_COLUMNS = 13
DUPLICATE = 20
RATE_CHANGED = 21
LEADS_COUNT_CHANGED = 22
BACKWARDS = 23
UNITS_CHANGED = 24
REFUSED = 25

PLACED_ROWS, FRESH_ROWS, EVENT_ROWS, PASSES, STATUS = range(5)
DUPLICATES, OVERLAPS, REORDERED, BRIDGED, RESTARTS, LOST, SILENCES, NO_VALUE = range(5, 13)
SIZES = 13


def no_value(payload: U8, at: int, stride: int, leads: int, off: int, j: int) -> bool:
    """Tell whether sample ``j`` is missing (-32768) on any lead that is on."""
    for lead in range(leads):
        p = at + lead * stride + 2 * j
        if payload[p] == 0 and payload[p + 1] == 128 and not (off >> lead) & 1:
            return True
    return False


def any_no_value(payload: U8, at: int, values: int) -> bool:
    """Tell whether any of ``values`` consecutive int16 is -32768."""
    found = 0
    part = payload[at:]
    for j in range(values):
        found |= int((int(part[2 * j]) | (int(part[2 * j + 1]) << 8)) == 32768)
    return found != 0


def anchor(slots: I64, slot: int, event: I64, sizes: I64, session: int, first: int, zero_us: int) -> None:
    """Remember the device time of sample 0 that a chunk implies."""
    anchors = slots[slot, ANCHORS:]
    n = int(anchors[0])
    last = 1 + 3 * ((n - 1) % MAX_ANCHORS)
    if n > 0 and anchors[last] == session and abs(anchors[last + 2] - zero_us) <= 1:
        return
    at = 1 + 3 * (n % MAX_ANCHORS)
    if n >= MAX_ANCHORS:
        row = int(sizes[EVENT_ROWS])
        sizes[EVENT_ROWS] = row + 1
        event[row, 0] = 0
        event[row, 1] = slot
        event[row, 2] = CLOCK
        event[row, 3] = anchors[at + 1]
        event[row, 4] = anchors[at + 2]
        event[row, 5] = anchors[at]
    anchors[at] = session
    anchors[at + 1] = first
    anchors[at + 2] = zero_us
    anchors[0] = n + 1


def device_time(
    i: int, slot: I64, session: I64, sample: I64, rate_hz: F64, slots: I64, clocks: I64, time_us: I64
) -> None:
    """Write the device time of sample ``sample[i]``: by the chunk that it came in.

    ``clocks`` int64 [c, 6] are the rows of CLOCK of this tick, by slot, those of a slot from old to new.
    """
    row = slots[slot[i], ANCHORS:]
    newest = int(row[0])
    zero_us = 0
    found = False
    for n in range(newest - 1, max(-1, newest - 1 - MAX_ANCHORS), -1):
        at = 1 + 3 * (n % MAX_ANCHORS)
        if row[at] == session[i]:
            zero_us = int(row[at + 2])
            found = row[at + 1] <= sample[i]
        if found:
            break
    low, high = 0, clocks.shape[0]
    while low < high:
        middle = (low + high) // 2
        if clocks[middle, 1] <= slot[i]:
            low = middle + 1
        else:
            high = middle
    while not found and low > 0 and clocks[low - 1, 1] == slot[i]:
        low -= 1
        if clocks[low, 5] == session[i]:
            zero_us = int(clocks[low, 4])
            found = clocks[low, 3] <= sample[i]
    time_us[i] = zero_us + int(math.floor(sample[i] * 1e6 / rate_hz[i] + 0.5))


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
    event[row, 0] = slots[slot, PASS]
    event[row, 1] = slot
    event[row, 2] = kind
    event[row, 3] = index
    event[row, 4] = value
    event[row, 5] = slots[slot, SESSION]


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


def is_silent(ints: I64, i: int, limits: I64, slots: I64) -> bool:
    """Tell whether nothing usable came of the stream of chunk ``i`` for so long that it starts anew."""
    slot = ints[i, SLOT]
    return bool(ints[i, ARRIVED] - slots[slot, ARRIVAL] > limits[slots[slot, BANK], 4])


def align_row(
    i: int,
    payload: U8,
    ints: I64,
    floats: F64,
    limits: I64,
    holes: bool,
    tick: int,
    slots: I64,
    place: I64,
    fresh: I64,
    event: I64,
    sizes: I64,
) -> int:
    """Place chunk ``i``; returns PLACED or why it is rejected, with what was expected in ``floats[i, 2]``.

    Parameters
    ----------
    ints, floats
        Columns as ``read_chunk`` writes them, and in ``ints`` three more: when the chunk arrived, its
        slot, and the bank that its rate and leads belong to (-1: no stream has had these).
    limits : int64 [banks, 5]
        Samples a pass, reorder window, longest bridge, how far back is a duplicate; microseconds
        of silence after which a stream starts anew.
    slots
        Slot state.
    place, fresh, event
        Output rows.
    sizes : int64 [SIZES]
        How many placements, rows of fresh, events and passes there are, and what happened to chunks.
    holes
        Some sample of the chunk has no value.
    """
    slot = int(ints[i, SLOT])
    bank = int(ints[i, ROW_BANK])
    session = int(ints[i, 3])
    first = int(ints[i, 4])
    count = int(ints[i, 9])
    leads = int(ints[i, 6])
    at = int(ints[i, 8])
    stride = 2 * count
    units = int(math.floor(1000.0 * floats[i, 1] + 0.5))
    fresh_start = slots[slot, EXPECTED] < 0 or slots[slot, SESSION] != session
    silent = is_silent(ints, i, limits, slots)
    if not fresh_start and silent:
        expected = slots[slot, EXPECTED]
        repeated = expected - limits[slots[slot, BANK], 3] <= first + count <= expected
        if not repeated or slots[slot, BANK] != bank or slots[slot, UNITS] != units:
            sizes[SILENCES] += 1
            fresh_start = True
    if not fresh_start:
        if slots[slot, BANK] != bank:
            floats[i, 2] = slots[slot, BANK]
            return LEADS_COUNT_CHANGED if slots[slot, LEADS] != leads else RATE_CHANGED
        if slots[slot, UNITS] != units:
            floats[i, 2] = slots[slot, UNITS]
            return UNITS_CHANGED
        if first + count + limits[bank, 3] < slots[slot, EXPECTED]:
            floats[i, 2] = slots[slot, EXPECTED]
            return BACKWARDS
        if first + count <= slots[slot, EXPECTED]:
            sizes[DUPLICATES] += 1
            if not silent:  # a repetition does not end a silence
                slots[slot, ARRIVAL] = ints[i, ARRIVED]
            return PLACED
    slots[slot, ARRIVAL] = ints[i, ARRIVED]
    if slots[slot, TICK] != tick:
        slots[slot, TICK] = tick
        slots[slot, PASS] = -1 if fresh_start else 0
        if not fresh_start:
            open_pass(slots, slot, fresh, sizes)
    if fresh_start:
        known = -1
        if slots[slot, SESSION] == session:
            known = slots[slot, EXPECTED]
        else:
            slots[slot, TOLD] = 0
        slots[slot, SESSION] = session
        slots[slot, LEADS] = leads
        slots[slot, PENDING] = 0
        slots[slot, TOLD_FROM] = first
        slots[slot, UNITS] = units
        restart(slots, slot, fresh, event, sizes, first, known)
    zero_us = int(ints[i, 5]) - int(math.floor(first * 1e6 / floats[i, 0] + 0.5))
    anchor(slots, slot, event, sizes, session, first, zero_us)
    mask = int(ints[i, 7])
    all_off = mask == (1 << leads) - 1
    slots[slot, OFF] = mask
    if first >= slots[slot, TOLD_FROM]:  # a chunk that comes late tells nothing new of the leads
        slots[slot, TOLD_FROM] = first
        if mask != slots[slot, TOLD]:
            slots[slot, TOLD] = mask
            put_event(slots, slot, event, sizes, LEADS_CHANGED, first, mask)
    if all_off:
        return PLACED
    if not holes:
        place_run(slots, slot, limits, place, fresh, event, sizes, first, first + count, at, stride)
        return PLACED
    j = 0
    while j < count:
        while j < count and no_value(payload, at, stride, leads, mask, j):
            j += 1
            sizes[NO_VALUE] += 1
        k = j
        while k < count and not no_value(payload, at, stride, leads, mask, k):
            k += 1
        if k > j:
            place_run(slots, slot, limits, place, fresh, event, sizes, first + j, first + k, at + 2 * j, stride)
        j = k
    return PLACED


def align_rows(
    begin: int,
    n: int,
    payload: U8,
    ints: I64,
    floats: F64,
    limits: I64,
    tick: int,
    slots: I64,
    place: I64,
    fresh: I64,
    event: I64,
    sizes: I64,
    code: I64,
) -> int:
    """Place chunks from ``begin`` on, in order; stop at the first that needs a lane or more room.

    Returns the row it stopped at; ``sizes[STATUS]`` says why: DONE, NO_LANE, NO_ROOM. Nothing of that
    row has been done. ``code`` [n] becomes PLACED or why a chunk is rejected; rows whose slot is
    negative are passed over.
    """
    for i in range(begin, n):
        slot = ints[i, SLOT]
        if slot < 0:
            continue
        bank = ints[i, ROW_BANK]
        values = ints[i, 9]
        anew = slots[slot, LANE] < 0 or slots[slot, SESSION] != ints[i, 3] or is_silent(ints, i, limits, slots)
        if slots[slot, LANE] < 0 or (anew and slots[slot, BANK] != bank):
            sizes[STATUS] = NO_LANE
            return i
        holes = any_no_value(payload, ints[i, 8], values * ints[i, 6])
        need = MAX_PENDING + 5 + values // limits[slots[slot, BANK], 0]
        if holes:
            need += values
        if (
            sizes[PLACED_ROWS] + 2 * need > place.shape[0]
            or sizes[FRESH_ROWS] + 2 * need > fresh.shape[0]
            or sizes[EVENT_ROWS] + 2 * need > event.shape[0]
        ):
            sizes[STATUS] = NO_ROOM
            return i
        code[i] = align_row(
            i,
            payload,
            ints,
            floats,
            limits,
            holes,
            tick,
            slots,
            place,
            fresh,
            event,
            sizes,
        )
    sizes[STATUS] = DONE
    return n
