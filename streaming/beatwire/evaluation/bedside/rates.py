"""Alarms of rates and pauses, and how many of them the annotated beats confirm.

An alarm is confirmed if within ``WITHIN_S`` of its beginning the same median of annotated intervals is beyond the
limit, or less than ``TOLERANCE`` of it away: a rate about the limit is neither right nor wrong.
"""

from collections.abc import Sequence

import numpy as np

from beatwire.alerts.settings import Settings
from beatwire.evaluation.alarms import running_median
from beatwire.evaluation.bedside.rows import Count, Row
from beatwire.evaluation.bedside.watched import Watched, classed
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.records import I64

# Rule -> intervals of its median. Those of fast rates are confirmed by short intervals, the others by long ones.
INTERVALS = {"extreme tachycardia": 16, "tachycardia": 8, "bradycardia": 8, "extreme bradycardia": 4, "pause": 1}
_FAST = ("extreme tachycardia", "tachycardia")
WITHIN_S = 2.0
TOLERANCE = 0.03


def beats_beyond(record: AnnotatedRecord, rule: str) -> I64:
    """Return the samples of the annotated beats at which the rule's limit is passed, or nearly."""
    limit = Settings().limit(rule)
    longest_s = limit if rule == "pause" else 60.0 / limit
    n = INTERVALS[rule]
    median_s = running_median(np.diff(record.beat) / record.recording.rate_hz, n)
    fast = rule in _FAST
    beyond = median_s < (1 + TOLERANCE) * longest_s if fast else median_s > (1 - TOLERANCE) * longest_s
    return record.beat[n:][beyond]


def rows(folder: str, records: Sequence[Watched]) -> list[Row]:
    """Return the row of a folder whose beats have classes; none without such an alarm."""
    if not (of_folder := classed(records)):
        return []
    confirmed = []
    for r, annotated in of_folder:
        reach = WITHIN_S * r.rate_hz
        for rule in INTERVALS:
            alarms = r.of_rule(rule)
            beyond = beats_beyond(annotated, rule) if alarms else np.zeros(0, np.int64)
            hits = sum(bool((np.abs(beyond - a.onset) <= reach).any()) for a in alarms)
            confirmed.append(Count(r.person, float(hits), float(len(alarms))))
    return [Row(folder, "alarms of rates and pauses: confirmed by annotated beats", tuple(confirmed))]
