"""A drawn ward in several partitions: devices of many kinds, messages that are refused, and changes of limits.

A device is of one kind:

    steady    goes on
    rare      has a rate of its own: it waits for a bank
    session   begins new sessions
    jumps     in count and clock
    silent    for longer than ``silence_s``, and returns
    strayed   now and then a chunk of another device comes under its id, with another rate or number of leads
    rivals    two senders of one id take turns
    off       leads go off, or the signal is flat

Beside them come messages that are refused: garbage, JSON without samples, and chunks of devices that never send enough
for a bank. Ids of those come in several partitions.
"""

import json
import random
from typing import NamedTuple

import numpy as np
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import LimitChange
from beatwire.wire.avro import encode_chunk
from laws import START_US
from memory_log import Log, Sent

KINDS = ("steady", "rare", "session", "jumps", "silent", "strayed", "rivals", "off")
RATES_HZ = (200.0, 500.0, 360.0)  # of devices of which there are few; others have 250 Hz
STRAY_HZ = (77.0, 93.5, 111.0)
ECG = {
    rate_hz: [synthesise((3, k), rate_hz=rate_hz, seconds=60.0).recording.samples[0] for k in range(2)]
    for rate_hz in (250.0, *RATES_HZ)
}
LIMITS = ({"tachycardia": 52.0, "bradycardia": 50.0, "pause": 2.0}, {"tachycardia": 250.0}, {"bradycardia": 100.0})


def device(rng: random.Random, stream: str, kind: str, begin_s: float, end_s: float) -> list[Sent]:
    """Return the messages of a device."""
    rate_hz = rng.choice(RATES_HZ) if kind == "rare" else 250.0
    ecg, session, first, at, clock_us = rng.choice(ECG[rate_hz]), 1, 0, 0, START_US
    now_s, flat_until, lead_off, sent = begin_s, 0.0, 0, list[Sent]()
    change_s = begin_s + rng.uniform(5, 60)
    while now_s < end_s:
        if now_s >= change_s:
            change_s = now_s + rng.uniform(5, 60)
            if kind == "session":
                first, session = 0, session + 1
            elif kind == "jumps":
                by = rng.choice([30, 200, 5_000, 100_000])
                first, clock_us = first + by, clock_us + round(by * 1e6 / rate_hz)
            elif kind == "silent":
                now_s += rng.choice([30.0, 61.0, 70.0, 130.0])
            elif kind == "strayed":
                sent.append(stray(rng, stream, now_s))
            elif kind == "off" and rng.random() < 0.5:
                lead_off = 1 - lead_off
            elif kind == "off":
                flat_until = now_s + rng.uniform(3, 12)
            elif kind == "rivals":
                sent += rivals(rng, stream, now_s)
        n = round(rng.choice([0.5, 1.0, 1.0, 1.5]) * rate_hz)
        samples = ecg[(at + np.arange(n)) % len(ecg)]
        samples = np.zeros(n, np.int16) if now_s < flat_until else samples
        now_s += n / rate_hz
        value = encode_chunk(stream, session, first, clock_us, rate_hz, ["I"], samples[None], lead_off=lead_off)
        sent.append(Sent(START_US + round(now_s * 1e6), value, stream.encode()))
        first, at, clock_us = first + n, at + n, clock_us + round(n * 1e6 / rate_hz)
    return sent


def stray(rng: random.Random, stream: str, now_s: float) -> Sent:
    """Return a chunk of a rate, or of a number of leads, that no device of the ward has."""
    rate_hz, leads = rng.choice([*((rate_hz, 1) for rate_hz in STRAY_HZ), (250.0, 3)])
    n = round(0.3 * rate_hz)
    samples = np.tile(ECG[250.0][0][:n], (leads, 1))
    names = [f"L{k}" for k in range(leads)]
    at_us = START_US + round(now_s * 1e6)
    return Sent(at_us, encode_chunk(stream, rng.choice([1, 9]), 0, at_us, rate_hz, names, samples), stream.encode())


def rivals(rng: random.Random, stream: str, now_s: float) -> list[Sent]:
    """Return chunks of another device with the same id."""
    made, session, n = list[Sent](), rng.choice([1, 7]), 125
    for k in range(rng.choice([1, 3, 8])):
        at_us = START_US + round((now_s + 0.7 * k) * 1e6)
        samples = ECG[250.0][1][None, n * k : n * k + n]
        made.append(Sent(at_us, encode_chunk(stream, session, n * k, at_us, 250.0, ["I"], samples), stream.encode()))
    return made


def refused(rng: random.Random, end_s: float) -> list[Sent]:
    """Return messages that are refused, of a few ids."""
    made, now_s, spacing_s = list[Sent](), rng.uniform(2, 30), rng.choice([3.0, 10.0, 30.0])
    while now_s < end_s:
        name, at_us = rng.choice(["x", "x", "y"]), START_US + round(now_s * 1e6)
        value = {
            "garbage": rng.randbytes(20),
            "json": json.dumps({"stream": name}).encode(),
            "stray": stray(rng, name, now_s).value,
        }[rng.choice(["garbage", "json", "json", "stray"])]
        made.append(Sent(at_us, value, rng.choice([None, name.encode()])))
        now_s += rng.uniform(0.2, 2) * spacing_s
    return made


class Ward(NamedTuple):
    """The messages of each partition by arrival, the changes of limits, and how many seconds there are."""

    partitions: list[list[Sent]]
    limits: list[LimitChange]
    end_s: float

    def log(self) -> Log:
        """Return the ward at its beginning, of which nothing is committed or published."""
        return Log(self.partitions, START_US, self.limits)


def ward(rng: random.Random) -> Ward:
    """Return a drawn ward."""
    end_s, partitions = rng.choice([50.0, 90.0, 150.0, 230.0]), list[list[Sent]]()
    for p in range(rng.choice([2, 2, 3, 4])):
        sent = device(rng, f"bed-{p}", "steady", rng.uniform(0, 0.5), end_s)
        for k in range(rng.choice([0, 1, 1, 2])):
            kind = rng.choice(KINDS)
            begin_s = rng.choice([1.0, rng.uniform(1, end_s - 20)])
            stop_s = rng.choice([end_s, rng.uniform(begin_s + 10, end_s)])
            sent += device(rng, f"{kind}-{p}-{k}", kind, begin_s, stop_s)
        if rng.random() < 0.8:
            sent += refused(rng, end_s)
        partitions.append(sorted(sent, key=lambda one: one.arrived_us))
    limits = [
        LimitChange(f"bed-{rng.randrange(len(partitions))}", rng.choice(LIMITS), {}, "Ada", 0, START_US + at_us)
        for at_us in (rng.randrange(round(end_s * 1e6)) for _ in range(rng.choice([0, 1, 4])))
    ]
    return Ward(partitions, limits, end_s)
