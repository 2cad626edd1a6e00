"""Streams that are drawn: chunk by chunk a device goes on, or something of it changes; and runs that are compared.

A kind is one thing that may change:

    forward, back     the count, and the clock with it
    ahead             the count alone
    clock             the clock alone
    session, again    a new session; one of two that take turns
    off               leads go off or on
    units, rate       one of two units of a sample, or rates, within a session; what of an unknown rate is kept from
                      being placed until enough of it has come depends on ticks (``stages.support.streams.waiting``)
    rival             a chunk of another device with the same session, which counts elsewhere
    repeat            the last chunk once more
    silence, pause    nothing is sent for longer than ``silence_s``, or for a second and a half
"""

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from beatwire.alerts.settings import Lifecycle
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import Acknowledgement, LimitChange, RawTick
from beatwire.wire.avro import encode_chunk
from laws import START_US, Run, collect

KINDS = ("forward", "back", "ahead", "clock", "session", "again", "off", "silence", "pause")
MORE_KINDS = (*KINDS, "units", "names", "rival", "repeat")
RATE_HZ = 250.0
SAMPLE_US = 4_000
FURTHEST = 22  # jumps of less than 2**22 samples: five hours
ECG = [synthesise((1, k), name=f"p{k}", seconds=60.0).recording.samples[0] for k in range(3)]


class Sent(NamedTuple):
    """A message, its arrival, and what it is, for people."""

    arrived_us: int
    value: bytes
    note: str


@dataclass
class Entered:
    """What staff have set and enter.

    lifecycle  the settings
    limits     of the stream, from times on
    acks       before ticks, by their number
    enters     returns those of a tick, which are noted, from what has been published, and the time; None: nobody enters
    """

    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    limits: Sequence[LimitChange] = ()
    acks: dict[int, list[Acknowledgement]] = field(default_factory=dict)
    enters: Callable[[Run, int], list[Acknowledgement]] | None = None


def drawn(rng: random.Random, chunks: int, kinds: Sequence[str], stream: str = "bed") -> list[Sent]:  # noqa: C901
    """Return so many chunks of one stream, of whose signal a few are saturated or flat."""
    ecg, first, session, lead_off, at = rng.choice(ECG), 0, 1, 0, 0
    clock_us, now_us, sent = START_US, START_US, list[Sent]()
    names, rate_hz, uv_per_unit = ["I"], RATE_HZ, 5.0
    rival = rng.choice([0, 2**20, 2**22]) if "rival" in kinds else 0
    for k in range(chunks):
        note = ""
        if rng.random() < 0.03:
            note, by = rng.choice(list(kinds)), 2 ** rng.randrange(4, FURTHEST)
            match note:
                case "forward":
                    first, clock_us = first + by, clock_us + by * SAMPLE_US
                case "back":
                    by = min(by, first)
                    first, clock_us = first - by, clock_us - by * SAMPLE_US
                case "ahead":
                    first += by
                case "clock":
                    clock_us += rng.choice([-1, 1]) * by * 1000
                case "session":
                    first, session = 0, session + 1
                case "again":
                    first, session = 0, 1 + session % 2
                case "off":
                    lead_off = 1 - lead_off
                case "units":
                    uv_per_unit = 7.5 - uv_per_unit
                case "names":
                    names = ["II" if names == ["I"] else "I"]
                case "rate":
                    rate_hz = 3 * RATE_HZ - rate_hz
                case "repeat" | "rival":
                    sent.append(another(note, sent, rival, now_us))
                    rival += 50
                case "silence":
                    now_us += rng.choice([61_000_000, 130_000_000])
                case "pause":
                    now_us += 1_500_000
        n = rng.choice([1, 30, 62, 64, 125, 250, 250])
        samples = ecg[(at + np.arange(n)) % len(ecg)]
        if rng.random() < 0.05:
            samples = np.full(n, rng.choice([32767, 0]), np.int16)
        value = encode_chunk(
            stream, session, first, clock_us, rate_hz, names, samples[None], lead_off=lead_off, uv_per_unit=uv_per_unit
        )
        sent.append(Sent(now_us, value, f"{k}: {note or 'goes on'}: session {session}, {first} to {first + n}"))
        first, at = first + n, at + n
        clock_us, now_us = clock_us + n * SAMPLE_US, now_us + n * SAMPLE_US
    return sent


def with_strangers(rng: random.Random, sent: Sequence[Sent], stream: str) -> list[Sent]:
    """Add, in a few stretches, before or after each chunk one of another device that has the same session."""
    made, left = list[Sent](), 0
    for k, one in enumerate(sent):
        left = rng.randrange(1, 120) if left == 0 and rng.random() < 0.02 else max(0, left - 1)
        first = rng.choice([50 * k, 50 * k, 0])
        other = encode_chunk(stream, 1, first, one.arrived_us, RATE_HZ, ["I"], ECG[0][None, :50], uv_per_unit=7.0)
        found = [one, Sent(one.arrived_us, other, f"stranger at {first}")] if k > 0 and left else [one]
        rng.shuffle(found)
        made += found
    return made


def another(kind: str, sent: Sequence[Sent], rival: int, now_us: int) -> Sent:
    """Return the last chunk once more, or one of a rival in the first session, at sample ``rival``."""
    if kind == "repeat" and sent:
        return sent[-1]._replace(arrived_us=now_us)
    return Sent(now_us, encode_chunk("bed", 1, rival, now_us, RATE_HZ, ["I"], ECG[0][None, :50]), f"rival at {rival}")


def in_ticks(sent: Sequence[Sent], cuts: Sequence[int]) -> list[RawTick]:
    """Cut messages into ticks, each with the arrival that it had."""
    parts = [sent[a:b] for a, b in itertools.pairwise(cuts)]
    ticks = [RawTick.of([one.value for one in part], now_us=part[-1].arrived_us) for part in parts]
    arrivals = [np.array([one.arrived_us for one in part], np.int64) for part in parts]
    return [
        replace(tick, arrival_us=arrived_us, caught_up=False) for tick, arrived_us in zip(ticks, arrivals, strict=True)
    ]


def undisturbed(ticks: Sequence[RawTick], entered: Entered | None = None) -> Run:
    """Return what one graph publishes."""
    return with_successors(ticks, (), entered)


def with_successors(ticks: Sequence[RawTick], takeovers: Sequence[int], entered: Entered | None = None) -> Run:
    """Return what is published if before each of some ticks a new graph takes over: by a replay, and from the log."""
    e = entered or Entered()
    pipeline, run, begin, log = _begun(e), Run(), 0, dict[str, dict[str, Any]]()
    collect(pipeline, run, published=True)
    for k, tick in enumerate(ticks):
        if k in takeovers:
            begin += pipeline.rewind_tick(0)
            log |= {alert["id"]: alert for alert in run.alerts}
            banks, pipeline = pipeline.open_banks, _begun(e)
            for replayed in ticks[begin:k]:
                pipeline.emit(replace(replayed, open_banks={0: banks}))
            acks = [ack for at, given in sorted(e.acks.items()) if at < k for ack in given]
            pipeline.adopt([alert for alert in log.values() if alert["state"] != "off"], acks)
            collect(pipeline, run, published=True)
        if e.enters is not None and (acks := e.enters(run, tick.now_us)):
            e.acks[k] = acks
        pipeline.acknowledge(e.acks.get(k, ()))
        pipeline.emit(tick)
    return run


def _begun(entered: Entered) -> Pipeline:
    pipeline = Pipeline(Settings(lifecycle=entered.lifecycle))
    pipeline.change_limits(entered.limits)
    return pipeline


def differences(one: Run, other: Run) -> dict[str, tuple[list[Any], list[Any]]]:
    """Return by what differs the rows of the one alone, and of the other alone."""
    found = {}
    for name, a, b in zip(("beats", "alerts", "rejects", "audit"), _rows(one), _rows(other), strict=True):
        if repr(a) != repr(b):  # NaN is NaN
            texts = set(map(repr, a)), set(map(repr, b))
            found[name] = sorted(texts[0] - texts[1])[:5], sorted(texts[1] - texts[0])[:5]
    return found


def _rows(run: Run) -> tuple[list[Any], ...]:
    alerts, audit = (sorted(str(sorted(row.items())) for row in rows) for rows in (run.alerts, run.audit))
    return list(run.beats.get("bed", [])), alerts, sorted(run.rejects), audit
