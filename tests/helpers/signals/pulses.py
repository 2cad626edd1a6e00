"""Pulses of a pacemaker, as a monitor's filter makes them."""

import numpy as np
from scipy.signal import butter, sosfilt

PULSE_MV = 2.4
CUTOFF_HZ = 150.0  # of a monitor's filter: what it makes of a pulse of one millisecond


def with_pulses(samples: np.ndarray, rate_hz: float, at: np.ndarray, uv_per_unit: float) -> np.ndarray:
    """Add the impulse response of a low-pass filter to each lead at samples ``at``."""
    t = np.arange(-round(0.06 * rate_hz), round(0.06 * rate_hz) + 1) / rate_hz
    pulse = np.sinc(2 * min(CUTOFF_HZ, 0.4 * rate_hz) * t) * np.hanning(len(t))
    added = np.zeros(samples.shape[1] + len(t))
    for one in at.astype(np.int64):
        added[one : one + len(t)] += pulse * PULSE_MV * 1000 / uv_per_unit
    half = len(t) // 2
    return np.clip(samples + added[half : half + samples.shape[1]], -32000, 32000).astype(np.int16)


def sharp_pulses(at_s: np.ndarray, n: int, rate_hz: float, height_mv: float, width_ms: float) -> np.ndarray:
    """Return ``n`` samples of rectangular pulses at times ``at_s``, in mV, behind a converter's low-pass filter."""
    fine = 8  # times the rate: the filter is that of the rate, pulses begin between two samples
    x = np.zeros(n * fine)
    for t in at_s:
        begin = int(t * rate_hz * fine)
        x[begin : begin + max(1, round(width_ms / 1000 * rate_hz * fine))] += height_mv
    low_pass = butter(4, 0.4 * rate_hz, fs=rate_hz * fine, output="sos")
    return np.asarray(sosfilt(low_pass, x)[::fine])
