"""The state of a stream's alerts: rules by number, columns, and how a rule turns its alert on and off.

State: int64 ``state[slot, STATE_COLUMNS]``
"""

from beatwire.alerts.rules import NUMBERS
from beatwire.alerts.rules import RULES as TABLE
from beatwire.kernels.alerts.unjudged import COLUMNS as SIGNAL_COLUMNS
from beatwire.kernels.packed_bytes import PER_COLUMN, byte_at, put_byte
from beatwire.records import I64
from beatwire.records.alerting import Transitions
from beatwire.records.columns import (
    NO_BEAT,
    TRANSITION_AT,
    TRANSITION_BEAT,
    TRANSITION_LIMITS,
    TRANSITION_ONSET,
    TRANSITION_RULE,
    TRANSITION_SESSION,
    TRANSITION_SLOT,
    TRANSITION_STATE,
    TRANSITION_STRETCH,
)

# Rules by number. The kernel of a new rule takes its own from the table in the same way.
ASYSTOLE = NUMBERS["asystole"]
EXTREME_TACHYCARDIA = NUMBERS["extreme tachycardia"]
TACHYCARDIA = NUMBERS["tachycardia"]
BRADYCARDIA = NUMBERS["bradycardia"]
EXTREME_BRADYCARDIA = NUMBERS["extreme bradycardia"]
ANOMALOUS_BEATS = NUMBERS["anomalous beats"]
LEADS_OFF = NUMBERS["lead off"]
FLAT_LINE = NUMBERS["flat line"]
NO_DATA = NUMBERS["no data"]
DRIFT = NUMBERS["drift"]
PAUSE = NUMBERS["pause"]
IRREGULAR = NUMBERS["irregular rhythm"]
RUN_OF_BEATS = NUMBERS["ventricular run"]
FIBRILLATION = NUMBERS["ventricular fibrillation"]
NOT_MONITORED = NUMBERS["not monitored"]
NOISE = NUMBERS["noise"]
SATURATED = NUMBERS["saturated"]
UNJUDGED = NUMBERS["cannot analyse"]
LONG_UNJUDGED = NUMBERS["cannot analyse, high"]
VENTRICULAR = NUMBERS["ventricular tachycardia"]
COUPLET = NUMBERS["couplet"]
BIGEMINY = NUMBERS["bigeminy"]
TRIGEMINY = NUMBERS["trigeminy"]
FREQUENT = NUMBERS["frequent ventricular beats"]
SUPRAVENTRICULAR = NUMBERS["supraventricular tachycardia"]
CONFLICTING = NUMBERS["conflicting senders"]
RATE_CONTRADICTED = NUMBERS["rate contradicted"]
MISSED_BEAT = NUMBERS["missed beat"]
RULES = len(TABLE)
OF_BEATS = (  # what begins and ends them is a beat
    EXTREME_TACHYCARDIA, TACHYCARDIA, BRADYCARDIA, EXTREME_BRADYCARDIA, ANOMALOUS_BEATS, PAUSE, IRREGULAR,
    RUN_OF_BEATS, NOISE, VENTRICULAR, COUPLET, BIGEMINY, TRIGEMINY, FREQUENT, SUPRAVENTRICULAR, MISSED_BEAT,
)  # fmt: skip
LATCH_BITS = sum(1 << number for number, rule in enumerate(TABLE) if rule.latches)

# Columns of ``kernels.alerts.ectopy`` in the state: the classes of the last beats as bits, the judgements of the last
# three, supraventricular beats in a row, and the samples of the last ventricular beats, two in a column.
CLASS_BITS, RUN_BITS, IN_A_ROW, COUNTED, FIRST_SAMPLE = range(5)
MOST_COUNTED = 16  # ventricular beats
ECTOPY_COLUMNS = FIRST_SAMPLE + MOST_COUNTED // 2

# States of an alert.
OFF, ON, LATCHED = range(3)

# Columns of the state:
#   IS_KNOWN        1 if the stream is known
#   SESSION         its session
#   LAST_BEAT       sample of the last beat, or where the lane began; of a stream known from the log alone, where its
#                   samples ended
#   LIMITS          row of the table of limits that is in force
#   FLAT_BLOCKS     flat blocks in a row, at most 2
#   ANOMALOUS_BITS  the last 8 beats as bits, 1: anomalous
#   WAVE_BITS       the last 30 blocks as bits, 1: fibrillation
#   POSSIBLE_BITS   the same, 1: fibrillation is possible
#   FIBRILLATION_FROM, FIBRILLATION_UNTIL  the samples at which the last alert of it that is over began and ended
#   NORMAL_IN_A_ROW  normal beats in a row up to the last beat, at most 3
#   LAST_INTERVAL   samples of the interval before the last beat, 0: unknown
#   UNCOUNTED       8 if a block that is too fast lies beside the interval before the last beat, else one less than
#                   at the beat before, at least 0
#   ECTOPY          columns of ``kernels.alerts.ectopy``
#   LIMIT_BITS      the last 2 blocks as bits, 1: at the limits of the converter
#   SIGNAL          columns of ``kernels.alerts.unjudged``
#   CONTACT         what else is known of leads that are off (``kernels.alerts.contact``)
#   SINCE           beats since each rule last held, at most those of its hold, in a byte each (``since_of``)
#   SINCE_VENTRICULAR  the same of ventricular tachycardia, in samples
#   FIRST_ONSET + rule  sample at which its alert began, -1: it is off
(
    IS_KNOWN, SESSION, LAST_BEAT, LIMITS, FLAT_BLOCKS, ANOMALOUS_BITS, WAVE_BITS, POSSIBLE_BITS, LIMIT_BITS,
    FIBRILLATION_FROM, FIBRILLATION_UNTIL, NORMAL_IN_A_ROW, LAST_INTERVAL, UNCOUNTED, CONTACT, ECTOPY,
) = range(16)  # fmt: skip
SIGNAL = ECTOPY + ECTOPY_COLUMNS
SINCE = SIGNAL + SIGNAL_COLUMNS
SINCE_COLUMNS = -(-RULES // PER_COLUMN)
SINCE_VENTRICULAR = SINCE + SINCE_COLUMNS
FIRST_ONSET = SINCE_VENTRICULAR + 1
STATE_COLUMNS = FIRST_ONSET + RULES

MOST_TRANSITIONS = 2 * RULES  # of an event: before it is applied, alerts of its time may begin and end

HOLD_BEATS = 8  # an alert of beats ends when its rule has not held for so many
FAST_HOLD_BEATS = 24  # one of a fast rate: a rate about its limit is one alert, not one for each time it passes it
VENTRICULAR_HOLD_S = 12.0  # one of ventricular tachycardia: so many beats of 120/min; more is beyond the horizon
NEVER = 1 << 40  # in ``SINCE_VENTRICULAR``: the rule has not held
NEVER_BEATS = 255  # the same in ``SINCE``
NONE_HELD = (1 << (8 * PER_COLUMN)) - 1  # a column of ``SINCE`` whose rules have not held
RECENT_BEATS = 8  # of the rule of anomalous beats
FEWEST_ANOMALOUS = 3  # of these
EIGHT_BITS, TWO_BITS = 255, 3
FLAT_LINE_BLOCKS = 2
WAVE_BLOCKS = 30  # an alert of fibrillation ends a minute after the last block of it at the latest
ENDING_BLOCKS = 8  # or after so many in a row in which it is not possible


def latches(rule: int) -> bool:
    """Return True if an alert of this rule stays latched until it is acknowledged."""
    return (LATCH_BITS >> rule) & 1 > 0


def outlasts_restart(rule: int) -> bool:
    """Return True if an alert of this rule is about the stream whatever its session: it goes on over a restart."""
    return rule == UNJUDGED or rule == LONG_UNJUDGED or rule == CONFLICTING


def write_transition(
    row: I64, slot: int, rule: int, state: int, onset: int, at: int, value: float, transitions: Transitions, n: int
) -> int:
    """Write row ``n`` of the transitions, of the stream whose state is ``row``, and return the next row."""
    written = transitions.rows[n]
    written[TRANSITION_SLOT] = slot
    written[TRANSITION_SESSION] = row[SESSION]
    written[TRANSITION_RULE] = rule
    written[TRANSITION_STATE] = state
    written[TRANSITION_ONSET] = onset
    written[TRANSITION_AT] = at
    written[TRANSITION_LIMITS] = row[LIMITS]
    written[TRANSITION_BEAT] = NO_BEAT
    written[TRANSITION_STRETCH] = 0
    transitions.value[n] = value
    return n + 1


def set_alert(
    row: I64, slot: int, rule: int, active: bool, at: int, value: float, transitions: Transitions, n: int
) -> int:
    """Turn the alert of a rule on or off at sample ``at`` if it is not so already; return the next free row."""
    onset = int(row[FIRST_ONSET + rule])
    if active and onset < 0:
        row[FIRST_ONSET + rule] = at
        return write_transition(row, slot, rule, ON, at, at, value, transitions, n)
    if not active and onset >= 0:
        row[FIRST_ONSET + rule] = -1
        state = LATCHED if latches(rule) else OFF
        return write_transition(row, slot, rule, state, onset, at, value, transitions, n)
    return n


def hold_of(rule: int) -> int:
    """Return how many beats an alert goes on after the last one at which its rule held."""
    return FAST_HOLD_BEATS if rule == EXTREME_TACHYCARDIA or rule == TACHYCARDIA else HOLD_BEATS


def since_of(row: I64, rule: int) -> int:
    """Return the beats since a rule last held, at most those of its hold; ``NEVER_BEATS``: it has not held."""
    return byte_at(row, SINCE, rule)


def set_since(row: I64, rule: int, beats: int) -> None:
    """Store the beats since a rule last held."""
    put_byte(row, SINCE, rule, beats)


def forget_rules(row: I64) -> None:
    """Store that no rule has held."""
    for column in range(SINCE, SINCE_VENTRICULAR):
        row[column] = NONE_HELD
    row[SINCE_VENTRICULAR] = NEVER


def hold_samples(row: I64, holds: bool, passed: int, hold: int) -> bool:
    """Return True until the rule of ventricular tachycardia has not held for ``hold`` samples.

    ``passed``: samples since the last beat.
    """
    row[SINCE_VENTRICULAR] = 0 if holds else min(hold, int(row[SINCE_VENTRICULAR]) + passed)
    return int(row[SINCE_VENTRICULAR]) < hold


def hold_rule(row: I64, rule: int, holds: bool, beats: int) -> bool:
    """Return True until a rule of beats has not held for ``hold_of``; a long interval counts as several beats."""
    since = 0 if holds else min(hold_of(rule), since_of(row, rule) + beats)
    set_since(row, rule, since)
    return since < hold_of(rule)


def count_bits(bits: int, n: int) -> int:
    """Return how many of the lowest ``n`` bits are set."""
    count = 0
    for k in range(n):
        count += (bits >> k) & 1
    return count


def add_bit(bits: int, bit: bool, n: int) -> int:
    """Return the last ``n`` bits with a newer one."""
    return ((bits << 1) | int(bit)) & ((1 << n) - 1)


def is_on(begins: int, possible: int) -> bool:
    """Return True if a block began an alert and since then ``possible`` has not been 0 for ``ENDING_BLOCKS`` in a row.

    Parameters
    ----------
    begins, possible
        The last ``WAVE_BLOCKS`` blocks as bits, the newest lowest.
    """
    if begins == 0:
        return False
    without = 0
    for k in range(WAVE_BLOCKS):
        if (begins >> k) & 1 > 0:
            return True
        without = 0 if (possible >> k) & 1 > 0 else without + 1
        if without == ENDING_BLOCKS:
            return False
    return False
