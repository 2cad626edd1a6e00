"""How the score keeps its promise: a person's usual error and noise are deducted; no ventricular beat is hidden."""

import numpy as np
from beatwire.model.checkpoint import load_model
from beatwire.records import Terms
from beatwire.stages.detection.history import Memory, WindowedBeats, terms_of
from beatwire.stages.score import score_terms
from hypothesis import given, settings
from hypothesis import strategies as st

MODEL = load_model()
RATE_HZ = 500.0


def score_of(beats: WindowedBeats) -> tuple[np.ndarray, Terms]:
    terms = terms_of(MODEL.network, Memory(), beats)
    return score_terms(MODEL.calibration, terms).score, Terms(*map(np.array, terms))


def beats_of(intervals_s: np.ndarray, ventricular: np.ndarray, seed: int = 0) -> WindowedBeats:
    """Return the beats of one stream: narrow ones, and wide ventricular ones, with noise."""
    intervals_s = np.rint(intervals_s * RATE_HZ) / RATE_HZ
    n, t = len(intervals_s), np.linspace(-1, 1, 256)
    narrow = (1 - (t / 0.08) ** 2) * np.exp(-((t / 0.08) ** 2) / 2)
    wide = -np.exp(-((t / 0.3) ** 2)) + 0.6 * np.exp(-(((t - 0.5) / 0.2) ** 2))
    shapes = np.where(ventricular[:, None], wide, narrow) + 0.03 * np.random.default_rng(seed).normal(size=(n, 256))
    shapes /= np.sqrt(np.mean(shapes**2, axis=1, keepdims=True))
    known = np.where(np.arange(n) == 0, np.nan, intervals_s)
    return WindowedBeats(
        np.zeros(n, np.int64), np.cumsum(intervals_s), known, np.arange(n) == 0, shapes.astype(np.float32),
        np.full(n, 100.0, np.float32), RATE_HZ,
    )  # fmt: skip


def test_ventricular_beats_are_marked_in_bigeminy_that_lasts_and_in_a_run() -> None:
    rng = np.random.default_rng(1)
    second = np.arange(300) % 2 == 1
    bigeminy, _ = score_of(beats_of(np.where(second, 0.5, 1.1) + rng.normal(0, 0.01, 300), second))
    assert (bigeminy[20:][second[20:]] >= 2).mean() > 0.95
    assert (bigeminy[20:][~second[20:]] >= 2).mean() < 0.05
    run = np.arange(140) >= 90
    tachycardia, _ = score_of(beats_of(np.where(run, 0.4, 0.8) + rng.normal(0, 0.01, 140), run))
    assert (tachycardia[run] >= 2).all()
    assert (tachycardia[20:][~run[20:]] < 2).mean() > 0.95


def test_a_person_whose_every_beat_is_far_from_those_of_others_is_not_strange_with_each() -> None:
    beats = beats_of(np.random.default_rng(2).normal(0.8, 0.01, 150), np.ones(150, np.bool_))
    score, terms = score_of(beats)
    assert np.median(terms.reconstruction_error) > 2.5  # of few normal beats
    assert (score[20:] >= 2).mean() < 0.05
    alone = terms._replace(population=terms.reconstruction_error)
    assert np.median(score_terms(MODEL.calibration, alone).score - score) > 0.5


@given(st.floats(0, 10), st.floats(0, 10), st.integers(0, 99))
@settings(deadline=None)
def test_the_more_errors_are_expected_the_less_strange_is_a_beat(one: float, other: float, seed: int) -> None:
    few, many = (np.full(60, errors, np.float32) for errors in sorted((one, other)))
    _, terms = score_of(beats_of(np.random.default_rng(seed).normal(0.8, 0.1, 60), np.arange(60) % 7 == 0, seed))
    by_few, by_many = (score_terms(MODEL.calibration, terms, errors).score for errors in (few, many))
    known = ~np.isnan(by_few)
    np.testing.assert_array_equal(np.isnan(by_many), ~known)
    assert (by_few[known] >= by_many[known]).all()


def test_unknown_expected_errors_change_nothing_and_many_hide_no_ventricular_beat_of_a_quiet_stream() -> None:
    run = np.arange(100) >= 90
    _, terms = score_of(beats_of(np.where(run, 0.4, 0.8), run))
    without = score_terms(MODEL.calibration, terms).score
    unknown = score_terms(MODEL.calibration, terms, np.full(100, np.nan, np.float32)).score
    np.testing.assert_array_equal(unknown, without)
    with_noise = score_terms(MODEL.calibration, terms, np.full(100, 1e6, np.float32)).score
    assert (with_noise[run] >= 1).all()
    assert (with_noise < without)[20:].mean() > 0.5
