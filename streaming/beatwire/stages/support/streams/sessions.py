"""Which bank a session of a stream is in: a device may change its rate or its leads with a new session.

In:    a tick
Out:   the number of the bank
State: none
"""

import numpy as np

from beatwire.records import I64, TickBeats
from beatwire.records.columns import ORDERED_BANK, ORDERED_SESSION, ORDERED_SLOT


def events_of(tick: TickBeats, slot: int) -> I64:
    """Return the events of a stream in a tick, in order: int64 [e, 6]."""
    slots = tick.events[:, ORDERED_SLOT]
    return tick.events[np.searchsorted(slots, slot) : np.searchsorted(slots, slot, "right")]


def bank_of(tick: TickBeats, slot: int, session: int) -> int:
    """Return the bank of a session of a stream: the present one, one that began in this tick, or the one before it.

    Of an earlier session, of which nothing is known any more, that of the present one; -1: the stream has none.
    """
    aligned = tick.aligned
    present = int(aligned.slots.bank[slot])
    if aligned.slots.session[slot] == session:
        return present
    events = events_of(tick, slot)
    own = events[events[:, ORDERED_SESSION] == session, ORDERED_BANK]
    if len(own):
        return int(own[-1])
    before = aligned.before
    if before is not None and slot < len(before.bank) and before.session[slot] == session and before.bank[slot] >= 0:
        return int(before.bank[slot])
    return present
