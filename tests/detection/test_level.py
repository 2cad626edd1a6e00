"""The level of a lead: what a disturbance changes in it, and what it does not."""

from itertools import pairwise

import numpy as np
import pytest
from beatwire.kernels.detection import level
from beatwire.kernels.detection.level import MAXIMA_COLUMNS, MAXIMA_MEDIAN, MAXIMA_QUANTILE, NO_CUT, QUARTERS
from hypothesis import given
from hypothesis import strategies as st

BLOCK = 250


def levels_of(quarters: list[int], low: int = 1, high: int = NO_CUT) -> list[tuple[int, int]]:
    """Return median and quantile after each of the quarters of blocks with these maxima."""
    maxima, levels = np.zeros(MAXIMA_COLUMNS, np.int64), []
    level.begin_level(maxima, 0, BLOCK)
    for quarter, value in enumerate(quarters):
        level.take_part(maxima, value, level.end_of(quarter, BLOCK), BLOCK, True, low, high)
        levels.append((int(maxima[MAXIMA_MEDIAN]), int(maxima[MAXIMA_QUANTILE])))
    return levels


def level_of(quarters: list[int], low: int = 1, high: int = NO_CUT) -> tuple[int, int]:
    """Return median and quantile after these quarters."""
    return levels_of(quarters, low, high)[-1]


def beats(seconds: float) -> list[int]:
    """Return the quarters of a heart of 60/min, of alternating height."""
    return [(1000, 30, 1100, 20)[k % 4] for k in range(round(2 * seconds))]


@given(block=st.integers(4, 3000), sample=st.integers(0, 10**9))
def test_quarters_of_blocks_of_any_length_follow_one_another(block: int, sample: int) -> None:
    quarter = level.quarter_of(sample, block)
    assert level.end_of(quarter - 1, block) <= sample < level.end_of(quarter, block)
    ends = [level.end_of(quarter + k, block) for k in range(QUARTERS + 1)]
    assert all(a < b for a, b in pairwise(ends))
    assert ends[QUARTERS] - ends[0] == block


@given(data=st.data(), times=st.integers(10, 1000))
def test_a_disturbance_of_five_seconds_or_pops_some_seconds_apart_change_no_level(
    data: st.DataObject, times: int
) -> None:
    quarters = beats(60)
    begin = data.draw(st.integers(20, 40))
    for _ in range(data.draw(st.integers(1, 3))):
        length = data.draw(st.integers(1, 10))
        quarters[begin : begin + length] = [1000 * times] * length
        begin += length + data.draw(st.integers(14, 30))
    assert set(levels_of(quarters)[20:]) <= {(1000, 1000), (1100, 1100)}


@pytest.mark.parametrize("gain", [0.2, 0.5, 2, 5])
def test_a_lasting_change_of_amplitude_is_followed_within_eight_seconds(gain: float) -> None:
    changed = [round(gain * value) for value in beats(60)]
    for begin in range(40, 44):
        quarters = beats(60)
        quarters[begin:] = changed[begin:]
        median, _ = level_of(quarters[: begin + 16])
        assert median == pytest.approx(1100 * gain, rel=0.1)
        assert level_of(quarters[: begin + 40]) == level_of(changed[: begin + 40])


def test_a_calibrated_stream_that_begins_with_a_disturbance_has_no_level_until_beats_are_seen() -> None:
    assert level_of([90_000] * 9, low=100, high=8000) == (0, 0)
    assert level_of([90_000] * 9 + beats(1), low=100, high=8000) == (0, 0), "the block has begun with a disturbance"
    assert level_of([90_000] * 8 + beats(1), low=100, high=8000) == (1000, 1000)
    assert level_of([90_000] * 9 + beats(4), low=100, high=8000) == (1100, 1100)


def test_a_stream_that_is_larger_than_any_beat_throughout_has_a_level_all_the_same() -> None:
    large = [100 * value for value in beats(12)]
    assert level_of(large[:16], low=100, high=8000) == (0, 0), "it may begin with a disturbance of some seconds"
    assert level_of(large, low=100, high=8000) == (110_000, 110_000)


def test_beats_after_a_silence_are_no_disturbance_of_it() -> None:
    quarters = [20] * 20 + beats(6)
    assert level_of(quarters, low=100) == (1100, 1100)
    assert level_of(quarters, low=1) == (20, 20), "of a stream without calibration it may be either"


@given(share=st.floats(0.7, 1.3), quiet=st.integers(20, 40))
def test_the_level_of_a_stream_whose_beats_straddle_the_largest_of_any_heart_is_theirs(
    share: float, quiet: int
) -> None:
    quarters = beats(60)
    quarters[quiet : quiet + 4] = [600] * 4
    known = levels_of(quarters, high=round(1100 * share))[20:]
    assert set(known) <= {(1000, 1000), (1100, 1100)}


@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, (1 << 31) - 1)), max_size=60))
def test_two_maxima_that_share_a_number_do_not_change_each_other(stored: list[tuple[int, int]]) -> None:
    maxima, kept = np.zeros(MAXIMA_COLUMNS, np.int64), {}
    for number, value in stored:
        level.keep(maxima, level.FIRST_QUARTER, number, value)
        kept[number] = value
    assert [level.kept(maxima, level.FIRST_QUARTER, k) for k in range(20)] == [kept.get(k, 0) for k in range(20)]
    assert not maxima[: level.FIRST_QUARTER].any()
