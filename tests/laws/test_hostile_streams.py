"""Streams whose counts, clocks, sessions, rates and leads jump: what they cost is bounded, and others do not notice.

Mutated messages (``beatwire bench garbage``) are mostly rejected. Those here are valid, and go on for longer: a stream
has alerts and a past when its sample count jumps.
"""

import random
from dataclasses import dataclass, field

import numpy as np
import pytest
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import RawTick
from beatwire.wire.alerts import decode_alert, encode_alert
from beatwire.wire.avro import encode_chunk
from laws import START_US, Run, Signal, assert_equal, collect

FURTHEST = 26  # jumps of less than 2**26 samples: a reminder for each minute of them would be thousands, not millions
MOST_ALERTS = 8  # of a stream in a tick, of those that are published
RATES_HZ = (250.0, 250.0, 360.0, 128.0, 500.0, 50.0, 4000.0)
ECG = [synthesise((1, k), name=f"p{k}", seconds=60.0).recording.samples[0] for k in range(3)]


@dataclass
class Hostile:
    """A stream that goes on like any other, until something of it jumps."""

    name: str
    rng: random.Random
    session: int = 0
    first: int = 0
    time_us: int = START_US
    rate_hz: float = 250.0
    leads: int = 1
    lead_off: int = 0
    at: int = 0
    ecg: np.ndarray = field(default_factory=lambda: ECG[0])

    def begin(self) -> None:
        """Begin as another device."""
        rng = self.rng
        self.rate_hz, self.leads, self.lead_off = rng.choice(RATES_HZ), rng.choice([1, 1, 2, 3]), 0
        self.session = rng.choice([0, 1, 2, -(2**63), 2**63 - 1])
        self.first = rng.choice([0, 0, 1000, 2**53 - 5000])
        self.time_us = rng.choice([0, START_US, -(2**53)])
        self.ecg = rng.choice(ECG)

    def jump(self) -> None:
        """Change one thing in a hundred chunks, or a few."""
        rng, by = self.rng, 2 ** self.rng.randrange(FURTHEST)
        chance = rng.random()
        if chance < 0.010:
            self.first = min(2**53, self.first + by)
        elif chance < 0.014:
            self.first = max(0, self.first - by)
        elif chance < 0.018:
            self.time_us += rng.choice([-1, 1]) * by * 1000
        elif chance < 0.024:
            self.session = rng.randrange(3)
        elif chance < 0.030:
            self.begin()
        elif chance < 0.040:
            self.lead_off = rng.randrange(2**self.leads)

    def message(self) -> bytes:
        """Return the next chunk."""
        self.jump()
        n = self.rng.choice([1, 30, 64, int(self.rate_hz / 4)])
        one = self.ecg[(self.at + np.arange(n)) % len(self.ecg)]
        if self.rng.random() < 0.04:
            one = np.full(n, self.rng.choice([-32768, 32767, 0]), np.int16)
        value = encode_chunk(
            self.name, self.session, min(self.first, 2**53), max(-(2**53), min(2**53, self.time_us)), self.rate_hz,
            [f"L{k}" for k in range(self.leads)], np.tile(one, (self.leads, 1)), lead_off=self.lead_off,
        )  # fmt: skip
        self.first, self.at = self.first + n, self.at + n
        self.time_us += int(1e6 * n / self.rate_hz)
        return value


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (2, 3))])
def test_hostile_streams_cost_a_bounded_number_of_alerts_and_change_nothing_in_others(seed: int) -> None:
    rng = random.Random(seed)
    hostile = [Hostile(f"h{k}", rng) for k in range(60)]
    good = [Signal(f"good-{k}", one[None]) for k, one in enumerate(ECG)]
    mixed, alone, now_us = Run(), Run(), START_US
    pipelines = Pipeline(Settings()), Pipeline(Settings())
    for pipeline, run in zip(pipelines, (mixed, alone), strict=True):
        collect(pipeline, run, published=True)
    for tick in range(60):
        own = [signal.chunk(250 * tick, 250 * (tick + 1)) for signal in good]
        others = [one.message() for one in rng.choices(hostile, k=rng.choice([0, 40, 300])) for _ in range(10)]
        now_us += rng.choice([250_000, 1_000_000, 200_000_000])
        before = len(mixed.alerts)
        for pipeline, values in zip(pipelines, (others + own, own), strict=True):
            pipeline.emit(RawTick.of(values, now_us=now_us))
        assert len(mixed.alerts) - before <= MOST_ALERTS * len(hostile)
    assert len([a for a in mixed.alerts if a["reminders"] > 0]) > 100
    for one in mixed.alerts:  # whatever a device has sent, a successor takes what its predecessor has published
        assert decode_alert(encode_alert(one))["id"] == one["id"]
    assert_equal(mixed.of(*(s.stream for s in good)), alone)
