"""Streams that are drawn second by second, with what staff set and enter: at any time of an alert something happens.

A device goes on, loses its leads, sends another signal, begins a session, jumps, or sets its clock. If it is drawn
with ``more``, its chunks have any length and several leads, come late or beside those of a rival, and have holes.
"""

import random

import numpy as np
from beatwire.alerts.settings import Lifecycle
from beatwire.records import Acknowledgement, LimitChange
from beatwire.wire.avro import encode_chunk
from drawn_streams import ECG, RATE_HZ, SAMPLE_US, Sent
from laws import START_US, Run

SIGNALS = ("ecg", "ecg", "flat", "fast", "slow", "one", "off", "absent")  # one: a second of beats; absent: no values
MORE_SIGNALS = (
    *SIGNALS,
    "ecg",
    "part",
    "noise",
    "saturated",
    "holes",
    "lead",
)  # part: some leads off; lead: one absent
CHANGES = ("", "", "session", "again", "hole", "back", "clock", "ahead")
MORE_CHANGES = (*CHANGES, "", "small", "late", "rival")  # small: a short hole
SECOND_US = 1_000_000
LIMITS = (
    {}, {"tachycardia": 52.0, "bradycardia": 50.0, "pause": 2.0}, {"tachycardia": 250.0}, {"bradycardia": 100.0},
    {"asystole": 3.0}, {"asystole": 10.0},
)  # fmt: skip


def drawn_lifecycle(rng: random.Random) -> Lifecycle:
    """Return settings by which reminders come before, while and after an alert is held."""
    return Lifecycle(
        shortest_s=rng.choice([0, 5, 20, 60]),
        remind_high_s=rng.choice([1, 3, 7, 60]),
        remind_medium_s=rng.choice([1, 5, 180]),
        remind_low_s=rng.choice([0, 2]),
    )


def drawn_limits(rng: random.Random, end_us: int) -> list[LimitChange]:
    """Return changes of the limits of the stream that ends at a time."""
    times_us = sorted(rng.randrange(START_US, end_us) for _ in range(rng.choice([0, 0, 1, 5, 40])))
    return [LimitChange("bed", rng.choice(LIMITS), {}, "Ada", at_us, at_us) for at_us in times_us]


def drawn_acks(rng: random.Random, run: Run, now_us: int) -> list[Acknowledgement]:
    """Return an acknowledgement of an alert that has been published and is not off."""
    last = {alert["id"]: alert["state"] for alert in run.alerts}
    names = sorted(name for name, state in last.items() if state in ("on", "latched"))
    return [Acknowledgement(rng.choice(names), "bed", "Ada", now_us, now_us)] if names else []


def drawn_seconds(rng: random.Random, seconds: int, leads: int = 1, *, more: bool = False) -> list[Sent]:
    """Return the chunks of a stream, most often one a second."""
    n, sent, first, at_us, session, now_us = round(RATE_HZ), list[Sent](), 0, START_US, 1, START_US
    names = [f"L{lead}" for lead in range(leads)]
    signals, changes = (MORE_SIGNALS, MORE_CHANGES) if more else (SIGNALS, CHANGES)
    while len(sent) < seconds:
        signal, change, by = rng.choice(signals), rng.choice(changes), rng.choice([2, 5, 8, 30, 100])
        match change:
            case "session" | "again":
                session = session + 1 if change == "session" else 1 + session % 2
                first, at_us = rng.choice([0, first, 5_000]), at_us + rng.choice([0, 1, -50, 300]) * SECOND_US
            case "hole":
                first, at_us = first + by * n, at_us + by * SECOND_US
            case "small":
                first, at_us = first + by, at_us + by * SAMPLE_US
            case "back":
                first, at_us = max(0, first - by * n), at_us - by * SECOND_US
            case "clock":
                at_us += rng.choice([-1, 1]) * by * SECOND_US
            case "ahead":
                first += by * n
        off = {"off": (1 << leads) - 1, "part": rng.randrange(1, 1 << leads) if more else 0}.get(signal, 0)
        for k in range(rng.choice([1, 2, 3, 6, 12, 30, 70])):
            m = rng.choice([n, n, n, 17, 125, 400]) if more else n
            samples = drawn_samples(rng, signal, k, m, leads)
            note = f"{len(sent)}: {signal} {change}"
            value = encode_chunk("bed", session, first, at_us, RATE_HZ, names, samples, lead_off=off)
            sent.append(Sent(now_us, value, note))
            if change == "late" and len(sent) > 1 and rng.random() < 0.3:  # they change places
                one, other = sent[-2:]
                sent[-2:] = other._replace(arrived_us=one.arrived_us), one._replace(arrived_us=other.arrived_us)
            if change == "rival" and rng.random() < 0.4:
                other = rng.choice([session, 77]), rng.choice([0, 1 << 20]) + 50 * k, now_us
                sent.append(
                    Sent(now_us, encode_chunk("bed", *other, RATE_HZ, names, samples[:, :50]), f"{note}, rival")
                )
            first, at_us, now_us = first + m, at_us + m * SAMPLE_US, now_us + m * SAMPLE_US
    return sent


def drawn_samples(rng: random.Random, signal: str, k: int, n: int, leads: int) -> np.ndarray:
    """Return int16 [leads, n], the samples of chunk ``k`` of a signal."""
    at = n * k + np.arange(n)
    at = {"fast": 2 * at, "slow": at // 3}.get(signal, at)
    samples = np.stack([ECG[1 + lead % 2][at % len(ECG[1])] for lead in range(leads)])
    match signal:
        case "flat":
            samples[:] = 0
        case "one" if k > 0:
            samples[:] = 0
        case "absent":
            samples[:] = -32768
        case "lead":
            samples[0] = -32768
        case "noise":
            samples[:] = np.random.default_rng(rng.randrange(1 << 30)).integers(-400, 400, samples.shape)
        case "saturated":
            samples[:] = 32767
        case "holes":
            for _ in range(3):
                begin = rng.randrange(n)
                samples[rng.randrange(leads), begin : begin + rng.choice([1, 5, 9, 11, 40])] = -32768
    return samples
