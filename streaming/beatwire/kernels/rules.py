"""Bodies of the alert rules: the events of a stream in order, in; transitions of its alerts, out.

In:    the events of a tick, by stream and in order (``records.TickBeats``), and the beats that they name
Out:   ``Transitions``
State: int64 ``state[slot, STATE_COLUMNS]``

Work item ``i`` is the run of events of one stream, ``run[i]`` up to ``run[i + 1]``. Every rule is a function of the
stream's last beats and blocks, so a replay of the horizon ends in the same state. Only the rules of anomalous beats, of
ventricular runs and of drift read scores; no rule waits for them.

A restart ends the stream's alerts. An alert ends in the session in which it began, at the last known sample of that
session. Leads that are off stay off over a gap within a session: the event of such a restart has a ``value`` of 0 or
more.
"""

from __future__ import annotations

from beatwire.kernels.flutter import FLAT as FLAT_BLOCK
from beatwire.kernels.flutter import WAVES as WAVE_BLOCK
from beatwire.records import F64, I64
from beatwire.records.alerting import RuleBeats, Transitions
from beatwire.records.columns import (
    ASYSTOLE_SAMPLES,
    MISSED_SAMPLES,
    ORDERED_KIND,
    ORDERED_SAMPLE,
    ORDERED_SESSION,
    ORDERED_SLOT,
    ORDERED_VALUE,
    PAUSE_SAMPLES,
    TRANSITION_AT,
    TRANSITION_ONSET,
    TRANSITION_RULE,
    TRANSITION_SESSION,
    TRANSITION_SLOT,
    TRANSITION_STATE,
)
from beatwire.records.events import BEAT, BLOCK, DRIFTED, LEADS_CHANGED, RESTART, WATERMARK

# Rules, in the order of ``stages.support.alert_rules.RULES``.
ASYSTOLE, EXTREME_TACHYCARDIA, TACHYCARDIA, BRADYCARDIA, EXTREME_BRADYCARDIA = range(5)
ANOMALOUS_BEATS, LEADS_OFF, FLAT_LINE, NO_DATA, DRIFT, PAUSE, IRREGULAR, RUN_OF_BEATS, FLUTTER = range(5, 14)
REFUSED = 14
RULES = 15

# States of an alert.
OFF, ON, LATCHED = range(3)

# Columns of the state:
#   IS_KNOWN        1 if the stream is known
#   SESSION         its session
#   LAST_BEAT       sample of the last beat, or where the lane began
#   FLAT_BLOCKS     flat blocks in a row, at most 2
#   ANOMALOUS_BITS  the last 8 beats as bits, 1: anomalous
#   LAST_INTERVAL   the last interval in samples, 0: unknown
#   UNLIKE_BITS     the last 32 intervals as bits, 1: unlike the one before
#   RUN_LENGTH      anomalous early beats in a row, at most ``RUN_BEATS``
#   WAVE_BITS       the last 4 blocks as bits, 1: waves
#   SINCE + rule    beats since the rule last held, at most ``HOLD_BEATS``
#   FIRST_ONSET + rule  sample at which its alert began, -1: it is off
(
    IS_KNOWN, SESSION, LAST_BEAT, FLAT_BLOCKS, ANOMALOUS_BITS, LAST_INTERVAL, UNLIKE_BITS, RUN_LENGTH, WAVE_BITS, SINCE,
) = range(10)  # fmt: skip
FIRST_ONSET = SINCE + RULES
STATE_COLUMNS = FIRST_ONSET + RULES

MOST_TRANSITIONS = RULES + 1  # of an event: a beat ends an asystole that it finds, and may switch every other rule

HOLD_BEATS = 8  # an alert of beats ends when its rule has not held for so many
RECENT_BEATS = 8  # of the rule of anomalous beats
FEWEST_ANOMALOUS = 3  # of these
EIGHT_BITS, FOUR_BITS = 255, 15
INTERVALS = 32
INTERVAL_BITS = (1 << INTERVALS) - 1
IRREGULAR_INTERVALS = 22  # of these
DIFFERENCE = 10  # intervals are unlike if they differ by more than a tenth of the shorter one
RUN_BEATS = 3  # ventricular tachycardia by definition is three or more beats in a row
FLAT_LINE_BLOCKS = 2


def latches(rule: int) -> bool:
    """Return True if an alert of this rule stays latched until it is acknowledged."""
    return rule == ASYSTOLE or rule == FLUTTER


def write_transition(
    transitions: Transitions, n: int, slot: int, session: int, rule: int, state: int, onset: int, at: int, value: float
) -> int:
    """Write row ``n`` of the transitions and return the next row."""
    row = transitions.rows[n]
    row[TRANSITION_SLOT] = slot
    row[TRANSITION_SESSION] = session
    row[TRANSITION_RULE] = rule
    row[TRANSITION_STATE] = state
    row[TRANSITION_ONSET] = onset
    row[TRANSITION_AT] = at
    transitions.value[n] = value
    return n + 1


def set_alert(
    row: I64, slot: int, rule: int, active: bool, at: int, value: float, transitions: Transitions, n: int
) -> int:
    """Turn the alert of a rule on or off at sample ``at`` if it is not so already; return the next free row."""
    onset = int(row[FIRST_ONSET + rule])
    if active and onset < 0:
        row[FIRST_ONSET + rule] = at
        return write_transition(transitions, n, slot, int(row[SESSION]), rule, ON, at, at, value)
    if not active and onset >= 0:
        row[FIRST_ONSET + rule] = -1
        state = LATCHED if latches(rule) else OFF
        return write_transition(transitions, n, slot, int(row[SESSION]), rule, state, onset, at, value)
    return n


def hold_rule(row: I64, rule: int, holds: bool, beats: int) -> bool:
    """Return True until a rule of beats has not held for ``HOLD_BEATS``; a long interval counts as several beats."""
    if holds:
        row[SINCE + rule] = 0
    else:
        row[SINCE + rule] = min(HOLD_BEATS, int(row[SINCE + rule]) + beats)
    return int(row[SINCE + rule]) < HOLD_BEATS


def count_bits(bits: int, n: int) -> int:
    """Return how many of the lowest ``n`` bits are set."""
    count = 0
    for k in range(n):
        count += (bits >> k) & 1
    return count


def apply_interval_rules(
    row: I64, slot: int, interval: int, lengths: I64, beats: int, at: int, rr_s: float, transitions: Transitions, n: int
) -> int:
    """Apply the rules of a pause and of an irregular rhythm to the ``interval`` that ends with the beat ``at``.

    ``interval`` is in samples, 0 if unknown; ``lengths`` is the bank's row of the durations.
    """
    paused = lengths[PAUSE_SAMPLES] < interval <= lengths[ASYSTOLE_SAMPLES]
    n = set_alert(row, slot, PAUSE, hold_rule(row, PAUSE, paused, beats), at, rr_s, transitions, n)
    before = int(row[LAST_INTERVAL])
    unlike = before > 0 and interval > 0 and DIFFERENCE * abs(interval - before) > min(interval, before)
    row[LAST_INTERVAL] = interval
    row[UNLIKE_BITS] = ((int(row[UNLIKE_BITS]) << beats) | int(unlike)) & INTERVAL_BITS
    count = count_bits(int(row[UNLIKE_BITS]), INTERVALS)
    irregular = hold_rule(row, IRREGULAR, count >= IRREGULAR_INTERVALS, beats)
    return set_alert(row, slot, IRREGULAR, irregular, at, float(count), transitions, n)


def apply_restart(row: I64, slot: int, session: int, sample: int, value: int, transitions: Transitions, n: int) -> int:
    """End the alerts of a stream whose lane begins anew, and begin its state."""
    for rule in range(RULES):
        if row[IS_KNOWN] and rule != NO_DATA and rule != REFUSED and (rule != LEADS_OFF or value < 0):
            at = sample
            if row[SESSION] != session:
                at = max(int(row[LAST_BEAT]), int(row[FIRST_ONSET + rule]))
            n = set_alert(row, slot, rule, False, at, 0.0, transitions, n)
        row[SINCE + rule] = HOLD_BEATS
    row[IS_KNOWN] = 1
    row[SESSION] = session
    row[LAST_BEAT] = sample
    for column in range(FLAT_BLOCKS, SINCE):
        row[column] = 0
    return n


def apply_block(row: I64, slot: int, sample: int, value: int, transitions: Transitions, n: int) -> int:
    """Apply the rules of a flat line and of flutter to a block that ends at ``sample``."""
    row[FLAT_BLOCKS] = min(FLAT_LINE_BLOCKS, int(row[FLAT_BLOCKS]) + 1) if value == FLAT_BLOCK else 0
    row[WAVE_BITS] = ((int(row[WAVE_BITS]) << 1) | int(value == WAVE_BLOCK)) & FOUR_BITS
    waves = row[WAVE_BITS] & (row[WAVE_BITS] >> 1) != 0
    n = set_alert(row, slot, FLUTTER, waves, sample, 0.0, transitions, n)
    return set_alert(row, slot, FLAT_LINE, row[FLAT_BLOCKS] == FLAT_LINE_BLOCKS, sample, 0.0, transitions, n)


def apply_beat(
    row: I64, slot: int, sample: int, beat: int, beats: RuleBeats, lengths: I64, limits_bpm: F64,
    transitions: Transitions, n: int,
) -> int:  # fmt: skip
    """Apply the rules of beats to row ``beat`` of ``beats``, at ``sample``."""
    n = set_alert(row, slot, ASYSTOLE, False, sample, 0.0, transitions, n)
    passed = sample - int(row[LAST_BEAT])
    counted = min(HOLD_BEATS, max(1, passed // int(lengths[MISSED_SAMPLES])))
    interval = passed if beats.rr_s[beat] > 0.0 else 0
    row[LAST_BEAT] = sample
    rate = 60.0 / beats.median_rr_s[beat] if beats.median_rr_s[beat] > 0.0 else -1.0
    for rule in range(EXTREME_TACHYCARDIA, EXTREME_BRADYCARDIA + 1):
        limit = limits_bpm[rule - EXTREME_TACHYCARDIA]
        beyond = rate > limit if rule <= TACHYCARDIA else 0.0 < rate < limit
        n = set_alert(row, slot, rule, hold_rule(row, rule, beyond, counted), sample, rate, transitions, n)
    row[ANOMALOUS_BITS] = ((int(row[ANOMALOUS_BITS]) << counted) | int(beats.anomalous[beat])) & EIGHT_BITS
    count = count_bits(int(row[ANOMALOUS_BITS]), RECENT_BEATS)
    burst = hold_rule(row, ANOMALOUS_BEATS, count >= FEWEST_ANOMALOUS, counted)
    n = set_alert(row, slot, ANOMALOUS_BEATS, burst, sample, float(count), transitions, n)
    n = apply_interval_rules(row, slot, interval, lengths, counted, sample, float(beats.rr_s[beat]), transitions, n)
    in_run = 1 if beats.anomalous[beat] and beats.early[beat] else 0
    row[RUN_LENGTH] = min(RUN_BEATS, in_run * ((int(row[RUN_LENGTH]) if counted == 1 else 0) + 1))
    runs = hold_rule(row, RUN_OF_BEATS, row[RUN_LENGTH] == RUN_BEATS, counted)
    return set_alert(row, slot, RUN_OF_BEATS, runs, sample, float(row[RUN_LENGTH]), transitions, n)


def apply_rules(
    i: int, run: I64, events: I64, beats: RuleBeats, bank: I64, durations: I64, limits_bpm: F64, state: I64,
    transitions: Transitions,
) -> None:  # fmt: skip
    """Apply the rules to the events of one stream.

    Parameters
    ----------
    events : int64 [e, 5]
        Columns ``ORDERED_SLOT``, ... of ``records.columns``.
    bank : int64 [slots]
        Bank of each stream.
    durations : int64 [banks, 3]
        Columns ``ASYSTOLE_SAMPLES``, ``PAUSE_SAMPLES``, ``MISSED_SAMPLES``.
    limits_bpm : float64 [4]
        Of extreme tachycardia, tachycardia, bradycardia, extreme bradycardia.
    state : int64 [slots, STATE_COLUMNS], read and written
    transitions
        Written.
    """
    first = MOST_TRANSITIONS * int(run[i])
    n = first
    lengths = durations[bank[events[run[i], ORDERED_SLOT]]]
    for e in range(run[i], run[i + 1]):
        event = events[e]
        slot, session, kind = int(event[ORDERED_SLOT]), int(event[ORDERED_SESSION]), int(event[ORDERED_KIND])
        sample, value = int(event[ORDERED_SAMPLE]), int(event[ORDERED_VALUE])
        row = state[slot]
        if kind == RESTART:
            n = apply_restart(row, slot, session, sample, value, transitions, n)
        elif kind == LEADS_CHANGED:
            n = set_alert(row, slot, LEADS_OFF, value != 0, sample, float(value), transitions, n)
        elif kind == BLOCK:
            n = apply_block(row, slot, sample, value, transitions, n)
        elif kind == DRIFTED:
            n = set_alert(row, slot, DRIFT, value > 0, sample, abs(value) / 1000.0, transitions, n)
        elif kind == BEAT or kind == WATERMARK:
            late = int(row[LAST_BEAT]) + int(lengths[ASYSTOLE_SAMPLES])
            if sample > late:
                n = set_alert(row, slot, ASYSTOLE, True, late, 0.0, transitions, n)
            if kind == BEAT:
                n = apply_beat(row, slot, sample, value, beats, lengths, limits_bpm, transitions, n)
    transitions.counts[i] = n - first
