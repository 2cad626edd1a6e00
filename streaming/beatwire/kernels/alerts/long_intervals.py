"""Bodies of the rules of one long interval: a pause, and a missed beat.

In:    the interval that a beat ends, the median of the last eight, and the classes of the beats before
Out:   ``Transitions``
State: the columns ``NORMAL_IN_A_ROW`` and ``LAST_INTERVAL`` of ``kernels.alerts.alert_state``

A missed beat is judged against the intervals before it, so it needs a regular rhythm: three normal beats before the
interval, and no atrial fibrillation. These and the interval span at most ``3 * LONGEST_S``, so that the rule depends on
no more than the horizon.
"""

import math

from beatwire.kernels.alerts.alert_state import (
    LAST_INTERVAL,
    MISSED_BEAT,
    NORMAL_IN_A_ROW,
    PAUSE,
    RECENT_BEATS,
    UNCOUNTED,
    hold_rule,
    set_alert,
)
from beatwire.kernels.classes.beat_class import N
from beatwire.records import F64, I64
from beatwire.records.alerting import RuleBeats, Transitions
from beatwire.records.columns import ASYSTOLE_SAMPLES, LONGEST_SAMPLES, PAUSE_SAMPLES

NORMAL_NEEDED = 3  # beats before the interval
ABRUPT = 1.5  # times the interval before: a rate that falls from beat to beat misses none
LONGEST_S = 3.0  # an interval of the rule and of the beats before it
FAST_RR_S, FAST_LONG_S = 0.6, 1.0  # above 100/min an interval of a second is long


def apply_long_intervals(
    row: I64, slot: int, interval: int, beat: int, beats: RuleBeats, lengths: I64, limits: F64, counted: int, at: int,
    transitions: Transitions, n: int,
) -> int:  # fmt: skip
    """Apply the rules to the interval that ends with row ``beat`` of ``beats``, at sample ``at``.

    Parameters
    ----------
    interval
        In samples; 0: unknown.
    lengths : int64 [9]
        The bank's row of the durations.
    counted
        Beats that the interval counts for.
    """
    interval_s = LONGEST_S * interval / lengths[LONGEST_SAMPLES] if interval > 0 else math.nan
    paused = lengths[PAUSE_SAMPLES] < interval <= lengths[ASYSTOLE_SAMPLES]
    n = set_alert(row, slot, PAUSE, hold_rule(row, PAUSE, paused, counted), at, interval_s, transitions, n)
    missed = (
        row[UNCOUNTED] < RECENT_BEATS
        and interval <= min(lengths[PAUSE_SAMPLES], lengths[LONGEST_SAMPLES])
        and row[NORMAL_IN_A_ROW] == NORMAL_NEEDED
        and not beats.atrial_possible[beat]
        and is_long(interval_s, beats.typical_rr_s[beat, 1], limits[MISSED_BEAT])
        and interval > ABRUPT * row[LAST_INTERVAL] > 0.0
    )
    normal = not beats.noisy[beat] and beats.beat_class[beat] == N
    before = int(row[NORMAL_IN_A_ROW]) if 0 < interval <= lengths[LONGEST_SAMPLES] else 0
    row[NORMAL_IN_A_ROW] = min(NORMAL_NEEDED, before + 1) if normal else 0
    row[LAST_INTERVAL] = interval
    return set_alert(
        row, slot, MISSED_BEAT, hold_rule(row, MISSED_BEAT, bool(missed), counted), at, interval_s, transitions, n
    )


def is_long(interval_s: float, typical_rr_s: float, times: float) -> bool:
    """Return True if an interval is as long as one in which a beat is missing; NaN: unknown, is not.

    >>> is_long(1.6, 0.9, 1.75), is_long(1.5, 0.9, 1.75), is_long(1.05, 0.5, 1.75)
    (True, False, True)
    """
    return interval_s > (FAST_LONG_S if typical_rr_s < FAST_RR_S else times * typical_rr_s)
