"""Rates that nobody states, from packets that come late, at once, twice or seldom; and counts of two devices."""

import itertools
import math
import random
from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.wire import decode_chunk
from beatwire_producers.devices.chunks import Message, Stream
from beatwire_producers.devices.packets import Description, Packet
from beatwire_producers.devices.places import Placer
from beatwire_producers.devices.rates import sure_rate
from beatwire_producers.devices.reading import Reading
from draws import draws
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

NOW_S = 1_790_000_000.0
RATES = st.sampled_from([100.0, 125.0, 130.0, 200.0, 250.0, 256.0, 500.0])


def packet(k: int, size: int, arrival_s: float, *, count: int | None = None, seed: int = 0) -> Packet:
    samples = np.random.default_rng((k, seed)).integers(-500, 500, (1, size)).astype(np.int16)
    return Packet(samples, arrival_s, count=count)


@settings(max_examples=draws(40), deadline=None)
@example(rate_hz=100.0, packet_s=2.0, late_s=0.0, stall_s=10.0, counts=True, twice=False, seed=0)
@given(
    rate_hz=RATES, packet_s=st.sampled_from([0.1, 0.5, 1.0, 2.0]), late_s=st.sampled_from([0.0, 0.02, 0.1, 0.3]),
    stall_s=st.sampled_from([0.0, 2.0, 4.0, 10.0]), counts=st.booleans(), twice=st.booleans(), seed=st.integers(0, 999),
)  # fmt: skip
def test_a_rate_is_right_within_three_percent_however_packets_arrive(
    rate_hz: float, packet_s: float, late_s: float, stall_s: float, counts: bool, twice: bool, seed: int
) -> None:
    assume(not (late_s and stall_s))
    rng, placer = random.Random(seed), Placer(Description("x"))
    size = round(packet_s * rate_hz)
    arrival_s = NOW_S
    for k in range(round(75 * rate_hz / size)):
        arrival_s = max(arrival_s + 1e-4, NOW_S + stall_s, NOW_S + (k + 1) * size / rate_hz + rng.uniform(0, late_s))
        sent = packet(k, size, arrival_s, count=k * size if counts else None, seed=seed)
        placer.place(sent)
        if twice and k % 5 == 0:
            placer.place(Packet(sent.samples, arrival_s + 0.001 * packet_s, count=sent.count))
    assert placer.rate_hz is not None
    assert abs(placer.rate_hz / rate_hz - 1) < 0.03


def test_a_stall_at_the_end_of_what_came_is_waited_out() -> None:
    arrivals_s = [1.07, 2.07, 3.03, 4.01, 5.1, 6.08, 15.9, 15.901]  # all together they look like 512 Hz
    assert sure_rate(Description("x"), [packet(k, 500, NOW_S + at) for k, at in enumerate(arrivals_s)]) is None


@pytest.mark.parametrize("stall_s", [0.0, 2.0, 10.0])
def test_counts_that_never_rise_are_as_none(stall_s: float) -> None:
    arrivals_s = [NOW_S + 2.0 * k + stall_s * (k > 4) for k in range(10)]
    counted = [packet(k, 200, at, count=7) for k, at in enumerate(arrivals_s)]
    plain = [packet(k, 200, at) for k, at in enumerate(arrivals_s)]
    assert sure_rate(Description("x"), counted) == sure_rate(Description("x"), plain)


def test_packets_that_come_seldom_are_waited_for_and_that_is_said() -> None:
    notes: list[str] = []
    placer = Placer(Description("x"), notes.append)
    placed = [one for k in range(8) for one in placer.place(packet(k, 1250, NOW_S + 5.0 * (k + 1)))]
    assert (placer.rate_hz, len(placed)) == (250.0, 8)
    assert notes[0] == "its packets do not show a rate yet: nothing is sent until they do (--fs gives it)"


def test_packets_that_wait_for_a_rate_at_the_end_are_sent_by_what_they_show_or_said() -> None:
    notes: list[str] = []
    stream = Stream(Description("x", uv=1.0), notes.append)
    for k in range(20):
        stream.add(packet(k, 25, NOW_S + 0.1 * (k + 1)))
    assert stream.close() == []  # the device is away: others may come
    messages = stream.close(ended=True)
    assert sum(len(decode_chunk(message.value)["samples"]) for message in messages) == 2 * 500
    few = Stream(Description("x", uv=1.0), notes.append)
    few.add(packet(0, 25, NOW_S))
    assert few.close(ended=True) == []
    assert notes[-1].startswith("its first 1 packets are left out: x: expected a sampling rate, or packets whose times")


def test_a_clock_that_stands_still_leaves_the_rate_to_the_arrivals() -> None:
    placer = Placer(Description("x"))
    for k in range(100):
        samples = packet(k, 25, 0.0).samples
        placer.place(Packet(samples, NOW_S + 0.1 * (k + 1), time_s=0.0))
    assert placer.rate_hz == 250.0


@pytest.mark.parametrize("stated", [None, 250.0])
def test_a_measured_rate_that_is_contradicted_is_measured_anew_and_a_stated_one_is_left_out(
    stated: float | None,
) -> None:
    messages: list[Message] = []
    said: list[str] = []
    reading = Reading(
        "x",
        None,
        messages.extend,
        {},
        say=said.append,
        keep=None,
        chunk_s=0.1,
        pauses_s=(1.0, 1.0),  # type: ignore[arg-type]
    )
    described, arrival_s = Description("bed-1", rate_hz=stated, uv=1.0), NOW_S
    for k in range(600):
        arrival_s += 25 / (250.0 if k < 100 else 300.0)
        reading._add([replace(packet(k, 25, arrival_s), described=described)], None)
    reading.flush()
    chunks = [decode_chunk(message.value) for message in messages]
    if stated is None:
        assert [hz for hz, _ in itertools.groupby(chunk["rate_hz"] for chunk in chunks)] == [250.0, 300.0]
        assert len({chunk["session"] for chunk in chunks}) == 2
        assert sum(len(chunk["samples"]) for chunk in chunks) >= 2 * 25 * 599
        assert any("as measured; its times give 300; measured anew" in line for line in said)
    else:
        assert {chunk["rate_hz"] for chunk in chunks} == {250.0}
        assert any("as stated; its times give 300; this stream is left out" in line for line in said)


@settings(max_examples=draws(60), deadline=None)
@given(
    first=st.integers(0, 20_000), apart=st.integers(1_000, 20_000) | st.integers(-20_000, -1_000),
    alone=st.integers(0, 30), size=st.integers(8, 60),
    order=st.lists(st.booleans(), min_size=60, max_size=60), even=st.booleans(),
)  # fmt: skip
def test_counts_of_two_devices_that_take_turns_are_never_one_stream(
    first: int, apart: int, alone: int, size: int, order: list[bool], even: bool
) -> None:
    turns = [k % 2 == 1 for k in range(60)] if even else order
    assume(sum(a != b for a, b in itertools.pairwise(turns)) >= 30)
    placer, sent = Placer(Description("x", rate_hz=250.0)), [0, 0]

    def send(which: bool) -> None:
        k, begun_s = sent[which], alone * size / 250.0 if which else 0.0
        sent[which] += 1
        count = 30_000 + first + (apart if which else 0) + k * size
        placer.place(packet(k, size, NOW_S + begun_s + (k + 1) * size / 250.0, count=count, seed=1 + which))

    with pytest.raises(UserError, match="expected the count of one device; got two"):
        deque(map(send, [False] * alone + turns), maxlen=0)


@settings(max_examples=draws(60), deadline=None)
@given(
    rate_hz=st.sampled_from([100.0, 125.0, 128.0, 200.0, 250.0, 256.0, 300.0, 360.0, 500.0, 512.0, 1000.0]),
    tick_s=st.sampled_from([0.004, 0.008, 0.01, 1 / 64, 0.016, 0.02, 0.05]), size=st.sampled_from([1, 2, 5, 8, 10, 25]),
    phase=st.floats(0, 1), together=st.booleans(), loss=st.sampled_from([0.0, 0.02]), seed=st.integers(0, 99),
)  # fmt: skip
def test_packets_that_are_read_at_the_ticks_of_a_timer_show_their_rate_and_no_holes(
    rate_hz: float, tick_s: float, size: int, phase: float, together: bool, loss: float, seed: int
) -> None:
    placer, rng = Placer(Description("x")), random.Random(seed)
    came = [(math.ceil(k * size / rate_hz / tick_s + phase), k) for k in range(1, round(12 * rate_hz / size) + 1)]
    came = [one for one in came if rng.random() >= loss]
    for tick, of in itertools.groupby(came, key=lambda one: one[0]):
        samples = [packet(k, size, 0.0).samples for _, k in of]
        for part in [np.concatenate(samples, axis=1)] if together else samples:
            placer.place(Packet(part, NOW_S + tick_s * tick))
    placer.close(ended=True)
    assert placer.rate_hz is not None
    assert abs(placer.rate_hz / rate_hz - 1) < (0.06 if loss else 0.01)
    assert placer.seen.missing <= (0.1 * 12 * rate_hz if loss else 0)


@settings(max_examples=draws(60), deadline=None)
@given(
    rate_hz=st.sampled_from([100.0, 125.0, 128.0, 200.0, 250.0, 256.0]), most=st.integers(1, 12),
    alone=st.integers(0, 300), loss=st.sampled_from([0.0, 0.005, 0.02]), seed=st.integers(0, 99),
)  # fmt: skip
def test_packets_of_unlike_sizes_with_times_show_their_rate_where_samples_are_missing(
    rate_hz: float, most: int, alone: int, loss: float, seed: int
) -> None:
    placer, rng, first = Placer(Description("x")), random.Random(seed), 0
    while first < 8 * rate_hz:
        size = 1 if first < alone else rng.randint(1, most)
        time_s = round(first / rate_hz, 3)
        placer.place(replace(packet(first, size, NOW_S + (first + size) / rate_hz), time_s=time_s))
        first += size + int(rng.random() < loss * size)
    placer.close(ended=True)
    assert placer.rate_hz is not None
    assert abs(placer.rate_hz / rate_hz - 1) < 0.005


@settings(max_examples=draws(40), deadline=None)
@given(
    rate_hz=RATES, off=st.sampled_from([0.98, 1.0, 1.024]), size=st.integers(5, 25),
    jitter_s=st.sampled_from([0.0, 0.002, 0.01]), loss=st.sampled_from([0.0, 0.02]), seed=st.integers(0, 99),
)  # fmt: skip
def test_a_stated_rate_that_is_a_little_wrong_is_said_and_a_right_one_is_not(
    rate_hz: float, off: float, size: int, jitter_s: float, loss: float, seed: int
) -> None:
    assume(off == 1.0 or (not loss and jitter_s < 0.01))
    notes: list[str] = []
    placer, rng = Placer(Description("x", rate_hz=rate_hz * off), notes.append), random.Random(seed)
    for k in range(max(round(50 * rate_hz / size), 5 * 64)):
        time_s = k * size / rate_hz + rng.uniform(0, jitter_s)
        if rng.random() >= loss:
            placer.place(replace(packet(k, size, NOW_S + time_s + size / rate_hz), time_s=time_s))
    said = [note for note in notes if "are stated: heart rates may be" in note]
    assert len(said) == (off != 1.0), notes
