"""Bodies of the alert rules: the events of a stream in order, in; transitions of its alerts, out.

In:    the events of a tick, by stream and in order (``records.TickBeats``), and the beats that they name
Out:   ``Transitions``
State: int64 ``state[slot, STATE_COLUMNS]``

Work item ``i`` is the run of events of one stream, ``run[i]`` up to ``run[i + 1]``. Every rule is a function of the
stream's last beats and blocks, so a replay of the horizon ends in the same state. One is not: an alert of irregular
rhythm that has begun goes on through ectopic beats and noise, which would not let it begin; after a replay the log says
whether it is on. Only the rules of anomalous beats and of drift read scores; no rule waits for them. What silence and
noise mean: ``kernels.alerts.unjudged``.

A restart ends the stream's alerts. An alert ends in the session in which it began: at the last beat of that session, or
where its samples ended if the stream was silent for long. That nothing can be analysed, and that sessions take turns,
goes on over a restart, unless the stream was silent for long: in a later session the onset in the state is the first
sample of the lane. Such a stream is not replayed; the log has the end of its
samples, as the onset of ``no data``. Leads that are off stay off over a gap within a session: the event of such a
restart has a ``value`` of 0 or more.
"""

import math

from beatwire.kernels.alerts.alert_state import (
    ASYSTOLE,
    CONFLICTING,
    CONTACT,
    DRIFT,
    FIBRILLATION,
    FIBRILLATION_FROM,
    FIBRILLATION_UNTIL,
    FIRST_ONSET,
    FLAT_BLOCKS,
    FLAT_LINE,
    FLAT_LINE_BLOCKS,
    IS_KNOWN,
    LAST_BEAT,
    LEADS_OFF,
    LIMIT_BITS,
    LIMITS,
    LONG_UNJUDGED,
    MOST_TRANSITIONS,
    NO_DATA,
    NOT_MONITORED,
    POSSIBLE_BITS,
    RATE_CONTRADICTED,
    RULES,
    SATURATED,
    SESSION,
    SIGNAL,
    SINCE,
    TWO_BITS,
    UNJUDGED,
    WAVE_BITS,
    WAVE_BLOCKS,
    add_bit,
    forget_rules,
    is_on,
    outlasts_restart,
    set_alert,
)
from beatwire.kernels.alerts.beat_rules import apply_beat
from beatwire.kernels.alerts.contact import apply_contact, end_contact
from beatwire.kernels.alerts.resized_waves import add_resized
from beatwire.kernels.alerts.unjudged import (
    ASYSTOLE_BEGINS,
    AT,
    CANNOT_ANALYSE,
    CANNOT_FOR_LONG,
    HAS_BEGUN,
    IS_SURE,
    IS_TESTED,
    MARK,
    MARK_AT,
    NOTHING,
    PENDING_END,
    add_block,
    add_gap,
    add_mark,
    begin_signal,
    forget_marks,
    is_silence,
    next_step,
    settle_mark,
    silent_from,
)
from beatwire.kernels.rhythms.flutter import FLAT as FLAT_BLOCK
from beatwire.kernels.rhythms.flutter import POSSIBLE as POSSIBLE_BLOCK
from beatwire.kernels.rhythms.flutter import SATURATED as SATURATED_BLOCK
from beatwire.kernels.rhythms.flutter import WAVES as WAVE_BLOCK
from beatwire.records import F64, I64
from beatwire.records.alerting import RuleBeats, TransitionRoom, Transitions
from beatwire.records.columns import (
    ORDERED_BANK,
    ORDERED_KIND,
    ORDERED_SAMPLE,
    ORDERED_SESSION,
    ORDERED_SLOT,
    ORDERED_VALUE,
    RESIZED,
    TRANSITION_BEAT,
    TRANSITION_STRETCH,
)
from beatwire.records.events import (
    ARRIVED,
    BEAT,
    BLOCK,
    CONFLICT,
    DENIED,
    DRIFTED,
    GAP,
    LEADS_CHANGED,
    LIMITS_CHANGED,
    RATE,
    RESTART,
    WATERMARK,
)


def outlasts(row: I64, value: int) -> bool:
    """Return True if what is about the stream and not its samples goes on over a restart, by the event's ``value``."""
    return bool(row[IS_KNOWN] > 0 and row[SIGNAL + HAS_BEGUN] > 0 and value >= -1)


def apply_restart(row: I64, slot: int, session: int, sample: int, value: int, transitions: Transitions, n: int) -> int:
    """End the alerts of a stream whose lane begins anew, and begin its state."""
    own = row[SIGNAL:SINCE]
    goes_on = outlasts(row, value)
    if not goes_on:
        forget_marks(own)
    end = int(row[LAST_BEAT]) if value >= -1 else -2 - value
    if row[SESSION] == session:
        end = sample
    for rule in range(RULES):
        if row[IS_KNOWN] and rule != NO_DATA and rule != NOT_MONITORED and (rule != LEADS_OFF or value < 0):
            onset = int(row[FIRST_ONSET + rule])
            if not goes_on or not outlasts_restart(rule):
                at = max(end, onset)  # a device may go back
                n = set_alert(row, slot, rule, False, at, math.nan, transitions, n)
            elif onset >= 0 and (row[SESSION] != session or onset > sample):
                row[FIRST_ONSET + rule] = sample
    forget_rules(row)
    row[IS_KNOWN] = 1
    row[SESSION] = session
    row[LAST_BEAT] = sample
    until = int(row[CONTACT]) if row[FIRST_ONSET + LEADS_OFF] >= 0 else 0
    for column in range(FLAT_BLOCKS, SIGNAL):
        row[column] = 0
    row[CONTACT] = until
    begin_signal(own, sample)
    return n


def apply_mark(row: I64, slot: int, lengths: I64, transitions: Transitions, n: int) -> int:
    """Apply what follows from the mark that is pending at the end of a lane."""
    at = int(row[SIGNAL + MARK_AT])
    step = settle_mark(
        row[SIGNAL:SINCE], lengths, bool(row[FIRST_ONSET + ASYSTOLE] >= 0), bool(row[FIRST_ONSET + UNJUDGED] >= 0),
        bool(row[FIRST_ONSET + LONG_UNJUDGED] >= 0),
    )  # fmt: skip
    if step != NOTHING:
        n = set_alert(row, slot, UNJUDGED, step == CANNOT_ANALYSE, at, 0.0, transitions, n)
        n = set_alert(row, slot, LONG_UNJUDGED, step == CANNOT_FOR_LONG, at, 0.0, transitions, n)
    return n


def pass_time(row: I64, slot: int, sample: int, lengths: I64, transitions: Transitions, n: int) -> int:
    """Apply what follows from the time up to ``sample``, up to which everything is decided."""
    n = end_contact(row, slot, sample, transitions, n)
    while True:
        step = next_step(
            row[SIGNAL:SINCE], int(row[LAST_BEAT]), sample, lengths, bool(row[FIRST_ONSET + ASYSTOLE] >= 0),
            bool(row[FIRST_ONSET + UNJUDGED] >= 0), bool(row[FIRST_ONSET + LONG_UNJUDGED] >= 0),
        )  # fmt: skip
        if step == NOTHING:
            return n
        at = int(row[SIGNAL + AT])
        n = set_alert(row, slot, UNJUDGED, step == CANNOT_ANALYSE, at, 0.0, transitions, n)
        n = set_alert(row, slot, LONG_UNJUDGED, step == CANNOT_FOR_LONG, at, 0.0, transitions, n)
        if step == ASYSTOLE_BEGINS:
            n = set_alert(row, slot, ASYSTOLE, True, at, 0.0, transitions, n)


def apply_block(row: I64, slot: int, sample: int, value: int, transitions: Transitions, n: int) -> int:
    """Apply the rules of a flat line, of fibrillation and of a saturated signal to a block that ends at ``sample``."""
    row[FLAT_BLOCKS] = min(FLAT_LINE_BLOCKS, int(row[FLAT_BLOCKS]) + 1) if value & FLAT_BLOCK > 0 else 0
    flat_line = row[FLAT_BLOCKS] == FLAT_LINE_BLOCKS
    add_block(row[SIGNAL:SINCE], sample, value if flat_line else value & ~FLAT_BLOCK)  # one alone is no alert
    row[WAVE_BITS] = add_bit(int(row[WAVE_BITS]), bool(value & WAVE_BLOCK > 0), WAVE_BLOCKS)
    row[POSSIBLE_BITS] = add_bit(int(row[POSSIBLE_BITS]), bool(value & POSSIBLE_BLOCK > 0), WAVE_BLOCKS)
    fibrillation = is_on(int(row[WAVE_BITS]), int(row[POSSIBLE_BITS]))
    row[LIMIT_BITS] = ((int(row[LIMIT_BITS]) << 1) | int(value & SATURATED_BLOCK > 0)) & TWO_BITS
    if row[FIRST_ONSET + FIBRILLATION] >= 0 and not fibrillation:
        row[FIBRILLATION_FROM] = row[FIRST_ONSET + FIBRILLATION]
        row[FIBRILLATION_UNTIL] = sample
    n = set_alert(row, slot, FIBRILLATION, fibrillation, sample, 0.0, transitions, n)
    n = set_alert(row, slot, SATURATED, row[LIMIT_BITS] != 0, sample, 0.0, transitions, n)
    return set_alert(row, slot, FLAT_LINE, flat_line, sample, 0.0, transitions, n)


def apply_rules(
    i: int, run: I64, events: I64, beats: RuleBeats, durations: I64, limits: F64, state: I64, room: TransitionRoom,
    again: bool,
) -> None:  # fmt: skip
    """Apply the rules to the events of one stream; stop before one for whose transitions there may be no room.

    Parameters
    ----------
    events : int64 [e, 6]
        Columns ``ORDERED_SLOT``, ... of ``records.columns``.
    durations : int64 [limits, banks, 9]
        Columns ``ASYSTOLE_SAMPLES``, ... of ``records.columns``, by row of the table of limits.
    limits : float64 [limits, RULES]
        Of each rule, in its unit.
    state : int64 [slots, STATE_COLUMNS], read and written
    room
        Written.
    again
        Go on where streams have stopped; the others are passed over.
    """
    n = 0
    done, restarts = 0, 0
    number, bank = int(state[events[run[i], ORDERED_SLOT], LIMITS]), int(events[run[i], ORDERED_BANK])
    progress = room.progress[i]
    if again:
        done, restarts, number, bank = int(progress[0]), int(progress[1]), int(progress[2]), int(progress[3])
        if done == 0:
            done = int(run[i + 1] - run[i])
    progress[0] = 0
    transitions = Transitions(room.rows[:, i], room.value[:, i])
    lengths = durations[number, bank]
    for e in range(run[i] + done, run[i + 1]):
        if n + MOST_TRANSITIONS > room.rows.shape[0]:
            progress[0], progress[1], progress[2], progress[3] = e - run[i], restarts, number, bank
            break
        event = events[e]
        slot, session, kind = int(event[ORDERED_SLOT]), int(event[ORDERED_SESSION]), int(event[ORDERED_KIND])
        sample, value = int(event[ORDERED_SAMPLE]), int(event[ORDERED_VALUE])
        row = state[slot]
        known = n
        if kind == RESTART:
            number, bank = int(row[LIMITS]), int(event[ORDERED_BANK])
            lengths = durations[number, bank]
            if row[SIGNAL + MARK] > 0 and outlasts(row, value):  # nothing more is decided before it
                n = apply_mark(row, slot, lengths, transitions, n)
                for decided in range(known, n):
                    transitions.rows[decided, TRANSITION_STRETCH] = restarts
                known = n
            n = apply_restart(row, slot, session, sample, value, transitions, n)
        elif kind == LEADS_CHANGED:
            n = apply_contact(row, slot, sample, value, lengths, transitions, n)
        elif kind == GAP:
            add_gap(row[SIGNAL:SINCE], sample, value, lengths)
        elif kind == CONFLICT:
            n = set_alert(row, slot, CONFLICTING, value != 0, sample, 0.0, transitions, n)
        elif kind == RATE:
            off_by = value / 1000.0 if value != 0 else math.nan
            n = set_alert(row, slot, RATE_CONTRADICTED, value != 0, sample, off_by, transitions, n)
        elif kind == ARRIVED:
            if row[SIGNAL + MARK] > 0:  # all beats before the mark before are known
                n = pass_time(row, slot, int(row[SIGNAL + MARK_AT]) + 1, lengths, transitions, n)
            add_mark(row[SIGNAL:SINCE], sample, value)
        elif kind == BLOCK:
            pending = int(row[SIGNAL + PENDING_END])
            if pending > 0:  # all beats before the end of the block before are known
                n = pass_time(row, slot, pending + 1, lengths, transitions, n)
            n = apply_block(row, slot, sample, value, transitions, n)
        elif kind == DRIFTED:
            distance = abs(value) / 1000.0 if value != 0 else math.nan
            n = set_alert(row, slot, DRIFT, value > 0, sample, distance, transitions, n)
        elif kind == DENIED:
            n = pass_time(row, slot, sample, lengths, transitions, n)
            if value == RESIZED:
                add_resized(row[SIGNAL:SINCE], sample, int(row[LAST_BEAT]), lengths)
            elif sample > row[LAST_BEAT]:
                row[SIGNAL + IS_SURE] = 0
        elif kind == BEAT or kind == WATERMARK or kind == LIMITS_CHANGED:
            n = pass_time(row, slot, sample, lengths, transitions, n)
            if kind == BEAT:
                before = n
                n = apply_beat(row, slot, sample, value, beats, lengths, limits[row[LIMITS]], transitions, n)
                for decided in range(before, n):
                    transitions.rows[decided, TRANSITION_BEAT] = value
            elif kind == LIMITS_CHANGED:
                row[LIMITS] = value
                number, bank = value, int(event[ORDERED_BANK])
                lengths = durations[number, bank]
                late = silent_from(row[SIGNAL:SINCE], int(row[LAST_BEAT]), lengths)
                if sample <= late:
                    row[SIGNAL + IS_TESTED] = 0  # it may have been, at a shorter limit
                elif is_silence(row[SIGNAL:SINCE]):
                    n = set_alert(row, slot, ASYSTOLE, True, sample, 0.0, transitions, n)
        restarts += kind == RESTART
        for decided in range(known, n):
            transitions.rows[decided, TRANSITION_STRETCH] = restarts
    room.counts[i] = n
