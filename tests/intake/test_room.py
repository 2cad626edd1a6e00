"""Rows of arrays: as many as what can occur in each of some stretches."""

import numpy as np
from beatwire.stages.support.room import most_in
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.integers(0, 300), max_size=8) | st.lists(st.just(64), max_size=8), st.integers(1, 80))
def test_as_much_as_possible_is_the_sum_over_the_stretches(samples: list[int], apart: int) -> None:
    assert most_in(np.array(samples, np.int64), apart) == sum(n // apart + 1 for n in samples)
