"""Missed beats: intervals in which a beat is missing, by the annotated beats and the definition of the rule.

One is found if an alarm of the rule is on within ``WITHIN_S`` after the beat that ends the interval; an alarm is false
if it belongs to no such interval. Intervals in annotated atrial fibrillation or flutter need not be found. Paced
records are left out.
"""

from collections.abc import Sequence

import numpy as np

from beatwire.alerts.settings import Settings
from beatwire.evaluation.alarms import MEDIAN_BEATS, running_median
from beatwire.evaluation.beats.match import inside
from beatwire.evaluation.bedside.rows import PER_DAY, Count, Row
from beatwire.evaluation.bedside.watched import Watched, classed
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.kernels.alerts.long_intervals import ABRUPT, NORMAL_NEEDED, is_long

RULE = "missed beat"
WITHIN_S = 10.0
TOLERANCE_S = 0.15  # between an annotated and a detected beat
_IRREGULAR = ("AFIB", "AFL", "VFL", "VF")


def missed_beats(record: AnnotatedRecord) -> list[int]:
    """Return the sample of each annotated beat before which a beat is missing."""
    limits = Settings()
    rr_s = np.diff(record.beat) / record.recording.rate_hz
    typical_s = running_median(rr_s, MEDIAN_BEATS)  # the first is that of the interval MEDIAN_BEATS - 1
    return [
        int(record.beat[k + 1])
        for k in range(MEDIAN_BEATS, len(rr_s))
        if is_long(float(rr_s[k]), float(typical_s[k + 1 - MEDIAN_BEATS]), limits.limit(RULE))
        and ABRUPT * rr_s[k - 1] < rr_s[k] <= limits.limit("pause")
        and all(c == "N" for c in record.beat_class[k + 1 - NORMAL_NEEDED : k + 1])
    ]


def rows(folder: str, records: Sequence[Watched]) -> list[Row]:
    """Return the rows of a folder in which a beat is missing somewhere; none without."""
    if not (of_folder := classed(records)):
        return []
    found: list[Count] = []
    false: list[Count] = []
    for r, annotated in of_folder:
        missed = np.array(missed_beats(annotated), np.int64)
        spans = [(s - int(TOLERANCE_S * r.rate_hz), s + int(WITHIN_S * r.rate_hz)) for s in missed.tolist()]
        irregular = np.array([(e.first, e.last) for e in annotated.rhythms if e.name in _IRREGULAR]).reshape(-1, 2)
        alarms = r.of_rule(RULE)
        needed = ~inside(missed, irregular)
        for (first, last), must in zip(spans, needed.tolist(), strict=True):
            if must:
                found.append(Count(r.person, any(a.onset <= last and a.ended >= first for a in alarms), 1.0))
        wrong = [a for a in alarms if not any(a.onset <= last and a.ended >= first for first, last in spans)]
        false.append(Count(r.person, len(wrong), r.hours))
    return [
        Row(folder, "missed beats: found", tuple(found)),
        Row(folder, "missed beats: false alarms", tuple(false), PER_DAY),
    ]
