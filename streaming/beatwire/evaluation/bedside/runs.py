"""Ventricular runs: three and more consecutive beats annotated V.

A run is found if an alarm of a run or of ventricular tachycardia is on in it or within ``WITHIN_S`` after it; an alarm
is false if it belongs to no run in this sense. Flutter and paced records are left out.
"""

from collections.abc import Sequence

import numpy as np

from beatwire.evaluation.alarms import reference_episodes
from beatwire.evaluation.beats.match import inside
from beatwire.evaluation.bedside.rows import PER_DAY, Count, Row
from beatwire.evaluation.bedside.watched import Watched, classed

WITHIN_S = 10.0
RULES = ("ventricular run", "ventricular tachycardia")


def rows(folder: str, records: Sequence[Watched]) -> list[Row]:
    """Return the rows of a folder with beats annotated V; none without."""
    of_folder = classed(records)
    if not any("V" in annotated.beat_class for _, annotated in of_folder):
        return []
    found: list[Count] = []
    false: list[Count] = []
    delay_s: list[float] = []
    for r, annotated in of_folder:
        reach = int(WITHIN_S * r.rate_hz)
        spans = [(a, b, b + reach) for a, b in reference_episodes(annotated)["ventricular run"]]
        alarms = r.of_rule(*RULES)
        for first, _, last in spans:
            of_run = [a.decided for a in alarms if a.onset <= last and a.ended >= first]
            found.append(Count(r.person, float(bool(of_run)), 1.0))
            if of_run:
                third = annotated.beat[np.searchsorted(annotated.beat, first) + 2]
                delay_s.append((min(of_run) - int(third)) / r.rate_hz)
        wrong = [a for a in alarms if not any(a.onset <= e and a.ended >= s for s, _, e in spans)]
        wrong = [a for a in wrong if not inside(np.array([a.onset, a.decided]), annotated.excluded).any()]
        false.append(Count(r.person, len(wrong), r.hours))
    return [
        Row(folder, "ventricular runs of three and more: found", tuple(found), goal=">= 95", delay_s=tuple(delay_s)),
        Row(folder, "ventricular runs: false alarms", tuple(false), PER_DAY, goal="<= 2"),
    ]
