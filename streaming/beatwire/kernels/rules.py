"""Body of the alert rules: a stream's events in order, in; transitions of its alerts, out.

Work item ``i`` is one stream's run of events in the tick, ``run[i]`` up to ``run[i + 1]``. Every
rule is a function of the stream's last beats and blocks, so that a replay of the horizon ends in
the same state; nothing here looks at scores but the rules of anomalous beats, of runs of them and of
drift, and nothing waits for them.

A restart ends what was on; an alert ends in the session in which it began, at the last sample known of
that. Leads that are off stay so over a gap within a session (its restart comes with a ``value`` from 0 on).

State, int64 ``state[slot, column]``: 0 whether the stream is known, 1 session, 2 last beat (or where
the lane began), 3 flat blocks in a row, 4 the last eight beats as bits (1: anomalous), 5 the last
interval in samples (0: unknown), 6 the last 32 intervals as bits (1: unlike the one before), 7 anomalous
early beats in a row (at most 3), 8 the last four blocks as bits (1: waves), 9.. beats since each rule
last held, then per rule the onset of its alert (-1: none).
"""

from __future__ import annotations

from beatwire.kernels.flutter import FLAT as FLAT_BLOCK
from beatwire.kernels.flutter import WAVES as WAVE_BLOCK
from beatwire.records import F64, I64, Bool
from beatwire.records.events import BEAT, BLOCK, DRIFTED, LEADS_CHANGED, RESTART, WATERMARK

ASYSTOLE, EXTREME_TACHYCARDIA, TACHYCARDIA, BRADYCARDIA, EXTREME_BRADYCARDIA = range(5)
ANOMALOUS_BEATS, LEADS_OFF, FLAT_LINE, NO_DATA, DRIFT, PAUSE, IRREGULAR, RUN_OF_BEATS, FLUTTER = range(5, 14)
REFUSED = 14
RULES = 15
OFF, ON, LATCHED = range(3)

KNOWN, SESSION, REFERENCE, FLAT, RECENT, INTERVAL, DIFFERENT, RUN, WAVES, SINCE = range(10)
FIRST_ONSET = SINCE + RULES
STATE_COLUMNS = FIRST_ONSET + RULES

HOLD_BEATS = 8
EIGHT = 255
FOUR = 15
INTERVALS = 32
ALL_INTERVALS = (1 << INTERVALS) - 1
IRREGULAR_INTERVALS = 22
DIFFERENCE = 10  # a tenth of the shorter interval
RUN_BEATS = 3


def tell(
    slot: int, session: int, rule: int, to: int, onset: int, at: int, value: float, out: I64, values: F64, n: int
) -> int:
    """Append a transition: slot, session, rule, state, onset, at; its value."""
    out[n, 0] = slot
    out[n, 1] = session
    out[n, 2] = rule
    out[n, 3] = to
    out[n, 4] = onset
    out[n, 5] = at
    values[n] = value
    return n + 1


def switch(
    row: I64, slot: int, rule: int, active: bool, latching: bool, at: int, value: float, out: I64, values: F64, n: int
) -> int:
    """Turn a rule's alert on or off at sample ``at`` if it is not so already."""
    onset = int(row[FIRST_ONSET + rule])
    if active and onset < 0:
        row[FIRST_ONSET + rule] = at
        return tell(slot, int(row[SESSION]), rule, ON, at, at, value, out, values, n)
    if not active and onset >= 0:
        row[FIRST_ONSET + rule] = -1
        return tell(slot, int(row[SESSION]), rule, LATCHED if latching else OFF, onset, at, value, out, values, n)
    return n


def hold(row: I64, rule: int, now: bool, beats: int) -> bool:
    """Keep a rule of beats on until it has not held for eight beats; a pause counts as several."""
    if now:
        row[SINCE + rule] = 0
    else:
        row[SINCE + rule] = min(HOLD_BEATS, int(row[SINCE + rule]) + beats)
    return int(row[SINCE + rule]) < HOLD_BEATS


def rhythm(
    row: I64, slot: int, interval: int, asystole: int, pause: int, beats: int, at: int, seconds: float, out: I64,
    values: F64, n: int,
) -> int:  # fmt: skip
    """Judge an interval, in samples (0: unknown), that ends with the beat ``at``: a pause, an irregular rhythm."""
    paused = hold(row, PAUSE, pause < interval <= asystole, beats)
    n = switch(row, slot, PAUSE, paused, False, at, seconds, out, values, n)
    before = int(row[INTERVAL])
    unlike = before > 0 and interval > 0 and DIFFERENCE * abs(interval - before) > min(interval, before)
    row[INTERVAL] = interval
    row[DIFFERENT] = ((int(row[DIFFERENT]) << beats) | int(unlike)) & ALL_INTERVALS
    many = 0
    for k in range(INTERVALS):
        many += (int(row[DIFFERENT]) >> k) & 1
    irregular = hold(row, IRREGULAR, many >= IRREGULAR_INTERVALS, beats)
    return switch(row, slot, IRREGULAR, irregular, False, at, float(many), out, values, n)


def apply_rules(
    i: int,
    run: I64,
    events: I64,
    rr_s: F64,
    median_rr_s: F64,
    anomalous: Bool,
    early: Bool,
    bank: I64,
    durations: I64,
    limits_bpm: F64,
    state: I64,
    count: I64,
    out: I64,
    values: F64,
) -> None:
    """Run the rules over one stream's events.

    Parameters
    ----------
    events : int64 [e, 5]
        slot, session, kind, sample, value.
    rr_s, median_rr_s, anomalous, early : [b]
        Of the beats that events of kind BEAT name.
    bank : int64 [slots]
        Bank of each stream.
    durations : int64 [banks, 3]
        Samples without a beat that are asystole, and a pause; how long an interval is that counts as one
        more beat passed.
    limits_bpm : float64 [4]
        Extreme tachycardia, tachycardia, bradycardia, extreme bradycardia.
    count, out, values : [runs], [., 6], [.], written
        Transitions of run ``i`` stand from ``(RULES + 1) run[i]`` on.
    """
    first = (RULES + 1) * int(run[i])
    n = first
    own_bank = bank[events[run[i], 0]]
    for e in range(run[i], run[i + 1]):
        slot, session, kind = int(events[e, 0]), int(events[e, 1]), int(events[e, 2])
        sample, value = int(events[e, 3]), int(events[e, 4])
        row = state[slot]
        if kind == RESTART:
            for rule in range(RULES):
                if row[KNOWN] and rule != NO_DATA and rule != REFUSED and (rule != LEADS_OFF or value < 0):
                    at = max(int(row[REFERENCE]), int(row[FIRST_ONSET + rule])) if row[SESSION] != session else sample
                    n = switch(row, slot, rule, False, rule == ASYSTOLE or rule == FLUTTER, at, 0.0, out, values, n)
                row[SINCE + rule] = HOLD_BEATS
            row[KNOWN] = 1
            row[SESSION] = session
            row[REFERENCE] = sample
            row[FLAT] = 0
            row[RECENT] = 0
            row[INTERVAL] = 0
            row[DIFFERENT] = 0
            row[RUN] = 0
            row[WAVES] = 0
        elif kind == LEADS_CHANGED:
            n = switch(row, slot, LEADS_OFF, value != 0, False, sample, float(value), out, values, n)
        elif kind == BLOCK:
            row[FLAT] = min(2, int(row[FLAT]) + 1) if value == FLAT_BLOCK else 0
            row[WAVES] = ((int(row[WAVES]) << 1) | int(value == WAVE_BLOCK)) & FOUR
            waves = row[WAVES] & (row[WAVES] >> 1) != 0
            n = switch(row, slot, FLUTTER, waves, True, sample, 0.0, out, values, n)
            n = switch(row, slot, FLAT_LINE, row[FLAT] == 2, False, sample, 0.0, out, values, n)
        elif kind == DRIFTED:
            n = switch(row, slot, DRIFT, value > 0, False, sample, abs(value) / 1000.0, out, values, n)
        elif kind == BEAT or kind == WATERMARK:
            late = int(row[REFERENCE]) + int(durations[own_bank, 0])
            if sample > late:
                n = switch(row, slot, ASYSTOLE, True, True, late, 0.0, out, values, n)
            if kind == BEAT:
                n = switch(row, slot, ASYSTOLE, False, True, sample, 0.0, out, values, n)
                passed = sample - int(row[REFERENCE])
                beats = min(HOLD_BEATS, max(1, passed // int(durations[own_bank, 2])))
                interval = passed if rr_s[value] > 0.0 else 0
                row[REFERENCE] = sample
                rate = 60.0 / median_rr_s[value] if median_rr_s[value] > 0.0 else -1.0
                for rule in range(EXTREME_TACHYCARDIA, EXTREME_BRADYCARDIA + 1):
                    limit = limits_bpm[rule - EXTREME_TACHYCARDIA]
                    beyond = rate > limit if rule <= TACHYCARDIA else 0.0 < rate < limit
                    n = switch(row, slot, rule, hold(row, rule, beyond, beats), False, sample, rate, out, values, n)
                row[RECENT] = ((int(row[RECENT]) << beats) | int(anomalous[value])) & EIGHT
                strange = 0
                for k in range(8):
                    strange += (int(row[RECENT]) >> k) & 1
                many = hold(row, ANOMALOUS_BEATS, strange >= 3, beats)
                n = switch(row, slot, ANOMALOUS_BEATS, many, False, sample, float(strange), out, values, n)
                asystole, pause, seconds = int(durations[own_bank, 0]), int(durations[own_bank, 1]), float(rr_s[value])
                n = rhythm(row, slot, interval, asystole, pause, beats, sample, seconds, out, values, n)
                odd = 1 if anomalous[value] and early[value] else 0
                row[RUN] = min(RUN_BEATS, odd * ((int(row[RUN]) if beats == 1 else 0) + 1))
                runs = hold(row, RUN_OF_BEATS, row[RUN] == RUN_BEATS, beats)
                n = switch(row, slot, RUN_OF_BEATS, runs, False, sample, float(row[RUN]), out, values, n)
    count[i] = n - first
