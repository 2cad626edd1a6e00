"""Room for the transitions of alerts of a tick: kept from tick to tick, of which few pages are ever used.

In:    the number of streams of a tick that have events
Out:   ``TransitionRoom`` for the kernel of the rules; the transitions that it wrote, in the order of the streams
State: the room

An event may cause ``MOST_TRANSITIONS``, and nearly all cause none. Room for each event of a tick would be a gigabyte of
100,000 streams, new in each tick: a page of 2 MB is cleared for each stream that has a transition.
"""

from collections.abc import Sequence

import numpy as np

from beatwire.kernels.alerts.alert_state import MOST_TRANSITIONS
from beatwire.records import F64, I64
from beatwire.records.alerting import TransitionRoom
from beatwire.records.columns import TRANSITION_COLUMNS
from beatwire.stages.support.room import room_for

SPARE = 8  # transitions that a stream may have before an event, and still have room for those of the event


def no_room() -> TransitionRoom:
    """Return room for no stream."""
    return _new_room(0)


def room_of(room: TransitionRoom, n: int) -> TransitionRoom:
    """Return the room with at least ``n`` lanes, and counts of exactly so many."""
    if room.rows.shape[1] < n:
        room = _new_room(room_for(n))
    return room._replace(counts=np.empty(n, np.int64))


def has_stopped(room: TransitionRoom) -> bool:
    """Return True if some stream needs more room."""
    full = np.flatnonzero(room.counts > SPARE)
    return len(full) > 0 and bool(room.progress[full, 0].any())


def written(room: TransitionRoom) -> tuple[I64, I64, F64]:
    """Return the transitions that a call of the kernel wrote: number of the stream, row and value of each."""
    with_some = np.flatnonzero(room.counts)
    counts = room.counts[with_some]
    stream = np.repeat(with_some, counts)
    number = np.arange(len(stream)) - np.repeat(np.cumsum(counts) - counts, counts)
    return stream, room.rows[number, stream], room.value[number, stream]


def in_order(parts: Sequence[tuple[I64, I64, F64]]) -> tuple[I64, F64]:
    """Return the rows and values of calls one after the other, by stream and in the order in which they were made."""
    if len(parts) == 1:
        return parts[0][1:]
    stream, rows, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(stream, kind="stable")
    return rows[order], value[order]


def _new_room(lanes: int) -> TransitionRoom:
    most = MOST_TRANSITIONS + SPARE
    return TransitionRoom(
        counts=np.zeros(0, np.int64),
        rows=np.empty((most, lanes, TRANSITION_COLUMNS), np.int64),
        value=np.empty((most, lanes)),
        progress=np.zeros((lanes, 4), np.int64),
    )
