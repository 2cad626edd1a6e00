"""Folds of a cross-validation: all records of a person are in one, so that no model is judged by whom it has seen."""

import json
from pathlib import Path

import numpy as np
import pytest
from beatwire.model import trees, waveform
from beatwire.records import I64
from beatwire.training.folds import Folds
from beatwire.training.settings import FOLDS
from beatwire.training.vae.cross_validation import assign_folds
from beatwire.training.vae.dataset import Subject, cut_beats
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

LEAST: I64 = np.array([300, 600])


def subject(database: str, name: str, samples: int, rate_hz: float) -> Subject:
    return Subject(database, name, samples, np.zeros(2, np.uint8), cut_beats(np.zeros(1000, np.int16), LEAST, rate_hz))


@settings(max_examples=draws(60), deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 12)), max_size=40))
def test_records_are_in_turn_in_the_folds_and_those_of_one_person_together(records: list[tuple[str, int]]) -> None:
    folds = Folds()
    found = [folds.of(database, str(person)) for database, person in records]
    for k, (database, person) in enumerate(records):
        first = next(j for j, (_, other) in enumerate(records) if other == person)
        of_database = sum(other == database for other, _ in records[:k])
        assert found[k] == (of_database % FOLDS if first == k else found[first])


@settings(max_examples=draws(20), deadline=None)
@given(st.sets(st.integers(100, 230), max_size=30), st.permutations(("mitdb", "qtdb")))
def test_records_201_and_202_and_excerpts_of_a_record_are_in_one_fold(numbers: set[int], order: list[str]) -> None:
    names = [str(number) for number in sorted({*numbers, 201, 202})]
    of = {
        "mitdb": [subject("mitdb", name, 650_000, 360.0) for name in names],
        "qtdb": [subject("qtdb", f"sel{name}", 224_993, 250.0) for name in names if name != "202"],
    }
    subjects = [one for database in order for one in of[database]]
    fold = dict(zip([s.name for s in subjects], assign_folds(subjects), strict=True))
    assert fold["201"] == fold["202"]
    assert all(fold[f"sel{name}"] == fold[name] for name in names if name != "202")


def test_records_of_other_people_with_these_names_are_in_turn() -> None:
    assert assign_folds([subject("mine", str(name), 1000, 250.0) for name in (200, 201, 202)]) == [0, 1, 2]


@pytest.mark.parametrize("path", [trees.SHIPPED, waveform.SHIPPED])
def test_the_shipped_companions_left_out_the_folds_that_a_training_leaves_out(path: Path) -> None:
    left_out = [
        json.loads(path.with_suffix(f".fold{fold}.json").read_text(encoding="utf-8"))["left_out"]
        for fold in range(FOLDS)
    ]
    records = sorted((samples == 230_400, name) for of_fold in left_out for name, samples in of_fold.items())
    folds = Folds()
    for is_svdb, name in records:
        assert name in left_out[folds.of(str(is_svdb), name)]
