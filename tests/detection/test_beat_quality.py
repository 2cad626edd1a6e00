"""The quality of a beat: its probability, less a share of the errors around it."""

import numpy as np
import pytest
from beatwire.jit import cpu
from beatwire.kernels.detection.beats import MOST_ERRORS, RISK_PER_ERROR, quality_of
from beatwire.kernels.peaks.classify import beat_probability
from beatwire.model.trees import load_trees
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=draws(60), deadline=None)
@given(logit=st.floats(-9, 9), errors=st.floats(0, 60), more=st.floats(0, 60))
def test_what_looks_certain_is_less_so_where_errors_are_expected(logit: float, errors: float, more: float) -> None:
    probability = load_trees().probability
    one, other = (quality_of(np.array([logit, 0.0, e]), probability) for e in (errors, errors + more))
    certain = beat_probability(logit, probability)
    assert certain * (1 - RISK_PER_ERROR * MOST_ERRORS) <= other <= one <= certain
    assert one == cpu.compiled(quality_of)(np.array([logit, 0.0, errors]), probability)


def test_without_expected_errors_the_quality_is_the_probability() -> None:
    probability = load_trees().probability
    for errors in (0.0, np.nan):
        assert quality_of(np.array([2.0, 1.0, errors]), probability) == pytest.approx(
            beat_probability(2.0, probability)
        )
