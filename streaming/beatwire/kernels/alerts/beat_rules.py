"""Bodies of the rules of beats: a beat of a stream in; transitions of its alerts, out.

In:    a row of ``records.alerting.RuleBeats``, the durations and the limits of its stream
Out:   ``Transitions``
State: the row of the stream, as in ``kernels.alerts.rules``
"""

import math

from beatwire.kernels.alerts.alert_state import (
    ANOMALOUS_BEATS,
    ANOMALOUS_BITS,
    ASYSTOLE,
    BRADYCARDIA,
    ECTOPY,
    EIGHT_BITS,
    EXTREME_BRADYCARDIA,
    EXTREME_TACHYCARDIA,
    FAST_HOLD_BEATS,
    FEWEST_ANOMALOUS,
    FIRST_ONSET,
    IRREGULAR,
    LAST_BEAT,
    LONG_UNJUDGED,
    NOISE,
    RECENT_BEATS,
    SIGNAL,
    SINCE,
    TACHYCARDIA,
    UNCOUNTED,
    UNJUDGED,
    count_bits,
    hold_rule,
    set_alert,
)
from beatwire.kernels.alerts.ectopy import apply_ectopy, is_undominated, ventricular_rate
from beatwire.kernels.alerts.long_intervals import apply_long_intervals
from beatwire.kernels.alerts.unjudged import FAST_BY, LARGE_AT, RESIZED_BY, is_filled, pass_beat
from beatwire.records import F64, I64
from beatwire.records.alerting import RuleBeats, Transitions
from beatwire.records.columns import BLOCK_SAMPLES, ECTOPY_SAMPLES, MISSED_SAMPLES

MOST_INTERVALS = 16  # of a rate
FAINT_BLOCKS = 10  # 20 s
MOST_ECTOPIC = 0.25  # share of ventricular beats: with more it is they that make the rhythm irregular


def is_passed_over(own: I64, faint: bool, sample: int, lengths: I64) -> bool:
    """Return True if a beat is faint: in a heart that stands still, a P wave may be.

    ``FAINT_BLOCKS`` after the last beat that is not, the signal may have become smaller.
    """
    if not faint:
        own[LARGE_AT] = sample
    return faint and sample - int(own[LARGE_AT]) < FAINT_BLOCKS * int(lengths[BLOCK_SAMPLES])


def is_uncounted(own: I64, last_beat: int, lengths: I64) -> bool:
    """Return True if a block that is too fast lies beside the last beat or behind it: the interval may be several."""
    return bool(own[FAST_BY] > 0 and own[FAST_BY] > last_beat - lengths[BLOCK_SAMPLES])


def apply_quality(
    row: I64, slot: int, sample: int, passed: int, beat: int, beats: RuleBeats, lengths: I64,
    transitions: Transitions, n: int,
) -> int:  # fmt: skip
    """End the asystole before a beat, and the alerts of a signal that cannot be judged if the beat can."""
    judged = (not beats.noisy[beat] and beats.rr_s[beat] > 0.0) or row[FIRST_ONSET + ASYSTOLE] >= 0
    pass_beat(row[SIGNAL:SINCE], sample, passed, bool(beats.sure[beat]), bool(judged), lengths)
    n = set_alert(row, slot, ASYSTOLE, False, sample, 0.0, transitions, n)
    if judged:
        n = set_alert(row, slot, UNJUDGED, False, sample, 0.0, transitions, n)
        n = set_alert(row, slot, LONG_UNJUDGED, False, sample, 0.0, transitions, n)
    return n


def apply_beat(
    row: I64, slot: int, sample: int, beat: int, beats: RuleBeats, lengths: I64, limits: F64,
    transitions: Transitions, n: int,
) -> int:  # fmt: skip
    """Apply the rules of beats to row ``beat`` of ``beats``, at ``sample``."""
    ectopy = row[ECTOPY:SIGNAL]
    passed = sample - int(row[LAST_BEAT])
    if is_passed_over(row[SIGNAL:SINCE], bool(beats.faint[beat]), sample, lengths):
        return n
    uncounted = is_uncounted(row[SIGNAL:SINCE], int(row[LAST_BEAT]), lengths)
    row[UNCOUNTED] = RECENT_BEATS if uncounted else max(0, int(row[UNCOUNTED]) - 1)
    n = apply_quality(row, slot, sample, passed, beat, beats, lengths, transitions, n)
    counted = min(FAST_HOLD_BEATS, max(1, passed // int(lengths[MISSED_SAMPLES])))
    filled = is_filled(row[SIGNAL:SINCE], int(row[LAST_BEAT]), lengths)
    large = sample - max(int(row[LAST_BEAT]), int(row[SIGNAL + RESIZED_BY]))
    interval = large if beats.rr_s[beat] > 0.0 and not filled else 0
    row[LAST_BEAT] = sample
    n = apply_ectopy(row, ectopy, slot, sample, passed, beat, beats, lengths, limits, counted, transitions, n)
    noise = hold_rule(row, NOISE, bool(beats.noisy[beat]), counted)
    n = set_alert(row, slot, NOISE, noise, sample, float(beats.errors[beat]), transitions, n)
    for rule in range(EXTREME_TACHYCARDIA, EXTREME_BRADYCARDIA + 1):
        limit = limits[rule]
        half = (rule - EXTREME_TACHYCARDIA + 1) // 2  # how often the 16 intervals are halved
        typical_s = beats.typical_rr_s[beat, half]
        rate = 60.0 / typical_s if typical_s > 0.0 else math.nan
        if rule >= BRADYCARDIA and row[UNCOUNTED] > RECENT_BEATS - (MOST_INTERVALS >> half):
            rate = math.nan
        beyond = rate > limit if rule <= TACHYCARDIA else rate < limit
        if rule == TACHYCARDIA:
            beyond = beyond and not beats.unrelated[beat]
        held = hold_rule(row, rule, beyond, counted)
        holds = is_undominated(row, rule, beyond, held, sample)
        n = set_alert(row, slot, rule, holds, sample, rate, transitions, n)
    row[ANOMALOUS_BITS] = ((int(row[ANOMALOUS_BITS]) << counted) | int(beats.anomalous[beat])) & EIGHT_BITS
    count = count_bits(int(row[ANOMALOUS_BITS]), RECENT_BEATS)
    burst = hold_rule(row, ANOMALOUS_BEATS, count >= FEWEST_ANOMALOUS, counted)
    n = set_alert(row, slot, ANOMALOUS_BEATS, burst, sample, float(count), transitions, n)
    n = apply_long_intervals(row, slot, interval, beat, beats, lengths, limits, counted, sample, transitions, n)
    typical_s = beats.typical_rr_s[beat, 1]
    rate = 60.0 / typical_s if typical_s > 0.0 else 0.0
    ectopic = ventricular_rate(ectopy, sample, int(lengths[ECTOPY_SAMPLES])) > MOST_ECTOPIC * rate
    begins = beats.atrial[beat] and not beats.noisy[beat] and not ectopic
    goes_on = row[FIRST_ONSET + IRREGULAR] >= 0 and beats.atrial_possible[beat]
    value = rate if rate > 0.0 else math.nan
    return set_alert(row, slot, IRREGULAR, bool(begins or goes_on), sample, value, transitions, n)
