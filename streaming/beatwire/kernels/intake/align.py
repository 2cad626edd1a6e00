"""Place consecutive samples of a stream: bodies that write rows of placements, and keep the state of the stream.

A sample is placed by its session and its index, never by its arrival. Of a stream a prefix ``[base, expected)`` is
known, and a few *pending* intervals at most ``reorder`` samples ahead of it. A sample inside either is a duplicate. A
hole that can no longer be filled is bridged (short) or restarts the lane (long). ``kernels.intake.arrivals`` reads the
chunks and calls this file; ``records.slot_columns`` has the state of a stream.

Samples without a value are *marked* in the rings: those of a lead that has none or is off, and those of all leads in a
hole of at most ``hole`` samples. Marks that turn out to be such a hole are filled in (``kernels.intake.filling``), so
samples are *final* up to the first mark near the end: ``[base, final)`` is what the stages see. Which marks are near
the end does not depend on chunks, and neither does what is filled in.

Rows of ``AlignRows.place`` (columns in ``records.columns``): ``count`` samples at a position of the payload. A negative
count: ``-count`` samples of a gap that is bridged, up to the sample at that position or, where it is -1, to that in the
ring. A positive count and a position of ``MARK``: samples without a value. A position of ``FILL``: these samples become
final, and some are marked.
"""

from beatwire.kernels.intake.events import write_event
from beatwire.kernels.intake.holes import reach_of
from beatwire.kernels.intake.pending import add_pending, drop_pending, pending_until
from beatwire.kernels.intake.ring import FILL, MARK
from beatwire.kernels.intake.stated_rate import forget_rate
from beatwire.records import I64
from beatwire.records.alignment import AlignRows, SampleRun
from beatwire.records.columns import (
    FRESH_BANK,
    FRESH_BASE,
    FRESH_LANE,
    FRESH_NANOVOLTS,
    FRESH_PASS,
    FRESH_SESSION,
    FRESH_SLOT,
    FRESH_START,
    FRESH_STOP,
    PLACE_AT,
    PLACE_BANK,
    PLACE_COUNT,
    PLACE_FIRST,
    PLACE_LANE,
    PLACE_LEAD_OFF,
    PLACE_PASS,
    PLACE_STRIDE,
)
from beatwire.records.events import GAP, RESTART
from beatwire.records.slot_columns import (
    BRIDGED,
    DUPLICATES,
    EVENT_ROWS,
    FIRST_PENDING,
    FRESH_ROWS,
    LIMIT_BRIDGE,
    LIMIT_HOLE,
    LIMIT_PASS,
    LIMIT_REORDER,
    LOST,
    MAX_PENDING,
    NEVER_MARKED,
    OVERLAPS,
    PASSES,
    PLACED_ROWS,
    REORDERED,
    RESTARTS,
    SLOT_ABSENT,
    SLOT_AHEAD_MARKED,
    SLOT_ARRIVED_AT,
    SLOT_BANK,
    SLOT_BASE,
    SLOT_EXPECTED,
    SLOT_FINAL,
    SLOT_FRESH,
    SLOT_LANE,
    SLOT_LEAD_OFF,
    SLOT_MARKED,
    SLOT_MARKS,
    SLOT_NANOVOLTS,
    SLOT_PASS,
    SLOT_PASS_BASE,
    SLOT_PENDING,
    SLOT_SESSION,
)


def open_pass(slots: I64, slot: int, rows: AlignRows) -> None:
    """Begin a row of ``fresh`` for the slot at its expected sample."""
    number = int(rows.sizes[FRESH_ROWS])
    rows.sizes[FRESH_ROWS] = number + 1
    state, row = slots[slot], rows.fresh[number]
    state[SLOT_FRESH] = number
    state[SLOT_PASS_BASE] = state[SLOT_EXPECTED]
    row[FRESH_PASS] = state[SLOT_PASS]
    row[FRESH_BANK] = state[SLOT_BANK]
    row[FRESH_LANE] = state[SLOT_LANE]
    row[FRESH_SLOT] = slot
    row[FRESH_START] = state[SLOT_FINAL]
    row[FRESH_STOP] = state[SLOT_FINAL]
    row[FRESH_BASE] = state[SLOT_BASE]
    row[FRESH_SESSION] = state[SLOT_SESSION]
    row[FRESH_NANOVOLTS] = state[SLOT_NANOVOLTS]
    if state[SLOT_PASS] >= rows.sizes[PASSES]:
        rows.sizes[PASSES] = state[SLOT_PASS] + 1


def next_pass(slots: I64, slot: int, rows: AlignRows) -> None:
    """Begin another pass of the slot."""
    slots[slot, SLOT_PASS] += 1
    open_pass(slots, slot, rows)


def put_event(slots: I64, slot: int, rows: AlignRows, kind: int, sample: int, value: int) -> None:
    """Append an event of the slot's current pass."""
    number = int(rows.sizes[EVENT_ROWS])
    rows.sizes[EVENT_ROWS] = number + 1
    state = slots[slot]
    write_event(rows.event[number], state[SLOT_PASS], slot, kind, sample, value, state[SLOT_SESSION], state[SLOT_BANK])


def restart(slots: I64, slot: int, rows: AlignRows, sample: int, value: int) -> None:
    """Drop the lane's past: it begins again at ``sample``, in a pass of its own."""
    slots[slot, SLOT_BASE] = sample
    slots[slot, SLOT_EXPECTED] = sample
    slots[slot, SLOT_FINAL] = slots[slot, SLOT_ABSENT] = sample
    slots[slot, SLOT_MARKS] = slots[slot, SLOT_MARKED] = NEVER_MARKED
    slots[slot, SLOT_ARRIVED_AT] = -1
    forget_rate(slots[slot])
    next_pass(slots, slot, rows)
    put_event(slots, slot, rows, RESTART, sample, value)


def put(state: I64, rows: AlignRows, first: int, count: int, at: int, stride: int, lead_off: int) -> None:
    """Append a placement in the current pass of a slot, whose row of the state is ``state``."""
    number = int(rows.sizes[PLACED_ROWS])
    rows.sizes[PLACED_ROWS] = number + 1
    row = rows.place[number]
    row[PLACE_LANE] = state[SLOT_LANE]
    row[PLACE_FIRST] = first
    row[PLACE_COUNT] = count
    row[PLACE_AT] = at
    row[PLACE_STRIDE] = stride
    row[PLACE_LEAD_OFF] = lead_off
    row[PLACE_PASS] = state[SLOT_PASS]
    row[PLACE_BANK] = state[SLOT_BANK]


def near(hole: int) -> int:
    """Return the samples behind a mark that decide whether and how it is filled in."""
    return hole + reach_of(hole)


def mark(state: I64, limits: I64, first: int, stop: int) -> None:
    """Note that samples ``[first, stop)``, behind all marks so far, are marked."""
    if first - state[SLOT_MARKED] > near(limits[LIMIT_HOLE]):
        state[SLOT_MARKS] = first
    state[SLOT_MARKED] = stop - 1


def finish(state: I64, rows: AlignRows, until: int) -> None:
    """Move the end of the final samples to ``until``; what is marked up to there is filled in."""
    if state[SLOT_MARKED] >= state[SLOT_FINAL]:
        final = int(state[SLOT_FINAL])
        put(state, rows, final, until - final, FILL, 0, 0)
    state[SLOT_FINAL] = until
    rows.fresh[state[SLOT_FRESH], FRESH_STOP] = until


def advance(state: I64, limits: I64, rows: AlignRows, to: int) -> None:
    """Move the end of the known prefix to ``to``, and past each pending interval that it reaches."""
    while state[SLOT_PENDING] > 0 and state[FIRST_PENDING] <= to:
        if state[SLOT_AHEAD_MARKED] > 0:
            mark(state, limits, to, int(state[FIRST_PENDING + 1]))
        to = int(state[FIRST_PENDING + 1])
        drop_pending(state, 0)
    if state[SLOT_PENDING] == 0:
        state[SLOT_AHEAD_MARKED] = 0
    state[SLOT_EXPECTED] = to
    decided = to - near(int(limits[LIMIT_HOLE]))
    until = to if state[SLOT_MARKED] < decided else max(decided, int(state[SLOT_MARKS]))
    if until > state[SLOT_FINAL]:
        finish(state, rows, until)


def place_ahead(state: I64, rows: AlignRows, run: SampleRun) -> None:
    """Place samples that came before their turn, except where pending ones already are."""
    begin = run.first
    k = 0
    placed = 0
    while begin < run.stop:
        end = run.stop
        skip = run.stop
        while k < state[SLOT_PENDING] and state[FIRST_PENDING + 2 * k + 1] <= begin:
            k += 1
        if k < state[SLOT_PENDING]:
            end = max(begin, min(run.stop, int(state[FIRST_PENDING + 2 * k])))
            skip = min(run.stop, int(state[FIRST_PENDING + 2 * k + 1]))
        if end > begin:
            at = run.at + 2 * (begin - run.first)
            put(state, rows, begin, end - begin, at, run.stride, int(state[SLOT_LEAD_OFF]))
            placed += end - begin
        begin = max(skip, end)
    if placed == 0:
        rows.sizes[DUPLICATES] += 1
    else:
        rows.sizes[REORDERED] += 1
        if placed < run.stop - run.first:
            rows.sizes[OVERLAPS] += 1
        add_pending(state, run.first, run.stop)
        if run.marked:
            state[SLOT_AHEAD_MARKED] = 1


def place_run(slots: I64, slot: int, limits: I64, rows: AlignRows, run: SampleRun) -> None:
    """Place samples in their turn, ahead of it, or not at all; ``limits`` [LIMIT_COLUMNS] are those of the bank."""
    state = slots[slot]
    while True:
        expected = int(state[SLOT_EXPECTED])
        if run.stop <= expected:
            rows.sizes[DUPLICATES] += 1
            return
        if run.first <= expected:
            break
        may_be_filled = run.first > state[SLOT_ABSENT] and state[SLOT_PENDING] < MAX_PENDING
        if run.stop - expected <= limits[LIMIT_REORDER] and may_be_filled:
            place_ahead(state, rows, run)
            return
        close_gap(slots, slot, limits, rows, run)
    first, at = run.first, run.at
    if first < expected or (state[SLOT_PENDING] > 0 and state[FIRST_PENDING] < run.stop):
        rows.sizes[OVERLAPS] += 1
        at += 2 * (expected - first)
        first = expected
    while first < run.stop:
        room = int(limits[LIMIT_PASS] - (state[SLOT_EXPECTED] - state[SLOT_PASS_BASE]))
        if room <= 0 or is_too_long(state, limits, int(state[SLOT_EXPECTED])):
            next_pass(slots, slot, rows)
            continue
        count = min(run.stop - first, room)
        if state[SLOT_PENDING] > 0:
            count = min(count, int(state[FIRST_PENDING]) - first)
        put(state, rows, first, count, at, run.stride, int(state[SLOT_LEAD_OFF]))
        if run.marked:
            mark(state, limits, first, first + count)
        advance(state, limits, rows, first + count)
        passed = int(state[SLOT_EXPECTED]) - first
        first += passed
        at += 2 * passed


def is_too_long(state: I64, limits: I64, to: int) -> bool:
    """Return True if a pass that has begun would be too long if it went to ``to`` and the end of what is pending."""
    base = state[SLOT_PASS_BASE]
    return bool(state[SLOT_EXPECTED] > base and pending_until(state, to) - base > limits[LIMIT_PASS])


def close_gap(slots: I64, slot: int, limits: I64, rows: AlignRows, run: SampleRun) -> None:
    """Give up what is missing before a run or before the first pending interval: bridge a short gap, else restart."""
    state = slots[slot]
    expected = int(state[SLOT_EXPECTED])
    resume = run.first
    at = run.at
    if state[SLOT_PENDING] > 0 and state[FIRST_PENDING] <= run.first:
        resume = int(state[FIRST_PENDING])
        at = -1
    missing = resume - expected
    rows.sizes[LOST] += missing
    if missing > limits[LIMIT_BRIDGE] or expected == state[SLOT_BASE]:
        rows.sizes[RESTARTS] += 1
        restart(slots, slot, rows, resume, expected)
        advance(state, limits, rows, resume)
        return
    rows.sizes[BRIDGED] += 1
    if is_too_long(state, limits, resume):
        next_pass(slots, slot, rows)
    if missing > limits[LIMIT_HOLE]:
        if expected > state[SLOT_FINAL]:
            finish(state, rows, expected)  # in the pass of the bridge, which is behind a hole then
        put_event(slots, slot, rows, GAP, expected, resume)
        put(state, rows, expected, -missing, at, run.stride, int(state[SLOT_LEAD_OFF]))
        state[SLOT_MARKS] = state[SLOT_MARKED] = NEVER_MARKED  # all up to its end is final: it is drawn in this pass
    else:
        put(state, rows, expected, missing, MARK, 0, 0)
        mark(state, limits, expected, resume)
    advance(state, limits, rows, resume)
