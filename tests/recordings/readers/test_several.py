"""A file of several recordings: one is chosen, or all are refused; an array that is shorter than the others is said."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from beatwire.recordings import read_recording
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from sources import heart, message_of

RATE_HZ = 250.0
MV = heart(RATE_HZ, seconds=8)
UV = np.round(MV * 1000).astype(int)
OWN: list[dict[str, Any]] = [{"fs": 250}, {"date": "2026-03-05", "fs": 250}, {"patient": "p1", "sampling_rate": 250}]
NAMES = [("rec1", "rec2"), ("100", "101"), ("patient1", "patient2"), ("rest", "stress"), ("2026-03-05", "2026-03-06")]


@settings(max_examples=draws(40), deadline=None)
@given(
    names=st.sampled_from(NAMES), own=st.sampled_from(OWN), leads=st.sampled_from([["ecg"], ["I", "II"]]),
    shorter=st.integers(0, 500), within=st.booleans(),
)  # fmt: skip
def test_two_recordings_in_a_document_are_refused_and_one_is_chosen(
    names: tuple[str, str], own: dict[str, Any], leads: list[str], shorter: int, within: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    path = tmp_path_factory.getbasetemp() / "several.json"
    lists = [MV.tolist(), (-MV[: len(MV) - shorter]).tolist()]
    both: Any = {name: own | dict.fromkeys(leads, one) for name, one in zip(names, lists, strict=True)}
    path.write_text(json.dumps({"recordings": both} if within else both))
    first, second = (f"recordings.{name}" if within else name for name in names)
    expected = f"several.json: expected one recording; got 2, {first}, {second}: choose with --column {first}"
    assert message_of(path) == expected
    for column in (second, f"{second}.{leads[0]}"):
        recording = read_recording(path, column=column)
        assert recording.rate_hz == RATE_HZ
        assert len(recording.leads) == (len(leads) if column == second else 1)
        np.testing.assert_allclose(recording.samples[0] * recording.uv_per_unit / 1000, lists[1], atol=0.002)


@pytest.mark.parametrize(
    "document",
    [
        {"I": {"fs": 250, "data": MV.tolist()}, "II": {"fs": 250, "data": MV.tolist()}},
        {"ch1": {"fs": 250, "data": MV.tolist()}, "ch2": {"fs": 250, "data": MV.tolist()}},
        {"fs": 250, "left": {"data": MV.tolist()}, "right": {"data": MV.tolist()}},
    ],
)
def test_objects_of_leads_are_one_recording(document: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document))
    assert read_recording(path).samples.shape == (2, len(MV))


def test_structures_of_a_matlab_file_may_be_recordings(tmp_path: Path) -> None:
    path = tmp_path / "x.mat"
    scipy.io.savemat(path, {"rec1": {"fs": 250.0, "ecg": MV}, "rec2": {"fs": 125.0, "ecg": -MV[::2]}})
    assert message_of(path) == "x.mat: expected one recording; got 2, rec1, rec2: choose with --column rec1"
    recording = read_recording(path, column="rec2")
    assert (recording.rate_hz, recording.samples.shape) == (125, (1, len(MV) // 2))


def test_long_lists_without_times_that_follow_each_other_are_no_packets(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    rows = [{"patient": k, "fs": 250, "ecg": UV.tolist()} for k in range(6)]
    path.write_text(json.dumps(rows))
    assert message_of(path).startswith("x.json: expected one recording; got 6 lists of 2,000 samples, without times")
    path.write_text(json.dumps([row | {"time": f"2026-03-0{k + 1} 10:0{k * k % 7}:00"} for k, row in enumerate(rows)]))
    assert message_of(path).startswith("x.json: expected one recording; got 6 lists of 2,000 samples, without times")
    path.write_text(json.dumps([row | {"time": 8.0 * k} for k, row in enumerate(rows)]))
    assert read_recording(path).samples.shape == (1, 6 * len(MV))


def test_an_array_that_is_shorter_than_the_others_is_said(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, fs=250, I=MV, II=MV[:1900], peaks=np.arange(12))
    note = "left out: 'II' (fewer than the 2,000 values of the others)"
    assert note in read_recording(path).notes
