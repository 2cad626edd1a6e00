"""Places of packets: drawn devices with known truth, and the cases that devices are known for."""

import dataclasses

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire_producers.devices.packets import Description, Packet
from beatwire_producers.devices.places import Placer
from device_packets import START_S, Device, outcome
from drawn_devices import KINDS, WARM, assert_true, devices
from draws import draws
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=draws(60), deadline=None)
@given(data=st.data())
def test_every_packet_of_a_drawn_device_has_its_true_place_once(kind: str, data: st.DataObject) -> None:
    assert_true(data.draw(devices(kind)))


@settings(max_examples=draws(40), deadline=None)
@given(device=devices("times"))
def test_the_time_of_a_packet_is_that_of_its_clock_within_the_jitter(device: Device) -> None:
    found = outcome(device)
    true_hz = device.rate_hz * (1 + device.ppm * 1e-6)
    number = {first: k for k, (_, first) in found.where.items()}
    for one in found.placed[WARM:]:
        since_s = (one.time_us - round(START_S * 1e6)) / 1e6  # a float of seconds since 1970 is too coarse
        true_s = number[one.first] * device.size / true_hz
        near_s = max(0.002, abs(device.ppm) * 1e-6 * 32 * device.size / device.rate_hz)  # a line through 16, some lost
        assert abs(since_s - true_s) <= 2.0 * device.clock_jitter_s + near_s + 0.5e-6  # times are whole microseconds


@settings(max_examples=draws(30), deadline=None)
@given(device=devices("count"), turn=st.sampled_from([256, 1000, 4096, 65536]), gone=st.integers(1, 60))
def test_a_count_that_turns_goes_on_even_over_holes_that_are_longer_than_a_turn(
    device: Device, turn: int, gone: int
) -> None:
    at = WARM + 10
    lost = device.lost | frozenset(range(at, min(at + gone, device.packets - 10)))
    assert_true(dataclasses.replace(device, turn=turn, lost=lost, doubled=device.doubled - lost))


@settings(max_examples=draws(30), deadline=None)
@given(device=devices("count"), at=st.integers(WARM + 1, WARM + 30), away_s=st.floats(0.0, 30.0))
def test_a_reconnection_is_a_new_session_only_if_the_count_begins_again(device: Device, at: int, away_s: float) -> None:
    away = frozenset(range(at, min(device.packets - 10, at + round(away_s * device.rate_hz / device.size))))
    device = dataclasses.replace(device, lost=device.lost | away, doubled=device.doubled - away - {at})
    assert outcome(device).placer.sessions == 1
    back = max([at, *away]) + 1
    assume(back < device.packets)
    found = outcome(dataclasses.replace(device, restart_at=back, doubled=frozenset(), stalls={}))
    assert found.placer.sessions == 2
    sessions = [one.session for one in found.placed]
    assert sorted(sessions) == sessions
    after = {k: first for k, (session, first) in found.where.items() if session == sessions[-1]}
    assert min(after) >= back
    assert all(first == (k - back) * device.size for k, first in after.items())


@settings(max_examples=draws(30), deadline=None)
@given(device=devices("times"))
def test_a_rate_that_nobody_states_is_measured(device: Device) -> None:
    device = dataclasses.replace(device, lost=frozenset(), doubled=frozenset(), stalls={}, clock_jitter_s=0.0)
    found = outcome(device, stated=False)
    true_hz = device.rate_hz * (1 + device.ppm * 1e-6)
    if abs(device.ppm) < 190:  # beyond 200 the times may tell that the rate is no usual one
        assert found.placer.rate_hz == device.rate_hz
    assert found.placer.rate_hz in (device.rate_hz, pytest.approx(true_hz, rel=2e-5))
    assert len(found.placed) == device.packets


def test_the_rate_of_a_device_without_a_clock_is_measured_from_arrivals() -> None:
    for rate_hz, size in ((250.0, 25), (130.0, 13), (500.0, 16), (256.0, 64)):
        device = Device(rate_hz, 30.0, size, 200, has_count=False, has_times=False, arrival_jitter_s=0.01)
        assert outcome(device, stated=False).placer.rate_hz == pytest.approx(rate_hz, rel=0.012)


def test_a_stated_rate_that_is_another_one_is_refused() -> None:
    device = Device(rate_hz=250.0, ppm=0.2e6, packets=600, has_count=False)
    with pytest.raises(UserError, match=r"bed-1: expected 250 samples a second, as stated; its times give 300"):
        outcome(device)


def test_packets_of_one_sample_keep_their_places() -> None:
    lost = frozenset({700, 701, 702, 1500})
    assert_true(Device(size=1, packets=2500, lost=lost, has_count=False, clock_jitter_s=0.0005))


def test_what_restarts_with_each_packet_is_no_count() -> None:
    device = Device(has_count=False)
    notes: list[str] = []
    placer = Placer(device.description(), notes.append)
    placed = []
    for _, packet in device.sent():
        placed += placer.place(dataclasses.replace(packet, count=0))
    placed += placer.close()
    assert notes[-1] == "its count does not rise: packets are placed by their times"
    assert len(placed) == device.packets
    last = [one for one in placed if one.session == placed[-1].session]
    assert [one.first for one in last] == [k * device.size for k in range(len(last))]


def test_a_packet_that_comes_after_the_next_one_fills_its_hole() -> None:
    for has_count in (True, False):
        device = Device(has_count=has_count)
        sent = [packet for _, packet in device.sent()]
        sent[50], sent[51] = (
            dataclasses.replace(sent[51], arrival_s=sent[50].arrival_s + 0.1),
            dataclasses.replace(sent[50], arrival_s=sent[51].arrival_s),
        )
        placer = Placer(device.description())
        placed = [one for packet in sent for one in placer.place(packet)] + placer.close()
        assert sorted(one.first for one in placed) == [k * 25 for k in range(100)]
        assert placer.seen.missing == 0


def test_packets_that_wait_are_placed_when_no_others_come() -> None:
    device = Device(has_count=False, packets=40)
    sent = [packet for _, packet in device.sent()]
    placer = Placer(device.description())
    placed = [one for packet in (*sent[:30], sent[35]) for one in placer.place(packet)]
    assert len(placed) == 30
    assert placer.idle(sent[35].arrival_s + 1.0) == []
    (late,) = placer.idle(sent[35].arrival_s + 2.5)
    assert late.first == 35 * 25


def test_equal_samples_without_a_clock_are_no_double() -> None:
    placer = Placer(Description("bed-1", rate_hz=250.0))
    flat = np.zeros((1, 25), np.int16)
    placed = [one for k in range(40) for one in placer.place(Packet(flat, START_S + k * 0.1))]
    assert [one.first for one in placed] == [k * 25 for k in range(40)]


@settings(max_examples=draws(30), deadline=None)
@given(by_s=st.floats(-7200, 7200), gap=st.integers(0, 20))
def test_a_clock_since_anything_that_is_set_changes_no_time_of_a_device_that_counts(by_s: float, gap: int) -> None:
    notes: list[str] = []
    placer, placed = Placer(Description("bed-1", rate_hz=250.0), notes.append), []
    for k in [*range(40), *range(40 + gap, 120)]:
        time_s = 7200.0 + k / 10 + by_s * (k >= 40)
        samples = np.arange(25 * k, 25 * (k + 1))[None]
        placed += placer.place(Packet(samples, START_S + (k + 1) / 10, time_s, 25 * k))
    assert [one.first for one in placed] == [25 * k for k in [*range(40), *range(40 + gap, 120)]]
    allowed_s = 0.1 + (abs(by_s) if abs(by_s) < 1.3 else 0.0)
    assert max(abs(one.time_us / 1e6 - START_S - one.first / 250) for one in placed) < allowed_s
    assert len(notes) <= 1
    assert notes or abs(by_s) < 1.3


@settings(max_examples=draws(40))
@given(late_s=st.floats(0, 0.08), lost=st.sampled_from([0, 50, 200]), seed=st.integers(0, 99))
def test_lines_that_a_busy_computer_reads_late_are_no_hole_and_lost_ones_are(
    late_s: float, lost: int, seed: int
) -> None:
    """Lines at 250 Hz without a count or clock: read each 20 ms or so, for 1.5 s later than before, then in time."""
    random, read, read_s = np.random.default_rng(seed), 0, 0.0
    placer, placed = Placer(Description("bed-1", ("ECG",), 250.0, 1.0)), []
    while read_s < 12.0:
        read_s += random.uniform(0.016, 0.024)
        until = int((read_s - (late_s if 5.0 < read_s < 6.5 else 0.0)) * 250.0)
        until -= lost if read_s > 8.0 else 0
        if until > read:
            samples = np.arange(read, until, dtype=np.int32)[None]
            placed += placer.place(Packet(samples, START_S + read_s, None, None, 0))
            read = until
    shifts = {one.first - int(one.packet.samples[0, 0]) for one in placed}
    assert shifts == {0} if not lost else (max(shifts) == pytest.approx(lost, abs=6) and len(shifts) == 2)


def test_stalls_of_the_network_are_no_other_rate() -> None:
    stalls = {20: 3.0, 21: 1.0, 94: 2.0, 127: 3.0}
    assert_true(Device(rate_hz=125.0, size=8, packets=254, stalls=stalls, has_times=False))


@settings(max_examples=draws(60), deadline=None)
@given(
    rate_hz=st.sampled_from([125.0, 200.0, 250.0, 500.0]),
    packet_s=st.sampled_from([0.04, 0.064, 0.104]),
    stall_s=st.floats(1.5, 3.0),
    after_s=st.floats(0.7, 3.0),
    lost=st.integers(1, 4),
    ppm=st.floats(-400, 400),
)
@example(rate_hz=250.0, packet_s=0.04, stall_s=2.0, after_s=1.68, lost=1, ppm=0.0)
def test_what_is_lost_soon_after_a_stall_is_a_hole_where_a_program_states_the_times(
    rate_hz: float, packet_s: float, stall_s: float, after_s: float, lost: int, ppm: float
) -> None:
    size = round(packet_s * rate_hz)
    at = WARM + round((stall_s + after_s) / packet_s)
    gone = frozenset(range(at, at + lost))
    stalls = {WARM: stall_s}
    assert_true(Device(rate_hz, ppm, size, at + 100, gone, stalls=stalls, is_stamped=True, has_count=False))


@settings(max_examples=draws(40))
@given(late=st.integers(1, 3), late_s=st.floats(0.06, 0.9), lost=st.integers(0, 5), after=st.integers(0, 12))
def test_packets_that_arrive_late_before_a_feed_ends_are_no_hole_and_lost_ones_that_others_show_are(
    late: int, late_s: float, lost: int, after: int
) -> None:
    """Packets of a tenth with arrivals alone: some are lost, more follow, the last ones come late; then the end."""
    device = Device(has_count=False, has_times=False, packets=60, lost=frozenset(range(40, 40 + lost)))
    sent = [(k, packet) for k, packet in device.sent() if k < 40 + lost + max(after, 8) + late]
    first_late = len(sent) - late
    sent[first_late:] = [
        (k, dataclasses.replace(packet, arrival_s=max(packet.arrival_s, sent[first_late][1].arrival_s + late_s)))
        for k, packet in sent[first_late:]
    ]
    placer = Placer(device.description())
    placed = [one for _, packet in sent for one in placer.place(packet)] + placer.close()
    assert [one.first for one in placed] == [25 * k for k, _ in sent]
    assert placer.seen.missing == 25 * lost
