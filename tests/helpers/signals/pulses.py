"""Pulses of a pacemaker, as a monitor's filter makes them."""

import numpy as np
from beatwire.recordings.synthetic.person import synthesise
from laws import Signal
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


def with_pulses_and_steps(seed: int, streams: int, seconds: float) -> list[Signal]:
    """Return people of one to three leads with sharp pulses and steps on some of them, and hum on the first lead.

    Every other heart stops.
    """
    rng, signals = np.random.default_rng(seed), []
    for k in range(streams):
        rate_hz, leads = float(rng.choice((125, 200, 250, 257, 360, 500, 1000))), int(rng.integers(1, 4))
        made = synthesise(100 * seed + k, rate_hz=rate_hz, leads=leads, seconds=seconds).recording
        uv, x = made.uv_per_unit or 5.0, made.samples.astype(float)
        at_s = np.sort(rng.uniform(0.3, seconds - 1, round(1.5 * seconds)))
        pulses = sharp_pulses(at_s, x.shape[1], rate_hz, rng.uniform(0.5, 12), rng.uniform(0.3, 4)) * 1000 / uv
        x[: rng.integers(1, leads + 1)] += pulses
        for step in rng.integers(x.shape[1] // 20, x.shape[1], 15):
            x[rng.integers(0, leads), step:] += rng.uniform(-3, 3) * 1000 / uv
        if k % 2:
            x[:, x.shape[1] * 2 // 3 :] = pulses[x.shape[1] * 2 // 3 :]
        hum_hz, hum_mv = rng.choice([50, 60]) + rng.uniform(-0.1, 0.1), rng.choice([0, 0.05, 0.5])
        x[0] += hum_mv * 1000 / uv * np.sin(2 * np.pi * hum_hz / rate_hz * np.arange(x.shape[1]))
        samples = np.clip(x, -32000, 32000).astype(np.int16)
        signals.append(Signal(f"bed-{k}", samples, rate_hz, uv if rng.random() < 0.8 else 0.0))
    return signals
