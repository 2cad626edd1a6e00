"""Tables whose times fall by less than a quarter of a second: a clock that was set back, rows twice or late: said."""

import numpy as np
from beatwire.recordings.columns.evenrate import rate_and_positions
from beatwire.recordings.synthetic.person import synthetic_recording
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st

UV = synthetic_recording("synthetic:seconds=60,seed=5", rate_hz=250).samples[0].astype(int)
N = len(UV)
SAID = "the times of column 'time' fall "


@settings(deadline=None, max_examples=draws(60))
@given(
    rate_hz=st.sampled_from([125.0, 250.0, 256.0, 500.0, 1000.0]), by_s=st.floats(0.06, 0.24),
    at=st.lists(st.integers(1500, N - 1500), min_size=1, max_size=3), jitter_s=st.sampled_from([0.0, 0.0005, 0.002]),
    seed=st.integers(0, 99),
)  # fmt: skip
@example(rate_hz=1000.0, by_s=0.0625, at=[6000], jitter_s=0.002, seed=6)
@example(rate_hz=1000.0, by_s=0.0625, at=[2000, 3000, 9000], jitter_s=0.002, seed=3)
def test_a_clock_that_is_set_back_changes_neither_rate_nor_places_and_is_said(
    rate_hz: float, by_s: float, at: list[int], jitter_s: float, seed: int
) -> None:
    times = np.arange(N) / rate_hz + np.random.default_rng(seed).normal(0, jitter_s, N)
    for k in at:
        times[k:] -= by_s
    found_hz, position, notes = rate_and_positions("x", "time", times, None)
    assert (found_hz, position) == (rate_hz, None)
    assert any(note.startswith(SAID) for note in notes)


@settings(deadline=None, max_examples=draws(60))
@given(
    rate_hz=st.sampled_from([125.0, 250.0, 500.0, 1000.0]), seed=st.integers(0, 99),
    kind=st.sampled_from(["exact", "jitter", "late", "rounded"]), jitter_s=st.floats(0.0, 0.002),
)  # fmt: skip
def test_a_clock_with_jitter_falls_without_a_remark(rate_hz: float, seed: int, kind: str, jitter_s: float) -> None:
    rng = np.random.default_rng(seed)
    times = np.arange(N) / rate_hz
    if kind == "jitter":
        times += rng.normal(0, jitter_s, N)
    elif kind == "late":
        times = np.maximum.accumulate(times + np.where(rng.random(N) < 0.01, rng.uniform(0, 0.3, N), 0))
    elif kind == "rounded":
        times = np.round(times, 3)
    assert not any(note.startswith(SAID) for note in rate_and_positions("x", "time", times, None)[2])
