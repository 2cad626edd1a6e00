"""Transitions of alerts about streams rather than samples: evicted, without data, not monitored.

In:    the tick, and the state of the rules ``slots`` (``kernels.alerts.alert_state``), int64 [slots, STATE_COLUMNS]
Out:   transitions, int64 [t, 9] (``records.columns.TRANSITION_SLOT``, ...); nothing measures their value

Each function updates ``slots``. The order in which ``stages.judging.alert`` calls them is part of the output.
"""

from collections.abc import Sequence

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.alerts import alert_state
from beatwire.kernels.streams import HAS_NO_DATA, IS_NOT_MONITORED
from beatwire.records import F64, I64, U8, Aligned
from beatwire.records.columns import NO_BEAT, TRANSITION_COLUMNS
from beatwire.stages.support.alerts.service_alerts import explained_by_feed
from beatwire.stages.support.alerts.silence import Silence

_NO_DATA = alert_state.FIRST_ONSET + alert_state.NO_DATA
_NOT_MONITORED = alert_state.FIRST_ONSET + alert_state.NOT_MONITORED


def end_of_evicted(slots: I64, aligned: Aligned) -> I64:
    """End the alerts of evicted streams where their session ended, and clear the streams' state."""
    rows = []
    for slot in aligned.evicted.tolist():
        row = slots[slot]
        for rule in np.flatnonzero(row[alert_state.FIRST_ONSET :] >= 0).tolist():
            onset = int(row[alert_state.FIRST_ONSET + rule])
            state = alert_state.LATCHED if alert_state.latches(rule) else alert_state.OFF
            rows.append(
                (
                    slot,
                    int(row[alert_state.SESSION]),
                    rule,
                    state,
                    onset,
                    max(onset, int(row[alert_state.LAST_BEAT])),
                    0,
                )
            )
        row[:] = 0
        row[alert_state.FIRST_ONSET :] = -1
    return _transitions(rows)


def open_of(slots: I64) -> U8:
    """Return which of these alerts are on, of each stream: bits of ``kernels.streams``, uint8 [slots]."""
    found = np.empty(len(slots), np.uint8)
    cpu.kernels.find_open(len(slots), slots, found)
    return found


def end_of_no_data(slots: I64, aligned: Aligned, is_open: U8) -> I64:
    """End ``no data`` where a chunk of use arrived; before the rules, which may begin a new session."""
    rows = []
    with_alert = np.flatnonzero(is_open & HAS_NO_DATA)
    for slot in _occurring(with_alert, aligned.used):
        session, onset = slots[slot, [alert_state.SESSION, _NO_DATA]].tolist()
        at = aligned.slots.expected[slot] if aligned.slots.session[slot] == session else onset
        rows.append((slot, session, alert_state.NO_DATA, alert_state.OFF, onset, at, 0))
        slots[slot, _NO_DATA] = -1
    return _transitions(rows)


def end_of_refused(slots: I64, aligned: Aligned, is_open: U8) -> I64:
    """End ``not monitored`` where a stream has got a lane; one that is refused may have that of an earlier session."""
    rows = []
    with_alert = np.setdiff1d(np.flatnonzero(is_open & IS_NOT_MONITORED), aligned.refused[:, 0])
    with_alert = with_alert[aligned.slots.lane[with_alert] >= 0]
    for slot in _occurring(with_alert, aligned.seen):
        session, onset = slots[slot, [alert_state.SESSION, _NOT_MONITORED]].tolist()
        rows.append((slot, session, alert_state.NOT_MONITORED, alert_state.OFF, onset, onset, 0))
        slots[slot, _NOT_MONITORED] = -1
    return _transitions(rows)


def _occurring(with_alert: I64, slots: I64) -> list[int]:
    """Return those of a few slots that are among others."""
    found: list[int] = with_alert[np.isin(with_alert, slots)].tolist() if len(with_alert) else []
    return found


def begin_of_no_data(slots: I64, aligned: Aligned, limits: I64, no_data_s: F64, silence: Silence) -> I64:
    """Begin ``no data`` where no chunk of use arrived for the stream's limit, by one clock (`silence`).

    Nothing begins while messages are waiting at the broker: then silence is not the device's.

    Parameters
    ----------
    limits, no_data_s : int64, float64 [streams]
        The row of the table of limits that holds now and the limit in it, of every slot that was ever given.
    silence
        From when that of each stream counts.
    """
    silence.note(aligned)
    if not aligned.now_us or not aligned.caught_up:
        return _transitions([])
    late = silence.watched.now_us - silence.counts_us[: len(limits)] > no_data_s * 1e6
    late[aligned.used] = False
    silent = np.flatnonzero(late)
    silent = silent[(slots[silent, _NO_DATA] < 0) & (slots[silent, alert_state.IS_KNOWN] > 0)]
    rows = []
    for slot in silent[~explained_by_feed(silent, silence.last_us, silence.watched.newest_us)].tolist():
        onset = int(aligned.slots.expected[slot])
        rows.append(
            (slot, slots[slot, alert_state.SESSION], alert_state.NO_DATA, alert_state.ON, onset, onset, limits[slot])
        )
        slots[slot, _NO_DATA] = onset
    return _transitions(rows)


def begin_of_refused(slots: I64, aligned: Aligned) -> I64:
    """Begin ``not monitored`` where there was no memory for a stream; its chunks are dead letters."""
    rows = []
    for slot, session, first in aligned.refused.tolist():
        if slots[slot, _NOT_MONITORED] < 0:
            rows.append((slot, session, alert_state.NOT_MONITORED, alert_state.ON, first, first, 0))
            slots[slot, [_NOT_MONITORED, alert_state.SESSION]] = first, session
    return _transitions(rows)


def _transitions(rows: Sequence[tuple[int, ...]]) -> I64:
    return np.array([(*row, NO_BEAT, 0) for row in rows], np.int64).reshape(-1, TRANSITION_COLUMNS)
