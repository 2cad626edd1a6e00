"""Places of packets by a clock that is set, or that others overtake."""

import dataclasses
import itertools

from beatwire_producers.devices.places import Placer
from device_packets import Device, outcome
from drawn_devices import WARM, assert_true, devices
from draws import draws
from hypothesis import example, given, settings
from hypothesis import strategies as st


@settings(max_examples=draws(40), deadline=None)
@given(
    device=devices("times"),
    by_s=st.one_of(st.floats(-86400, -0.5), st.floats(0.5, 86400)),
    at=st.integers(WARM, WARM + 10),
)
@example(device=Device(has_count=False), by_s=-3600.0, at=40)
@example(device=Device(has_count=False), by_s=3600.0, at=40)
def test_a_clock_that_is_set_is_no_hole_and_no_session(device: Device, by_s: float, at: int) -> None:
    near = range(at - 6, at + 10)
    stalls = {k: s for k, s in device.stalls.items() if k > at + 10}
    device = dataclasses.replace(
        device,
        set_at=at,
        set_by_s=by_s,
        lost=device.lost - set(near),
        doubled=device.doubled - set(near),
        stalls=stalls,
    )
    assert_true(device)
    assert any("clock was set" in note or "a new day began" in note for note in outcome(device).notes)


@settings(max_examples=draws(40), deadline=None)
@given(
    device=devices("times"),
    by_s=st.one_of(st.floats(-86400, -0.5), st.floats(0.5, 86400)),
    at=st.integers(WARM + 13, WARM + 20),
    before=st.integers(2, 12),
    lost=st.integers(1, 3),
)
@example(device=Device(rate_hz=200.0, size=8, has_count=False), by_s=-1.0, at=27, before=6, lost=1)
def test_what_is_lost_shortly_before_a_clock_is_set_leaves_its_hole(
    device: Device, by_s: float, at: int, before: int, lost: int
) -> None:
    near = set(range(at - 13, at + 10))
    device = dataclasses.replace(
        device,
        set_at=at,
        set_by_s=by_s,
        lost=device.lost - near | {at - before - k for k in range(1, lost + 1)},
        doubled=device.doubled - near,
        stalls={k: s for k, s in device.stalls.items() if k > at + 10},
    )
    assert_true(device)


@settings(max_examples=draws(40), deadline=None)
@given(device=devices("times"), late=st.dictionaries(st.integers(WARM, 60), st.integers(1, 12), max_size=3))
@example(device=Device(has_count=False), late={40: 3})
def test_a_packet_that_others_overtake_is_at_its_place(device: Device, late: dict[int, int]) -> None:
    device = dataclasses.replace(device, lost=frozenset(), doubled=frozenset(), stalls={}, packets=100)
    sent = sorted(device.sent(), key=lambda pair: pair[0] + late.get(pair[0], 0) + 0.5 * (pair[0] in late))
    arrivals = itertools.accumulate((packet.arrival_s for _, packet in sent), max)
    placer = Placer(device.description())
    placed = [
        one
        for (_, packet), arrival_s in zip(sent, arrivals, strict=True)
        for one in placer.place(dataclasses.replace(packet, arrival_s=arrival_s))
    ]
    placed += placer.close()
    number = {packet.samples.tobytes(): k for k, packet in sent}
    where = sorted((number[one.packet.samples.tobytes()], one.first) for one in placed)
    assert where == [(k, k * device.size) for k in range(device.packets)]
