"""Senders that do what devices should not, over a known heart; and the law that each stream is analysed or announced.

A `Plan` is what a sender does, phase by phase. `messages_of` returns its messages with the times at which they arrive;
`play` takes them through the whole graph and notes after each tick what was published by then; `unannounced` returns
the moments at which the law does not hold.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import Alerts, RawTick
from beatwire.wire.avro import encode_chunk
from laws import START_US, Run, collect

RATE_HZ, BPM = 250, 72.0
NONE = -32768
SECOND_US = 1_000_000
# The law says 10 s. A beat is published 0.3 s after its R, a mark of `kernels.intake.senders` comes each half second,
# and each chunk and tick takes as long as it lasts.
WITHIN_S, SLACK_S = 10.0, 2.0
HEART = ("asystole", "ventricular fibrillation")
TECHNICAL = (
    "no data", "lead off", "flat line", "cannot analyse", "saturated", "not monitored",
    "conflicting senders",
)  # fmt: skip
ECG = np.concatenate([
    synthesise((8, k), name="heart", seconds=60.0, bpm=BPM, noise=0.5).recording.samples[:1] for k in range(2)
], axis=1)  # fmt: skip
ECG = np.concatenate([ECG, np.roll(ECG, 7)])  # two leads

# What a phase may be. Those after which a normal heart must not raise an alarm of high priority, and others.
TRUE_SAMPLES = (
    "clean", "missing at random", "missing in bursts", "missing periodically", "missing", "a lead missing",
    "leads come and go", "first is 0", "first stays", "first goes back", "first jumps", "first skips",
    "a session each", "sessions by turns", "sessions at random", "twice", "clock of 1970", "single samples",
    "units by turns", "reordered",
)  # fmt: skip
TURNS = ("sessions by turns", "sessions at random")
FALSE_SAMPLES = ("wrong rate", "rates by turns", "limits", "noise", "flat", "two devices, one session")
KINDS = TRUE_SAMPLES + FALSE_SAMPLES


@dataclass(frozen=True)
class Phase:
    """What a sender does for some seconds, by a seed of its own."""

    kind: str
    seconds: float
    seed: int


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


@dataclass
class Device:
    """A device that counts its samples: where it is in the heart's signal, and what it says of itself."""

    name: str
    leads: int
    session: int = 1
    first: int = 0
    at: int = 0
    said_hz: float = RATE_HZ
    off: int = 0
    units_uv: float = 5.0
    epoch_us: int = START_US

    def chunk(self, samples: np.ndarray, **changed: Any) -> bytes:
        """Return a message with samples; the count goes on."""
        given: dict[str, Any] = {
            "stream": self.name,
            "session": self.session,
            "first": self.first,
            "time_us": self.epoch_us + round(self.first * 1e6 / self.said_hz),
            "rate_hz": self.said_hz,
            "leads": [f"L{k}" for k in range(self.leads)],
            "samples": samples,
            "lead_off": self.off,
            "uv_per_unit": self.units_uv,
        }
        value = encode_chunk(**(given | changed))
        self.first += samples.shape[1]
        return value


def heart(leads: int, at: int, count: int) -> np.ndarray:
    """Return samples of the heart, int16 [leads, count]."""
    return ECG[:leads, (at + np.arange(count)) % ECG.shape[1]].copy()


@dataclass
class Faulty:
    """A phase of a sender at work: `samples` and `counts` say what each kind changes, `others` who sends as well."""

    device: Device
    plan: Plan
    phase: Phase
    rng: random.Random
    values: np.random.Generator
    chance: float = 0.0
    period: int = 0
    burst: int = 0
    other_hz: float = 0.0
    stays: int = 0
    rivals: list[Device] = field(default_factory=list)

    @classmethod
    def begin(cls, device: Device, plan: Plan, phase: Phase) -> Faulty:
        """Draw what a phase is like, and begin it."""
        rng = random.Random(phase.seed)
        own = cls(device, plan, phase, rng, np.random.default_rng(phase.seed))
        own.chance, own.period = rng.choice([0.001, 0.02, 0.1, 0.5]), rng.choice([20, 50, 250, 1000])
        own.burst, own.other_hz = rng.randrange(1, own.period), rng.choice([62.5, 125.0, 200.0, 360.0, 500.0, 1000.0])
        begins = device.said_hz != RATE_HZ or rng.random() < 0.2 or phase.kind == "wrong rate"
        device.said_hz, device.off, device.units_uv, device.epoch_us = float(RATE_HZ), 0, 5.0, START_US
        if begins:
            device.session, device.first = device.session + 1, 0
        if phase.kind == "wrong rate":
            device.said_hz = own.other_hz
        if phase.kind == "clock of 1970":
            device.epoch_us = rng.choice([0, -(2**40), 1])
        if phase.kind == "two devices, one session":
            own.rivals = [replace(device, first=rng.choice([0, 777_777]))]
        if phase.kind in TURNS:
            own.rivals = [
                replace(device, session=device.session + 1 + k, first=100 * k) for k in range(rng.choice([1, 1, 2, 3]))
            ]
        own.stays = device.first
        return own

    def samples(self, at: int, n: int) -> np.ndarray:
        """Return the samples that are sent of ``n`` samples of the heart."""
        x, index = heart(self.plan.leads, at, n), at + np.arange(n)
        if self.phase.kind == "a lead missing":
            x[self.burst % self.plan.leads] = NONE
        no_value = {
            "missing at random": lambda: self.values.random(n) < self.chance,
            "missing in bursts": lambda: (index // self.period) % 2 == 0,
            "missing periodically": lambda: index % self.period < self.burst,
            "missing": lambda: np.ones(n, np.bool_),
        }
        if self.phase.kind in no_value:
            x[:, no_value[self.phase.kind]()] = NONE
        other = {
            "limits": lambda: 32767 * (2 * self.values.integers(0, 2, n) - 1) if self.burst % 2 else np.full(n, 32767),
            "noise": lambda: self.values.integers(-3000, 3000, x.shape),
            "flat": lambda: np.full(n, 100 * (self.burst % 2)),
        }
        if self.phase.kind in other:
            x[:] = other[self.phase.kind]()
        return x

    def counts(self, n: int) -> None:
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
        if self.phase.kind in first:
            device.first = first[self.phase.kind]()
        if self.phase.kind == "a session each":
            device.session += 1
        elif self.phase.kind == "leads come and go" and rng.random() < self.chance:
            device.off = rng.randrange(1 << self.plan.leads)
        elif self.phase.kind == "units by turns":
            device.units_uv = 7.5 - device.units_uv
        elif self.phase.kind == "rates by turns":
            device.said_hz = rng.choice([RATE_HZ, self.other_hz])

    def chunks(self, at: int, n: int) -> list[tuple[int, bytes]]:
        """Return the messages about ``n`` samples of the heart, and how much later than these each arrives (us)."""
        kind, rng = self.phase.kind, self.rng
        if kind == "sessions at random":
            return [(0, rng.choice([self.device, *self.rivals]).chunk(self.samples(at, n)))]
        self.counts(n)
        value = self.device.chunk(self.samples(at, n))
        late_us = rng.choice([40_000, 300_000]) if kind == "reordered" and rng.random() < 0.2 else 0
        sent = [(late_us, value)]
        if kind == "twice":
            sent += [(rng.choice([0, SECOND_US]), value)] * rng.choice([1, 3])
        if kind != "sessions at random":
            sent += [(0, one.chunk(heart(self.plan.leads, at + 77, n))) for one in self.rivals]
        return sent

    def end(self) -> None:
        """End the phase: a device whose count may have gone back, or that was one of several, begins a session."""
        device = self.device
        if self.phase.kind in (*TURNS, "first jumps") or device.first < self.stays:
            device.session, device.first = max(one.session for one in [device, *self.rivals]) + 1, 0


def messages_of(name: str, plan: Plan) -> list[tuple[int, bytes]]:
    """Return the messages of a sender and when each arrives, in order of arrival."""
    device, at, sent = Device(name, plan.leads), 0, list[tuple[int, bytes]]()
    for phase in plan.phases:
        faulty, stop = Faulty.begin(device, plan, phase), at + round(phase.seconds * RATE_HZ)
        size = 1 if phase.kind == "single samples" else plan.chunk
        while at < stop:
            n = min(size, stop - at)
            arrives_us = START_US + round((at + n) * SECOND_US / RATE_HZ)
            sent += [(arrives_us + late_us, value) for late_us, value in faulty.chunks(at, n)]
            at += n
        faulty.end()
    return sorted(sent, key=lambda one: one[0])


@dataclass
class Moment:
    """What was published up to the end of a tick.

    at_s       of the tick's end, since the start
    messages   stream -> messages that arrived in the tick
    beat       streams of which a beat was published in the tick
    on         (stream, rule) of the alerts that are on
    """

    at_s: float
    messages: frozenset[str]
    beat: frozenset[str]
    on: frozenset[tuple[str, str]]


@dataclass
class Played:
    """The output of a graph, and the moments at the ends of its ticks."""

    run: Run = field(default_factory=Run)
    moments: list[Moment] = field(default_factory=list)


def play(sent: Sequence[tuple[int, str, bytes]], ends_us: Sequence[int]) -> Played:
    """Take messages (arrival, stream, value), in order, through a graph in ticks that end at some times."""
    pipeline, played, on = Pipeline(Settings()), Played(), dict[str, tuple[str, str]]()
    beats = set[str]()
    collect(pipeline, played.run, published=True)
    pipeline.subscribe(
        pipeline.scored, lambda tick: beats.update(pipeline.directory.names[s] for s in tick.slot.tolist())
    )

    def note(alerts: Alerts) -> None:
        for alert in alerts.transitions:
            on.pop(alert["id"], None)
            if alert["state"] in ("on", "ack"):
                on[alert["id"]] = alert["stream"], alert["rule"]

    pipeline.subscribe(pipeline.lifecycle, note)
    at = 0
    for end_us in ends_us:
        begin = at
        while at < len(sent) and sent[at][0] <= end_us:
            at += 1
        part = sent[begin:at]
        beats.clear()
        pipeline.emit(RawTick.of([v for _, _, v in part], now_us=end_us, arrival_us=[a for a, _, _ in part]))
        played.moments.append(
            Moment(
                (end_us - START_US) / 1e6, frozenset(s for _, s, _ in part), frozenset(beats), frozenset(on.values())
            )
        )
    return played


def unannounced(played: Played, stream: str, slack_s: float = SLACK_S) -> list[float]:
    """Return the moments at which messages of a stream arrive and it is neither analysed nor announced, seconds.

    The ten seconds begin with the first message, anew after 2 s without one, and with the end of what explained it.
    """
    wrong, last_beat, last_message = [], None, None
    for moment in played.moments:
        if stream in moment.messages:
            if last_message is None or moment.at_s - last_message > 2.0:
                last_beat = moment.at_s
            last_message = moment.at_s
        if stream in moment.beat:
            last_beat = moment.at_s
        if last_message is None or last_beat is None or moment.at_s - last_message > 2.0:
            continue
        if any((stream, rule) in moment.on for rule in HEART + TECHNICAL):
            last_beat = moment.at_s
        elif moment.at_s - last_beat > WITHIN_S + slack_s:
            wrong.append(moment.at_s)
    return wrong
