"""Bodies that find out whether the chunks of a stream are of use, and whether several senders use its id.

In:    the chunks of a stream in order of arrival, and what was placed of each
Out:   events CONFLICT and ARRIVED
State: columns ``SLOT_USED_US`` to ``SLOT_OTHERS`` of ``records.slot_columns``

A chunk is *of use* if one of its samples was new, or if it says that all leads are off. ``no data`` follows from it.

A session *comes back* if another one sent after it, and it sends again within ``TURN_US``. Two returns within
``TURN_US`` are a conflict: several senders take turns. It is over when a chunk comes and no session has come back for
``TURN_US``. A device that begins a session with every message is no conflict: nothing comes back. So is a contradiction
of the chunks of one session (``kernels.intake.contradictions``), and a second count (``kernels.intake.strangers``).

The *active time* of a stream is that in which samples came, by the broker's clock: a gap counts for ``GAP_US`` at most,
a longer one is ``no data`` or ``lead off``. ``kernels.alerts.unjudged`` counts in it how long nothing was analysed,
across restarts and sessions. Its events are at least ``LIMIT_MARK`` samples apart, so that everything before one is
decided when the next one comes. One is where a chunk passes a multiple of twice as many samples, or is itself so long:
so where they are does not depend on where the lane, or a replay of it, began. The first chunk of a lane has one in any
case.
"""

from beatwire.kernels.intake.align import put_event
from beatwire.records import I64
from beatwire.records.alignment import AlignRows
from beatwire.records.events import ARRIVED, CONFLICT
from beatwire.records.slot_columns import (
    LIMIT_MARK,
    MOST_OTHERS,
    PLACED_ROWS,
    SLOT_ACTIVE_US,
    SLOT_ARRIVED_AT,
    SLOT_CONFLICT,
    SLOT_EXPECTED,
    SLOT_OTHER_COUNT,
    SLOT_OTHERS,
    SLOT_RETURN_US,
    SLOT_USED_TICK,
    SLOT_USED_US,
)

TURN_US = 30_000_000  # a chunk may have half a minute of samples: two senders of such chunks take turns as well
GAP_US = 2_000_000
NO_CONFLICT, ONE_RETURN, IN_CONFLICT = range(3)


def change_session(state: I64, before: int, sent_us: int, session: int, arrived_us: int) -> None:
    """Note that ``session`` sends in place of the one ``before``, whose last chunk arrived at ``sent_us``."""
    returns = forget(state, session, arrived_us)
    forget(state, before, arrived_us)
    count = int(state[SLOT_OTHER_COUNT])
    at = count
    if count == MOST_OTHERS:
        at = 0
        for k in range(1, count):
            if state[SLOT_OTHERS + 2 * k + 1] < state[SLOT_OTHERS + 2 * at + 1]:
                at = k
    else:
        state[SLOT_OTHER_COUNT] = count + 1
    state[SLOT_OTHERS + 2 * at] = before
    state[SLOT_OTHERS + 2 * at + 1] = sent_us
    if returns:
        again = state[SLOT_CONFLICT] != NO_CONFLICT and arrived_us - state[SLOT_RETURN_US] <= TURN_US
        state[SLOT_CONFLICT] = IN_CONFLICT if again or state[SLOT_CONFLICT] == IN_CONFLICT else ONE_RETURN
        state[SLOT_RETURN_US] = arrived_us


def begin_conflict(state: I64, arrived_us: int) -> None:
    """Note that several senders of one session were found, by a chunk that arrived at ``arrived_us``."""
    state[SLOT_CONFLICT] = IN_CONFLICT
    state[SLOT_RETURN_US] = max(arrived_us, int(state[SLOT_RETURN_US]))


def forget(state: I64, session: int, arrived_us: int) -> bool:
    """Remove a session from those remembered; return True if it was there and has sent within ``TURN_US``."""
    count = int(state[SLOT_OTHER_COUNT])
    for k in range(count):
        if state[SLOT_OTHERS + 2 * k] == session:
            recent = bool(arrived_us - state[SLOT_OTHERS + 2 * k + 1] <= TURN_US)
            state[SLOT_OTHERS + 2 * k] = state[SLOT_OTHERS + 2 * count - 2]
            state[SLOT_OTHERS + 2 * k + 1] = state[SLOT_OTHERS + 2 * count - 1]
            state[SLOT_OTHER_COUNT] = count - 1
            return recent
    return False


def note_conflict(slots: I64, slot: int, rows: AlignRows, sample: int, before: int, arrived_us: int) -> None:
    """Append an event if a conflict has begun, or is over; ``before``: the state of the conflict before the chunk."""
    state = slots[slot]
    passed_us = arrived_us - int(state[SLOT_RETURN_US])
    if passed_us < -TURN_US:  # the clock was set back
        state[SLOT_RETURN_US] = arrived_us
    if state[SLOT_CONFLICT] != NO_CONFLICT and passed_us > TURN_US:
        state[SLOT_CONFLICT] = NO_CONFLICT
    if (state[SLOT_CONFLICT] == IN_CONFLICT) != (before == IN_CONFLICT):
        put_event(slots, slot, rows, CONFLICT, sample, int(state[SLOT_CONFLICT] == IN_CONFLICT))


def note_use(
    slots: I64, slot: int, limits: I64, rows: AlignRows, placed: int, before: int, off: bool, tick: int, arrived_us: int
) -> None:
    """Note whether a chunk was of use, and append an event of the active time if one is due.

    Parameters
    ----------
    limits : int64 [LIMIT_COLUMNS]
        Of the bank.
    placed
        Rows of placed samples before the chunk.
    before
        ``SLOT_EXPECTED`` before its samples were placed.
    off
        Whether all leads are off.
    """
    state = slots[slot]
    new = rows.sizes[PLACED_ROWS] > placed
    if state[SLOT_ACTIVE_US] == 0:  # the first chunk of the stream
        state[SLOT_ACTIVE_US] = 1
        state[SLOT_USED_US] = arrived_us
    if not (new or off):
        if state[SLOT_ARRIVED_AT] < 0:  # the time in which nothing is analysed begins with the lane
            put_mark(slots, slot, rows)
        return
    if new:
        state[SLOT_ACTIVE_US] += max(0, min(GAP_US, arrived_us - int(state[SLOT_USED_US])))
    state[SLOT_USED_US] = arrived_us
    state[SLOT_USED_TICK] = tick
    if new and is_marked(state, before, int(limits[LIMIT_MARK])):
        put_mark(slots, slot, rows)


def put_mark(slots: I64, slot: int, rows: AlignRows) -> None:
    """Append an event of the active time, at the end of what is known."""
    state = slots[slot]
    expected = int(state[SLOT_EXPECTED])
    state[SLOT_ARRIVED_AT] = expected
    value = 2 * int(state[SLOT_ACTIVE_US]) + int(state[SLOT_CONFLICT] == IN_CONFLICT)
    put_event(slots, slot, rows, ARRIVED, expected, value)


def is_marked(state: I64, before: int, least: int) -> bool:
    """Return True if an event of the active time is due, ``least`` samples after the last one or more."""
    expected, marked = int(state[SLOT_EXPECTED]), int(state[SLOT_ARRIVED_AT])
    if marked < 0 or expected - before >= least:
        return True
    return expected - marked >= least and expected // (2 * least) > before // (2 * least)
