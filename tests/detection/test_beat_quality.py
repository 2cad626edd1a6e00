"""The quality of a beat as people read it, its probability less a share of the disturbance; and the disturbance."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from beatwire.evaluation.beats.noise import electrode_motion
from beatwire.jit import cpu
from beatwire.kernels.detection.fast_rhythm import FAST_COLUMNS, FAST_RISK, expected_errors
from beatwire.kernels.detection.fast_rhythm import MOST_ERRORS as MOST_LINKED
from beatwire.offline.analyze import analyze
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import Alerts, RawTick
from beatwire.records.beats import MOST_ERRORS, RISK_PER_ERROR, TickBeats
from draws import draws
from fast_hearts import heart
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import Signal, cut
from noisy_streams import noisy_recording

COLUMNS = ("sample", "decided", "rr_s", "response", "quality", "expected_errors", "disturbance", "score")


def with_quality(quality: list[float], disturbance: list[float]) -> TickBeats:
    none = np.zeros(len(quality), np.float32)
    columns = {"quality": np.array(quality, np.float32), "disturbance": np.array(disturbance, np.float32)}
    names = (f for f in TickBeats.__dataclass_fields__ if TickBeats.__dataclass_fields__[f].default is not None)
    return TickBeats(**(dict.fromkeys(names, none) | columns))


@settings(max_examples=draws(60), deadline=None)
@given(quality=st.floats(0, 1), errors=st.floats(0, 60), more=st.floats(0, 60))
def test_what_looks_certain_is_less_so_in_a_disturbance(quality: float, errors: float, more: float) -> None:
    one, other, unknown = with_quality([quality] * 3, [errors, errors + more, np.nan]).published_quality
    assert unknown == np.float32(quality)
    assert np.float32(quality) * (1 - RISK_PER_ERROR * MOST_ERRORS) <= other * (1 + 1e-6)
    assert other <= one <= unknown


def test_equally_certain_beats_differ_by_the_disturbance() -> None:
    beats = analyze(noisy_recording(1, 1)).beats
    assert len(np.unique(beats["quality"])) > 0.7 * len(beats["quality"])


def beats_of(signal: Signal, detector: Any, parts: Iterable[tuple[int, int]]) -> dict[str, np.ndarray]:
    """Return columns of the beats of a stream, and the samples at which its alerts were decided."""
    pipeline, found = Pipeline(replace(Settings(), detector=detector)), [list[np.ndarray]() for _ in range(9)]

    def note(alerts: Alerts) -> None:
        for column, name in zip(found, COLUMNS, strict=False):
            column.append(np.array(getattr(alerts.beats, name)))
        found[-1].append(np.array([alert["decided"] for alert in alerts.transitions]))

    pipeline.subscribe(pipeline.alerts, note)
    for begin, end in parts:
        pipeline.emit(RawTick.of([signal.chunk(begin, end)]))
    return dict(zip((*COLUMNS, "alerts"), map(np.concatenate, found), strict=True))


def moved_heart(seed: int, rate_hz: float, leads: int = 1) -> Signal:
    """A heart that becomes fast, and then is in movement."""
    rng = np.random.default_rng(seed)
    x, _ = heart([(80, 80, 8), (250, 250, 14), (90, 90, 16)], rate_hz, 0.012, leads=leads, seed=seed)
    begin = int(20 * rate_hz)
    x = x.copy()
    x[:, begin:] += 0.5 * electrode_motion(x.shape[1], leads, rate_hz, rng)[:, begin:]
    return Signal("bed", np.clip(np.rint(200 * x), -32_767, 32_767).astype(np.int16), rate_hz, 5.0)


@pytest.mark.parametrize("seed", range(4))
def test_the_disturbance_is_that_of_the_trees_whatever_the_detector(seed: int) -> None:
    signal = moved_heart(seed, 250.0)
    whole = [(0, 3000), (3000, signal.samples.shape[1])]
    trees, network = (beats_of(signal, detector, whole) for detector in ("trees", "network"))
    _, i, j = np.intersect1d(trees["sample"], network["sample"], return_indices=True)
    assert len(i) > 40
    np.testing.assert_array_equal(trees["disturbance"][i], network["disturbance"][j])


@settings(max_examples=draws(16), deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    rate_hz=st.sampled_from([128.0, 250.0, 333.3]),
    leads=st.integers(1, 2),
    detector=st.sampled_from(["network", "trees"]),
)
def test_in_any_cut_quality_errors_disturbance_and_score_are_equal(
    seed: int, rate_hz: float, leads: int, detector: str
) -> None:
    signal, rng = moved_heart(seed, rate_hz, leads), np.random.default_rng(seed)
    n = signal.samples.shape[1]
    one = beats_of(signal, detector, [(0, n // 2), (n // 2, n)])
    other = beats_of(signal, detector, cut(n, rng, 900))
    for name, column in one.items():
        np.testing.assert_array_equal(column, other[name], name)


def test_a_linked_beat_whose_errors_are_unknown_has_few() -> None:
    rhythm, links = np.zeros(FAST_COLUMNS, np.int64), np.zeros(8, np.int64)
    for body in (expected_errors, cpu.compiled(expected_errors)):
        assert body(5, float("nan"), True, FAST_RISK, rhythm, links) == MOST_LINKED
        assert body(5, 0.1, True, FAST_RISK, rhythm, links) == 0.1
