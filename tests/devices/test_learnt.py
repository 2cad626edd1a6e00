"""What a stream's first packets show of its clock and its count: drawn devices with known truth, message by message."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pytest
from beatwire_producers.devices.chunks import Stream
from beatwire_producers.devices.learnt import Learning
from beatwire_producers.devices.mqtt_map import Decoder, parse_address
from beatwire_producers.devices.packets import Description, Packet
from beatwire_producers.devices.places import Placer
from beatwire_producers.devices.sources import Options
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

NOW_S = 1_790_000_000.0
PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
RATES = st.sampled_from([100.0, 125.0, 130.0, 250.0, 256.0, 500.0, 1000.0])


def messages(rate_hz: float, size: int, packets: list[int], fields: Iterator[dict[str, object]]) -> Iterator[Packet]:
    """Yield packets of messages of these numbers, one after the other, with other fields beside the samples."""
    decoder = Decoder(parse_address(f"mqtt://h/ecg/x?rate={rate_hz:g}"), Options())
    learning = Learning()
    for k, other in zip(packets, fields, strict=True):
        content = {"samples": [(7 * n) % 1001 for n in range(k * size, (k + 1) * size)], **other}
        yield from learning.add(decoder.packet("ecg/x", json.dumps(content).encode(), NOW_S + (k + 1) * size / rate_hz))


def places(packets: Iterator[Packet], rate_hz: float) -> tuple[dict[int, int], Placer]:
    """Return the place of each sample by its value of the first ones, and the placer."""
    notes: list[str] = []
    placer = Placer(Description("x", rate_hz=rate_hz), notes.append)
    placed = [one for packet in packets for one in placer.place(packet)] + placer.close()
    assert placer.sessions == 1, notes
    return {int(one.first): int(one.packet.samples[0, 0]) for one in placed}, placer


@settings(deadline=None, max_examples=draws(80))
@given(
    rate_hz=RATES, packet_s=st.sampled_from([0.04, 0.1, 0.2]), unit=st.sampled_from(sorted(PER_SECOND)),
    begin_s=st.sampled_from([0.0, 5.0, 97.0, 900.0, 1_795.0, 99_997.0, 864_000.0, 3e7, 9e8, NOW_S]),
    lost=st.lists(st.integers(1, 60), max_size=4, unique=True), at_first=st.integers(0, 60),
)  # fmt: skip
def test_times_since_anything_in_any_unit_place_what_comes(
    rate_hz: float, packet_s: float, unit: str, begin_s: float, lost: list[int], at_first: int
) -> None:
    size = round(packet_s * rate_hz)
    numbers = [k for k in range(120) if k not in lost and not 0 < k <= at_first]
    times = ({"time": round((begin_s + k * size / rate_hz) * PER_SECOND[unit], 4)} for k in numbers)
    found, _ = places(messages(rate_hz, size, numbers, times), rate_hz)
    assert found == {k * size: (7 * k * size) % 1001 for k in numbers}


@settings(deadline=None, max_examples=draws(60))
@given(
    rate_hz=RATES, packet_s=st.sampled_from([0.04, 0.1, 0.2]), unit=st.sampled_from(sorted(PER_SECOND)),
    begin_s=st.sampled_from([0.0, 5.0, 900.0, 3e7]), at_once=st.integers(2, 5),
    apart_ms=st.sampled_from([1.0, 2.0, 4.0]),
)  # fmt: skip
def test_the_unit_of_times_at_which_several_packets_were_sent_at_once_is_found(
    rate_hz: float, packet_s: float, unit: str, begin_s: float, at_once: int, apart_ms: float
) -> None:
    size, per_second = round(packet_s * rate_hz), PER_SECOND[unit]
    sent_s = [begin_s + (k // at_once + 1) * at_once * packet_s + k % at_once * apart_ms / 1000 for k in range(20)]
    fields: Iterator[dict[str, object]] = ({"time": round(s * per_second, 4)} for s in sent_s)
    found = [packet.time_s for packet in messages(rate_hz, size, list(range(20)), fields)]
    assert found == pytest.approx(sent_s, abs=1e-3)


@settings(deadline=None, max_examples=draws(80))
@given(
    rate_hz=RATES, size=st.integers(10, 80), kind=st.sampled_from(["samples", "packets"]),
    bits=st.sampled_from([8, 16, 32]), before=st.integers(0, 100), late=st.lists(st.integers(2, 110), max_size=3),
    lost=st.lists(st.integers(1, 110), max_size=4, unique=True), twice=st.booleans(),
)  # fmt: skip
def test_counts_of_samples_or_packets_that_turn_place_what_comes(
    rate_hz: float, size: int, kind: str, bits: int, before: int, late: list[int], lost: list[int], twice: bool
) -> None:
    bits = max(bits, 16) if kind == "samples" else bits
    numbers = [k for k in range(120) if k not in lost]
    for at in late:  # a packet that comes after the next one
        at = min(at, len(numbers) - 2)
        numbers[at : at + 2] = sorted(numbers[at : at + 2], reverse=True)
    sent = [k for k in numbers for _ in range(1 + (twice and k % 7 == 3))]
    per = size if kind == "samples" else 1
    counts = ({"count": (2**bits + (k - before) * per) % 2**bits} for k in sent)
    found, placer = places(messages(rate_hz, size, sent, counts), rate_hz)
    zero = min(found)
    assert {at - zero: value for at, value in found.items()} == {k * size: (7 * k * size) % 1001 for k in numbers}
    assert placer.doubled == len(sent) - len(numbers)


@settings(deadline=None, max_examples=draws(40))
@given(
    sizes=st.lists(st.integers(2, 60), min_size=20, max_size=60), kind=st.sampled_from(["samples", "packets"]),
    stuck=st.sampled_from([None, 5.0, 1e3 * NOW_S]), first=st.integers(0, 9),
)  # fmt: skip
def test_counts_of_packets_that_differ_in_size_place_them_with_a_clock_that_does_not_run_as_well(
    sizes: list[int], kind: str, stuck: float | None, first: int
) -> None:
    begins = [sum(sizes[:k]) for k in range(len(sizes))]
    decoder, learning, packets = Decoder(parse_address("mqtt://h/ecg/x?rate=250"), Options()), Learning(), []
    for k, (begin, size) in enumerate(zip(begins, sizes, strict=True)):
        content = {"samples": [*range(begin, begin + size)], "count": begin if kind == "samples" else first + k}
        content |= {} if stuck is None else {"time": stuck}
        packets += learning.add(decoder.packet("ecg/x", json.dumps(content).encode(), NOW_S + (begin + size) / 250))
    found, _ = places(iter(packets), 250.0)
    zero = min(found)
    assert {at - zero: value for at, value in found.items()} == {begin: begin for begin in begins}


@pytest.mark.parametrize("time", [NOW_S, NOW_S * 1e3, NOW_S * 1e9, "2026-09-21T14:13:20Z"])
def test_a_message_alone_that_states_the_present_time_is_passed_on_at_once(time: float | str) -> None:
    content = json.dumps({"samples": [1, 2, 3], "time": time}).encode()
    (packet,) = Learning().add(Decoder(parse_address("mqtt://h/x?rate=250"), Options()).packet("x", content, NOW_S + 5))
    assert packet.time_s == pytest.approx(NOW_S)
    assert packet.described is not None
    assert packet.described.is_epoch


def test_packets_that_others_are_waited_for_with_come_after_a_while_or_at_the_end() -> None:
    learning, decoder = Learning(), Decoder(parse_address("mqtt://h/x?rate=250"), Options())

    def add(k: int) -> list[Packet]:
        content = {"samples": [k, k + 1], "count": k, "time": 8 * k}
        return learning.add(decoder.packet("x", json.dumps(content).encode(), NOW_S + 0.008 * k))

    assert add(0) == []
    assert learning.rest(NOW_S - 60) == []
    assert [(one.count, one.time_s, int(one.samples[0, 0])) for one in learning.rest(NOW_S + 60)] == [(None, None, 0)]
    assert [add(k) for k in (1, 2)] == [[], []]
    assert [(one.count, one.time_s) for one in add(3)] == [(2, 0.008), (4, 0.016), (6, 0.024)]
    assert learning.rest() == []


@settings(deadline=None, max_examples=draws(40))
@given(rate_hz=RATES, size=st.integers(10, 40), lost=st.sets(st.integers(0, 99), max_size=5), twice=st.booleans())
def test_a_rate_is_measured_right_by_counts_and_arrivals_whatever_is_lost_or_comes_twice(
    rate_hz: float, size: int, lost: set[int], twice: bool
) -> None:
    notes: list[str] = []
    stream = Stream(Description("x", uv=1.0), notes.append)
    for k in range(round(6 * rate_hz / size)):
        if k not in lost:
            samples = (np.arange(size)[None] + k * size) % 997
            for _ in range(1 + twice):
                stream.add(Packet(samples, NOW_S + (k + 1) * size / rate_hz, count=k * size))
    assert notes[0].startswith(f"rate: {rate_hz:g} Hz, measured from")


@pytest.mark.parametrize(
    ("message", "time_s", "uv", "samples"),
    [
        ({"samples": [1.0, 2.0], "time": "2026-11-28T10:00:00Z", "unit": "uV"}, 1795860000.0, 1.0, 2),
        ({"samples": [1.0, 2.0], "time": "2026-11-28T12:00:00.5+02:00", "units": "millivolts"}, 1795860000.5, 1e3, 2),
        ({"samples": [1.0, 2.0], "time": "2026-11-28 10:00:00", "unit": ""}, 1795860000.0, None, 2),
        ({"samples": [1.0, 2.0], "time": "1795860000.25", "uv_per_unit": 5, "unit": "mV"}, 1795860000.25, 5.0, 2),
        ({"samples": 1.5}, None, None, 1),
        (-1.5, None, None, 1),
    ],
)
def test_times_as_text_units_and_single_numbers_are_read(
    message: object, time_s: float | None, uv: float | None, samples: int
) -> None:
    packet = Decoder(parse_address("mqtt://h/x"), Options()).packet("x", json.dumps(message).encode(), NOW_S)
    assert packet.described is not None
    assert (packet.time_s, packet.described.uv, packet.samples.shape) == (time_s, uv, (1, samples))


@pytest.mark.parametrize(
    ("off_s", "said"),
    [(0.0, ""), (-7200.0, "2 h behind"), (3600.0 * 5.5, "5.5 h ahead of"), (-26.7 * 365.25 * 86400, "27 years behind")],
)
def test_a_clock_that_is_far_from_that_of_this_machine_is_said(off_s: float, said: str) -> None:
    notes: list[str] = []
    placer = Placer(Description("x", rate_hz=250, is_epoch=True), notes.append)
    for k in range(5):
        arrival_s = NOW_S + 0.1 * (k + 1)
        placer.place(Packet(np.full((1, 25), k), arrival_s, time_s=arrival_s - 0.1 + off_s))
    assert [note for note in notes if "its clock is" in note] == [
        f"its clock is {said} that of this machine: so are the times of its beats"
    ] * bool(said)
    assert datetime.fromtimestamp(NOW_S, UTC).year == 2026
