"""Alarms per bed and day, by rule and priority.

Groups: people in sinus rhythm (by comment, or by rhythm marks that name nothing else), every folder of labelled beats,
and the simulated ward. Every alarm counts, a true one too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from beatwire.alerts.rules import RULES
from beatwire.evaluation.bedside.rows import PER_DAY, PERCENT, Count, Row
from beatwire.evaluation.bedside.watched import Watched, Watcher
from beatwire.evaluation.bedside.wearable import MEDIUM_OR_HIGH, RATES
from beatwire.recordings.synthetic.person import synthesise

WARD, SINUS = "simulated ward", "all in sinus rhythm"
WARD_BEDS, WARD_S = 200, 120.0
LEAST_S = 60.0  # shorter recordings have no rate of alarms per day
_SINUS_RHYTHMS = frozenset({"N", "NSR", "SBR"})


def is_sinus(record: Watched) -> bool:
    """Return True if the record is of sinus rhythm alone, by its comment or its rhythm marks."""
    if record.samples < LEAST_S * record.rate_hz:
        return False
    if record.annotated is not None:
        names = {r.name for r in record.annotated.rhythms}
        return bool(names) and names <= _SINUS_RHYTHMS and not len(record.annotated.excluded)
    return "sinus" in record.comments


def simulated_ward(watcher: Watcher, beds: int = WARD_BEDS) -> Iterator[Watched]:
    """Run normal synthetic people through the graph; each begins at another phase of a beat, many within one."""
    for k in range(beds):
        recording = synthesise((0, k), name=f"bed-{k + 1}", seconds=WARD_S + 2.0).recording
        first = int((1.0 + k / beds) * recording.rate_hz)
        recording = replace(recording, samples=np.ascontiguousarray(recording.samples[:, first:]))
        name, n = recording.name, recording.samples.shape[1]
        alarms = watcher.watch_recording(recording)
        yield Watched(WARD, name, f"{WARD}/{name}", recording.rate_hz, n, ("sinus",), alarms)


def rows(group: str, records: Sequence[Watched]) -> list[Row]:
    """Return the alarms per bed and day of a group: medium and high together, then by rule."""
    if not records:
        return []
    goal = "< 3" if group in (WARD, SINUS) else ""
    both = tuple(Count(r.person, len(r.physiological(*MEDIUM_OR_HIGH)), r.hours) for r in records)
    out = [Row(group, "alarms per bed and day, medium and high, about the heart", both, PER_DAY, goal=goal)]
    for rule in (one for one in RULES if not one.raises):
        counts = tuple(Count(r.person, len(r.of_rule(rule.name)), r.hours) for r in records)
        if any(c.hits for c in counts):
            kind = f"{rule.priority}{', technical' if rule.technical else ''}"
            out.append(Row(group, f"alarms per bed and day: {rule.name} ({kind})", counts, PER_DAY))
    return out


def rate_rows(group: str, records: Sequence[Watched]) -> list[Row]:
    """Return the shares of normal people with an alarm of a fast rate."""
    return [
        Row(group, f"normal rhythm: with {rule}", tuple(_has(r, rule) for r in records), PERCENT, goal="<= 1")
        for rule in RATES
    ]


def _has(record: Watched, rule: str) -> Count:
    return Count(record.person, float(bool(record.of_rule(rule))), 1.0)
