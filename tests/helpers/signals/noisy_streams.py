"""Streams that the trees are in doubt about, and noise on one lead."""

import numpy as np
from beatwire.evaluation.beats.noise import electrode_motion
from beatwire.recordings import Recording
from beatwire.records import I16


def noisy_recording(leads: int, seed: int, rate_hz: float = 250.0) -> Recording:
    """A minute of beats in electrode motion."""
    rng, n = np.random.default_rng(seed), int(60 * rate_hz)
    t = np.arange(n) / rate_hz
    x = electrode_motion(n, leads, rate_hz, rng) * 300
    for at in np.cumsum(rng.normal(0.8, 0.03, 74)):
        x += 800 * (1 - ((t - at) / 0.014) ** 2) * np.exp(-(((t - at) / 0.014) ** 2) / 2)
    samples = np.clip(np.rint(x), -32_767, 32_767).astype(np.int16)
    return Recording("noisy", rate_hz, tuple(f"L{k}" for k in range(leads)), 1.0, samples)


def with_noise(samples: I16, lead: int, begin: int, end: int, times: float, seed: int) -> I16:
    """Return samples with smooth noise on one lead, so many times as large as its spread."""
    rng = np.random.default_rng(seed)
    noise = np.convolve(rng.standard_normal(samples.shape[1] + 4), np.ones(5) / 5**0.5, "valid")
    out = samples.astype(np.float64)
    out[lead, begin:end] += (times * samples[lead].std() * noise)[begin:end]
    return np.clip(np.rint(out), -32_767, 32_767).astype(np.int16)
