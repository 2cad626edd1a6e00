"""Whether the confidence of a beat says that it is one, and that of ten seconds where errors are.

Per beat: area under the ROC curve of quality, right against wrong detections. Per window of 10 s:
expected errors (the sum of 1 - quality of its beats) against having an error at all, a false or a
missed beat. What lies in excluded stretches takes no part, nor does a window that the record cuts short: the last
beats of a record cannot be decided any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from beatwire.evaluation.anomaly import auroc
from beatwire.evaluation.detection import Detected
from beatwire.evaluation.match import inside
from beatwire.evaluation.records import Annotated
from beatwire.records import F64, I64, Bool

WINDOW_S = 10.0
UNDECIDED_S = 0.35  # before the end of a record: the longest delay of a beat


@dataclass(frozen=True)
class Judged:
    """Beats and windows of a record with what was claimed and what was true.

    quality, right       [b] of each detection
    expected, has_error  [w] of each window of 10 s
    """

    quality: F64
    right: Bool
    expected: F64
    has_error: Bool

    @staticmethod
    def of(record: Annotated, detected: Detected, partner: I64) -> Judged:
        """Collect from a record's detections and their partners; empty when no quality is given."""
        if len(detected.quality) == 0:
            return Judged(np.empty(0), np.empty(0, bool), np.empty(0), np.empty(0, bool))
        use = ~inside(detected.sample, record.excluded)
        right = partner >= 0
        length = WINDOW_S * record.recording.rate_hz
        windows = max(1, int(np.ceil(record.recording.samples.shape[1] / length)))
        found = np.zeros(len(record.beat), bool)
        found[partner[right]] = True
        missed = record.beat[~found & ~inside(record.beat, record.excluded)]
        errors, expected = np.zeros(windows), np.zeros(windows)
        place = np.minimum((detected.sample / length).astype(np.int64), windows - 1)
        np.add.at(expected, place[use], 1.0 - detected.quality[use])
        np.add.at(errors, place[use & ~right], 1)
        np.add.at(errors, np.minimum((missed / length).astype(np.int64), windows - 1), 1)
        given = detected.expected_errors[:windows]
        expected[: len(given)] = given
        start = (np.arange(windows) * length).astype(np.int64)
        clear = ~inside(start, record.excluded) & ~inside((start + length - 1).astype(np.int64), record.excluded)
        clear &= start + length <= record.recording.samples.shape[1] - UNDECIDED_S * record.recording.rate_hz
        return Judged(detected.quality[use], right[use], expected[clear], errors[clear] > 0)


def confidence(classified: Iterable[Judged]) -> dict[str, float]:
    """``beat_auc`` and ``window_auc`` over all records; NaN where there is no error or no quality."""
    every = list(classified)
    if not every:
        return {"beat_auc": float("nan"), "window_auc": float("nan")}
    quality, right = np.concatenate([j.quality for j in every]), np.concatenate([j.right for j in every])
    expected, bad = np.concatenate([j.expected for j in every]), np.concatenate([j.has_error for j in every])
    return {"beat_auc": auroc(quality, right), "window_auc": auroc(expected, bad)}
