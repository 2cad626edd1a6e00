"""Streams of several rates, and strays: what waits for a bank."""

import numpy as np
from beatwire.recordings.synthetic.person import synthesise
from laws import Signal

RATES_HZ = (250.0, 360.0, 500.0)


def beds() -> list[Signal]:
    """Return a stream of each rate."""
    return [
        Signal(f"bed-{k}", synthesise(k, rate_hz=rate_hz, seconds=20).recording.samples, rate_hz)
        for k, rate_hz in enumerate(RATES_HZ)
    ]


def strays(n: int, rng: np.random.Generator) -> list[bytes]:
    """Return messages of streams that send once, each at a rate of its own."""
    return [
        Signal(f"stray-{k}", np.zeros((1, 50), np.int16), float(rng.uniform(50, 4000))).chunk(0, 50) for k in range(n)
    ]


def chunks_of(signals: list[Signal], seconds: float) -> list[list[bytes]]:
    """Return ticks in which every signal has one chunk."""
    return [
        [s.chunk(round(k * seconds * s.rate_hz), round((k + 1) * seconds * s.rate_hz)) for s in signals]
        for k in range(round(20 / seconds))
    ]
