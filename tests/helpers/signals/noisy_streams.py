"""Streams that the trees are in doubt about."""

import numpy as np
from beatwire.evaluation.beats.noise import electrode_motion
from beatwire.recordings import Recording


def noisy_recording(leads: int, seed: int, rate_hz: float = 250.0) -> Recording:
    """A minute of beats in electrode motion."""
    rng, n = np.random.default_rng(seed), int(60 * rate_hz)
    t = np.arange(n) / rate_hz
    x = electrode_motion(n, leads, rate_hz, rng) * 300
    for at in np.cumsum(rng.normal(0.8, 0.03, 74)):
        x += 800 * (1 - ((t - at) / 0.014) ** 2) * np.exp(-(((t - at) / 0.014) ** 2) / 2)
    samples = np.clip(np.rint(x), -32_767, 32_767).astype(np.int16)
    return Recording("noisy", rate_hz, tuple(f"L{k}" for k in range(leads)), 1.0, samples)
