"""Law of leads: a clean lead added costs nothing; and how noise is put on one lead."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from beatwire.evaluation.beats.detection import Cuts, Detected
from beatwire.evaluation.beats.one_lead import (
    SATURATION,
    Disturbance,
    count_beats,
    disturbed,
    one_lead_as_text,
    one_lead_costs,
)
from beatwire.evaluation.records import AnnotatedRecord, read_annotated
from beatwire.records import I16
from laws import Signal
from steps import beats_of

SECONDS = 150
FEW = ("mitdb/114", "svdb/821", "qtdb/sele0126")  # of which noise once hid most beats


def detect(samples: I16, rate_hz: float, uv_per_unit: float, cuts: Cuts) -> Detected:
    """Return the beats, by the stages up to them."""
    return Detected(beats_of(Signal("bed", samples, rate_hz)).sample)


def beginning(record: AnnotatedRecord) -> AnnotatedRecord:
    """Return the first minutes of a record."""
    recording = record.recording
    n = round(SECONDS * recording.rate_hz)
    return replace(
        record,
        recording=replace(recording, samples=recording.samples[:2, :n]),
        beat=record.beat[record.beat < n],
        beat_class=record.beat_class[: int((record.beat < n).sum())],
    )


@pytest.mark.parametrize("lead", [0, 1])
def test_noise_comes_in_bursts_on_one_lead_and_the_cost_is_against_the_others(ecg_folder: Path, lead: int) -> None:
    short = beginning(read_annotated(ecg_folder / "mitdb", "114"))
    x = short.recording.samples
    for what in (Disturbance(str(ecg_folder / "nstdb/em100"), -12.0), Disturbance(SATURATION, None)):
        noisy = disturbed(short, lead, what, 0)
        np.testing.assert_array_equal(noisy[1 - lead], x[1 - lead])
        assert 0.1 < (noisy[lead] != x[lead]).mean() < 0.9


@pytest.mark.parametrize("name", FEW)
def test_a_clean_lead_added_costs_nothing(ecg_folder: Path, name: str) -> None:
    folder, _, record = name.partition("/")
    short = beginning(read_annotated(ecg_folder / folder, record))
    of_all, first = (count_beats(short, short.recording.samples[:n], detect, 0) for n in (2, 1))
    assert of_all.fn + of_all.fp <= first.fn + first.fp


def test_the_cost_is_that_against_the_other_leads_alone(ecg_folder: Path) -> None:
    costs = one_lead_costs(ecg_folder / "qtdb", detect, noise=[SATURATION], snr_db=[0.0], names=["sele0126"])
    assert [row["lead"] for row in costs["rows"]] == [1, 2]
    assert all(row["cost"] == row["others"] - row["all"] for row in costs["rows"])
    assert (costs["records"], costs["failed"]) == (1, [])
    assert len(one_lead_as_text(costs).splitlines()) == 4
