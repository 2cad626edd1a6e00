"""The bound of tests on how much a score may differ between two backends is right, and small."""

import math

import numpy as np
import pytest
from beatwire.kernels.scores import history
from beatwire.pipeline.parts import Models
from beatwire.pipeline.settings import Settings
from beatwire.records import F64, Terms
from beatwire.stages.score import score_terms
from hypothesis import given, settings
from hypothesis import strategies as st
from score_bounds import ORDER, score_bounds

TIME_US, RR, SCORE, LATENT = range(4)


def history_term(past: F64, latent: F64) -> float:
    """Return the term ``history`` of a beat whose references are all past ones."""
    stored = np.floor(history.LATENT_PARTS * past + 0.5).astype(np.int16)
    distance, spread = history.distance_to_references(
        0, latent[None].astype(np.float32), stored, np.ones(len(past), np.float32), 0.5, 0, len(past)
    )
    return math.log(distance + history.DISTANCE_OFFSET) - history.SPREAD_EXPONENT * math.log(
        spread + history.SPREAD_OFFSET
    )


@given(st.integers(4, 90), st.floats(0.001, 1.0), st.floats(0.001, 2.0), st.integers(1, 3), st.integers(0, 2**32 - 1))
@settings(deadline=None)
def test_a_stored_latent_that_is_rounded_otherwise_changes_a_score_by_less_than_the_bound(
    n: int, spread: float, distance: float, moved: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    past, latent = spread * rng.standard_normal((n, 8)), distance * rng.standard_normal(8)
    other = past.copy()
    for k, j in zip(rng.integers(0, n, moved), rng.integers(0, 8, moved), strict=True):
        other[k, j] += rng.choice([-1, 1]) / history.LATENT_PARTS
    terms = [history_term(past, latent), history_term(other, latent)]
    column = np.array([0.0, 0.0], np.float32)
    scores = score_terms(
        Models.of(Settings()).scoring.calibration,
        Terms(
            population=column, history=np.array(terms, np.float32), prematurity=column, rate_term=column - 0.8,
            early=column, latent=np.zeros((2, 8), np.float32),
        ),
    ).score  # fmt: skip
    rows = []
    for latents, score in zip((past, other), scores.tolist(), strict=True):
        beats = np.column_stack([np.arange(n) * 0.5e6, np.full(n, 0.5), np.ones(n), latents])
        rows.append(np.vstack([beats, [n * 0.5e6, 0.5, score, *latent]]))
    bounds = score_bounds(*rows, latents=LATENT, rr=RR, time_us=TIME_US, score=SCORE)
    assert abs(scores[0] - scores[1]) <= bounds[-1] < 0.0101 + 2 * ORDER * (1 + abs(scores[1]))


@pytest.mark.parametrize("later_s", [1.0, 61.0])
def test_a_score_is_exact_unless_a_latent_of_the_minute_before_differs(later_s: float) -> None:
    rows = np.zeros((20, 11))
    rows[:, TIME_US], rows[:, RR] = np.arange(20) * 1e6, 1.0
    rows[10:, TIME_US] += 1e6 * later_s
    other = rows.copy()
    other[5, LATENT + 3] += 1 / history.LATENT_PARTS
    bounds = score_bounds(rows, other, latents=LATENT, rr=RR, time_us=TIME_US, score=SCORE)
    np.testing.assert_array_equal(bounds[:6], ORDER)
    assert (bounds[6:10] > ORDER).all()
    assert (bounds[10:] > ORDER).all() == (later_s < 60)
