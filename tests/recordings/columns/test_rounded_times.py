"""Times that are rounded to about a sample: no samples are missing."""

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.recordings.columns.evenrate import rate_and_positions
from beatwire.recordings.columns.rounded import rounded_rate
from draws import draws
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

EPOCH_S = 1_795_000_000


@settings(max_examples=draws(80), deadline=None)
@given(
    share=st.floats(0.7, 0.995), unit_s=st.sampled_from([0.01, 0.001]), rows=st.integers(3_000, 40_000),
    start=st.sampled_from([0.0, 0.3, 17.0, EPOCH_S]), down=st.booleans(), is_given=st.booleans(),
)  # fmt: skip
def test_rounding_loses_no_samples(
    share: float, unit_s: float, rows: int, start: float, down: bool, is_given: bool
) -> None:
    assume(is_given or 0.05 < share / (1 - share) % 1 < 0.95)  # else samples may be missing in each so many rows
    hz = share / unit_s
    exact = (start + np.arange(rows) / hz) / unit_s
    times = (np.floor(exact) if down else np.round(exact)) * unit_s
    found, position, _ = rate_and_positions("a.csv", "t", times, hz if is_given else None)
    assert position is None
    assert found == pytest.approx(hz, rel=max(3e-4, 1.5 / rows))


def test_a_gap_between_rounded_times_is_found() -> None:
    rows = np.delete(np.arange(20_000), slice(9_000, 9_700))
    found, position, _ = rate_and_positions("a.csv", "t", np.round(rows / 977, 3), None)
    assert found == pytest.approx(977, rel=1e-3)
    assert position is not None
    assert abs(position[-1] - rows[-1]) <= 2


@pytest.mark.parametrize("every", [20, 50, 100])
def test_each_so_many_rows_are_missing_unless_the_given_rate_says_otherwise(every: int) -> None:
    rows = np.flatnonzero(np.arange(20_000) % every != 7)
    found, position, _ = rate_and_positions("a.csv", "t", rows / 1000, None)
    assert found == 1000
    assert position is not None
    found, position, _ = rate_and_positions("a.csv", "t", rows / 1000, 1000 - 1000 / every)
    assert (found, position) == (1000 - 1000 / every, None)


@settings(max_examples=draws(40), deadline=None)
@given(seed=st.integers(0, 2**32 - 1), lost=st.floats(0.002, 0.1))
def test_samples_that_are_missing_at_random_are_missing(seed: int, lost: float) -> None:
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(rng.random(20_000) > lost)
    assert rounded_rate(np.arange(len(rows)), rows / 1000) is None


@settings(max_examples=draws(60), deadline=None)
@given(
    hz=st.sampled_from([100, 125, 128, 130, 200, 250, 256, 500, 512, 1000]), together=st.integers(3, 400),
    unit_s=st.sampled_from([0.01, 0.001, 1.0]), start=st.sampled_from([0.0, 0.37, EPOCH_S]), down=st.booleans(),
    gap_s=st.sampled_from([0, 0, 30]),
)  # fmt: skip
def test_packets_whose_times_are_rounded_have_the_rate_of_their_samples(
    hz: int, together: int, unit_s: float, start: float, down: bool, gap_s: int
) -> None:
    units = together / hz / unit_s
    assume(units >= 1.2 and 0.05 < units % 1 < 0.95 and 0.05 < 1 / min(units % 1, 1 - units % 1) % 1 < 0.95)
    packets = max(300, 20_000 // together)
    exact = start + np.arange(packets) * together / hz + gap_s * (np.arange(packets) >= packets // 2)
    times = (np.floor(exact / unit_s + 1e-6) if down else np.round(exact / unit_s)) * unit_s
    found, position, _ = rate_and_positions("a.csv", "t", np.repeat(times, together), None)
    assert found == pytest.approx(hz, rel=3e-3)
    missing = 0 if position is None else position[-1] - len(position) + 1
    assert abs(missing - gap_s * hz) <= (2 * unit_s * hz + 2) * (gap_s > 0)


@settings(max_examples=draws(40), deadline=None)
@given(hz=st.sampled_from([130, 142, 150, 175, 180, 190, 240]), rows=st.integers(5_000, 60_000), down=st.booleans())
def test_rows_that_share_a_rounded_time_have_the_rate_of_all_rows(hz: int, rows: int, down: bool) -> None:
    exact = np.arange(rows) / hz * 100
    times = (np.floor(exact + 1e-6) if down else np.round(exact)) / 100
    found, position, _ = rate_and_positions("a.csv", "t", times, None)
    assert (found, position) == (pytest.approx(hz, rel=1e-3), None)


@settings(max_examples=draws(150), deadline=None)
@given(
    hz=st.sampled_from([100.0, 125.0, 128.0, 200.0, 250.0, 256.0, 360.0, 500.0, 512.0, 977.0, 1000.0])
    | st.floats(60, 1200),
    tick_s=st.sampled_from([0.004, 0.005, 0.008, 0.01, 1 / 128, 1 / 64, 0.016, 0.02, 1 / 32, 0.05]),
    seconds=st.sampled_from([20, 60, 300]), phase=st.floats(0, 1), way=st.sampled_from([np.round, np.floor, np.ceil]),
    gaps=st.lists(st.tuples(st.floats(0.2, 0.8), st.floats(0.5, 20)), max_size=2),
)  # fmt: skip
@example(360.0, 0.008, 60, 0.0, np.round, [])
@example(256.0, 0.01, 20, 0.0, np.floor, [])
@example(318.6, 0.008, 60, 0.0, np.floor, [(0.5, 3.0)])
def test_ticks_of_several_samples_show_the_rate_of_all_rows(
    hz: float, tick_s: float, seconds: int, phase: float, way: np.ufunc, gaps: list[tuple[float, float]]
) -> None:
    assume(tick_s * hz > 2.2)
    rows = np.arange(int(hz * seconds))
    for at, gap_s in gaps:
        first = int(at * hz * seconds)
        rows = rows[(rows < first) | (rows >= first + gap_s * hz)]
    assume(len(rows) > 0.5 * hz * seconds)
    found, position, _ = rate_and_positions("a.csv", "t", way((phase * tick_s + rows / hz) / tick_s) * tick_s, None)
    assert found == pytest.approx(hz, rel=max(3e-4, 1.5 * tick_s / seconds))
    assert (position is None) == bool((np.diff(rows) == 1).all())
    if position is not None:
        assert abs(position[-1] - (rows[-1] - rows[0])) < (2 * tick_s + 0.02) * hz


@settings(max_examples=draws(60), deadline=None)
@given(
    hz=st.sampled_from([100.0, 125.0, 128.0, 200.0, 250.0, 256.0, 360.0, 480.0, 500.0, 512.0, 977.0, 1000.0]),
    start_s=st.sampled_from([0.0, 5_000.0, 16_350.0, 17_000.0, 32_700.0, 40_000.0, 65_500.0]) | st.floats(0, 80_000),
    seconds=st.sampled_from([30, 120, 600]),
)  # fmt: skip
@example(360.0, 17_000.0, 120)
@example(250.0, 65_500.0, 120)
@example(480.0, 17_000.0, 30)
def test_times_of_float32_after_hours_lose_no_samples(hz: float, start_s: float, seconds: int) -> None:
    times = (start_s + np.arange(int(hz * seconds)) / hz).astype(np.float32).astype(np.float64)
    found, position, notes = rate_and_positions("a.csv", "t", times, None)
    assert (position, notes) == (None, ())
    assert found == pytest.approx(hz, rel=1e-3)


def test_a_gap_between_times_of_float32_is_found() -> None:
    rows = np.delete(np.arange(30_000), slice(9_000, 9_700))
    times = (40_000 + rows / 250).astype(np.float32).astype(np.float64)
    found, position, _ = rate_and_positions("a.csv", "t", times, None)
    assert found == pytest.approx(250, rel=1e-3)
    assert position is not None
    assert abs(position[-1] - rows[-1]) <= 3


@settings(max_examples=draws(40), deadline=None)
@given(
    hz=st.sampled_from([125, 128, 250, 360, 500, 1000]), start_s=st.integers(0, 80_000), digits=st.sampled_from([3, 6]),
    seconds=st.integers(61, 200),
)  # fmt: skip
@example(250, 35_980, 3, 61)
def test_clock_times_without_signs_are_not_taken_for_seconds(hz: int, start_s: int, digits: int, seconds: int) -> None:
    s = np.round(start_s + np.arange(hz * seconds) / hz, digits)
    hhmmss = s // 3600 * 10_000 + s // 60 % 60 * 100 + s % 60
    with pytest.raises(UserError, match="as hhmmss: write hh:mm:ss"):
        rate_and_positions("a.csv", "t", hhmmss, None)
    assert rate_and_positions("a.csv", "t", s, None)[1] is None
