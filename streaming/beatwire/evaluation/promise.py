"""The promise of the score by person: of how many normal beats of each person the score is too high.

In:  the results of records, with the score and the annotated class of each beat
Out: the share of normal beats with a score of at least 2, which is promised to be 1 %: pooled over beats, mean over
     people, of the worst person; and how many people have far more

A person without a scored normal beat is left out.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from beatwire.evaluation.result import RecordResult

PROMISED = 0.01  # share of normal beats
FAR_MORE = 0.05  # of one person's normal beats


def promise_by_person(results: Sequence[RecordResult]) -> dict[str, Any]:
    """Return the figures in percent, and ``by_person``; None in place of what nobody has.

    Records of one subject are one person's.
    """
    counts: dict[str, tuple[int, int]] = {}
    for r in results:
        normal = (np.array(r.beat_class, str) == "N") & ~np.isnan(r.score)
        marked, beats = counts.get(r.subject, (0, 0))
        counts[r.subject] = marked + int((r.score[normal] >= -math.log10(PROMISED)).sum()), beats + int(normal.sum())
    counts = {person: count for person, count in counts.items() if count[1]}
    share = {person: 100.0 * marked / beats for person, (marked, beats) in counts.items()}
    if not share:
        return {"people": 0, "pooled": None, "mean": None, "worst": None, "worst_person": None, "above_5_percent": 0,
                "by_person": {}}  # fmt: skip
    worst = max(share, key=lambda person: share[person])
    marked, beats = (sum(count[k] for count in counts.values()) for k in (0, 1))
    return {
        "people": len(share),
        "pooled": round(100.0 * marked / beats, 3),
        "mean": round(float(np.mean(list(share.values()))), 3),
        "worst": round(share[worst], 3),
        "worst_person": worst,
        "above_5_percent": sum(percent > 100.0 * FAR_MORE for percent in share.values()),
        "by_person": {person: round(percent, 3) for person, percent in share.items()},
    }


def promise_line(figures: dict[str, Any]) -> list[str]:
    """Return the figures of ``promise_by_person`` as a line; none without people."""
    if not figures["people"]:
        return []
    worst = f"{figures['worst']:.2f} % of {figures['worst_person']}"
    far_more = f"more than {100 * FAR_MORE:g} % of {figures['above_5_percent']} of {figures['people']} people"
    head = f"Normal beats marked at a promised {100 * PROMISED:g} %, by person"
    return [f"{head}: {figures['mean']:.2f} % on average, {worst}, {far_more}"]
