"""A drawn ward in several partitions: devices of many kinds, messages that are refused, and changes of limits.

A device is of one kind or of two:

    steady    goes on
    rare      has a rate of its own: it waits for a bank
    session   begins new sessions
    jumps     in count and clock
    silent    for longer than ``silence_s``, and returns
    strayed   now and then a chunk of another device comes under its id, with another rate or number of leads
    rivals    two senders of one id take turns
    off       leads go off, or the signal is flat
    hasty     begins a session every few seconds, for a while; its signal is noise, for another while
    late      stores what it has, and sends it later, at once or message by message, some of it twice
    stranger  for a while each of its chunks comes behind one that does not fit it: far back, of other units or rate
    leaps     now and then a chunk is counted wrongly, far ahead or far back

Mains hum is beside every third one.

Beside them come messages that are refused: garbage, JSON without samples, and chunks of devices that never send enough
for a bank. Ids of those come in several partitions.
"""

import json
import random
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import LimitChange
from beatwire.wire.avro import encode_chunk
from laws import START_US
from memory_log import Log, Sent
from numpy.typing import NDArray

KINDS = (
    "steady",
    "rare",
    "session",
    "jumps",
    "silent",
    "strayed",
    "rivals",
    "off",
    "hasty",
    "late",
    "stranger",
    "leaps",
)
TROUBLES = ("rare", "session", "silent", "strayed", "rivals", "hasty", "stranger", "stranger", "leaps")
RATES_HZ = (200.0, 500.0, 360.0)  # of devices of which there are few; others have 250 Hz
STRAY_HZ = (77.0, 93.5, 111.0)
ECG = {
    rate_hz: [synthesise((3, k), rate_hz=rate_hz, seconds=60.0).recording.samples[0] for k in range(2)]
    for rate_hz in (250.0, *RATES_HZ)
}
MISFITS = ("units", "units", "units", "behind", "rate")
LIMITS = ({"tachycardia": 52.0, "bradycardia": 50.0, "pause": 2.0}, {"tachycardia": 250.0}, {"bradycardia": 100.0})


class Device:
    """A device: its messages so far, and how it goes on."""

    def __init__(self, rng: random.Random, stream: str, kinds: Sequence[str], begin_s: float) -> None:
        self.rng, self.stream, self.kinds, self.now_s = rng, stream, kinds, begin_s
        self.rate_hz = rng.choice(RATES_HZ) if "rare" in kinds else 250.0
        self.ecg, self.session, self.first, self.at, self.clock_us = rng.choice(ECG[self.rate_hz]), 1, 0, 0, START_US
        self.flat_until_s = self.noisy_until_s = self.hasty_until_s = self.stored_until_s = begin_s
        self.stranger_until_s, self.misfit = begin_s, MISFITS[0]
        self.other_hz = 410.0 + zlib.crc32(stream.encode()) % 1_000 / 16  # of its stranger, whose bank may open
        self.hums = zlib.crc32(stream.encode()) % 3 == 0
        self.lead_off, self.sent, self.stored = 0, list[Sent](), list[bytes]()

    def send(self, end_s: float) -> list[Sent]:
        """Send until ``end_s``; return the messages."""
        change_s = self._next_change()
        while self.now_s < end_s:
            if self.now_s >= change_s:
                self._change()
                change_s = self._next_change()
            if self.now_s < self.hasty_until_s and self.rng.random() < 0.3:
                self._begin_session()
            self._send_chunk()
        self._send_stored()
        return self.sent

    def _next_change(self) -> float:
        return self.now_s + self.rng.uniform(5, 60)

    def _change(self) -> None:
        rng = self.rng
        match rng.choice(self.kinds):
            case "session":
                self._begin_session()
            case "jumps":
                by = rng.choice([30, 200, 5_000, 100_000])
                self.first, self.clock_us = self.first + by, self.clock_us + round(by * 1e6 / self.rate_hz)
            case "silent":
                self.now_s += rng.choice([30.0, 61.0, 70.0, 130.0])
            case "strayed" if "rare" not in self.kinds:  # else it may come before the device, whose bank is open or not
                self.sent.append(stray(rng, self.stream, self.now_s))
            case "off" if rng.random() < 0.5:
                self.lead_off = 1 - self.lead_off
            case "off":
                self.flat_until_s = self.now_s + rng.uniform(3, 12)
            case "rivals":
                self.sent += rivals(rng, self.stream, self.now_s)
            case "hasty":
                self.hasty_until_s = self.now_s + rng.uniform(0, 60)
                self.noisy_until_s = self.now_s + rng.uniform(0, 60)
            case "late":
                self.stored_until_s = self.now_s + rng.uniform(1, 30)
            case "stranger":
                self.stranger_until_s, self.misfit = self.now_s + rng.uniform(20, 120), rng.choice(MISFITS)
            case "leaps":
                self._send(self.first + rng.choice([30_000, 500_000]), self._samples(125), self.now_s)
            case _:
                pass

    def _begin_session(self) -> None:
        self.first, self.session = 0, self.session + 1

    def _samples(self, n: int) -> NDArray[np.int16]:
        if self.now_s < self.flat_until_s:
            return np.zeros(n, np.int16)
        if self.now_s < self.noisy_until_s:
            return np.random.default_rng(self.at).integers(-300, 300, n).astype(np.int16)
        at = self.at + np.arange(n)
        hum = 80 * np.sin(2 * np.pi * 50.02 / self.rate_hz * at) if self.hums else np.zeros(n)
        return (self.ecg[at % len(self.ecg)] + np.rint(hum)).astype(np.int16)

    def _send_chunk(self) -> None:
        n = round(self.rng.choice([0.5, 1.0, 1.0, 1.5]) * self.rate_hz)
        samples = self._samples(n)
        self.now_s += n / self.rate_hz
        if self.now_s < self.stranger_until_s:
            self._send_misfit()
        if self.now_s >= self.stored_until_s and self.stored:
            self._send_stored()
        self._send(self.first, samples, self.now_s, stores=self.now_s < self.stored_until_s)
        self.first, self.at = self.first + n, self.at + n
        self.clock_us += round(n * 1e6 / self.rate_hz)

    def _send_misfit(self) -> None:
        """Send what does not fit the stream."""
        match self.misfit:
            case "behind" if self.first > 70 * self.rate_hz:
                self._send(self.rng.randrange(1, 2_000), self._samples(100), self.now_s)
            case "rate":
                self._send(self.first, self._samples(100), self.now_s, rate_hz=self.other_hz)
            case _:
                self._send(self.first, self._samples(100), self.now_s, uv_per_unit=3.0)

    def _send(
        self, first: int, samples: NDArray[np.int16], now_s: float, *, stores: bool = False, **named: float
    ) -> None:
        clock_us = self.clock_us + round((first - self.first) * 1e6 / self.rate_hz)
        rate_hz = named.pop("rate_hz", self.rate_hz)
        value = encode_chunk(
            self.stream, self.session, first, clock_us, rate_hz, ["I"], samples[None], lead_off=self.lead_off, **named
        )
        if stores:
            self.stored.append(value)
        else:
            self.sent.append(Sent(START_US + round(now_s * 1e6), value, self.stream.encode()))

    def _send_stored(self) -> None:
        """Send what is stored, slowly or at once; some of it again."""
        spacing_s = self.rng.choice([0.0, 0.05, 0.4])
        again = self.stored[: self.rng.choice([0, 0, 3])]
        for value in (*self.stored, *again):
            self.sent.append(Sent(START_US + round(self.now_s * 1e6), value, self.stream.encode()))
            self.now_s += spacing_s
        self.stored.clear()


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
    """Return a drawn ward.

    A steady device is replayed for two minutes, and with it all of its partition: half of the partitions have none.
    """
    end_s, partitions = rng.choice([50.0, 90.0, 150.0, 230.0, 330.0]), list[list[Sent]]()
    for p in range(rng.choice([1, 2, 2, 3])):
        has_bed = rng.random() < 0.5
        sent = Device(rng, f"bed-{p}", ["steady"], rng.uniform(0, 0.5)).send(end_s) if has_bed else []
        for k in range(rng.choice([0, 1, 1, 2]) if has_bed else rng.choice([1, 1, 2])):
            kinds = rng.choices(KINDS if has_bed else TROUBLES, k=rng.choice([1, 2]))
            begin_s = rng.choice([1.0, rng.uniform(1, end_s - 20)])
            stop_s = rng.choice([end_s, rng.uniform(begin_s + 10, end_s)])
            sent += Device(rng, f"{'+'.join(kinds)}-{p}-{k}", kinds, begin_s).send(stop_s)
        if rng.random() < 0.6:
            sent += refused(rng, end_s)
        partitions.append(sorted(sent, key=lambda one: one.arrived_us))
    limits = [
        LimitChange(f"bed-{rng.randrange(len(partitions))}", rng.choice(LIMITS), {}, "Ada", 0, START_US + at_us)
        for at_us in (rng.randrange(round(end_s * 1e6)) for _ in range(rng.choice([0, 1, 4])))
    ]
    return Ward(partitions, limits, end_s)
