"""Ventricular fibrillation and flutter: stretches between ``[`` and ``]``, and the rhythms VF, VFIB and VFL.

A stretch of at least ``LEAST_S`` is found if the alarm is on in it and decided at most ``WITHIN_S`` after it began. An
alarm is false if it is not on within ``GRACE_S`` of any such stretch. Stretches that touch are one.
"""

from collections.abc import Sequence

from beatwire.evaluation.bedside.rows import PER_HOUR, Count, Row
from beatwire.evaluation.bedside.watched import Watched
from beatwire.evaluation.records import AnnotatedRecord

LEAST_S, WITHIN_S, GRACE_S = 5.0, 10.0, 2.0
RHYTHMS = ("VF", "VFIB", "VFL")
RULE = "ventricular fibrillation"


def spans_of(annotated: AnnotatedRecord) -> list[tuple[int, int]]:
    """Return the first and last sample of each stretch of any length; stretches that touch are one."""
    spans = [(int(a), int(b)) for a, b in annotated.excluded]
    spans += [(r.first, r.last) for r in annotated.rhythms if r.name in RHYTHMS]
    joined: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if joined and first <= joined[-1][1] + 2:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def stretches(record: Watched) -> list[tuple[int, int]]:
    """Return the first and last sample of each stretch that is long enough."""
    assert record.annotated is not None
    return [(a, b) for a, b in spans_of(record.annotated) if b - a >= LEAST_S * record.rate_hz]


def rows(folder: str, records: Sequence[Watched]) -> list[Row]:
    """Return the rows of a folder with marked fibrillation; none without."""
    marked = [r for r in records if r.annotated is not None]
    found: list[Count] = []
    false: list[Count] = []
    delay_s: list[float] = []
    for r in marked:
        spans, alarms = stretches(r), r.of_rule(RULE)
        grace = int(GRACE_S * r.rate_hz)
        for first, last in spans:
            within = [a.decided for a in alarms if a.ended >= first and a.onset <= last]
            late_s = (min(within) - first) / r.rate_hz if within else float("inf")
            found.append(Count(r.person, float(late_s <= WITHIN_S), 1.0))
            if late_s <= WITHIN_S:
                delay_s.append(max(0.0, late_s))
        wrong = [a for a in alarms if not any(a.onset <= b + grace and a.ended >= s - grace for s, b in spans)]
        outside_h = r.hours - sum(b - a for a, b in spans) / r.rate_hz / 3600.0
        false.append(Count(r.person, len(wrong), outside_h))
    if not found:
        return []
    name = f"VF, VFL of {LEAST_S:g} s and more"
    return [
        Row(folder, f"{name}: found within {WITHIN_S:g} s", tuple(found), goal=">= 97", delay_s=tuple(delay_s)),
        Row(folder, f"{name}: false alarms", tuple(false), PER_HOUR, goal="<= 0.5"),
    ]
