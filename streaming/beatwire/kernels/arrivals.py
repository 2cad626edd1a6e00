"""Bodies that take the chunks of a tick one by one, as they came: the sequential part of the align stage.

Is it the stream that stands there, a new beginning, a repetition, or a mistake? What can be used goes on to
``kernels.align``, in stretches without a missing value. Rows of a stream are read in arrival order and no decision
looks at where a tick begins or ends.

Columns of a chunk are those of ``kernels.avro.read_chunk`` and three more: ARRIVED, SLOT, ROW_BANK.
"""

from __future__ import annotations

import math

from beatwire.kernels.align import (
    ARRIVAL,
    BANK,
    DUPLICATES,
    EVENT_ROWS,
    EXPECTED,
    FRESH_ROWS,
    LANE,
    LEADS,
    MAX_PENDING,
    NO_VALUE,
    OFF,
    PASS,
    PENDING,
    PLACED_ROWS,
    SESSION,
    SILENCES,
    STATUS,
    TICK,
    TOLD,
    TOLD_FROM,
    UNITS,
    open_pass,
    place_run,
    put_event,
    restart,
)
from beatwire.kernels.clock import anchor
from beatwire.records import F64, I64, U8
from beatwire.records.events import LEADS_CHANGED

DONE = 0
NO_LANE = 1
NO_ROOM = 2

PLACED = 0
ROW_SESSION, ARRIVED, SLOT, ROW_BANK = 3, 10, 11, 12
RATE_CHANGED = 21
LEADS_COUNT_CHANGED = 22
BACKWARDS = 23
UNITS_CHANGED = 24
REFUSED = 25


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
    limits : int64 [banks, 6]
        Samples a pass, reorder window, longest bridge, how far back is a duplicate; microseconds
        of silence after which a stream starts anew, and after which it is as if it had never been there.
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
    same = slots[slot, SESSION] == session
    fresh_start = slots[slot, EXPECTED] < 0 or not same
    silent = is_silent(ints, i, limits, slots)
    if not fresh_start and silent:
        expected = slots[slot, EXPECTED]
        repeated = expected - limits[slots[slot, BANK], 3] <= first + count <= expected
        if ints[i, ARRIVED] - slots[slot, ARRIVAL] > limits[slots[slot, BANK], 5]:
            same = False
            fresh_start = True
        elif not repeated or slots[slot, BANK] != bank or slots[slot, UNITS] != units:
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
        if same:
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
