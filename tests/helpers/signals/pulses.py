"""Pulses of a pacemaker, as a monitor's filter makes them."""

import numpy as np

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
