"""How well a detector's confidence predicts its errors, by beat and by window of 10 s.

By beat: AUROC of ``quality``, true against false detections. By window: AUROC of the expected number of errors (the
detector's own, or else the sum of 1 - quality over the window's beats), windows with a false or missed beat against
windows without. Excluded spans are left out, and so is a window that the record cuts short, since the last beats of
a record cannot be decided.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from beatwire.evaluation.anomaly import auroc
from beatwire.evaluation.beats.detection import ERROR_WINDOW_S, Detected
from beatwire.evaluation.beats.match import inside
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.records import F64, I64, Bool

UNDECIDED_S = 0.35  # at the end of a record: the longest delay of a beat


@dataclass(frozen=True)
class ConfidenceOutcome:
    """The confidence of a record's beats and windows, and whether they were right.

    quality, correct            float64 [b], bool [b], of each detection
    expected_errors, has_error  float64 [w], bool [w], of each window of 10 s
    """

    quality: F64
    correct: Bool
    expected_errors: F64
    has_error: Bool

    @staticmethod
    def of(record: AnnotatedRecord, detected: Detected, partner: I64) -> ConfidenceOutcome:
        """Collect from a record's detections and their partners (``match.pair``); empty without ``quality``."""
        if len(detected.quality) == 0:
            return ConfidenceOutcome(np.empty(0), np.empty(0, bool), np.empty(0), np.empty(0, bool))
        use = ~inside(detected.sample, record.excluded)
        correct = partner >= 0
        length = ERROR_WINDOW_S * record.recording.rate_hz
        windows = max(1, int(np.ceil(record.recording.samples.shape[1] / length)))
        is_found = np.zeros(len(record.beat), bool)
        is_found[partner[correct]] = True
        missed = record.beat[~is_found & ~inside(record.beat, record.excluded)]
        errors, expected = np.zeros(windows), np.zeros(windows)
        window = np.minimum((detected.sample / length).astype(np.int64), windows - 1)
        np.add.at(expected, window[use], 1.0 - detected.quality[use])
        np.add.at(errors, window[use & ~correct], 1)
        np.add.at(errors, np.minimum((missed / length).astype(np.int64), windows - 1), 1)
        given = detected.expected_errors[:windows]
        expected[: len(given)] = given
        start = (np.arange(windows) * length).astype(np.int64)
        complete = ~inside(start, record.excluded) & ~inside((start + length - 1).astype(np.int64), record.excluded)
        complete &= start + length <= record.recording.samples.shape[1] - UNDECIDED_S * record.recording.rate_hz
        return ConfidenceOutcome(detected.quality[use], correct[use], expected[complete], errors[complete] > 0)


def confidence_auroc(outcomes: Iterable[ConfidenceOutcome]) -> dict[str, float]:
    """Return ``beat_auc`` and ``window_auc`` over all records; NaN where there is no error or no quality."""
    every = list(outcomes)
    if not every:
        return {"beat_auc": float("nan"), "window_auc": float("nan")}
    quality, correct = np.concatenate([o.quality for o in every]), np.concatenate([o.correct for o in every])
    expected = np.concatenate([o.expected_errors for o in every])
    has_error = np.concatenate([o.has_error for o in every])
    return {"beat_auc": auroc(quality, correct), "window_auc": auroc(expected, has_error)}
