"""Senders that do what devices should not, over a known heart.

A `Plan` is what a sender does, phase by phase; in a phase two faults may act at once. `messages_of` returns its
messages with the times at which they arrive.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from beatwire.wire.avro import encode_chunk
from beatwire.wire.bundles import encode_bundle
from hostile_samples import BPM, ECG, MISSING, MOVED, RATE_HZ, REPLACED, Change, heart
from laws import START_US

__all__ = ["BPM", "ECG", "RATE_HZ", "heart"]

NONE = -32768
SECOND_US = 1_000_000

# What a phase may be. Those after which a normal heart must not raise an alarm of high priority, and others.
FIRSTS = ("first is 0", "first stays", "first goes back", "first jumps", "first skips")
TURNS = ("sessions by turns", "sessions at random")
CLOCKS = (
    "clock of 1970", "clock of the future", "clock jumps", "clock stands still", "clock in seconds",
    "clock in milliseconds", "clock in nanoseconds",
)  # fmt: skip
UNITS = ("units by turns", "another unit", "no unit")
LEADS = ("leads come and go", "leads change places", "leads by turns", "two devices, other leads")
ARRIVALS = ("twice", "again later", "reordered", "late", "held back", "silent at times")
SHAPES = ("single samples", "chunks of all sizes", "JSON", "bundles", "broken at times", "refused")
TRUE_SAMPLES = (
    "clean", *MISSING, *MOVED, *FIRSTS, *TURNS, "a session each", *CLOCKS, *UNITS, *LEADS, *ARRIVALS, *SHAPES,
)  # fmt: skip
FALSE_SAMPLES = ("wrong rate", "rates by turns", "two devices, one session", "two devices, other rate", *REPLACED)
KINDS = TRUE_SAMPLES + FALSE_SAMPLES
CLOCK_UNIT = {"clock in seconds": 1e-6, "clock in milliseconds": 1e-3, "clock in nanoseconds": 1e3}


@dataclass(frozen=True)
class Phase:
    """What a sender does for some seconds, by a seed of its own."""

    kind: str
    seconds: float
    seed: int
    other: str = "clean"  # the fault that acts at the same time

    @property
    def kinds(self) -> tuple[str, str]:
        """Both faults."""
        return self.kind, self.other


@dataclass(frozen=True)
class Plan:
    """A sender: its leads, samples of a chunk, and phases."""

    leads: int
    chunk: int
    phases: tuple[Phase, ...]

    @property
    def seconds(self) -> float:
        """How long it sends."""
        return sum(phase.seconds for phase in self.phases)

    @property
    def is_true(self) -> bool:
        """Whether every sample that it sends is one of the heart, at the rate that it states."""
        return not any(kind in FALSE_SAMPLES for phase in self.phases for kind in phase.kinds)


@dataclass
class Device:
    """A device that counts its samples: where it is in the heart's signal, and what it says of itself."""

    name: str
    leads: int
    session: int = 1
    first: int = 0
    said_hz: float = RATE_HZ
    off: int = 0
    units_uv: float = 5.0
    epoch_us: int = START_US
    clock_unit: float = 1.0
    stands_still: bool = False
    as_json: bool = False

    def chunk(self, samples: np.ndarray, **changed: Any) -> bytes:
        """Return a message with samples; the count goes on."""
        passed_us = 0 if self.stands_still else round(self.first * 1e6 / self.said_hz)
        time_us = round((self.epoch_us + passed_us) * self.clock_unit)
        given: dict[str, Any] = {
            "stream": self.name,
            "session": self.session,
            "first": self.first,
            "time_us": time_us,
            "rate_hz": self.said_hz,
            "leads": [f"L{k}" for k in range(len(samples))],
            "samples": samples,
            "lead_off": self.off & ((1 << len(samples)) - 1),
            "uv_per_unit": self.units_uv,
        }
        self.first += samples.shape[1]
        if not self.as_json:
            return encode_chunk(**(given | changed))
        given |= changed | {"samples": [[None if v == NONE else v for v in row] for row in samples.tolist()]}
        given["time"] = given.pop("time_us")
        return json.dumps(given).encode()


@dataclass
class Faulty:
    """A phase of a sender at work: `samples` and `counts` say what each kind changes, `rivals` who sends as well."""

    device: Device
    plan: Plan
    phase: Phase
    rng: random.Random
    change: Change
    other_hz: float = 0.0
    stays: int = 0
    silent_until: int = 0
    rivals: list[Device] = field(default_factory=list)

    @classmethod
    def begin(cls, device: Device, plan: Plan, phase: Phase) -> Faulty:
        """Draw what a phase is like, and begin it."""
        rng, kinds = random.Random(phase.seed), phase.kinds
        own = cls(device, plan, phase, rng, Change.drawn(rng, phase.seed))
        own.other_hz = rng.choice([62.5, 125.0, 200.0, 360.0, 500.0, 1000.0])
        begins = device.said_hz != RATE_HZ or rng.random() < 0.2 or "wrong rate" in kinds
        device.said_hz, device.off, device.units_uv, device.epoch_us = float(RATE_HZ), 0, 5.0, START_US
        device.clock_unit, device.stands_still, device.as_json = 1.0, "clock stands still" in kinds, "JSON" in kinds
        if begins:
            device.session, device.first = device.session + 1, 0
        if "wrong rate" in kinds:
            device.said_hz = own.other_hz
        if "another unit" in kinds:
            device.units_uv = rng.choice([0.5, 2.5, 10.0, 25.0])
        elif any(kind in MOVED for kind in kinds):
            device.units_uv = 10.0  # a converter of 16 bits with a range of 300 mV
        if "clock of 1970" in kinds:
            device.epoch_us = rng.choice([0, -(2**40), 1])
        if "clock of the future" in kinds:
            device.epoch_us = rng.choice([2**52, START_US + 86_400 * SECOND_US, START_US + 60 * SECOND_US])
        for kind in kinds:
            device.clock_unit = CLOCK_UNIT.get(kind, device.clock_unit)
        own.rivals = [rival for kind in kinds for rival in own.rivals_of(kind)]
        own.stays = device.first
        return own

    def rivals_of(self, kind: str) -> list[Device]:
        """Return the devices that send with the same id."""
        device, rng = self.device, self.rng
        first, session = rng.choice([0, 777_777, device.first]), device.session + rng.choice([0, 1])
        if kind == "two devices, one session":
            return [replace(device, first=first)]
        if kind == "two devices, other rate":
            return [replace(device, first=first, session=session, said_hz=self.other_hz)]
        if kind == "two devices, other leads":
            return [replace(device, first=first, session=session, leads=3 - device.leads)]
        if kind in TURNS:
            return [
                replace(device, session=device.session + 1 + k, first=100 * k) for k in range(rng.choice([1, 1, 2, 3]))
            ]
        return []

    def samples(self, leads: int, at: int, n: int) -> np.ndarray:
        """Return the samples that are sent of ``n`` samples of the heart, int16 [leads, n]."""
        index, device, change = at + np.arange(n), self.device, self.change
        uv, absent = 5.0 * heart(leads, at, n), np.zeros((leads, n), np.bool_)
        offsets = max(1, sum(kind in MOVED for kind in self.phase.kinds))  # all of them within the converter's limits
        unit_uv = device.units_uv if device.units_uv > 0 else 0.05 * change.period
        for kind in self.phase.kinds:
            uv = change.applied(kind, uv, index, (32_000 * unit_uv - 5000.0) / offsets)
            absent |= change.without_value(kind, leads, index)
        x = np.clip(np.rint(uv / unit_uv), -32767, 32767).astype(np.int16)
        x[absent] = NONE
        return x

    def counts(self, kind: str, n: int) -> None:
        """Change what the device says of itself before its next chunk of ``n`` samples."""
        device, rng = self.device, self.rng
        first = {
            "first is 0": lambda: 0,
            "first stays": lambda: self.stays,
            "first goes back": lambda: max(0, device.first - 2 * n),
            "first jumps": lambda: rng.randrange(2**20),
            "first skips": lambda: device.first + rng.choice([0, 0, 0, 5, 30, 300, 3000]),
            "a session each": lambda: rng.choice([0, device.first]),
        }
        if kind in first:
            device.first = first[kind]()
        happens = rng.random() < self.change.chance
        if kind == "a session each":
            device.session += 1
        elif kind == "leads come and go" and happens:
            device.off = rng.randrange(1 << self.plan.leads)
        elif kind == "units by turns":
            device.units_uv = 7.5 - device.units_uv if device.units_uv < 7.5 else 5.0
        elif kind == "no unit":
            device.units_uv = 0.0
        elif kind == "rates by turns":
            device.said_hz = rng.choice([RATE_HZ, self.other_hz])
        elif kind == "clock jumps" and happens:
            device.epoch_us += rng.choice([-1, 1]) * rng.choice([1, 60, 86_400, 10**8]) * SECOND_US

    def message(self, at: int, n: int) -> bytes:
        """Return the device's message about ``n`` samples of the heart."""
        kinds, rng, changed = self.phase.kinds, self.rng, dict[str, Any]()
        happens = rng.random() < max(0.1, self.change.chance)
        x = self.samples(1 if "leads by turns" in kinds and happens else self.plan.leads, at, n)
        if "leads change places" in kinds and happens:
            x = x[::-1]
            changed["leads"] = [f"L{k}" for k in range(len(x))][:: rng.choice([-1, 1])]
        if "refused" in kinds:
            changed["rate_hz"] = 9.0
        value = self.device.chunk(x, **changed)
        if "broken at times" in kinds and happens:
            value = value[: rng.randrange(len(value))]
        return encode_bundle([b"?", value, value[:-1]]) if "bundles" in kinds else value

    def is_silent(self, at: int) -> bool:
        """Return True if nothing is sent; seldom a silence begins."""
        if "silent at times" in self.phase.kinds and at > self.silent_until + 2 * RATE_HZ and self.rng.random() < 0.02:
            self.silent_until = at + round(self.rng.choice([0.5, 1.5, 4.0, 12.0]) * RATE_HZ)
        return at < self.silent_until

    def late_us(self, at: int) -> int:
        """Return how much later than its samples a message arrives."""
        kinds, happens = self.phase.kinds, self.rng.random() < 0.2
        late_us = self.rng.choice([40_000, 300_000]) if "reordered" in kinds and happens else 0
        if "late" in kinds and self.rng.random() < max(0.02, self.change.chance):
            late_us += self.rng.choice([1, 3, 12]) * SECOND_US
        if "held back" in kinds:  # up to the end of some seconds
            every_us = (1 + self.change.burst % 8) * SECOND_US
            late_us += -round(at * SECOND_US / RATE_HZ) % every_us
        return late_us

    def chunks(self, at: int, n: int) -> list[tuple[int, bytes]]:
        """Return the messages about ``n`` samples of the heart, and how much later than these each arrives (us)."""
        kinds, rng = self.phase.kinds, self.rng
        if self.is_silent(at):
            self.device.first += n if self.change.burst % 2 else 0
            return []
        late_us = self.late_us(at)
        if "sessions at random" in kinds:
            one = rng.choice([self.device, *self.rivals])
            return [(late_us, one.chunk(self.samples(one.leads, at, n)))]
        for kind in kinds:
            self.counts(kind, n)
        value = self.message(at, n)
        sent = [(late_us, value)]
        if "twice" in kinds:
            sent += [(rng.choice([0, SECOND_US]), value)] * rng.choice([1, 3])
        if "again later" in kinds:
            sent.append((rng.choice([2, 5, 12]) * SECOND_US, value))
        return sent + [(0, one.chunk(heart(one.leads, at + 77, n))) for one in self.rivals]

    def size(self) -> int:
        """Return the samples of the next chunk."""
        if "single samples" in self.phase.kinds:
            return 1
        return self.rng.choice([1, 2, 30, 250, 700]) if "chunks of all sizes" in self.phase.kinds else self.plan.chunk

    def end(self) -> None:
        """End the phase: a device whose count may have gone back, or that was one of several, begins a session."""
        device, kinds = self.device, self.phase.kinds
        others = any(one.session != device.session for one in self.rivals)
        if others or "sessions at random" in kinds or "first jumps" in kinds or device.first < self.stays:
            device.session, device.first = max(one.session for one in [device, *self.rivals]) + 1, 0


def messages_of(name: str, plan: Plan) -> list[tuple[int, bytes]]:
    """Return the messages of a sender and when each arrives, in order of arrival."""
    device, at, sent = Device(name, plan.leads), 0, list[tuple[int, bytes]]()
    for phase in plan.phases:
        faulty, stop = Faulty.begin(device, plan, phase), at + round(phase.seconds * RATE_HZ)
        while at < stop:
            n = min(faulty.size(), stop - at)
            arrives_us = START_US + round((at + n) * SECOND_US / RATE_HZ)
            sent += [(arrives_us + late_us, value) for late_us, value in faulty.chunks(at, n)]
            at += n
        faulty.end()
    return sorted(sent, key=lambda one: one[0])
