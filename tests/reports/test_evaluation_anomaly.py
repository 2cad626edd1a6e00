"""Scores against beat classes: hand-made cases, scikit-learn's figures, the interval by subject."""

import numpy as np
import pytest
from beatwire.evaluation.anomaly import auroc, average_precision, estimate_by_group


def test_a_constant_score_has_an_auroc_of_a_half():
    assert auroc(np.zeros(10), np.arange(10) < 3) == 0.5


def test_a_perfect_score_has_an_auroc_and_a_precision_of_one():
    score, abnormal = np.array([1.0, 2.0, 3.0, 4.0]), np.array([False, False, True, True])
    assert auroc(score, abnormal) == 1.0
    assert average_precision(score, abnormal) == 1.0
    assert auroc(-score, abnormal) == 0.0


def test_without_beats_of_both_kinds_there_is_no_figure():
    assert np.isnan(auroc(np.arange(3.0), np.zeros(3, bool)))
    assert np.isnan(average_precision(np.arange(3.0), np.ones(3, bool)))


def test_figures_are_those_of_scikit_learn_with_ties_too():
    metrics = pytest.importorskip("sklearn.metrics", reason="needs scikit-learn (pip install 'beatwire[train]')")
    rng = np.random.default_rng(0)
    for decimals in (1, 6):
        abnormal = rng.uniform(size=500) < 0.1
        score = np.round(rng.normal(size=500) + abnormal, decimals)
        assert auroc(score, abnormal) == pytest.approx(metrics.roc_auc_score(abnormal, score), abs=1e-12)
        theirs = metrics.average_precision_score(abnormal, score)
        assert average_precision(score, abnormal) == pytest.approx(theirs, abs=1e-12)


def ward(seed: int, people: int, beats: int = 400):
    rng = np.random.default_rng(seed)
    record = np.repeat([f"r{k}" for k in range(people)], beats)
    classes = rng.choice(["N", "V", "S"], people * beats, p=[0.85, 0.1, 0.05])
    shift = np.repeat(rng.normal(0, 1.0, people), beats)
    score = rng.normal(size=people * beats) + 2.0 * (classes != "N") + shift
    return record.tolist(), classes.tolist(), score, {f"r{k}": f"r{k}" for k in range(people)}


def test_the_interval_holds_the_pooled_figure_and_narrows_with_people():
    wide = estimate_by_group(*ward(1, 6))[0]["any"]
    narrow = estimate_by_group(*ward(1, 60))[0]["any"]
    for found in (wide, narrow):
        assert found.low < found.pooled < found.high
    assert narrow.high - narrow.low < wide.high - wide.low


def test_two_records_of_one_person_are_drawn_together():
    record, classes, score, subjects = ward(2, 8)
    together = {name: "one" if name in ("r0", "r1", "r2", "r3") else name for name in subjects}
    apart, joined = (
        estimate_by_group(record, classes, score, subjects)[0]["V"],
        estimate_by_group(record, classes, score, together)[0]["V"],
    )
    assert apart.pooled == joined.pooled
    assert (apart.low, apart.high) != (joined.low, joined.high)


def test_groups_hold_their_classes_and_leave_others_out():
    record, classes = ["a"] * 30, ["N"] * 10 + ["V"] * 10 + ["Q"] * 10
    score = np.concatenate([np.zeros(10), np.ones(10), np.full(10, 99.0)])
    areas, precisions = estimate_by_group(record, classes, score, {}, resamples=20)
    assert areas["V"].pooled == areas["any"].pooled == precisions["V"].pooled == 1.0
    assert np.isnan(areas["S"].pooled)


def test_beats_without_a_score_take_no_part():
    score = np.array([0.0] * 6 + [np.nan] * 3 + [1.0] * 6)
    areas, _ = estimate_by_group(["a"] * 15, ["N"] * 6 + ["V"] * 9, score, {}, resamples=0)
    assert (areas["V"].pooled, areas["V"].beats) == (1.0, 6)


def test_the_same_seed_gives_the_same_interval():
    rows = ward(5, 10)
    assert estimate_by_group(*rows, seed=7)[1]["V"] == estimate_by_group(*rows, seed=7)[1]["V"]
    assert estimate_by_group(*rows, seed=7)[1]["V"].low != estimate_by_group(*rows, seed=8)[1]["V"].low
