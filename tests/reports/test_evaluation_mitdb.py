"""What is known of single records of the MIT-BIH database counts for these, and not for others of their names."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from annotated import BEATS, RATE, SECONDS, spikes, write_record
from beatwire.evaluation import Detected, as_json, as_text, evaluate, full_report, records
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.fixture
def as_mitdb(monkeypatch):
    monkeypatch.setattr(records, "_MITDB", (RATE, SECONDS * RATE))  # what `write_record` writes


@settings(max_examples=draws(20), deadline=None)
@given(st.lists(st.sampled_from([*sorted(records.PACED), "201", "202", "207", "100"]), min_size=1, unique=True))
def test_a_record_with_a_name_of_mitdb_is_as_any_other_unless_it_is_that_one(names):
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            write_record(Path(folder), name)
        found = evaluate(Path(folder), spikes)
    assert {(r.name, r.subject) for r in found.results} == {(name, name) for name in names}
    assert {(r.paced, r.excluded_s, r.wide.tp) for r in found.results} == {(False, 0.0, len(BEATS))}


@pytest.mark.usefixtures("as_mitdb")
def test_the_flutter_of_record_207_is_left_out(tmp_path):
    write_record(tmp_path, "207")
    seconds = sum(b - a for a, b in records.FLUTTER_207_S)
    assert evaluate(tmp_path, spikes).results[0].excluded_s == pytest.approx(seconds, abs=0.1)


@pytest.mark.usefixtures("as_mitdb")
def test_paced_records_are_summed_separately(tmp_path):
    for name in ("102", "plain"):
        write_record(tmp_path, name)
    figures = as_json(evaluate(tmp_path, spikes))
    assert figures["gross"]["beats"] == figures["gross_paced"]["beats"] == len(BEATS)


@pytest.mark.usefixtures("as_mitdb")
def test_the_promise_of_the_score_is_counted_by_person(tmp_path):
    for name in ("201", "202", "a", "b"):  # 201 and 202 are one person's
        write_record(tmp_path, name, symbols=["V", *"N" * (len(BEATS) - 1)])

    def marks(count: int, unscored: int = 0):
        score = np.where(np.arange(len(BEATS)) <= count, 2.0, 1.99)  # of the V, and of so many normal beats
        score[len(BEATS) - unscored :] = np.nan
        return lambda samples, rate_hz, uv_per_unit, cuts: Detected(BEATS, score=score)

    known = {
        ("201", SECONDS * RATE): marks(1),
        ("202", SECONDS * RATE): marks(len(BEATS) // 5),
        ("b", SECONDS * RATE): marks(0, 9),
    }
    report = full_report(tmp_path, marks(3), held_out=known)
    normal = len(BEATS) - 1
    fifth = len(BEATS) // 5
    by_person = {"201": 100 * (1 + fifth) / (2 * normal), "a": 100 * 3 / normal, "b": 0.0}
    assert report["promise"] == {
        "people": 3,
        "pooled": pytest.approx(100 * (4 + fifth) / (4 * normal - 9), abs=1e-3),
        "mean": pytest.approx(sum(by_person.values()) / 3, abs=1e-3),
        "worst": pytest.approx(by_person["201"], abs=1e-3),
        "worst_person": "201",
        "above_5_percent": sum(share > 5 for share in by_person.values()),
        "by_person": pytest.approx(by_person, abs=1e-3),
    }
    assert report["promise"]["above_5_percent"] == 1
    assert f"{by_person['201']:.2f} % of 201, more than 5 % of 1 of 3 people" in as_text(report)
