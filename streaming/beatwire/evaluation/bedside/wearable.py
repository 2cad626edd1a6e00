"""Short recordings of a wearable: nothing but noise, AF, or normal, by the header's comment.

The figures are shares of recordings with an alarm about the heart of medium or high priority, and with the alarm of
each rule that occurs.
"""

from collections.abc import Sequence

from beatwire.evaluation.bedside.rows import Count, Row
from beatwire.evaluation.bedside.watched import Watched

MEDIUM_OR_HIGH = ("medium", "high")
RATES = ("tachycardia", "extreme tachycardia")
COMMENTS = {"noisy": "nothing but noise", "normal": "normal rhythm"}


def rows(folder: str, records: Sequence[Watched]) -> list[Row]:
    """Return the rows of a folder of recordings that are noise or normal; none without noise."""
    if not any("noisy" in r.comments for r in records):
        return []
    out = []
    for comment, label in COMMENTS.items():
        of_kind = [r for r in records if comment in r.comments]
        raised = [(r.person, {a.rule for a in r.physiological(*MEDIUM_OR_HIGH)}) for r in of_kind]
        any_rule = tuple(Count(person, float(bool(rules)), 1.0) for person, rules in raised)
        goal = "<= 5" if comment == "noisy" else ""
        out.append(Row(folder, f"{label}: with a physiological alarm, medium or high", any_rule, goal=goal))
        for rule in sorted(set().union(*(rules for _, rules in raised), RATES if comment == "normal" else ())):
            counts = tuple(Count(person, float(rule in rules), 1.0) for person, rules in raised)
            goal = "<= 1" if comment == "normal" and rule in RATES else ""
            out.append(Row(folder, f"{label}: with {rule}", counts, goal=goal))
    return out
