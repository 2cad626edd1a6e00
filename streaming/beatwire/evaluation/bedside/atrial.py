"""Atrial fibrillation: people in AF or in sinus rhythm by the header's comment, and stretches by rhythm marks.

By comment: the share of the time, the first minute left out, in which the alarm is on, mean over people.
By marks, in records with beats: a stretch of at least two minutes is found if the alarm is on in it; an alarm is false
if it is on in no stretch of AF or atrial flutter, nor within ``WITHIN_S`` after one.
"""

from collections.abc import Sequence

from beatwire.evaluation.beats.detection import Alarm
from beatwire.evaluation.bedside.rows import PER_DAY, Count, Row
from beatwire.evaluation.bedside.watched import Watched

FIRST_S = 60.0  # left out
LEAST_S = 120.0  # of a stretch that must be found
WITHIN_S = 10.0
RULE = "irregular rhythm"


def share_on(alarms: Sequence[Alarm], first: int, end: int) -> float:
    """Return the share of samples ``[first, end)`` in which an alarm is on; alarms do not overlap.

    >>> share_on([Alarm("x", 0, 10, 30), Alarm("x", 80, 80, 200)], 20, 120)
    0.5
    """
    return sum(max(0, min(a.ended, end) - max(a.decided, first)) for a in alarms) / (end - first)


def rows(folder: str, records: Sequence[Watched]) -> list[Row]:
    """Return the rows of a folder of people whose rhythm is known; none without."""
    return _by_comment(folder, records) + _by_marks(folder, records)


def _by_comment(folder: str, records: Sequence[Watched]) -> list[Row]:
    out = []
    for comment, label, goal in (("af", "in AF", ">= 97"), ("sinus", "in sinus rhythm", "<= 0.5")):
        people = [r for r in records if comment in r.comments and r.samples > 2 * FIRST_S * r.rate_hz]
        counts, delay_s = [], []
        for r in people:
            alarms = r.of_rule(RULE)
            counts.append(Count(r.person, share_on(alarms, int(FIRST_S * r.rate_hz), r.samples), 1.0))
            delay_s += [alarms[0].decided / r.rate_hz] if alarms and comment == "af" else []
        if counts:
            out.append(Row(folder, f"AF alarm on {label}", tuple(counts), goal=goal, delay_s=tuple(delay_s)))
    return out


def _by_marks(folder: str, records: Sequence[Watched]) -> list[Row]:
    found: list[Count] = []
    false: list[Count] = []
    delay_s: list[float] = []
    for r in records:
        if r.annotated is None or not len(r.annotated.beat) or not r.annotated.rhythms:
            continue
        alarms, reach = r.of_rule(RULE), int(WITHIN_S * r.rate_hz)
        spans = [(x.first, x.last) for x in r.annotated.rhythms if x.name == "AFIB"]
        accepted = [(x.first, x.last + reach) for x in r.annotated.rhythms if x.name in ("AFIB", "AFL")]
        for first, last in spans:
            if last - first >= LEAST_S * r.rate_hz:
                on = [a.decided for a in alarms if a.decided <= last and a.ended >= first]
                found.append(Count(r.person, float(bool(on)), 1.0))
                delay_s += [max(0, min(on) - first) / r.rate_hz] if on else []
        wrong = [a for a in alarms if not any(a.decided <= e and a.ended >= s for s, e in accepted)]
        false.append(Count(r.person, len(wrong), r.hours))
    if not false:
        return []
    goal = "<= 5"
    every = [Row(folder, "AF: false alarms", tuple(false), PER_DAY, goal=goal)]
    if found:
        every.insert(0, Row(folder, "AF of 2 min and more: found", tuple(found), goal=">= 97", delay_s=tuple(delay_s)))
    return every
