"""Bedside alarms that experts judged: PhysioNet's challenge of 2015.

In:  records whose header names the alarm and says whether it is true; it is raised at the end of the record
Out: by kind the share of true alarms that are raised (TPR) and of false ones that are not (TNR), and the score

The alarm of a kind is raised if it is on at any time in the last ``LAST_S`` of the record.
Clifford GD et al., Computing in Cardiology 42:273-276 (2015): score = (TP + TN) / (TP + TN + FP + 5 FN).
"""

from collections.abc import Sequence

from beatwire.evaluation.bedside.rows import Count, Row
from beatwire.evaluation.bedside.watched import Watched

LAST_S = 16.0
MISSED_WEIGHT = 5  # of a missed alarm in the score
TRUE, FALSE = "True alarm", "False alarm"
RULE_OF = {
    "Asystole": "asystole",
    "Bradycardia": "extreme bradycardia",
    "Tachycardia": "extreme tachycardia",
    "Ventricular_Tachycardia": "ventricular tachycardia",
    "Ventricular_Flutter_Fib": "ventricular fibrillation",
}
LABEL = {
    "Asystole": "asystole",
    "Bradycardia": "extreme bradycardia",
    "Tachycardia": "extreme tachycardia",
    "Ventricular_Tachycardia": "ventricular tachycardia",
    "Ventricular_Flutter_Fib": "ventricular fibrillation",
}


def is_judged(record: Watched) -> bool:
    """Return True if the header names an alarm and whether it is true."""
    return (TRUE in record.comments or FALSE in record.comments) and any(k in record.comments for k in RULE_OF)


def is_raised(record: Watched) -> bool:
    """Return True if the alarm of the record's kind was on in its last seconds."""
    rule = RULE_OF[kind_of(record)]
    return any(a.ended >= record.samples - LAST_S * record.rate_hz for a in record.of_rule(rule))


def kind_of(record: Watched) -> str:
    """Return the kind of the record's alarm, a key of ``RULE_OF``."""
    return next(k for k in RULE_OF if k in record.comments)


def rows(folder: str, records: Sequence[Watched]) -> list[Row]:
    """Return the rows of a folder of judged alarms."""
    judged = [(r, kind_of(r), TRUE in r.comments, is_raised(r)) for r in records if is_judged(r)]
    if not judged:
        return []
    score = []
    for r, _, is_true, raised in judged:
        right = float(is_true == raised)
        score.append(Count(r.person, right, MISSED_WEIGHT if is_true and not raised else 1.0))
    out = [Row(folder, "score of all kinds", tuple(score), goal=">= 82")]
    for label, kinds in [("all kinds", tuple(RULE_OF)), *((LABEL[k], (k,)) for k in RULE_OF)]:
        true = tuple(Count(r.person, float(on), 1.0) for r, k, is_true, on in judged if k in kinds and is_true)
        false = tuple(Count(r.person, float(not on), 1.0) for r, k, is_true, on in judged if k in kinds and not is_true)
        out.append(Row(folder, f"{label}: true alarms raised", true, goal=">= 95" if len(kinds) > 1 else ">= 92"))
        out.append(Row(folder, f"{label}: false alarms not raised", false))
    return out
