"""Alert: apply the rules to each stream's events, and emit the transitions of alerts.

In:    TickBeats, scored
Out:   Alerts; a replay of the same samples gives the same transitions with the same ids
State: int64 ``slots[slots, STATE_COLUMNS]`` (``kernels.rules``), and logged alerts of streams that have not been seen
       since the process started

Rules by samples are functions of the stream alone. ``no data`` and eviction read the clock of the tick, and only while
no messages are waiting at the broker. The alerts of an evicted stream end, as they do when a device begins a session.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels import rules
from beatwire.records import F64, I64, Alerts, TickBeats
from beatwire.records.alerting import RuleBeats, Transitions
from beatwire.records.columns import TRANSITION_COLUMNS, TRANSITION_RULE, TRANSITION_SLOT
from beatwire.stages.support import stream_alerts
from beatwire.stages.support.alert_messages import message_of
from beatwire.stages.support.alert_rules import NUMBERS
from beatwire.stages.support.directory import Directory
from beatwire.stages.support.runs import rows_written, runs_of


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of the rules; rates in beats per minute, times in seconds.

    asystole_s  without a beat
    no_data_s   without a message
    pause_s     an interval longer than that, and no longer than ``asystole_s``, is a pause
    missed_s    where rules count beats, an interval counts as one for each of these: so eight beats are at most 11.2 s
    early       prematurity from which on a beat may belong to a ventricular run
    drift       limit of the model's reference, for the alert's ``limit``
    """

    asystole_s: float = 4.0
    extreme_tachycardia_bpm: float = 150.0
    tachycardia_bpm: float = 120.0
    bradycardia_bpm: float = 45.0
    extreme_bradycardia_bpm: float = 35.0
    no_data_s: float = 2.0
    pause_s: float = 3.0
    missed_s: float = 0.7
    early: float = 0.1
    drift: float = 1.0

    @property
    def limits(self) -> tuple[float, ...]:
        """The limits by number of the rule, as messages contain them; 0: the rule has none."""
        return (
            self.asystole_s, self.extreme_tachycardia_bpm, self.tachycardia_bpm, self.bradycardia_bpm,
            self.extreme_bradycardia_bpm, 3.0, 0.0, 4.0, self.no_data_s, self.drift, self.pause_s, 22.0, 3.0, 4.0, 0.0,
        )  # fmt: skip


@dataclass(slots=True)
class State:
    """The rules' state of each slot, and alerts from the log.

    slots     int64 [slots, STATE_COLUMNS]
    logged    stream id -> rule -> alert that is on according to the log, of streams that have not been seen yet
    since_us  (slot, rule) -> device time at which an alert from the log began, where the stream's clock is unknown
    """

    settings: Settings
    directory: Directory
    slots: I64 = field(default_factory=lambda: np.zeros((0, rules.STATE_COLUMNS), np.int64))
    logged: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    since_us: dict[tuple[int, int], int] = field(default_factory=dict)


def step(state: State, tick: TickBeats) -> tuple[State, Alerts]:
    """Apply the rules to a tick."""
    aligned = tick.aligned
    _grow(state, len(aligned.anchors))
    ended = [
        stream_alerts.end_of_evicted(state.slots, aligned),
        stream_alerts.end_of_no_data(state.slots, aligned),
        stream_alerts.end_of_refused(state.slots, aligned),
    ]
    by_samples, values = _apply_rules(state, tick)
    streams = len(state.directory.names)
    begun = [
        stream_alerts.begin_of_no_data(state.slots, aligned, streams, state.settings.no_data_s),
        stream_alerts.begin_of_refused(state.slots, aligned),
    ]
    before, after = sum(map(len, ended)), sum(map(len, begun))
    rows = np.concatenate([*ended, by_samples, *begun])
    values = np.concatenate([np.zeros(before), values, np.zeros(after)])
    transitions = [_message(state, tick, row, value) for row, value in zip(rows.tolist(), values.tolist(), strict=True)]
    return state, Alerts(tick, transitions)


def adopt(state: State, alerts: list[dict[str, Any]]) -> None:
    """Adopt alerts that are on according to the log: they began before the horizon that was replayed."""
    for alert in alerts:
        if alert["state"] == "on" and alert["rule"] in NUMBERS:
            state.logged.setdefault(alert["stream"], {})[NUMBERS[alert["rule"]]] = alert
    for slot, name in enumerate(state.directory.names[: len(state.slots)]):
        _adopt_stream(state, slot, state.logged.pop(name, {}))


def _adopt_stream(state: State, slot: int, logged: dict[int, dict[str, Any]]) -> None:
    row = state.slots[slot]
    unseen = not row[rules.IS_KNOWN]  # nothing of the stream was replayed: its next chunk will be a restart
    for rule, alert in logged.items():
        same = alert["session"] == row[rules.SESSION]
        if unseen or rule == rules.NO_DATA or (same and row[rules.FIRST_ONSET + rule] >= 0):
            row[rules.FIRST_ONSET + rule] = alert["onset"]
            if unseen:
                row[rules.SESSION] = alert["session"]
                row[rules.IS_KNOWN] = 1
                state.since_us[slot, rule] = alert["onset_us"]


def _grow(state: State, slots: int) -> None:
    """Make room for ``slots`` slots, and adopt the logged alerts of streams that were seen for the first time."""
    before = len(state.slots)
    if slots > before:
        grown = np.zeros((slots, rules.STATE_COLUMNS), np.int64)
        grown[:before] = state.slots
        grown[before:, rules.FIRST_ONSET :] = -1
        state.slots = grown
    if state.logged:
        for slot in state.directory.claimed:
            _adopt_stream(state, slot, state.logged.pop(state.directory.names[slot], {}))


def _apply_rules(state: State, tick: TickBeats) -> tuple[I64, F64]:
    """Return the transitions by samples, int64 [t, 6], and their values."""
    events, s = tick.events, state.settings
    if len(events) == 0:
        return np.zeros((0, TRANSITION_COLUMNS), np.int64), np.zeros(0)
    n, run = runs_of(events)
    room = rules.MOST_TRANSITIONS * len(events)
    transitions = Transitions(np.zeros(n, np.int64), np.empty((room, TRANSITION_COLUMNS), np.int64), np.empty(room))
    rates_hz = [bank.rate_hz for bank in tick.aligned.banks]
    durations = np.rint(np.outer(rates_hz, [s.asystole_s, s.pause_s, s.missed_s])).astype(np.int64)
    none = np.zeros(len(tick.slot), np.bool_)
    beats = RuleBeats(
        rr_s=tick.rr_s,
        median_rr_s=tick.median_rr_s,
        anomalous=none if tick.anomalous is None else tick.anomalous,
        early=none if tick.prematurity is None else tick.prematurity >= s.early,
    )
    limits_bpm = np.array(s.limits[rules.EXTREME_TACHYCARDIA : rules.EXTREME_BRADYCARDIA + 1])
    cpu.kernels.apply_rules(
        n, run, events, beats, tick.aligned.slots.bank, durations, limits_bpm, state.slots, transitions
    )
    rows = rows_written(transitions.counts, run, rules.MOST_TRANSITIONS)
    return transitions.rows[rows], transitions.value[rows]


def _message(state: State, tick: TickBeats, row: list[int], value: float) -> dict[str, Any]:
    """Return the message of a transition; an alert from the log keeps the device time at which it began."""
    slot, number = row[TRANSITION_SLOT], row[TRANSITION_RULE]
    since_us = state.since_us.pop((slot, number), None)
    return message_of(tick, state.directory.names[slot], row, value, state.settings.limits[number], since_us)
