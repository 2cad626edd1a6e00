"""Times that are exact to less than half of a sampling interval: every missing sample is found, and the rate."""

import numpy as np
import pytest
from beatwire.recordings.columns.evenrate import rate_and_positions
from beatwire.recordings.columns.lattice import lattice_of
from beatwire.records import F64, Bool
from hypothesis import example, given, settings
from hypothesis import strategies as st

GAPS = ("none", "each so many", "at random", "short", "long")
ERRORS = ("none", "rounded", "cut off", "jitter")


def kept_of(kinds: list[str], rows: int, rng: np.random.Generator) -> Bool:
    """Return the samples that are there; the first and the last ones are."""
    kept = np.ones(rows, np.bool_)
    if "each so many" in kinds:
        kept[:: rng.integers(4, 80)] = False
    if "at random" in kinds:
        kept[rng.random(rows) < rng.choice((0.001, 0.01, 0.05))] = False
    for kind, longest in (("short", 30), ("long", rows // 5)):
        if kind in kinds:
            for at in rng.integers(5, rows - 5, 3):
                kept[at : at + rng.integers(1, longest)] = False
    kept[:5] = kept[-20:] = True
    return kept


def clock_of(times: F64, rate_hz: float, error: str, size: float, rng: np.random.Generator) -> F64:
    """Return times with an error of ``size`` samples: between the largest and the least."""
    unit_s = size / rate_hz
    if error == "jitter":
        return times + rng.uniform(-unit_s / 2, unit_s / 2, len(times))
    return {"none": times, "rounded": np.rint(times / unit_s) * unit_s, "cut off": np.floor(times / unit_s) * unit_s}[
        error
    ]


@settings(deadline=None)
@given(
    st.floats(20.0, 2000.0), st.sampled_from(ERRORS), st.floats(1e-3, 0.4), st.sets(st.sampled_from(GAPS)),
    st.sampled_from((0.0, 12.345, 1.782e9)), st.integers(0, 10_000),
)  # fmt: skip
@example(128.0, "rounded", 0.0128, {"each so many", "short"}, 0.0, 237)  # was 125 Hz
@example(1000.0, "none", 0.1, {"at random"}, 0.0, 254)  # was 978.7 Hz
def test_each_missing_sample_is_found_where_times_are_exact_to_less_than_half_a_sample(
    rate_hz: float, error: str, size: float, gaps: set[str], begin_s: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1000, 20_000))
    kept = kept_of(sorted(gaps), rows, rng)
    times = clock_of(begin_s + np.arange(rows) / rate_hz, rate_hz, error, size, rng)[kept]
    found_hz, position, _ = rate_and_positions("x", "t", times, None)
    truth = np.flatnonzero(kept)
    assert found_hz == pytest.approx(rate_hz, rel=1e-3)
    assert np.array_equal(np.arange(len(truth)) if position is None else position, truth)


@settings(deadline=None)
@given(st.integers(0, 10_000), st.floats(0.51, 3.0), st.sampled_from((250.0, 500.0, 977.0)))
def test_times_that_are_a_sample_off_have_no_grid(seed: int, size: float, rate_hz: float) -> None:
    rng = np.random.default_rng(seed)
    times = np.sort(np.arange(3000) / rate_hz + rng.uniform(-size, size, 3000) / rate_hz)
    assert lattice_of(np.arange(len(times)), times) is None


@pytest.mark.parametrize("steps", [[], [1.0], [0.0, 0.0, 0.0], [1.0, -1.0, 1.0], [1.0, 1.0, 0.0]])
def test_without_rows_that_rise_there_is_no_grid(steps: list[float]) -> None:
    assert lattice_of(np.arange(len(steps) + 1), np.cumsum([0.0, *steps])) is None


@settings(deadline=None)
@given(
    st.floats(50.0, 2000.0), st.sampled_from(ERRORS), st.floats(1e-3, 0.4), st.sampled_from(GAPS),
    st.integers(2, 80), st.integers(0, 10_000),
)  # fmt: skip
@example(256.0, "cut off", 0.32, "none", 8, 0)  # was 268 Hz
def test_each_missing_packet_is_found_where_times_are_exact_to_less_than_half_a_packet(
    rate_hz: float, error: str, size: float, gaps: str, together: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    packets = int(rng.integers(200, 1000))
    kept = kept_of([gaps], packets, rng)
    packet_hz = rate_hz / together
    times = np.repeat(clock_of(np.arange(packets) / packet_hz, packet_hz, error, size, rng)[kept], together)
    found_hz, position, _ = rate_and_positions("x", "t", times, None)
    first = np.flatnonzero(kept) * together
    truth = (first[:, None] + np.arange(together)).ravel()
    assert found_hz == pytest.approx(rate_hz, rel=2e-3)
    assert np.array_equal(np.arange(len(truth)) if position is None else position, truth)
