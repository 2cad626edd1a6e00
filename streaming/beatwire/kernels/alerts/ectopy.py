"""Bodies of the rules of ventricular and supraventricular beats: from single ones to ventricular tachycardia.

In:    a beat with its class, and the judgements whether it ends a ventricular run, and is one of a tachycardia
Out:   ``Transitions``
State: ``own``, the columns ``CLASS_BITS``, ... of ``kernels.alerts.alert_state``

Of several rules about ventricular beats the gravest is announced: fibrillation over ventricular tachycardia over a run.
No score is read. Patterns of single beats need beats that can be trusted; runs are judged with their quality.
"""

import math

from beatwire.kernels.alerts.alert_state import (
    BIGEMINY,
    CLASS_BITS,
    COUNTED,
    COUPLET,
    FIBRILLATION,
    FIBRILLATION_FROM,
    FIBRILLATION_UNTIL,
    FIRST_ONSET,
    FIRST_SAMPLE,
    FREQUENT,
    IN_A_ROW,
    MOST_COUNTED,
    RUN_BITS,
    RUN_OF_BEATS,
    SUPRAVENTRICULAR,
    TACHYCARDIA,
    TRIGEMINY,
    VENTRICULAR,
    count_bits,
    hold_rule,
    hold_samples,
    set_alert,
)
from beatwire.kernels.classes.beat_class import S, V
from beatwire.kernels.detection.level import keep, kept
from beatwire.kernels.short_times import HALF
from beatwire.records import F64, I64
from beatwire.records.alerting import RuleBeats, Transitions
from beatwire.records.columns import ECTOPY_SAMPLES, VENTRICULAR_HOLD_SAMPLES

# Logits of the judges. Ventricular tachycardia needs two of the last three; with a run's three beats these are five.
# A beat that the judge of runs refuses is none of them.
RUN_LOGIT, TACHYCARDIA_LOGIT, REFUSED_LOGIT = 0.0, -0.5, -2.5
SLOW_RUN_LOGIT, SLOW_BPM = 1.0, 80.0  # about as fast as sinus rhythm, normal beats that change their shape are likelier
JUDGED_BITS, JUDGED, JUDGED_NEEDED = 7, 3, 2
CLASS_MASK = (1 << 9) - 1  # beats whose classes are kept as bits
MOST_IN_A_ROW = 5  # supraventricular tachycardia
ECTOPY_S = 15.0  # in which ventricular beats are counted: with their classes they depend on less than the horizon


def is_fibrillation(row: I64, sample: int) -> bool:
    """Return True if the alert of fibrillation was on at ``sample``.

    Blocks decide it, and a beat may be decided after the block that ends behind it: so the present state is not asked.
    """
    onset = row[FIRST_ONSET + FIBRILLATION]
    return bool(0 <= onset < sample or row[FIBRILLATION_FROM] < sample <= row[FIBRILLATION_UNTIL])


def is_dominated(row: I64, rule: int, sample: int) -> bool:
    """Return True if a graver alert about the beats up to ``sample`` is on."""
    ventricular = row[FIRST_ONSET + VENTRICULAR] >= 0
    if rule == VENTRICULAR:
        return is_fibrillation(row, sample)
    if rule == RUN_OF_BEATS or rule == TACHYCARDIA or rule == SUPRAVENTRICULAR:
        return is_fibrillation(row, sample) or bool(ventricular)
    return False


def is_undominated(row: I64, rule: int, holds: bool, held: bool, sample: int) -> bool:
    """Return ``held``, but False while a graver alert is on, and after it until the rule holds anew."""
    return held and not is_dominated(row, rule, sample) and (holds or row[FIRST_ONSET + rule] >= 0)


def apply_ectopy(
    row: I64, own: I64, slot: int, sample: int, passed: int, beat: int, beats: RuleBeats, lengths: I64, limits: F64,
    counted: int, transitions: Transitions, n: int,
) -> int:  # fmt: skip
    """Apply the rules to row ``beat`` of ``beats``, at ``sample``.

    The ``passed`` samples since the beat before count as ``counted`` beats.
    """
    rate = 60.0 / beats.mean_rr_s[beat] if beats.mean_rr_s[beat] > 0.0 else math.nan
    judged = beats.tachycardia[beat] > TACHYCARDIA_LOGIT and beats.run[beat] > REFUSED_LOGIT
    is_run = beats.run[beat] > (RUN_LOGIT if rate >= SLOW_BPM else SLOW_RUN_LOGIT)
    n = apply_runs(
        row, own, slot, sample, passed, bool(judged), bool(is_run), rate, lengths, limits, counted, transitions, n
    )
    trusted = not beats.noisy[beat]
    is_v = trusted and beats.beat_class[beat] == V
    own[CLASS_BITS] = ((int(own[CLASS_BITS]) << counted) | int(is_v)) & CLASS_MASK
    n = apply_patterns(row, slot, int(own[CLASS_BITS]), sample, counted, transitions, n)
    count_ventricular(own, sample, passed, bool(is_v), int(lengths[ECTOPY_SAMPLES]))
    a_minute = ventricular_rate(own, sample, int(lengths[ECTOPY_SAMPLES]))
    frequent = hold_rule(row, FREQUENT, a_minute > limits[FREQUENT], counted)
    n = set_alert(row, slot, FREQUENT, frequent, sample, a_minute, transitions, n)
    in_a_row = int(own[IN_A_ROW]) if counted == 1 else 0
    own[IN_A_ROW] = min(MOST_IN_A_ROW, in_a_row + 1) if trusted and beats.beat_class[beat] == S else 0
    fast = own[IN_A_ROW] == MOST_IN_A_ROW and rate > limits[SUPRAVENTRICULAR]
    held = hold_rule(row, SUPRAVENTRICULAR, fast, counted)
    holds = is_undominated(row, SUPRAVENTRICULAR, fast, held, sample)
    return set_alert(row, slot, SUPRAVENTRICULAR, holds, sample, rate, transitions, n)


def apply_runs(
    row: I64, own: I64, slot: int, sample: int, passed: int, judged: bool, is_run: bool, rate: float, lengths: I64,
    limits: F64, counted: int, transitions: Transitions, n: int,
) -> int:  # fmt: skip
    """Apply the rules of ventricular tachycardia and of a run to the judgements of a beat."""
    own[RUN_BITS] = ((int(own[RUN_BITS]) << counted) | int(judged)) & JUDGED_BITS
    found = count_bits(int(own[RUN_BITS]), JUDGED) >= JUDGED_NEEDED and rate > limits[VENTRICULAR]
    held = hold_samples(row, found, passed, int(lengths[VENTRICULAR_HOLD_SAMPLES]))
    holds = is_undominated(row, VENTRICULAR, found, held, sample)
    n = set_alert(row, slot, VENTRICULAR, holds, sample, rate, transitions, n)
    held = hold_rule(row, RUN_OF_BEATS, is_run, counted)
    holds = is_undominated(row, RUN_OF_BEATS, is_run, held, sample)
    return set_alert(row, slot, RUN_OF_BEATS, holds, sample, rate, transitions, n)


def apply_patterns(row: I64, slot: int, bits: int, sample: int, counted: int, transitions: Transitions, n: int) -> int:
    """Apply the rules of a couplet, of bigeminy and of trigeminy; ``bits`` are the last nine beats, 1: ventricular."""
    couplet = bits & 0b1111 == 0b0110
    n = set_alert(row, slot, COUPLET, hold_rule(row, COUPLET, couplet, counted), sample, 0.0, transitions, n)
    six = bits & 0b111111
    two = six == 0b010101 or six == 0b101010
    n = set_alert(row, slot, BIGEMINY, hold_rule(row, BIGEMINY, two, counted), sample, 0.0, transitions, n)
    three = bits == 0b001001001 or bits == 0b010010010 or bits == 0b100100100
    return set_alert(row, slot, TRIGEMINY, hold_rule(row, TRIGEMINY, three, counted), sample, 0.0, transitions, n)


def count_ventricular(own: I64, sample: int, passed: int, is_v: bool, window: int) -> None:
    """Count a beat, ``passed`` samples after the one before, if it is ventricular.

    If none is in the ``window`` up to it they are forgotten: so those that are stored are less than 2**31 samples ago.
    """
    if passed >= window or age_of(own, int(own[COUNTED]) - 1, sample) >= window:
        own[COUNTED] = 0
    if is_v:
        keep(own, FIRST_SAMPLE, int(own[COUNTED]) % MOST_COUNTED, sample & (HALF - 1))
        own[COUNTED] += 1


def age_of(own: I64, k: int, sample: int) -> int:
    """Return how long before ``sample`` ventricular beat ``k`` was."""
    return (sample - kept(own, FIRST_SAMPLE, k % MOST_COUNTED)) & (HALF - 1)


def ventricular_rate(own: I64, sample: int, window: int) -> float:
    """Return the ventricular beats a minute, counted over the ``window`` of ``ECTOPY_S``."""
    count = 0
    for k in range(min(MOST_COUNTED, int(own[COUNTED]))):
        count += age_of(own, k, sample) < window
    return count * 60.0 / ECTOPY_S
