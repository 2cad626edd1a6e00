"""Windows: independent of gain, offset, rate and position in the ring, and of samples outside their bounds."""

import math

import numpy as np
import pytest
from beatwire.jit import cpu
from beatwire.kernels.detection import windows


def cut(signal: np.ndarray, at: int, rate_hz: float, base: int = 0, decided: int = 1 << 40) -> tuple[np.ndarray, float]:
    window, amplitude = np.empty((1, 256), np.float32), np.empty(1, np.float32)
    work = np.zeros((1, int(rate_hz) + 8), np.int32)
    ring = signal.astype(np.int16)[None, None]
    zero = np.zeros(1, np.int64)
    places = zero, zero + at, zero + decided, zero + base
    cpu.kernels.cut_window(1, *places, rate_hz, ring, work, window, amplitude)
    return window[0], float(amplitude[0])


def a_heart(rate_hz: float, seconds: float = 2.0, peak_s: float = 1.0) -> np.ndarray:
    t = np.arange(int(seconds * rate_hz)) / rate_hz - peak_s
    waves = ((-0.17, 0.025, 150), (-0.028, 0.012, -120), (0, 0.014, 1000), (0.03, 0.012, -250), (0.24, 0.045, 300))
    return np.rint(sum(a * np.exp(-(((t - c) / w) ** 2) / 2) for c, w, a in waves))


def test_a_window_does_not_depend_on_gain_offset_and_slope() -> None:
    signal = a_heart(360)
    window, amplitude = cut(signal, 360, 360.0)
    assert np.mean(window**2) == pytest.approx(1, abs=0.02)
    louder, more = cut(7 * signal + 900, 360, 360.0)
    np.testing.assert_allclose(louder, window, atol=1e-3)
    assert more == pytest.approx(7 * amplitude, rel=1e-3)
    tilted, _ = cut(signal + np.arange(len(signal)) // 5, 360, 360.0)
    np.testing.assert_allclose(tilted, window, atol=0.02)
    flipped, _ = cut(-signal, 360, 360.0)
    np.testing.assert_allclose(flipped, -window, atol=1e-3)


@pytest.mark.parametrize("rate_hz", [128.0, 250.0, 500.0, 1000.0])
def test_a_window_is_the_same_at_any_rate(rate_hz: float) -> None:
    window, _ = cut(a_heart(rate_hz), round(rate_hz), rate_hz)
    reference, _ = cut(a_heart(2000.0), 2000, 2000.0)
    assert np.corrcoef(window, reference)[0, 1] > 0.995


@pytest.mark.parametrize("rate_hz", [50.0, 128.0, 250.0, 360.0, 1000.0, 4000.0])
@pytest.mark.parametrize("lean_s", [-0.06, 0.0, 0.06])
def test_a_window_depends_on_the_samples_within_its_bounds_only(rate_hz: float, lean_s: float) -> None:
    at = round(rate_hz)
    signal = a_heart(rate_hz, 2.0, 1.0 + lean_s)
    noise = np.random.default_rng(0).integers(-5000, 5000, len(signal))
    window, _ = cut(signal, at, rate_hz)
    changed = signal.copy()
    outside = np.arange(len(signal)) - at
    far = (outside > windows.LATEST_S * rate_hz) | (outside < -math.ceil(windows.EARLIEST_S * rate_hz))
    changed[far] = noise[far]
    np.testing.assert_array_equal(cut(changed, at, rate_hz)[0], window)


@pytest.mark.parametrize("rate_hz", [50.0, 128.0, 250.0, 360.0, 1000.0, 4000.0])
def test_a_window_ends_with_the_newest_sample_of_its_decision(rate_hz: float) -> None:
    """R may lie 20 ms after the peak of the response, which is decided 0.30 s after that peak."""
    at, decided = round(rate_hz), round(rate_hz) + int(0.28 * rate_hz)
    signal = a_heart(rate_hz, 2.0, 1.06)
    window, amplitude = cut(signal, at, rate_hz, decided=decided)
    changed = signal.copy()
    changed[decided + 1 :] = np.random.default_rng(0).integers(-5000, 5000, len(signal) - decided - 1)
    np.testing.assert_array_equal(cut(changed, at, rate_hz, decided=decided)[0], window)
    whole, whole_amplitude = cut(signal, at, rate_hz)
    assert amplitude == pytest.approx(whole_amplitude, rel=0.2)
    assert not np.array_equal(whole, window), "expected a window that would end later"


def test_resampling_never_reads_past_its_samples() -> None:
    rng = np.random.default_rng(0)
    out = np.empty((1, 256), np.float32)
    for rate_hz in [50.0, 57.0, 60.0, 61.7, 77.5, 99.9, 127.3, 128.0, 211.0, 333.3]:
        before, length = math.ceil(windows.EARLIEST_S * rate_hz), 2 * windows.HALF_S * rate_hz
        last = before + math.floor(windows.LATEST_S * rate_hz)
        samples = rng.integers(-2000, 2000, last + 1).astype(np.int32)
        whole = np.array([math.ceil(length + k) - length for k in range(1, last - math.ceil(length))])
        begins = np.concatenate([whole - 1e-6, whole - 1e-3, rng.uniform(0, last - length - 0.01, 100)])
        for begin in begins[(begins >= 0) & (begins <= last - length - 0.01)]:
            windows.resample(
                samples.copy(), float(begin), length, last, out[0]
            )  # as Python: a read past the end raises IndexError
            at = begin + np.arange(256) * length / 255
            points = np.interp(at, np.arange(last + 1), samples)
            basis = np.stack([np.ones(256), at, out[0]], axis=1)
            difference = basis @ np.linalg.lstsq(basis, points)[0] - points
            assert np.abs(difference).max() < 12.0  # of 2000: the interpolation has steps of 1/65536 sample


def test_a_window_may_wrap_around_the_ring() -> None:
    signal = a_heart(250.0)
    window, _ = cut(signal, 250, 250.0)
    rolled, _ = cut(np.roll(signal, 300), 250 + 300 + 500, 250.0)
    np.testing.assert_array_equal(rolled, window)


def test_a_beat_at_the_start_of_a_session_or_on_a_flat_line_has_no_window() -> None:
    signal = a_heart(250.0)
    for window, amplitude in (cut(signal, 250, 250.0, base=200), cut(np.full(500, 77), 250, 250.0)):
        assert math.isnan(amplitude)
        assert not window.any()


def test_the_compiled_kernel_equals_its_python_text() -> None:
    signal = a_heart(250.0).astype(np.int16)[None, None]
    window, amplitude, work = np.empty((1, 256), np.float32), np.empty(1, np.float32), np.zeros((1, 300), np.int32)
    zero = np.zeros(1, np.int64)
    windows.cut_window(0, zero, zero + 250, zero + 500, zero, 250.0, signal, work, window, amplitude)
    np.testing.assert_allclose(window[0], cut(signal[0, 0], 250, 250.0)[0], atol=1e-6)
