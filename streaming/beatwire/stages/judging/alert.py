"""Alert: apply the rules to each stream's events, and emit the transitions of alerts.

In:    TickBeats, scored
Out:   Alerts; a replay of the same samples gives the same transitions with the same ids
State: int64 ``slots[slots, STATE_COLUMNS]`` (``kernels.alerts.alert_state``), the limits of each stream, and logged
       alerts of streams that have not been seen since the process started

Rules by samples are functions of the stream alone. ``no data`` and eviction read the clock of the tick, and only while
no messages are waiting at the broker. The alerts of an evicted stream end, as they do when a device begins a session.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.alerts.rules import NUMBERS, number_of
from beatwire.alerts.settings import Settings
from beatwire.jit import cpu
from beatwire.kernels.alerts import alert_state
from beatwire.kernels.alerts.ectopy import ECTOPY_S
from beatwire.kernels.alerts.long_intervals import LONGEST_S
from beatwire.kernels.alerts.unjudged import IS_LIVING, MARK, MARK_AT
from beatwire.kernels.classes.beat_class import Q
from beatwire.kernels.classes.normal_beat import OF_SPREAD, UNRELATED
from beatwire.kernels.rhythms import rhythm
from beatwire.records import F64, I64, Alerts, Bool, TickBeats
from beatwire.records.alerting import RuleBeats, TransitionRoom
from beatwire.records.columns import (
    NO_BEAT,
    TRANSITION_BEAT,
    TRANSITION_COLUMNS,
    TRANSITION_LIMITS,
    TRANSITION_RULE,
    TRANSITION_SESSION,
    TRANSITION_SLOT,
    TRANSITION_STRETCH,
)
from beatwire.stages.support.alerts import stream_alerts
from beatwire.stages.support.alerts.alert_messages import message_of
from beatwire.stages.support.alerts.faint import find_faint
from beatwire.stages.support.alerts.limits import Limits, insert_changes, split_changes
from beatwire.stages.support.alerts.silence import Silence
from beatwire.stages.support.alerts.transition_room import has_stopped, in_order, no_room, room_of, written
from beatwire.stages.support.alerts.unseen import Unseen
from beatwire.stages.support.runs import runs_of

_BLOCK_S = 2.0  # length of a block, see ``stages.detection.beats``


@dataclass(slots=True)
class State:
    """The rules' state of each slot, and alerts from the log.

    limits    of each stream
    slots     int64 [slots, STATE_COLUMNS]
    pending   slot -> changes of its limits that have no place among its events yet
    logged    stream id -> rule -> alert that is on according to the log, of streams that have not been seen yet
    unseen    for how long those have not been
    silence   from when that of each stream counts
    since_us  (slot, rule) -> device time at which an alert from the log began, where the stream's clock is unknown
    ends_us   slot -> device time at which the samples of such a stream ended, if the log has it
    durations of the limits in samples, and for which version of them and which rates they were computed
    room      for the transitions of a tick
    """

    settings: Settings
    limits: Limits
    slots: I64 = field(default_factory=lambda: np.zeros((0, alert_state.STATE_COLUMNS), np.int64))
    pending: dict[int, list[I64]] = field(default_factory=dict)
    logged: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    unseen: Unseen = field(default_factory=Unseen)
    silence: Silence = field(default_factory=Silence)
    since_us: dict[tuple[int, int], int] = field(default_factory=dict)
    ends_us: dict[int, int] = field(default_factory=dict)
    durations: tuple[tuple[float, ...], I64] = ((), np.zeros((0, 0, 9), np.int64))
    room: TransitionRoom = field(default_factory=no_room)


def step(state: State, tick: TickBeats) -> tuple[State, Alerts]:
    """Apply the rules to a tick."""
    aligned = tick.aligned
    _grow(state, len(aligned.anchors))
    for stream in state.unseen.forgotten(state.logged, aligned):
        del state.logged[stream]
    evicted, is_open = stream_alerts.end_of_evicted(state.slots, aligned), stream_alerts.open_of(state.slots)
    ended = [
        evicted,
        stream_alerts.end_of_no_data(state.slots, aligned, is_open),
        stream_alerts.end_of_refused(state.slots, aligned, is_open),
    ]
    by_samples, values = _apply_rules(state, tick)
    now = state.limits.rows_at(aligned.now_us, len(state.limits.directory.names))
    begun = [
        stream_alerts.begin_of_no_data(
            state.slots, aligned, now, state.limits.values[now, alert_state.NO_DATA], state.silence
        ),
        stream_alerts.begin_of_refused(state.slots, aligned),
    ]
    before, after = sum(map(len, ended)), sum(map(len, begun))
    rows = np.concatenate([*ended, by_samples, *begun])
    values = np.concatenate([np.full(before, np.nan), values, np.full(after, np.nan)])
    ruled = range(before, before + len(by_samples))
    transitions = [
        _message(state, tick, row, value, n in ruled)
        for n, (row, value) in enumerate(zip(rows.tolist(), values.tolist(), strict=True))
    ]
    slots, stretches = rows[:, TRANSITION_SLOT].tolist(), rows[:, TRANSITION_STRETCH].tolist()
    return state, Alerts(tick, transitions, slots, stretches)


def adopt(state: State, alerts: list[dict[str, Any]], held: AbstractSet[str] = frozenset()) -> set[str]:
    """Adopt alerts that are on according to the log: they began before the horizon that was replayed.

    Which alerts of beats are on the log says, but for those that are held: before a silence, which ends none, the
    replay may have seen too few beats, or none of a graver alert that hides others. So it does of drift, as a replay
    scores what was not scored. Whether an irregular rhythm is on is known to the log alone (see
    ``kernels.alerts.rules``), and whether an asystole is if the replay has seen no beat.

    Parameters
    ----------
    held
        The ids of alerts that the replay holds: their rules do not hold any more.

    Returns
    -------
    set of str
        The ids of those whose rule does not hold any more where the replay has seen the stream: nothing but their
        shortest duration keeps them on.
    """
    state.logged.clear()
    over: set[str] = set()
    for alert in alerts:
        if alert["state"] in ("on", "ack") and alert["rule"] in NUMBERS:
            number = number_of(alert["rule"], alert["priority"])
            state.logged.setdefault(alert["stream"], {})[number] = alert
    for slot, name in enumerate(state.limits.directory.names[: len(state.slots)]):
        logged = state.logged.pop(name, {})
        _adopt_stream(state, slot, logged)
        _adopt_asystole(state.slots[slot], logged.get(alert_state.ASYSTOLE, {}))
        _adopt_of_beats(state.slots[slot], logged, held)
        row = state.slots[slot]
        over |= {
            alert["id"]
            for rule, alert in logged.items()
            if row[alert_state.FIRST_ONSET + rule] < 0 and rule not in (alert_state.NO_DATA, alert_state.NOT_MONITORED)
        }
    return over


def drifting(state: State) -> Bool:
    """Return of each slot whether its alert of drift is on."""
    return np.asarray(state.slots[:, alert_state.FIRST_ONSET + alert_state.DRIFT] >= 0)


def active(state: State) -> dict[str, int]:
    """Return how many alerts of each rule are on, by the key of the rule; another thread may call it."""
    onsets = state.slots[:, alert_state.FIRST_ONSET : alert_state.FIRST_ONSET + alert_state.RULES]
    return dict(zip(NUMBERS, (onsets >= 0).sum(axis=0).tolist(), strict=True))


def _adopt_stream(state: State, slot: int, logged: dict[int, dict[str, Any]]) -> None:
    row = state.slots[slot]
    unseen = not row[alert_state.IS_KNOWN]  # nothing of the stream was replayed: its next chunk will be a restart
    for rule, alert in logged.items():
        same = alert["session"] == row[alert_state.SESSION]
        if unseen or rule == alert_state.NO_DATA or (same and row[alert_state.FIRST_ONSET + rule] >= 0):
            row[alert_state.FIRST_ONSET + rule] = alert["onset"]
            if unseen:
                row[alert_state.SESSION] = alert["session"]
                row[alert_state.IS_KNOWN] = 1
                if rule == alert_state.NO_DATA:  # where its samples ended
                    row[alert_state.LAST_BEAT] = alert["onset"]
                    state.ends_us[slot] = alert["onset_us"]
                state.since_us[slot, rule] = alert["onset_us"]


def _adopt_asystole(row: I64, alert: dict[str, Any]) -> None:
    """Take from the log whether an asystole is on where the replay has seen no beat; ``alert`` is empty if none is."""
    without = row[alert_state.IS_KNOWN] > 0 and row[alert_state.SIGNAL + IS_LIVING] == 0
    if without and alert.get("session") == row[alert_state.SESSION]:
        row[alert_state.FIRST_ONSET + alert_state.ASYSTOLE] = alert["onset"]


def _adopt_of_beats(row: I64, logged: Mapping[int, dict[str, Any]], held: AbstractSet[str]) -> None:
    """Take from the log which alerts of beats are on, and of drift."""
    for rule in (*alert_state.OF_BEATS, alert_state.DRIFT) if row[alert_state.IS_KNOWN] else ():
        alert = logged.get(rule, {})
        is_on = alert.get("session") == row[alert_state.SESSION] and alert["id"] not in held
        row[alert_state.FIRST_ONSET + rule] = alert["onset"] if is_on else -1


def _grow(state: State, slots: int) -> None:
    """Make room for ``slots`` slots, and adopt the logged alerts of streams that were seen for the first time."""
    before = len(state.slots)
    if slots > before:
        grown = np.zeros((slots, alert_state.STATE_COLUMNS), np.int64)
        grown[:before] = state.slots
        grown[before:, alert_state.FIRST_ONSET :] = -1
        state.slots = grown
    if state.logged:
        for slot in state.limits.directory.claimed:
            _adopt_stream(state, slot, state.logged.pop(state.limits.directory.names[slot], {}))


def _apply_rules(state: State, tick: TickBeats) -> tuple[I64, F64]:
    """Return the transitions by samples, int64 [t, 9], and their values."""
    events = _ordered_events(state, tick)
    if len(events) == 0:
        return np.zeros((0, TRANSITION_COLUMNS), np.int64), np.zeros(0)
    n, run = runs_of(events, tick.run if events is tick.events else None)
    durations, limits = _kernel_limits(state, tick)
    beats = _rule_beats(state.settings, tick)
    room = state.room = room_of(state.room, n)
    parts: list[tuple[I64, I64, F64]] = []
    while not parts or has_stopped(room):
        cpu.kernels.apply_rules(n, run, events, beats, durations, limits, state.slots, room, len(parts) > 0)
        parts.append(written(room))
    return in_order(parts)


def _rule_beats(s: Settings, tick: TickBeats) -> RuleBeats:
    """Return the beats of a tick as the rules read them; without the rhythm stage rates are those of the beats."""
    none, unknown = np.zeros(len(tick.slot), np.bool_), np.full(len(tick.slot), np.nan)
    noisy = tick.disturbance >= s.limits[alert_state.NOISE]
    lost = tick.disturbance >= s.ventricular_most_errors
    return RuleBeats(
        rr_s=np.where(noisy, np.nan, tick.rr_s),
        typical_rr_s=np.repeat(tick.median_rr_s[:, None], rhythm.SPANS, axis=1)
        if tick.rhythm is None
        else tick.rhythm.typical_rr_s,
        atrial=none if tick.rhythm is None else tick.rhythm.atrial,
        atrial_possible=none if tick.rhythm is None else tick.rhythm.possible,
        anomalous=none if tick.anomalous is None else tick.anomalous,
        errors=tick.disturbance,
        noisy=noisy,
        sure=np.isnan(tick.disturbance) | (~noisy & (tick.quality >= s.sure)),
        faint=none if tick.class_measures is None else find_faint(tick.class_measures),
        unrelated=none if tick.normal_measures is None else tick.normal_measures[:, OF_SPREAD] > UNRELATED,
        beat_class=np.full(len(none), Q, np.uint8) if tick.beat_class is None else tick.beat_class,
        tachycardia=unknown if tick.ventricular is None else np.where(lost, np.nan, tick.ventricular.tachycardia),
        run=unknown if tick.ventricular is None else np.where(lost, np.nan, tick.ventricular.run),
        mean_rr_s=unknown if tick.ventricular is None else tick.ventricular.mean_rr_s,
    )


def _ordered_events(state: State, tick: TickBeats) -> I64:
    """Return the events of a tick, with those of changed limits among them."""
    state.pending = {slot: kept for slot, kept in state.pending.items() if slot not in tick.aligned.evicted}
    if len(tick.aligned.limits):
        for slot, changes in split_changes(tick.aligned).items():
            state.pending.setdefault(slot, []).extend(changes)
    if not state.pending:
        return tick.events
    slots = list(state.pending)
    known = np.maximum(state.slots[slots, alert_state.SIGNAL + MARK_AT], -1)
    marked = state.slots[slots, alert_state.SIGNAL + MARK] > 0
    marks = dict(zip(slots, np.where(marked, known, -1).tolist(), strict=True))
    return insert_changes(tick.events, state.pending, marks)


def _kernel_limits(state: State, tick: TickBeats) -> tuple[I64, F64]:
    """Return the limits as the kernel takes them: int64 [limits, banks, 9] samples, float64 [limits, RULES]."""
    values = state.limits.values
    made_for = (state.limits.version, *(bank.rate_hz for bank in tick.aligned.banks))
    if state.durations[0] == made_for:
        return state.durations[1], values
    rates_hz = np.array([bank.rate_hz for bank in tick.aligned.banks])
    same = (state.settings.missed_s, _BLOCK_S, ECTOPY_S, LONGEST_S, alert_state.VENTRICULAR_HOLD_S)
    missed_s, block_s, ectopy_s, longest_s, hold_s = (np.full(len(values), s) for s in same)
    of_rules = (
        values[:, rule]
        for rule in (alert_state.ASYSTOLE, alert_state.PAUSE, alert_state.UNJUDGED, alert_state.LONG_UNJUDGED)
    )
    asystole_s, pause_s, unjudged_s, long_unjudged_s = of_rules
    seconds = np.stack(
        [asystole_s, pause_s, missed_s, unjudged_s, long_unjudged_s, block_s, ectopy_s, longest_s, hold_s], axis=1
    )
    durations = np.rint(rates_hz[None, :, None] * seconds[:, None, :]).astype(np.int64)
    state.durations = made_for, durations
    return durations, values


def _message(state: State, tick: TickBeats, row: list[int], value: float, by_samples: bool) -> dict[str, Any]:
    """Return the message of a transition; an alert from the log has the device times that the log has."""
    slot, number = row[TRANSITION_SLOT], row[TRANSITION_RULE]
    since_us = state.since_us.pop((slot, number), None)
    limit = float(state.limits.values[row[TRANSITION_LIMITS], number])
    is_over = row[TRANSITION_SESSION] != tick.aligned.slots.session[slot]
    until_us = state.ends_us.get(slot) if since_us is not None and is_over else None
    beat = row[TRANSITION_BEAT]
    doubtful = beat != NO_BEAT and bool(tick.disturbance[beat] >= state.settings.limits[alert_state.NOISE])
    name = state.limits.directory.names[slot]
    return message_of(tick, name, row, value, limit, since_us, until_us, by_samples, doubtful)
