"""Sizes, widths and risks of past peaks in 16 bits: near what was stored, in its order, and never taken for another."""

import numpy as np
import pytest
from beatwire.kernels.peaks import stored_peak
from hypothesis import example, given
from hypothesis import strategies as st

SIZE = st.integers(0, 40).flatmap(lambda bits: st.integers(0, (1 << bits) - 1))


@given(SIZE, SIZE)
@example(stored_peak.SIZES, stored_peak.SIZES - 1)
@example((1 << 40) - 1, (1 << 39) - 1)
def test_sizes_are_stored_to_a_two_thousandth_and_in_their_order(one: int, other: int) -> None:
    stored = [stored_peak.stored_size(size) for size in (one, other)]
    found = [stored_peak.size_of(np.uint16(code)) for code in stored]
    for size, back, code in zip((one, other), found, stored, strict=True):
        assert 0 <= code < stored_peak.NO_SIZE
        assert abs(back - size) <= size / 2000
        assert size >= stored_peak.SIZES or back == size
    assert found[0] <= found[1] or one > other
    assert stored[0] <= stored[1] or one > other


@given(st.floats(0.0, 2.0**100, width=32))
def test_widths_are_stored_to_a_small_part_up_to_the_largest(width: float) -> None:
    found = stored_peak.width_of(np.uint16(stored_peak.stored_width(width)))
    assert found == pytest.approx(min(width, 16.0), abs=1 / stored_peak.WIDTH_PARTS)


@given(st.floats(0.0, 1.0))
def test_risks_are_stored_to_a_small_part(risk: float) -> None:
    assert np.uint16(stored_peak.stored_risk(risk)) / stored_peak.RISK_PARTS == pytest.approx(risk, abs=1e-5)
