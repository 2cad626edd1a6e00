"""Annotations that do not fit their signal are said, and those that fit are not."""

import numpy as np
from beatwire.evaluation.beats.match import count, pair
from beatwire.evaluation.beats.misfits import misfits
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

HZ = 360.0
NONE = np.empty((0, 2), np.int64)
SEEDS = st.integers(0, 10_000)


def heart(seed: int, beats: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Return beats of a rhythm that varies by 10 %, and detections: some false, some missed, 10 ms wrong."""
    rng = np.random.default_rng(seed)
    true = np.cumsum(rng.normal(0.8, 0.08, beats) * HZ).astype(np.int64) + 400
    found = true[rng.random(beats) > 0.02] + 0
    found += rng.integers(-3, 4, len(found))
    return true, np.sort(np.concatenate([found, rng.integers(0, true[-1], 8)]))


def remark(annotated: np.ndarray, found: np.ndarray, excluded: np.ndarray = NONE) -> str:
    unmoved = count(annotated, found, pair(annotated, found, round(0.05 * HZ)), excluded)
    return " ".join(misfits(annotated, found, excluded, HZ, 0.05, unmoved.f1))


@settings(max_examples=draws(40))
@given(seed=SEEDS)
def test_annotations_that_fit_are_not_remarked(seed: int) -> None:
    true, found = heart(seed)
    assert remark(true, found) == ""
    assert remark(true, found[:3]) == remark(true, found[::2]) == ""  # a bad detector


@settings(max_examples=draws(40))
@given(seed=SEEDS, shift_s=st.floats(0.2, 1.5), sign=st.sampled_from([-1, 1]))
def test_a_shift_is_said(seed: int, shift_s: float, sign: int) -> None:
    true, found = heart(seed)
    side = "after" if sign > 0 else "before"
    text = remark(true + round(sign * shift_s * HZ), found)
    assert text.startswith("its annotations lie ")
    assert text.endswith(f" s {side} the beats")
    assert abs(float(text.split()[3]) - shift_s) < 0.02


@settings(max_examples=draws(40))
@given(seed=SEEDS, other_hz=st.sampled_from([100.0, 128.0, 250.0, 257.0, 300.0, 500.0]))
def test_annotations_of_another_rate_are_said(seed: int, other_hz: float) -> None:
    true, found = heart(seed)
    text = remark((true * other_hz / HZ).astype(np.int64), found)
    assert text == f"its annotations fit a signal of {other_hz:g} Hz, not of 360 Hz"


@settings(max_examples=draws(40))
@given(seed=SEEDS, first=st.integers(0, 500), lost=st.integers(40, 300), is_excluded=st.booleans())
def test_a_span_that_nobody_annotated_is_said_unless_it_is_excluded(
    seed: int, first: int, lost: int, is_excluded: bool
) -> None:
    true, found = heart(seed)
    last = min(first + lost, len(true) - 30)
    left = np.delete(true, np.arange(first, last))
    excluded = np.array([[true[first] - 50, true[last - 1] + 50]]) if is_excluded else NONE
    text = remark(left, found, excluded)
    assert (text == "") == (is_excluded or last - first < 10), text
    if text:
        assert abs(int(text.split(": ")[1].split()[0]) - (last - first)) < 30
