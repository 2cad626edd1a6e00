"""The bound of tests on how much a score may differ between two backends is right, and small."""

import math

import numpy as np
import pytest
from beatwire.kernels.scores import history, stored_beat
from beatwire.pipeline.parts import Models
from beatwire.pipeline.settings import Settings
from beatwire.records import F64, Terms
from beatwire.stages.score import score_terms
from hypothesis import given, settings
from hypothesis import strategies as st
from score_bounds import ORDER, score_bounds

TIME_US, RR, SCORE, ERROR, LATENT = range(5)


def terms_against(past: F64, errors: F64, latent: F64) -> tuple[float, float]:
    """Return the terms ``history`` and ``population`` of a beat whose references are all past ones."""
    stored = np.floor(stored_beat.LATENT_PARTS * past[:, -history.STORED :] + 0.5).astype(np.int16)
    near = np.array([stored_beat.closeness_of(error) for error in errors], np.uint8)
    distance, spread, usual = history.distance_to_references(
        0, latent[None].astype(np.float32), stored, near, np.ones(len(past), np.int16), 1, 0, len(past)
    )
    spread_term = history.SPREAD_EXPONENT * math.log(spread + history.SPREAD_OFFSET)
    return math.log(distance + history.DISTANCE_OFFSET) - spread_term, 2.0 - history.USUAL_SHARE * usual


@given(
    st.integers(4, 90),
    st.floats(0.001, 1.0),
    st.floats(0.001, 2.0),
    st.integers(0, 3),
    st.floats(0, 4),
    st.integers(0, 2**32 - 1),
)
@settings(deadline=None)
def test_stored_latents_and_errors_that_are_rounded_otherwise_change_a_score_by_less_than_the_bound(
    n: int, spread: float, distance: float, moved: int, usual: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    past, latent = spread * rng.standard_normal((n, 8)), distance * rng.standard_normal(8)
    errors, other = usual + rng.uniform(0, 1, n), past.copy()
    near = np.array([stored_beat.closeness_of(error) for error in errors])
    near[rng.integers(0, n, moved)] -= 1
    errors = [errors, -2 * np.log(near / stored_beat.CLOSENESS_PARTS)]
    for k, j in zip(rng.integers(0, n, moved), rng.integers(0, 8, moved), strict=True):
        other[k, j] += rng.choice([-1, 1]) / stored_beat.LATENT_PARTS
    terms = np.array([terms_against(past, errors[0], latent), terms_against(other, errors[1], latent)], np.float32)
    column = np.array([0.0, 0.0], np.float32)
    scores = score_terms(
        Models.of(Settings()).scoring.calibration,
        Terms(
            population=terms[:, 1], history=terms[:, 0], prematurity=column, rate_term=column - 0.8,
            early=column, reconstruction_error=column,
            latent=np.zeros((2, 8), np.float32),
        ),
    ).score  # fmt: skip
    rows = []
    for latents, error, score in zip((past, other), errors, scores.tolist(), strict=True):
        beats = np.column_stack([np.arange(n) * 0.5e6, np.full(n, 0.5), np.ones(n), error, latents])
        rows.append(np.vstack([beats, [n * 0.5e6, 0.5, score, 2.0, *latent]]))
    bounds = score_bounds(*rows, latents=LATENT, error=ERROR, rr=RR, time_us=TIME_US, score=SCORE)
    assert abs(scores[0] - scores[1]) <= bounds[-1] < 0.0101 + 2 * ORDER * (1 + abs(scores[1]))


@pytest.mark.parametrize(("column", "step"), [(LATENT + 5, 1 / stored_beat.LATENT_PARTS), (ERROR, 0.1)])
@pytest.mark.parametrize("later_s", [1.0, 61.0])
def test_a_score_is_exact_unless_a_beat_of_the_minute_before_is_stored_otherwise(
    later_s: float, column: int, step: float
) -> None:
    rows = np.zeros((20, 12))
    rows[:, TIME_US], rows[:, RR] = np.arange(20) * 1e6, 1.0
    rows[10:, TIME_US] += 1e6 * later_s
    other = rows.copy()
    other[5, column] += step
    bounds = score_bounds(rows, other, latents=LATENT, error=ERROR, rr=RR, time_us=TIME_US, score=SCORE)
    np.testing.assert_array_equal(bounds[:6], ORDER)
    assert (bounds[6:10] > ORDER).all()
    assert (bounds[10:] > ORDER).all() == (later_s < 60)
