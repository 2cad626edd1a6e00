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


@given(
    values=st.lists(st.integers(0, 9) | st.integers(0, NO_CUT - 1), min_size=1, max_size=10),
    last=st.integers(0, 100),
    cut=st.integers(0, 9) | st.integers(0, NO_CUT),
)
def test_the_three_largest_are_those_of_a_sorted_list(values: list[int], last: int, cut: int) -> None:
    maxima = np.zeros(MAXIMA_COLUMNS, np.int64)
    for back, value in enumerate(values):
        level.keep(maxima, level.FIRST_MAXIMUM, (last - back) % level.KEPT_BLOCKS, value)
    expected = sorted((value for value in values if value <= cut), reverse=True)
    largest = (expected + [-1] * 3)[:3]
    assert level.three_largest(maxima, last, len(values), cut) == (len(expected), *largest)
    ranks = [level.rank(maxima, last, len(values), k, cut) for k in range(1, len(expected) + 1)]
    assert ranks == expected


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, NO_CUT - 1)), max_size=30))
def test_a_maximum_is_kept_beside_the_other_of_its_pair(stored: list[tuple[int, int]]) -> None:
    maxima, expected = np.zeros(MAXIMA_COLUMNS, np.int64), [0] * 10
    for number, value in stored:
        level.keep(maxima, level.FIRST_MAXIMUM, number, value)
        expected[number] = value
    assert [level.kept(maxima, level.FIRST_MAXIMUM, number) for number in range(10)] == expected
    assert not maxima[: level.FIRST_MAXIMUM].any()
    assert not maxima[level.FIRST_QUARTER :].any()


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=14))
def test_the_level_is_the_median_of_five_blocks_and_the_80_percent_quantile_of_ten(blocks: list[int]) -> None:
    quarters = [value for value in blocks for _ in range(QUARTERS)]
    recent, all_kept = sorted(blocks[-5:]), sorted(blocks[-10:])
    median = recent[(len(recent) - 1) // 2]
    assert level_of(quarters, low=NO_CUT) == (median, all_kept[4 * (len(all_kept) - 1) // 5])
