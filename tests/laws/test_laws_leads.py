"""Law of leads: noise on one lead costs the others little, and a clean lead added costs nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from beatwire.evaluation.beats.detection import Cuts, Detected
from beatwire.evaluation.beats.one_lead import SATURATION, Disturbance, count_beats, disturbed, one_lead_costs
from beatwire.evaluation.records import AnnotatedRecord, read_annotated
from beatwire.evaluation.streamed import Streamed
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


@pytest.mark.parametrize("name", FEW)
def test_noise_on_one_lead_costs_few_beats_of_the_others(ecg_folder: Path, name: str) -> None:
    folder, _, record = name.partition("/")
    short = beginning(read_annotated(ecg_folder / folder, record))
    for lead in (0, 1):
        others = count_beats(short, short.recording.samples[1 - lead : 2 - lead], detect, 0)
        for what in (Disturbance(str(ecg_folder / "nstdb/em100"), -12.0), Disturbance(SATURATION, None)):
            found = count_beats(short, disturbed(short, lead, what, 0), detect, 0)
            assert found.fn + found.fp <= others.fn + others.fp + 4, (lead, what.name)


@pytest.mark.parametrize("name", FEW)
def test_a_clean_lead_added_costs_nothing(ecg_folder: Path, name: str) -> None:
    folder, _, record = name.partition("/")
    short = beginning(read_annotated(ecg_folder / folder, record))
    of_all, first = (count_beats(short, short.recording.samples[:n], detect, 0) for n in (2, 1))
    assert of_all.fn + of_all.fp <= first.fn + first.fp


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("always", "snr_db"), [(False, [-12.0, 0.0, 12.0]), (True, [-6.0])])
@pytest.mark.parametrize(("folder", "most"), [("mitdb", 3.0), ("svdb", 1.0), ("qtdb", 5.0)])
def test_noise_on_one_lead_of_all_records_costs_at_most(
    ecg_folder: Path, folder: str, most: float, always: bool, snr_db: list[float]
) -> None:
    noise = [str(ecg_folder / "nstdb" / name) for name in ("em100", "ma")]
    graph = Streamed()
    costs = one_lead_costs(
        ecg_folder / folder, graph, noise=[*noise, SATURATION], snr_db=snr_db, always=always,
        held_out=graph.held_out(),
    )  # fmt: skip
    assert not costs["failed"]
    assert costs["clean"] >= costs["first"]
    assert np.max([row["cost"] for row in costs["rows"]]) <= most, costs["rows"]
