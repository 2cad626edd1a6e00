"""Stretches of a stream: each time that it begins anew, with a session, after a silence or from a wrong place, is one.

In:    Aligned
Out:   numbers of stretches, as ``kernels.intake.clock`` counts them
State: none

The state of the clocks has the number at the end of the tick; the events of the tick have what began in it.
"""

import numpy as np

from beatwire.kernels.intake import clock
from beatwire.records import I64, Aligned, Bool, TickBeats
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
    ORDERED_VALUE,
)
from beatwire.records.events import RESTART
from beatwire.stages.support.streams.sessions import events_of


def begun_later(aligned: Aligned, slot: I64, number: I64) -> I64:
    """Return how many stretches of their streams have begun behind samples, int64 [n].

    Parameters
    ----------
    slot, number : int64 [n]
        The streams, and the numbers of the passes in which the samples are.
    """
    later = np.zeros(len(slot), np.int64)
    begun = _begun(aligned.restarts)
    if not len(begun):
        return later
    has_begun = np.zeros(len(aligned.anchors), np.bool_)
    has_begun[begun[:, EVENT_SLOT]] = True
    at = np.flatnonzero(has_begun[slot])
    slot, number = slot[at], number[at]
    most = max(int(begun[:, EVENT_PASS].max()), int(number.max(initial=0))) + 1
    keys = np.sort(begun[:, EVENT_SLOT] * most + begun[:, EVENT_PASS])
    later[at] = np.searchsorted(keys, slot * most + most - 1, "right")
    later[at] -= np.searchsorted(keys, slot * most + number, "right")
    return later


def stretch_of(aligned: Aligned, slot: int, session: int) -> int:
    """Return the newest stretch of a session of a stream that this tick has samples of, or the tick before it.

    Of an earlier session, of which nothing is known any more, that of the present one.
    """
    later = aligned.later.get(slot, 0)
    last = int(aligned.anchors[slot, clock.STRETCH]) - later
    if aligned.slots.session[slot] == session:
        return last
    begun = _begun(aligned.restarts[aligned.restarts[:, EVENT_SLOT] == slot])
    sessions = begun[: len(begun) - later, EVENT_SESSION].tolist()
    before = aligned.before
    if before is not None and slot < len(before.session):
        sessions.insert(0, int(before.session[slot]))
    own = [k for k, one in enumerate(sessions) if one == session]
    return last - (len(sessions) - 1 - own[-1]) if own else last


def place_of(tick: TickBeats, slot: int, session: int, restarts: int) -> tuple[int, int] | None:
    """Return the bank and the stretch of a transition of a stream, None if the tick has no other of its session.

    Parameters
    ----------
    session
        Of the transition; that of the lane before if the restart caused it.
    restarts
        Restarts of the stream in the tick up to it.
    """
    aligned, events = tick.aligned, events_of(tick, slot)
    events = events[events[:, ORDERED_KIND] == RESTART]
    if not len(events):
        return None
    if restarts > 0 and events[restarts - 1, ORDERED_SESSION] != session:
        restarts -= 1
    begun = begins(*(events[restarts:, column] for column in (ORDERED_KIND, ORDERED_SAMPLE, ORDERED_VALUE)))
    stretch = int(aligned.anchors[slot, clock.STRETCH]) - aligned.later.get(slot, 0) - int(begun.sum())
    if restarts > 0:
        return int(events[restarts - 1, ORDERED_BANK]), stretch
    before = aligned.before
    if before is None or slot >= len(before.session) or before.session[slot] != session or before.bank[slot] < 0:
        return None
    return int(before.bank[slot]), stretch


def restarts_up_to(aligned: Aligned, slot: int, number: int) -> int:
    """Return how often a stream has restarted in the tick up to pass ``number``."""
    restarts = aligned.restarts
    return int(((restarts[:, EVENT_SLOT] == slot) & (restarts[:, EVENT_PASS] <= number)).sum())


def anchors_of(aligned: Aligned, slot: int, stretch: int) -> tuple[I64, I64]:
    """Return the anchors of a stretch that are known, from old to new: first samples and device times of sample 0."""
    row, clocks = aligned.anchors[slot], aligned.clocks
    older = clocks[(clocks[:, EVENT_SLOT] == slot) & (clocks[:, EVENT_BANK] == stretch)][:, [EVENT_SAMPLE, EVENT_VALUE]]
    numbers = np.arange(max(0, row[clock.COUNT] - clock.MAX_ANCHORS), row[clock.COUNT])
    at = clock.FIRST_ANCHOR + clock.OF_ANCHOR * (numbers % clock.MAX_ANCHORS)
    of_stretch = at[clock.stretch_of(row[at], row[clock.STRETCH]) == stretch]
    ring = np.column_stack([clock.first_of(row[of_stretch]), row[of_stretch + 1]])
    first, zero_us = np.concatenate([older, ring]).T
    return first, zero_us


def begins(kind: I64, sample: I64, value: I64) -> Bool:
    """Return which events begin a stretch, by their columns."""
    begun: Bool = (kind == RESTART) & ((value < 0) | (sample < value))
    return begun


def _begun(restarts: I64) -> I64:
    """Return the restarts that begin a stretch: those that are not behind a gap."""
    begun: I64 = restarts[begins(*restarts[:, [EVENT_KIND, EVENT_SAMPLE, EVENT_VALUE]].T)]
    return begun
