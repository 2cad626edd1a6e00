"""Contradictory intervals: what one missed and one false beat make, and the table of a folder of recordings."""

import json
from pathlib import Path

import numpy as np
import pytest
import wfdb
from beatwire.cli.main import app
from beatwire.errors import UserError
from beatwire.evaluation import Detected
from beatwire.evaluation.beats.movement import (
    count_contradictions,
    evaluate_movement,
    is_movement_folder,
    movement_as_text,
)
from beatwire.recordings.synthetic.person import synthesise
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

EVEN = np.arange(60, dtype=np.int64) * 400


@given(st.integers(5, 54), st.floats(0.3, 0.7))
def test_a_missed_beat_makes_one_contradiction_and_a_false_one_two(k: int, place: float) -> None:
    assert count_contradictions(np.delete(EVEN, k)) == (1, 58)
    assert count_contradictions(np.sort(np.append(EVEN, EVEN[k] + int(400 * place)))) == (2, 60)


@given(st.floats(0.005, 0.03), st.integers(0, 2**32 - 1))
def test_a_smooth_change_of_rate_contradicts_nothing(change: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    intervals = 400 * np.exp(np.cumsum(rng.uniform(-change, change, 80)))
    assert count_contradictions(np.cumsum(intervals).astype(np.int64))[0] == 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, activity in (("m1", "walk"), ("m2", "rest")):
        recording = synthesise((0, 1), name=name, seconds=30.0).recording
        wfdb.wrsamp(
            name, fs=recording.rate_hz, units=["mV"], sig_name=["ECG"], fmt=["16"], adc_gain=[200.0], baseline=[0],
            d_signal=recording.samples[:1].T.copy(), write_dir=str(tmp_path), comments=[activity, "textile"],
        )  # fmt: skip
    return tmp_path


def test_activities_and_electrodes_are_rows_of_the_table(folder: Path) -> None:
    def every_other(samples, rate_hz, uv_per_unit, cuts):
        return Detected(np.sort(np.append(EVEN[:30], EVEN[5] + 200)))

    figures = evaluate_movement(folder, {"one": every_other})
    lines = [line.split() for line in movement_as_text(figures).splitlines()]
    assert [line[0] for line in lines[1:5]] == ["rest", "walk", "textile", "all"]
    assert lines[1][1:] == ["6.7", "(30)"]
    assert lines[4][1:] == ["6.7", "(60)"]


def test_a_detector_that_dies_of_a_recording_fails_it_and_no_other(folder: Path) -> None:
    runs = iter([True, False])

    def dies_once(samples, rate_hz, uv_per_unit, cuts):
        if next(runs):
            raise UserError("rival: expected beats; got ValueError: flat")
        return Detected(EVEN[:30])

    figures = evaluate_movement(folder, {"rival": dies_once, "one": lambda *_: Detected(EVEN[:30])})
    assert [(row["detector"], row["intervals"]) for row in figures["rows"] if row["by"] == "all"] == [
        ("one", 58),
        ("rival", 29),
    ]
    assert figures["failed"] == [{"record": "m1", "reason": "rival: expected beats; got ValueError: flat"}]


def test_the_command_recognises_such_a_folder(folder: Path) -> None:
    done = CliRunner().invoke(app, ["evaluate", str(folder), "--json"])
    assert done.exit_code == 0, done.output
    of_all = [row for row in json.loads(done.stdout)["rows"] if row["by"] == "all"]
    assert [(row["detector"], row["contradictions"]) for row in of_all] == [("beatwire", 0)]
    assert of_all[0]["intervals"] > 50


def test_a_folder_without_activities_is_refused(tmp_path: Path) -> None:
    assert not is_movement_folder(tmp_path)
    with pytest.raises(UserError, match="expected recordings whose header names rest, arms, walk"):
        evaluate_movement(tmp_path, {})
