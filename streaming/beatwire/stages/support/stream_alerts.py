"""Transitions of alerts about streams rather than samples: evicted, without data, refused.

In:    the tick, and the state of the rules ``slots`` (``kernels.rules``), int64 [slots, STATE_COLUMNS]
Out:   transitions, int64 [t, 6] (``records.columns.TRANSITION_SLOT``, ...); their value is 0

Each function updates ``slots``. The order in which ``stages.alert`` calls them is part of the output.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from beatwire.kernels import rules
from beatwire.records import I64, Aligned
from beatwire.records.columns import TRANSITION_COLUMNS

_NO_DATA = rules.FIRST_ONSET + rules.NO_DATA
_REFUSED = rules.FIRST_ONSET + rules.REFUSED


def end_of_evicted(slots: I64, aligned: Aligned) -> I64:
    """End the alerts of evicted streams where their session ended, and clear the streams' state."""
    rows = []
    for slot in aligned.evicted.tolist():
        row = slots[slot]
        for rule in np.flatnonzero(row[rules.FIRST_ONSET :] >= 0).tolist():
            onset = int(row[rules.FIRST_ONSET + rule])
            state = rules.LATCHED if rules.latches(rule) else rules.OFF
            rows.append((slot, int(row[rules.SESSION]), rule, state, onset, max(onset, int(row[rules.LAST_BEAT]))))
        row[:] = 0
        row[rules.FIRST_ONSET :] = -1
    return _transitions(rows)


def end_of_no_data(slots: I64, aligned: Aligned) -> I64:
    """End ``no data`` where a chunk arrived; before the rules, which may begin a new session."""
    rows = []
    for slot in aligned.seen[slots[aligned.seen, _NO_DATA] >= 0].tolist():
        session, onset = slots[slot, [rules.SESSION, _NO_DATA]].tolist()
        at = aligned.slots.expected[slot] if aligned.slots.session[slot] == session else onset
        rows.append((slot, session, rules.NO_DATA, rules.OFF, onset, at))
        slots[slot, _NO_DATA] = -1
    return _transitions(rows)


def end_of_refused(slots: I64, aligned: Aligned) -> I64:
    """End ``refused`` where a stream has got a lane."""
    rows = []
    seen = aligned.seen
    for slot in seen[(slots[seen, _REFUSED] >= 0) & (aligned.slots.lane[seen] >= 0)].tolist():
        session, onset = slots[slot, [rules.SESSION, _REFUSED]].tolist()
        rows.append((slot, session, rules.REFUSED, rules.OFF, onset, onset))
        slots[slot, _REFUSED] = -1
    return _transitions(rows)


def begin_of_no_data(slots: I64, aligned: Aligned, streams: int, no_data_s: float) -> I64:
    """Begin ``no data`` where no chunk arrived for ``no_data_s``, by the clock of the tick.

    Nothing begins while messages are waiting at the broker: then silence is not the device's. ``streams`` is how many
    slots were ever given.
    """
    if not aligned.now_us or not aligned.caught_up:
        return _transitions([])
    waiting = (slots[:streams, _NO_DATA] < 0) & (slots[:streams, rules.IS_KNOWN] > 0)
    waiting[aligned.seen] = False
    late = aligned.now_us - aligned.slots.arrived_us[:streams] > no_data_s * 1e6
    rows = []
    for slot in np.flatnonzero(waiting & late).tolist():
        onset = int(aligned.slots.expected[slot])
        rows.append((slot, slots[slot, rules.SESSION], rules.NO_DATA, rules.ON, onset, onset))
        slots[slot, _NO_DATA] = onset
    return _transitions(rows)


def begin_of_refused(slots: I64, aligned: Aligned) -> I64:
    """Begin ``refused`` where there was no memory for a stream; its chunks are dead letters."""
    rows = []
    for slot, session, first in aligned.refused.tolist():
        if slots[slot, _REFUSED] < 0:
            rows.append((slot, session, rules.REFUSED, rules.ON, first, first))
            slots[slot, [_REFUSED, rules.SESSION]] = first, session
    return _transitions(rows)


def _transitions(rows: Sequence[tuple[int, ...]]) -> I64:
    return np.array(rows, np.int64).reshape(-1, TRANSITION_COLUMNS)
