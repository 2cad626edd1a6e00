"""Accuracy: the F1 of the detector on annotated records stays above a floor.

The eight records are a sample of MIT-BIH Arrhythmia that takes some seconds: normal rhythm, ectopy, noise, low
amplitude and bundle branch block. ``beatwire evaluate`` prints the figures of all records.
"""

from pathlib import Path

import pytest
from beatwire.evaluation.beats.match import Counts
from beatwire.evaluation.evaluate import evaluate
from beatwire.evaluation.streamed import Streamed

RECORDS = ("101", "106", "108", "118", "119", "203", "208", "223")
LOWEST_F1 = {"first": 0.9960, "all": 0.9970}  # by lead; the figures were 0.9969 and 0.9978 when the floor was set


def f1_of(folder: Path, lead: str) -> float:
    """Return the F1 within 150 ms over the beats of all records."""
    detector = Streamed()
    results = evaluate(folder, detector, lead=lead, names=RECORDS, held_out=detector.held_out()).results
    assert len(results) == len(RECORDS)
    counts: list[Counts] = [result.wide for result in results]
    tp, fn, fp = (sum(getattr(c, name) for c in counts) for name in ("tp", "fn", "fp"))
    assert tp > 15_000
    return 2 * tp / (2 * tp + fn + fp)


@pytest.mark.parametrize("lead", [pytest.param("first", marks=pytest.mark.slow), "all"])
def test_f1_on_annotated_records_does_not_fall_below_its_floor(ecg_folder: Path, lead: str) -> None:
    assert f1_of(ecg_folder / "mitdb", lead) >= LOWEST_F1[lead]
