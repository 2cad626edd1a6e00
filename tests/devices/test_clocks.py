"""Devices whose clock or count is wrong, over a known heart: its beats are found, at their samples, and soon."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from beatwire.recordings.synthetic.person import UV_PER_UNIT, synthesise
from beatwire.wire import decode_chunk
from beatwire_producers.devices.chunks import Stream
from beatwire_producers.devices.packets import Description, Packet
from beatwire_producers.devices.places import Placer
from device_packets import START_S, Device
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import Run, grouped, run_graph

HZ, SECONDS = 250.0, 60
HEART = synthesise((9, 4), seconds=float(SECONDS), bpm=70.0, noise=0.5)
NUMBERS = HEART.recording.samples[0]
PLACE = {NUMBERS[k : k + 8].tobytes(): k for k in range(len(NUMBERS) - 7)}
FAULT_S = 30.0  # when what happens once happens
WITHIN_S = 1.1  # of the arrival of a packet that waits until it is known whether another one is missing

# Time of a packet -> what the device states, by its true time since the start.
CLOCKS: dict[str, Callable[[float], float]] = {
    "right": lambda t: START_S + t,
    "0": lambda t: 0.0,
    "stands still": lambda t: START_S,
    "of 1970, then right": lambda t: t + (START_S if t > FAULT_S else 0.0),
    "an hour back": lambda t: START_S + t - (3600.0 if t > FAULT_S else 0.0),
    "an hour on": lambda t: START_S + t + (3600.0 if t > FAULT_S else 0.0),
    "set back a little": lambda t: START_S + t - (0.3 if t > FAULT_S else 0.0),
    "set on": lambda t: START_S + t + (3.0 if t > FAULT_S else 0.0),
    "of the day": lambda t: (86_400.0 - FAULT_S + t) % 86_400.0,
    "whole seconds": lambda t: START_S + float(int(t)),
    "of the future": lambda t: START_S + t + 86_400.0,
    "set by little, again and again": lambda t: START_S + t + 0.05 * (int(t / 10.0) % 2),
    "damaged once": lambda t: 1e30 if FAULT_S < t < FAULT_S + 0.1 else START_S + t,
}
# Sample -> what the device counts there; None: it counts nothing.
COUNTS: dict[str, Callable[[int], int | None]] = {
    "nothing": lambda a: None,
    "samples": lambda a: a,
    "from elsewhere": lambda a: a + 123_456_789,
    "below 0": lambda a: a - 20_000,
    "turns at 2^16": lambda a: (a + 58_000) % (1 << 16),
    "turns at 2^31": lambda a: (a + (1 << 31) - 7_500) % (1 << 31),
    "turns at 2^32": lambda a: (a + (1 << 32) - 7_500) % (1 << 32),
    "begins again": lambda a: a + 100_000 if a < 7_500 else a - 7_500,
    "jumps": lambda a: a if a < 7_500 else a + 10**9,
    "goes back": lambda a: a if a < 7_500 else a - 250,
    "always the same": lambda a: 5,
    "at random": lambda a: (a * 2_654_435_761) % (1 << 31),
    "beyond any index": lambda a: a + (1 << 60),
}


@dataclass
class Fed:
    """What a feed made of a device: messages, the longest pause between two of them, the stream, what it said."""

    messages: list[bytes] = field(default_factory=list)
    pause_s: float = 0.0
    notes: list[str] = field(default_factory=list)
    holes: list[int] = field(default_factory=list)  # samples after which one begins


def feed(packets: list[Packet], rate_hz: float | None = HZ, *, is_epoch: bool = True) -> Fed:
    """Feed packets."""
    fed, described = Fed(), Description("bed-1", ("II",), rate_hz, UV_PER_UNIT, is_epoch=is_epoch)
    stream, sent_s = Stream(described, fed.notes.append), 0.0
    for packet in packets:
        came = [m.value for m in [*stream.add(packet), *stream.idle(packet.arrival_s)]]
        if came:
            fed.pause_s = max(fed.pause_s, packet.arrival_s - sent_s) if sent_s else 0.0
            sent_s = packet.arrival_s
        fed.messages += came
    fed.messages += [m.value for m in stream.close()]
    return fed


def packets_of(clock: str, count: str, size: int, ppm: float, lost: frozenset[int] = frozenset()) -> list[Packet]:
    """Return the packets of a device; it is always a little late."""
    hz, rng, found = HZ * (1 + ppm * 1e-6), np.random.default_rng(size), []
    for k, first in enumerate(range(0, len(NUMBERS), size)):
        samples = NUMBERS[None, first : first + size]
        arrival_s = START_S + (first + samples.shape[1]) / hz + rng.uniform(0, 0.005)
        if k not in lost:
            found.append(Packet(samples, arrival_s, CLOCKS[clock](first / hz), COUNTS[count](first)))
    return found


def found_beats(fed: Fed, run: Run) -> np.ndarray:
    """Return the samples of the heart at which beats were found."""
    chunks = []
    for chunk in map(decode_chunk, fed.messages):
        samples = np.frombuffer(chunk["samples"], "<i2")
        chunks.append((chunk["session"], chunk["first"], len(samples), PLACE.get(samples[:8].tobytes())))
    beats = []
    for session, sample, *_ in run.beats.get("bed-1", []):
        own = next(c for c in chunks if c[0] == session and c[1] <= sample < c[1] + c[2])
        if own[3] is not None:  # else too short to be found again
            beats.append(own[3] + sample - own[1])
    return np.array(beats)


@settings(max_examples=draws(60), deadline=None)
@given(
    st.sampled_from(sorted(CLOCKS)), st.sampled_from(sorted(COUNTS)), st.sampled_from([1, 10, 25, 73, 125]),
    st.floats(-9_000, 9_000), st.sampled_from([HZ, None]),
)  # fmt: skip
@example("stands still", "samples", 25, 0.0, HZ)
@example("whole seconds", "nothing", 25, -3000.0, HZ)
@example("set by little, again and again", "nothing", 25, 0.0, HZ)
@example("set by little, again and again", "begins again", 125, 0.0, None)
@example("set on", "turns at 2^16", 10, 0.0, HZ)
@example("set by little, again and again", "always the same", 1, 2128.0, HZ)
@example("set by little, again and again", "nothing", 1, 8000.0, HZ)
def test_a_heart_is_found_whatever_the_clock_and_the_count_say(
    clock: str, count: str, size: int, ppm: float, rate_hz: float | None
) -> None:
    if rate_hz is None and (clock in ("0", "stands still", "whole seconds") or ppm != 0):
        rate_hz = HZ  # what measures the rate has to be right
    fed = feed(packets_of(clock, count, size, ppm), rate_hz)
    run = run_graph(grouped(fed.messages, np.random.default_rng(size), 8))
    assert not run.rejects
    got, due = found_beats(fed, run), HEART.beats
    sessions = {decode_chunk(value)["session"] for value in fed.messages}
    assert len(sessions) <= 3
    near_fault = np.abs(due / HZ - FAULT_S) < (2.5 if len(sessions) > 1 else 0.6)
    due = due[(due > 4.0 * HZ) & (due < len(NUMBERS) - HZ) & ~near_fault]
    missed = [b / HZ for b in due if not (np.abs(got - b) < 0.06 * HZ).any()]
    false = [b / HZ for b in got if b > 4.0 * HZ and not (np.abs(HEART.beats - b) < 0.06 * HZ).any()]
    assert not missed, f"expected all beats; got none at {missed} s; {fed.notes[:4]}"
    assert not false, f"expected only beats of the heart; got others at {false} s; {fed.notes[:4]}"
    assert fed.pause_s < WITHIN_S + (5.0 if rate_hz is None else 0.0)
    heart = [a["rule"] for a in run.alerts if a["priority"] == "high" and not a["technical"]]
    assert not heart


def test_midnight_of_a_clock_without_a_date_is_no_clock_that_was_set() -> None:
    packets = packets_of("of the day", "nothing", 25, 0.0)
    fed = feed(packets, is_epoch=False)
    assert (fed.notes, fed.holes) == (["a new day began"], [])
    assert any("its clock was set by -86400" in note for note in feed(packets).notes), "one with a date has changed it"


@settings(max_examples=draws(60), deadline=None)
@given(
    st.sampled_from([10, 25, 73]), st.floats(-900, 900), st.sampled_from(["right", "arrivals"]),
    st.lists(st.floats(20.0, 50.0), max_size=4), st.integers(1, 3),
)  # fmt: skip
@example(25, 23.0, "right", [30.19878579877534], 3)
@example(73, 200.0, "arrivals", [31.9195673871521, 21.804162423588572, 27.66290146859607], 2)
def test_what_waits_for_a_lost_packet_is_sent_soon(
    size: int, ppm: float, clock: str, lost_s: list[float], together: int
) -> None:
    lost = frozenset(int(at * HZ / size) + k for at in lost_s for k in range(together))
    packets = packets_of("right", "nothing", size, ppm, lost)
    if clock == "arrivals":
        packets = [Packet(p.samples, p.arrival_s) for p in packets]
    fed = feed(packets)
    in_a_row = max((sum(k + j in lost for j in range(12)) for k in lost), default=0)
    assert fed.pause_s < WITHIN_S + in_a_row * size / HZ


@settings(max_examples=draws(20), deadline=None)
@given(st.floats(0.0, 0.25), st.integers(0, 99))
def test_times_that_are_wrong_by_a_packet_or_two_refuse_no_device_that_counts(jitter_s: float, seed: int) -> None:
    device = Device(packets=1200, clock_jitter_s=jitter_s, seed=seed)
    stream = Stream(device.description())
    for _, packet in device.sent():
        stream.add(packet)
    assert (stream.sums().holes, stream.sums().sessions) == (0, 1)


@settings(max_examples=draws(40), deadline=None)
@given(
    st.sampled_from([1, 2, 5, 10]), st.sampled_from([-1.0, 0.5, 1.0, 60.0]), st.floats(0.0, 0.04), st.integers(0, 99)
)
@example(1, 1.0, 0.04, 0)
@example(10, 60.0, 0.04, 1)
def test_a_clock_that_is_set_makes_no_hole_however_late_its_packet_is(
    size: int, set_s: float, late_s: float, seed: int
) -> None:
    rng, placer, arrival_s = np.random.default_rng(seed), Placer(Description("bed-1", rate_hz=HZ, uv=1.0)), START_S
    placed = []
    for k in range(0, 5000, size):
        arrival_s = max(arrival_s + 1e-4, START_S + (k + size) / HZ + rng.uniform(0.0, late_s))
        time_s = START_S + k / HZ + (set_s if k >= 2500 else 0.0)
        placed += placer.place(Packet(np.arange(k, k + size, dtype=np.int16)[None], arrival_s, time_s))
    placed += placer.close()
    assert [one.first for one in placed] == list(range(0, 5000, size))


@settings(deadline=None)
@given(
    st.sampled_from((125.0, 128.0, 250.0, 256.0, 360.0, 512.0, 1000.0)), st.sampled_from((0.01, 0.001)),
    st.integers(2, 60), st.booleans(), st.floats(0.0, 1.0), st.integers(0, 1000),
)  # fmt: skip
@example(1000.0, 0.01, 8, True, 0.0, 0)  # had a false hole of 70 ms
@example(256.0, 0.01, 8, False, 0.0, 0)  # was 268 Hz
def test_a_clock_that_is_rounded_makes_no_holes_and_no_other_rate(
    rate_hz: float, unit_s: float, size: int, is_stated: bool, begin_s: float, seed: int
) -> None:
    is_stated = is_stated or unit_s > 0.1 * size / rate_hz
    rng, packets = np.random.default_rng(seed), []
    for first in range(0, round(12 * rate_hz), size):
        time_s = START_S + np.floor((begin_s + first / rate_hz) / unit_s + 1e-6) * unit_s
        arrival_s = START_S + begin_s + (first + size) / rate_hz + rng.uniform(0, 0.005)
        packets.append(Packet(NUMBERS[None, first : first + size], arrival_s, float(time_s), None))
    fed = feed(packets, rate_hz if is_stated else None)
    chunks = [decode_chunk(value) for value in fed.messages]
    firsts = np.cumsum([0, *(len(chunk["samples"]) // 2 for chunk in chunks)])
    assert [chunk["first"] for chunk in chunks] == firsts[:-1].tolist()
    assert chunks[0]["rate_hz"] == pytest.approx(rate_hz, rel=0.002)
