"""A network of doubtful peaks that is small, of random integers."""

from typing import Any

import numpy as np
from beatwire.model.waveform import network_of
from beatwire.records.waveform import WaveNetwork

DEPTH, CHANNELS = 2, 16


def small_arrays(rng: np.random.Generator, depth: int = DEPTH, h: int = CHANNELS) -> dict[str, Any]:
    """Arrays of a network of random integers."""
    layers = 2 + 2 * depth

    def weights(*shape: int) -> np.ndarray:
        return rng.integers(-20, 21, shape).astype(np.int8)

    return {
        "first": weights(8 * 6, h), "second": weights(8 * h, h), "wide": weights(depth, 5 * h, h),
        "narrow": weights(depth, h, h), "factor": rng.integers(2_000, 30_000, (layers, h)),
        "offset": rng.integers(-(1 << 24), 1 << 24, (layers, h)), "residual": rng.integers(0, 1 << 20, depth),
        "most": np.full(layers, 1023), "head": rng.integers(-500, 500, h + 1),
        "compressed": np.rint(30 * np.arcsinh(np.arange(1024) / 32)).astype(np.int16),
        "combination": np.array([[0.0, 0.1, 0.8, 0.0], [-1.0, 0.2, 0.7, 0.2]]),
    }  # fmt: skip


def small_network(seed: int = 0, depth: int = DEPTH) -> WaveNetwork:
    """A network of random integers."""
    return network_of(small_arrays(np.random.default_rng(seed), depth))
