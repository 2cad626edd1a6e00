"""Figures of the detector in cross-validation: F1 by database and augmentation, by trees and by the rule.

In:  the records of a run and the logits of their peaks by trees that were not trained on the record
Out: the ``databases`` of the metrics
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from beatwire.evaluation.beats.match import Counts, count, pair
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.records import F64, I64, Bool
from beatwire.training.detector.augmentation import EVALUATED_ON
from beatwire.training.detector.examples import ALL_LEADS, Examples

MATCH_S = 0.15  # the tolerance of EC57
METHODS = ("by_rule", "by_trees", "all_leads")  # the rule and the trees on the first lead, the trees on all leads

HeldOutLogits = Mapping[tuple[int, int], F64]  # (record, examples) -> logits [p] by trees not trained on the record


@dataclass(frozen=True)
class TrainingRecord:
    """A record, its training examples, and the fold in which it is held out."""

    database: str
    record: AnnotatedRecord
    examples: list[Examples]
    fold: int


def count_beats(record: AnnotatedRecord, examples: Examples, accepted: Bool) -> Counts:
    """Match the accepted peaks, bool [p], with the annotated beats."""
    at: I64 = examples.candidates.at[accepted]
    partner = pair(examples.beat, at, int(MATCH_S * record.recording.rate_hz))
    return count(examples.beat, at, partner, record.excluded)


def figures(records: Sequence[TrainingRecord], logits: HeldOutLogits) -> dict[str, Any]:
    """Return for each database F1, sensitivity and positive predictivity by method and augmentation.

    ``records`` holds the F1 of each record as recorded, by the trees. Paced records are a database of their own.
    """
    found: dict[str, Any] = {}
    for k, one in enumerate(records):
        database = "paced" if one.record.paced else one.database
        of_database = found.setdefault(database, {"records": {}, **{method: {} for method in METHODS}})
        for j, examples in enumerate(one.examples):
            if examples.augmentation not in EVALUATED_ON or examples.lead not in (0, ALL_LEADS):
                continue
            by_trees = count_beats(one.record, examples, logits[k, j] > 0)
            if examples.lead == ALL_LEADS:
                counts = {"all_leads": by_trees}
            else:
                counts = {"by_rule": count_beats(one.record, examples, examples.by_rule), "by_trees": by_trees}
            for method, some in counts.items():
                sums = of_database[method]
                sums[examples.augmentation] = sums.get(examples.augmentation, Counts()) + some
            if examples.augmentation == EVALUATED_ON[0] and examples.lead == 0:
                of_database["records"][one.record.recording.name] = round(by_trees.f1, 3)
    for of_database in found.values():
        for method in METHODS:
            of_database[method] = {
                name: {"f1": round(c.f1, 3), "se": round(c.se, 3), "ppv": round(c.ppv, 3)}
                for name, c in of_database[method].items()
            }
    return found
