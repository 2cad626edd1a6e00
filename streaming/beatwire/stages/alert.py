"""Alert: rules over each stream's events; transitions of alerts, with ids that a replay repeats.

In: TickBeats. Out: Alerts. State: int64 ``slots[slots, STATE_COLUMNS]`` (``kernels.rules``), and what
the log said of streams that have not been seen since a restart of the process.

When a stream is forgotten its alerts end, as they do when a device begins a new session.
Rules by samples are functions of the stream alone. ``no data`` and forgetting look at the clock that came
with the tick, and only when nothing was waiting at the broker.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels import rules
from beatwire.records import F64, I64, Alerts, Event, TickBeats
from beatwire.stages.support.directory import Directory
from beatwire.stages.support.runs import rows_written, runs_of


@dataclass(frozen=True, slots=True)
class Settings:
    """Limits of the rules; rates in beats per minute.

    ``missed_s``: where rules count beats, an interval counts as one for each of these that it lasts, so
    that eight beats are never more than 11.2 s. ``pause_s``: an interval longer than that and no longer than
    ``asystole_s`` is a pause. ``early``: prematurity from which on a beat may belong to a ventricular run.
    ``drift``: the model's limit, for what people are told.
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


@dataclass(frozen=True, slots=True)
class Rule:
    """What people are told of a rule."""

    name: str
    priority: str
    technical: bool
    text: str


RULES = (
    Rule("asystole", "high", False, "no beat for {limit:g} s"),
    Rule("extreme tachycardia", "high", False, "median rate {value:.0f}/min, limit {limit:g}"),
    Rule("tachycardia", "medium", False, "median rate {value:.0f}/min, limit {limit:g}"),
    Rule("bradycardia", "medium", False, "median rate {value:.0f}/min, limit {limit:g}"),
    Rule("extreme bradycardia", "high", False, "median rate {value:.0f}/min, limit {limit:g}"),
    Rule("anomalous beats", "low", False, "{value:.0f} of the last 8 beats unlike this stream's own"),
    Rule("lead off", "medium", True, "leads {value:.0f} (bit mask) off"),
    Rule("flat line", "medium", True, "no signal for {limit:g} s though the leads are on"),
    Rule("no data", "high", True, "no chunk for {limit:g} s"),
    Rule(
        "drift", "low", True, "beats of the last minute unlike those the model knows ({value:.2f}, limit {limit:.2f})"
    ),
    Rule("pause", "medium", False, "{value:.1f} s between two beats, limit {limit:g}"),
    Rule("irregular rhythm", "medium", False, "{value:.0f} of the last 32 intervals unlike the one before"),
    Rule("ventricular run", "medium", False, "{value:.0f} anomalous early beats in a row"),
    Rule("flutter", "high", False, "waves without beats for {limit:g} s: flutter or fibrillation?"),
    Rule("refused", "high", True, "not monitored: no memory for another stream"),
)
STATES = ("off", "on", "latched")


@dataclass(slots=True)
class State:
    """What is on.

    slots by slot; ``logged``: stream id -> rule -> alert, as read from the log; ``since_us``: (slot, rule) -> when
    an alert from the log began, of streams whose clock nobody remembers
    """

    settings: Settings
    directory: Directory
    slots: I64 = field(default_factory=lambda: np.zeros((0, rules.STATE_COLUMNS), np.int64))
    logged: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict)
    since_us: dict[tuple[int, int], int] = field(default_factory=dict)


def alert_id(stream: str, session: int, rule: str, onset: int) -> str:
    """Return the id of an alert: the same for everyone who finds it."""
    return hashlib.sha256(f"{stream}|{session}|{rule}|{onset}".encode()).hexdigest()[:32]


def step(state: State, tick: TickBeats) -> tuple[State, Alerts]:
    """Run the rules over a tick."""
    _make_room(state, len(tick.aligned.anchors))
    ended = np.concatenate([_forgotten(state, tick), _data_again(state, tick), _admitted(state, tick)])
    rows, values = _by_samples(state, tick)
    begun = np.concatenate([_no_data(state, tick), _refused(state, tick)])
    rows = np.concatenate([ended, rows, begun])
    values = np.concatenate([np.zeros(len(ended)), values, np.zeros(len(begun))])
    told = [_told(state, tick, row, value) for row, value in zip(rows.tolist(), values.tolist(), strict=True)]
    return state, Alerts(tick, told)


def adopt(state: State, alerts: list[dict[str, Any]]) -> None:
    """Take over alerts that the log says are on: they began before the horizon that was replayed."""
    names = {rule.name: number for number, rule in enumerate(RULES)}
    for alert in alerts:
        if alert["state"] == "on" and alert["rule"] in names:
            state.logged.setdefault(alert["stream"], {})[names[alert["rule"]]] = alert
    for slot, name in enumerate(state.directory.names[: len(state.slots)]):
        _take_over(state, slot, state.logged.pop(name, {}))


def _take_over(state: State, slot: int, logged: dict[int, dict[str, Any]]) -> None:
    row = state.slots[slot]
    unseen = not row[rules.KNOWN]  # silent for so long that nothing of it was replayed: its next chunk is a restart
    for rule, alert in logged.items():
        same = alert["session"] == row[rules.SESSION]
        if unseen or rule == rules.NO_DATA or (same and row[rules.FIRST_ONSET + rule] >= 0):
            row[rules.FIRST_ONSET + rule] = alert["onset"]
            if unseen:
                row[rules.SESSION] = alert["session"]
                row[rules.KNOWN] = 1
                state.since_us[slot, rule] = alert["onset_us"]


def _make_room(state: State, n: int) -> None:
    old = len(state.slots)
    if n > old:
        grown = np.zeros((n, rules.STATE_COLUMNS), np.int64)
        grown[:old] = state.slots
        grown[old:, rules.FIRST_ONSET :] = -1
        state.slots = grown
    if state.logged:
        for slot in state.directory.claimed:
            _take_over(state, slot, state.logged.pop(state.directory.names[slot], {}))


def _by_samples(state: State, tick: TickBeats) -> tuple[I64, F64]:
    events, s = tick.events, state.settings
    if len(events) == 0:
        return np.zeros((0, 6), np.int64), np.zeros(0)
    n, run = runs_of(events)
    room = (rules.RULES + 1) * len(events)
    count, out, values = np.zeros(n, np.int64), np.empty((room, 6), np.int64), np.empty(room)
    rates_hz = [bank.rate_hz for bank in tick.aligned.banks]
    durations = np.rint(np.outer(rates_hz, [s.asystole_s, s.pause_s, s.missed_s])).astype(np.int64)
    limits = np.array([s.extreme_tachycardia_bpm, s.tachycardia_bpm, s.bradycardia_bpm, s.extreme_bradycardia_bpm])
    anomalous = np.zeros(len(tick.slot), np.bool_) if tick.anomalous is None else tick.anomalous
    early = np.zeros(len(tick.slot), np.bool_) if tick.prematurity is None else tick.prematurity >= s.early
    cpu.kernels.apply_rules(
        n, run, events, tick.rr_s, tick.median_rr_s, anomalous, early, tick.aligned.slots.bank, durations, limits,
        state.slots, count, out, values,
    )  # fmt: skip
    rows = rows_written(count, run, rules.RULES + 1)
    return out[rows], values[rows]


def _forgotten(state: State, tick: TickBeats) -> I64:
    """End what is on of streams that are given up, where their session ended, and what is known of them."""
    rows = []
    for slot in tick.aligned.evicted.tolist():
        row = state.slots[slot]
        for rule in np.flatnonzero(row[rules.FIRST_ONSET :] >= 0).tolist():
            onset = int(row[rules.FIRST_ONSET + rule])
            to = rules.LATCHED if rule in (rules.ASYSTOLE, rules.FLUTTER) else rules.OFF
            rows.append((slot, int(row[rules.SESSION]), rule, to, onset, max(onset, int(row[rules.REFERENCE]))))
        row[:] = 0
        row[rules.FIRST_ONSET :] = -1
    return np.array(rows, np.int64).reshape(-1, 6)


def _data_again(state: State, tick: TickBeats) -> I64:
    """End ``no data`` where a chunk came; before the rules, which may learn of a new session."""
    aligned, column = tick.aligned, rules.FIRST_ONSET + rules.NO_DATA
    rows = []
    for slot in aligned.seen[state.slots[aligned.seen, column] >= 0].tolist():
        session, onset = state.slots[slot, [rules.SESSION, column]].tolist()
        at = aligned.slots.expected[slot] if aligned.slots.session[slot] == session else onset
        rows.append((slot, session, rules.NO_DATA, rules.OFF, onset, at))
        state.slots[slot, column] = -1
    return np.array(rows, np.int64).reshape(-1, 6)


def _no_data(state: State, tick: TickBeats) -> I64:
    """Begin ``no data`` by the clock of the tick, where no chunk came for too long."""
    aligned, column = tick.aligned, rules.FIRST_ONSET + rules.NO_DATA
    if not aligned.now_us or not aligned.caught_up:
        return np.zeros((0, 6), np.int64)
    known = len(state.directory.names)
    waiting = (state.slots[:known, column] < 0) & (state.slots[:known, rules.KNOWN] > 0)
    waiting[aligned.seen] = False
    late = aligned.now_us - aligned.slots.arrived_us[:known] > state.settings.no_data_s * 1e6
    rows = []
    for slot in np.flatnonzero(waiting & late).tolist():
        onset = int(aligned.slots.expected[slot])
        rows.append((slot, state.slots[slot, rules.SESSION], rules.NO_DATA, rules.ON, onset, onset))
        state.slots[slot, column] = onset
    return np.array(rows, np.int64).reshape(-1, 6)


def _refused(state: State, tick: TickBeats) -> I64:
    """Begin ``refused`` where a stream found no room; its samples are dead letters."""
    column, rows = rules.FIRST_ONSET + rules.REFUSED, []
    for slot, session, first in tick.aligned.refused.tolist():
        if state.slots[slot, column] < 0:
            rows.append((slot, session, rules.REFUSED, rules.ON, first, first))
            state.slots[slot, [column, rules.SESSION]] = first, session
    return np.array(rows, np.int64).reshape(-1, 6)


def _admitted(state: State, tick: TickBeats) -> I64:
    """End ``refused`` where a stream has a lane now."""
    column, rows = rules.FIRST_ONSET + rules.REFUSED, []
    seen = tick.aligned.seen
    for slot in seen[(state.slots[seen, column] >= 0) & (tick.aligned.slots.lane[seen] >= 0)].tolist():
        session, onset = state.slots[slot, [rules.SESSION, column]].tolist()
        rows.append((slot, session, rules.REFUSED, rules.OFF, onset, onset))
        state.slots[slot, column] = -1
    return np.array(rows, np.int64).reshape(-1, 6)


def _rate_hz(tick: TickBeats, slots: I64) -> F64:
    rates = np.array([bank.rate_hz for bank in tick.aligned.banks])
    return np.asarray(rates[tick.aligned.slots.bank[slots]], np.float64)


def _told(state: State, tick: TickBeats, row: list[int], value: float) -> dict[str, Any]:
    """Put a transition into the words of the alerts topic."""
    slot, session, rule, to, onset, at = row
    s, what = state.settings, RULES[rule]
    limit = (
        s.asystole_s, s.extreme_tachycardia_bpm, s.tachycardia_bpm, s.bradycardia_bpm, s.extreme_bradycardia_bpm,
        3.0, 0.0, 4.0, s.no_data_s, s.drift, s.pause_s, 22.0, 3.0, 4.0, 0.0,
    )[rule]  # fmt: skip
    time_us = np.empty(2, np.int64)
    slots = np.full(2, slot)
    same = slots, np.full(2, session), np.array([onset, at]), _rate_hz(tick, slots)
    cpu.kernels.device_time(2, *same, tick.aligned.anchors, tick.aligned.clocks, time_us)
    onset_us, at_us = time_us.tolist()
    since_us = state.since_us.pop((slot, rule), onset_us)
    stream = state.directory.names[slot]
    return {
        "id": alert_id(stream, session, what.name, onset),
        "stream": stream,
        "session": session,
        "rule": what.name,
        "priority": what.priority,
        "technical": what.technical,
        "state": STATES[to],
        "onset": onset,
        "onset_us": since_us,
        "decided": at,
        "decided_us": at_us if at > onset else since_us,
        "value": round(value, 3),
        "limit": limit,
        "text": f"{what.name}: " + what.text.format(value=value, limit=limit) + _how_sure(tick, slot, session, at),
    }


def _how_sure(tick: TickBeats, slot: int, session: int, at: int) -> str:
    """Say how sure the beat is with which something was decided, and what the signal before it is worth."""
    of_slot = tick.events[np.searchsorted(tick.events[:, 0], slot) : np.searchsorted(tick.events[:, 0], slot, "right")]
    for row in of_slot[(of_slot[:, 1] == session) & (of_slot[:, 2] == Event.BEAT) & (of_slot[:, 3] == at), 4].tolist():
        errors = float(tick.expected_errors[row])
        if errors >= 0:
            return f" (beat {100 * float(tick.quality[row]):.0f} % sure, {errors:.1f} errors expected in 10 s)"
    return ""
