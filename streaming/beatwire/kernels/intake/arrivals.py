"""Read the chunks of a tick in arrival order and place their samples: the sequential part of the align stage.

A chunk belongs to the stream's prefix, begins the stream anew, repeats samples, or is a mistake. Samples that can be
used go to ``kernels.intake.align``, in runs that have values on all leads or on some. No decision depends on where a
tick begins or ends.
"""

import math

from beatwire.kernels.intake.align import open_pass, place_run, put_event, restart
from beatwire.kernels.intake.clock import anchor
from beatwire.kernels.intake.contradictions import compare_values, forget_values, is_contradicted
from beatwire.kernels.intake.senders import begin_conflict, change_session, note_conflict, note_use
from beatwire.kernels.intake.stated_rate import NOTHING_DUE, note_rate
from beatwire.kernels.intake.strangers import forget_strangers, has_stranger, note_jump, note_stranger, undoes_jump
from beatwire.records import F64, I64, U8
from beatwire.records.alignment import AlignChunks, AlignRows, AlignVerdicts, SampleRun, StreamState
from beatwire.records.columns import (
    CHUNK_ARRIVED_US,
    CHUNK_AT,
    CHUNK_COUNT,
    CHUNK_FIRST,
    CHUNK_LEAD_NAMES,
    CHUNK_LEAD_OFF,
    CHUNK_LEADS,
    CHUNK_RATE_HZ,
    CHUNK_SESSION,
    CHUNK_TIME_US,
    CHUNK_UV_PER_UNIT,
)
from beatwire.records.events import ALL_OFF, LEADS_CHANGED, LIMITS_CHANGED, RATE
from beatwire.records.slot_columns import (
    DUPLICATES,
    EVENT_ROWS,
    FIRST_PENDING,
    FRESH_ROWS,
    LIMIT_DUPLICATE,
    LIMIT_EVICT_US,
    LIMIT_PASS,
    LIMIT_SILENCE_US,
    MAX_PENDING,
    NO_VALUE,
    PLACED_ROWS,
    RESTARTS,
    SILENCES,
    SLOT_ABSENT,
    SLOT_ACTIVE_US,
    SLOT_ARRIVED_US,
    SLOT_BANK,
    SLOT_BASE,
    SLOT_CONFLICT,
    SLOT_EXPECTED,
    SLOT_LANE,
    SLOT_LEAD_NAMES,
    SLOT_LEAD_OFF,
    SLOT_LEADS,
    SLOT_LIMITS,
    SLOT_MASK,
    SLOT_MASK_FROM,
    SLOT_NANOVOLTS,
    SLOT_PASS,
    SLOT_PENDING,
    SLOT_SESSION,
    SLOT_STRANGE_US,
    SLOT_TICK,
)

DONE, NO_LANE, NO_ROOM = range(3)  # of ``align_chunk``

PLACED = 0  # codes of chunks; those from 21 on are reasons of align to reject one
RATE_CHANGED, LEADS_COUNT_CHANGED, LEADS_RENAMED, BACKWARDS, UNITS_CHANGED, REFUSED, NO_BANK = range(21, 28)


def leads_without_value(payload: U8, at: int, stride: int, leads: int, lead_off: int, j: int) -> int:
    """Return the mask of the leads that are off or on which sample ``j`` is missing (-32768)."""
    mask = lead_off
    for lead in range(leads):
        p = at + lead * stride + 2 * j
        if payload[p] == 0 and payload[p + 1] == 128:
            mask |= 1 << lead
    return mask


def any_no_value(payload: U8, at: int, values: int) -> bool:
    """Return True if any of ``values`` consecutive int16 is -32768."""
    found = 0
    part = payload[at:]
    for j in range(values):
        found |= int((int(part[2 * j]) | (int(part[2 * j + 1]) << 8)) == 32768)
    return found != 0


def is_silent(arrived_us: int, state: I64, limits: I64) -> bool:
    """Return True if the stream's last usable chunk is so old that the stream starts anew."""
    return bool(arrived_us - state[SLOT_ARRIVED_US] > limits[state[SLOT_BANK], LIMIT_SILENCE_US])


def align_row(
    i: int,
    chunks: AlignChunks,
    limits: I64,
    holes: bool,
    tick: int,
    streams: StreamState,
    rows: AlignRows,
    expected: F64,
) -> int:
    """Place chunk ``i``; return PLACED or the code of a rejection, with what the stream has in ``expected[i]``.

    Parameters
    ----------
    limits : int64 [banks, LIMIT_COLUMNS]
        See ``records.slot_columns``.
    holes
        Whether a sample of the chunk may have no value.
    tick
        Number of the tick.
    """
    ints, floats = chunks.ints[i], chunks.floats[i]
    slot, bank = int(chunks.slot[i]), int(chunks.bank[i])
    state, own = streams.slots[slot], limits[streams.slots[slot, SLOT_BANK]]
    session, first, count = int(ints[CHUNK_SESSION]), int(ints[CHUNK_FIRST]), int(ints[CHUNK_COUNT])
    leads, names, arrived_us = int(ints[CHUNK_LEADS]), int(ints[CHUNK_LEAD_NAMES]), int(ints[CHUNK_ARRIVED_US])
    nanovolts = int(math.floor(1000.0 * floats[CHUNK_UV_PER_UNIT] + 0.5))
    second = int(math.floor(floats[CHUNK_RATE_HZ] + 0.5))
    same, known = state[SLOT_SESSION] == session, int(state[SLOT_EXPECTED])
    fresh_start = state[SLOT_EXPECTED] < 0 or not same
    silent = is_silent(arrived_us, state, limits)
    if not fresh_start and silent:
        fresh_start = True
        if arrived_us - state[SLOT_ARRIVED_US] > own[LIMIT_EVICT_US]:
            same = False
            silent = False  # a new stream
        else:
            rows.sizes[SILENCES] += 1
    if not fresh_start:
        if state[SLOT_BANK] != bank or state[SLOT_LEAD_NAMES] != names or state[SLOT_NANOVOLTS] != nanovolts:
            note_stranger(state, first, first + count, False, second, arrived_us)
        if state[SLOT_BANK] != bank:
            expected[i] = state[SLOT_BANK]
            return LEADS_COUNT_CHANGED if state[SLOT_LEADS] != leads else RATE_CHANGED
        if state[SLOT_LEAD_NAMES] != names:
            expected[i] = state[SLOT_LEAD_NAMES]
            return LEADS_RENAMED
        if state[SLOT_NANOVOLTS] != nanovolts:
            expected[i] = state[SLOT_NANOVOLTS]
            return UNITS_CHANGED
        come_to = max(int(state[SLOT_EXPECTED]), int(state[SLOT_MASK_FROM]))  # leads that are off place nothing
        if first + count + own[LIMIT_DUPLICATE] < come_to:
            undone = undoes_jump(first, state, own)
            if compare_values(state, chunks.payload, ints, second, arrived_us):
                forget_strangers(state)
            else:
                note_stranger(state, first, first + count, undone, second, arrived_us)
            if not undone:
                expected[i] = state[SLOT_EXPECTED]
                return BACKWARDS
            rows.sizes[RESTARTS] += 1
            fresh_start, known = True, come_to
        elif first + count <= state[SLOT_EXPECTED]:
            if compare_values(state, chunks.payload, ints, second, arrived_us):
                forget_strangers(state)
            elif first + count <= state[SLOT_BASE]:
                note_stranger(state, first, first + count, False, second, arrived_us)
            rows.sizes[DUPLICATES] += 1
            state[SLOT_ARRIVED_US] = arrived_us
            return PLACED
    conflict, placed = int(state[SLOT_CONFLICT]), int(rows.sizes[PLACED_ROWS])
    if state[SLOT_ACTIVE_US] > 0 and state[SLOT_SESSION] != session:
        change_session(state, int(state[SLOT_SESSION]), int(state[SLOT_ARRIVED_US]), session, arrived_us)
        forget_strangers(state)
    if fresh_start:
        forget_values(state)
    compare_values(state, chunks.payload, ints, second, arrived_us)
    if is_contradicted(state, arrived_us):
        begin_conflict(state, arrived_us)
    if has_stranger(state, arrived_us):
        begin_conflict(state, int(state[SLOT_STRANGE_US]))
    state[SLOT_ARRIVED_US] = arrived_us
    note_jump(first, state, own, fresh_start)
    if state[SLOT_TICK] != tick:
        state[SLOT_TICK] = tick
        state[SLOT_PASS] = -1 if fresh_start else 0
        if not fresh_start:
            open_pass(streams.slots, slot, rows)
    if fresh_start:
        if not same or silent:
            state[SLOT_MASK] = 0
            if not silent:
                known = -1
            elif known >= 0:  # below that it was at another rate, or is not known
                known = -2 - known
        state[SLOT_SESSION] = session
        state[SLOT_LEADS] = leads
        state[SLOT_PENDING] = 0
        state[SLOT_MASK_FROM] = first
        state[SLOT_NANOVOLTS] = nanovolts
        state[SLOT_LEAD_NAMES] = names
        restart(streams.slots, slot, rows, first, known)
    at = max(first, int(state[SLOT_EXPECTED]), int(state[SLOT_MASK_FROM]))  # never before an earlier one
    note_conflict(streams.slots, slot, rows, at, conflict, arrived_us)
    zero_us = int(ints[CHUNK_TIME_US]) - int(math.floor(first * 1e6 / floats[CHUNK_RATE_HZ] + 0.5))
    new = max(first, int(state[SLOT_EXPECTED]))  # samples before it have the time that they came with
    anchor(streams.anchors[slot], slot, rows, session, new, zero_us, floats[CHUNK_RATE_HZ], fresh_start)
    if chunks.limits[i] > state[SLOT_LIMITS]:
        state[SLOT_LIMITS] = chunks.limits[i]
        put_event(streams.slots, slot, rows, LIMITS_CHANGED, unseen_from(state, first), int(chunks.limits[i]))
    mask = int(ints[CHUNK_LEAD_OFF])
    off, before = mask == (1 << leads) - 1, int(state[SLOT_EXPECTED])
    state[SLOT_LEAD_OFF] = mask
    if first >= state[SLOT_MASK_FROM]:  # the mask of a chunk that comes late is older than the one that is known
        state[SLOT_MASK_FROM] = first
        if mask != state[SLOT_MASK]:
            state[SLOT_MASK] = mask
            put_event(streams.slots, slot, rows, LEADS_CHANGED, first, mask | ALL_OFF if off else mask)
    if not off:  # nothing is placed of a chunk whose leads are all off
        place_chunk(chunks.payload, ints, holes, streams.slots, slot, limits[bank], rows)
    off_by = note_rate(state, first, zero_us, floats[CHUNK_RATE_HZ])  # after the restart that the chunk may cause
    if off_by != NOTHING_DUE:
        put_event(streams.slots, slot, rows, RATE, int(state[SLOT_EXPECTED]), off_by)
    note_use(streams.slots, slot, limits[bank], rows, placed, before, off, tick, arrived_us)
    return PLACED


def unseen_from(state: I64, first: int) -> int:
    """Return the first sample of a chunk that begins with ``first`` and of which no earlier chunk has said anything."""
    known = max(first, int(state[SLOT_EXPECTED]), int(state[SLOT_MASK_FROM]))
    pending = int(state[SLOT_PENDING])
    if pending > 0:
        known = max(known, int(state[FIRST_PENDING + 2 * pending - 1]))
    return known


def note_absent(state: I64, first: int, stop: int) -> None:
    """Note that the sender has no value for samples ``[first, stop)``: nothing that comes later will fill them."""
    if first <= max(state[SLOT_EXPECTED], state[SLOT_ABSENT]):
        state[SLOT_ABSENT] = max(stop, int(state[SLOT_ABSENT]))


def place_chunk(payload: U8, ints: I64, holes: bool, slots: I64, slot: int, limits: I64, rows: AlignRows) -> None:
    """Place the samples of a chunk, whose row is ``ints``, in runs that have values on all leads or on some."""
    first, count, at = int(ints[CHUNK_FIRST]), int(ints[CHUNK_COUNT]), int(ints[CHUNK_AT])
    leads, mask, stride = int(ints[CHUNK_LEADS]), int(ints[CHUNK_LEAD_OFF]), 2 * count
    if not holes:
        place_run(slots, slot, limits, rows, SampleRun(first, first + count, at, stride, mask != 0))
        return
    none = (1 << leads) - 1
    j = 0
    missing = leads_without_value(payload, at, stride, leads, mask, 0)
    while j < count:
        kind = int(missing != 0) + int(missing == none)  # of missing values: on no lead, on some, on all
        k = j
        while k < count and int(missing != 0) + int(missing == none) == kind:
            k += 1
            if k < count:
                missing = leads_without_value(payload, at, stride, leads, mask, k)
        if kind == 2:
            rows.sizes[NO_VALUE] += k - j
            note_absent(slots[slot], first + j, first + k)
        else:
            place_run(slots, slot, limits, rows, SampleRun(first + j, first + k, at + 2 * j, stride, kind > 0))
        j = k


def align_chunk(
    i: int, chunks: AlignChunks, limits: I64, tick: int, streams: StreamState, rows: AlignRows, verdicts: AlignVerdicts
) -> int:
    """Place chunk ``i``; return DONE, or NO_LANE or NO_ROOM: then nothing of it has been done.

    A chunk whose slot is negative is passed over.
    """
    slot, ints, sizes = chunks.slot[i], chunks.ints[i], rows.sizes
    if slot < 0:
        return DONE
    state, values = streams.slots[slot], ints[CHUNK_COUNT]
    anew = (
        state[SLOT_LANE] < 0
        or state[SLOT_SESSION] != ints[CHUNK_SESSION]
        or is_silent(ints[CHUNK_ARRIVED_US], state, limits)
    )
    if state[SLOT_LANE] < 0 or (anew and state[SLOT_BANK] != chunks.bank[i]):
        return NO_LANE
    holes = any_no_value(chunks.payload, ints[CHUNK_AT], values * ints[CHUNK_LEADS])
    need = 3 * MAX_PENDING + 7 + values // limits[state[SLOT_BANK], LIMIT_PASS]
    if holes:
        need += 2 * values
    if (
        sizes[PLACED_ROWS] + 2 * need > rows.place.shape[0]
        or sizes[FRESH_ROWS] + 2 * need > rows.fresh.shape[0]
        or sizes[EVENT_ROWS] + 2 * need > rows.event.shape[0]
    ):
        return NO_ROOM
    verdicts.code[i] = align_row(i, chunks, limits, holes, tick, streams, rows, verdicts.expected)
    return DONE
