"""What the samples of a hostile sender may be: a heart in microvolts that is changed, hidden or replaced."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import numpy as np
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import F64, I64, Bool

RATE_HZ, BPM = 250, 72.0
ECG = np.concatenate([
    synthesise((8, k), name="heart", seconds=60.0, bpm=BPM, noise=0.5).recording.samples[:1] for k in range(2)
], axis=1)  # fmt: skip
ECG = np.concatenate([ECG, np.roll(ECG, 7)])  # two leads, in units of 5 uV
LARGEST_UV = 300_000.0  # of an electrode's offset

MISSING = ("missing at random", "missing in bursts", "missing periodically", "missing", "a lead missing")
MOVED = ("offset", "offset jumps")
REPLACED = ("limits", "noise", "flat", "hum", "sawtooth", "pacing", "wrong scale")


def heart(leads: int, at: int, count: int) -> np.ndarray:
    """Return samples of the heart, int16 [leads, count]."""
    return ECG[:leads, (at + np.arange(count)) % ECG.shape[1]].copy()


@dataclass
class Change:
    """What is drawn once for a phase; `values` is drawn from for each sample."""

    values: np.random.Generator
    chance: float
    period: int
    burst: int
    offset_uv: float
    size_uv: float
    hz: float
    every_s: float
    scale: float
    steps: F64 = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def drawn(cls, rng: random.Random, seed: int) -> Change:
        """Draw a change."""
        chance, period = rng.choice([0.001, 0.02, 0.1, 0.5]), rng.choice([20, 50, 250, 1000])
        values = np.random.default_rng(seed)
        return cls(
            values, chance, period, rng.randrange(1, period), rng.uniform(-1, 1) * LARGEST_UV,
            10 ** rng.uniform(2, 5), rng.choice([16.7, 49.7, 50.0, 60.0, 100.0]), rng.uniform(0.1, 1.5),
            rng.choice([1000.0, 0.001]), values.uniform(-1, 1, 64) * LARGEST_UV,
        )  # fmt: skip

    def applied(self, kind: str, uv: F64, index: I64, most_uv: float) -> F64:
        """Return samples in microvolts [leads, n] as a kind changes them; ``index`` are those of the samples.

        ``most_uv`` is the largest offset beside which the heart is within the converter's limits.
        """
        n, t, within = len(index), index / RATE_HZ, min(1.0, most_uv / LARGEST_UV)
        if kind == "offset":
            return uv + within * self.offset_uv
        if kind == "offset jumps":  # each 3 s or less often
            return uv + within * self.steps[(index // (3 * RATE_HZ + self.period)) % len(self.steps)]
        if kind == "wrong scale":
            return uv * self.scale
        signs = 2 * self.values.integers(0, 2, n) - 1 if self.burst % 2 else np.ones(n)
        other = {
            "limits": lambda: 1e9 * signs,
            "noise": lambda: self.values.integers(-15_000, 15_000, uv.shape),
            "flat": lambda: np.full(n, 500.0 * (self.burst % 2)),
            "hum": lambda: self.size_uv * np.sin(2 * np.pi * self.hz * t),
            "sawtooth": lambda: self.size_uv * (t / self.every_s % 1.0),
            "pacing": lambda: self.size_uv * (index % round(max(0.3, self.every_s) * RATE_HZ) == 0),
        }
        return np.broadcast_to(other[kind](), uv.shape).astype(np.float64) if kind in other else uv

    def without_value(self, kind: str, leads: int, index: I64) -> Bool:
        """Return which samples have no value, bool [leads, n]."""
        n, found = len(index), np.zeros((leads, len(index)), np.bool_)
        if kind == "a lead missing":
            found[self.burst % leads] = True
        no_value = {
            "missing at random": lambda: self.values.random(n) < self.chance,
            "missing in bursts": lambda: (index // self.period) % 2 == 0,
            "missing periodically": lambda: index % self.period < self.burst,
            "missing": lambda: np.ones(n, np.bool_),
        }
        return found | no_value[kind]() if kind in no_value else found
