"""Times in 32 bits."""

import numpy as np
from beatwire.kernels.short_times import HALF, RANGE, SHORT_RANGE, shortened, shortest, since, until
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(0, 1 << 62), st.integers(-HALF, HALF - 1))
def test_a_time_is_as_long_after_a_stored_one_as_it_is(stored: int, after: int) -> None:
    kept = np.int32(shortened(stored))
    assert since(stored + after, int(kept)) == after
    assert since(stored + after + RANGE, int(kept)) == after


@given(st.integers(0, 1 << 62), st.integers(0, SHORT_RANGE - 1))
def test_a_time_in_16_bits_is_as_long_before_a_later_one_as_it_is(stored: int, after: int) -> None:
    assert until(stored + after, int(np.int16(shortest(stored)))) == after
