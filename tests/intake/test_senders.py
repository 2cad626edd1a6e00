"""Conflicting senders: sessions of one stream id that take turns, in any order, chunks and ticks."""

import pytest
from bedside import Ward, device_chunk
from conflicts import RULE, transitions
from draws import draws
from hostile_senders import RATE_HZ, SECOND_US, Device, heart
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import START_US


def sent_by(devices: list[Device], sizes: list[int], seconds: float) -> list[tuple[int, str, bytes]]:
    """Return the messages of devices that send chunks of a size each, in order of arrival."""
    sent = list[tuple[int, str, bytes]]()
    for device, size in zip(devices, sizes, strict=True):
        sent += [
            (START_US + (at + size) * SECOND_US // RATE_HZ, device.name, device.chunk(heart(1, at, size)))
            for at in range(0, round(seconds * RATE_HZ) - size + 1, size)
        ]
    return sorted(sent, key=lambda one: one[0])


@pytest.mark.parametrize("sizes", [[50, 50], [50, 50, 50], [50, 1250], [700, 130, 25]])
def test_devices_with_one_id_are_announced_once_in_any_cut_until_one_of_them_has_sent_alone_for_half_a_minute(
    sizes: list[int],
) -> None:
    devices = [Device("bed", 1, session=10 + k) for k in range(len(sizes))]
    together = sent_by(devices, sizes, 20.0)
    alone = [
        (together[-1][0] + (k + 1) * 50 * SECOND_US // RATE_HZ, "bed", devices[0].chunk(heart(1, 50 * k, 50)))
        for k in range(round(35.0 * RATE_HZ / 50))
    ]
    found = transitions(together + alone)
    assert [state for state, _ in found] == ["on", "off"]
    assert transitions(together + alone, longest_s=3.0, seed=2) == found


@pytest.mark.parametrize("each", [1, 10])
def test_a_device_that_only_begins_new_sessions_is_in_no_conflict(each: int) -> None:
    device, sent = Device("bed", 1), []
    for k in range(100):
        device.session, device.first = 1 + k // each, device.first if k % each else 0
        sent.append((START_US + (k + 1) * 50 * SECOND_US // RATE_HZ, "bed", device.chunk(heart(1, 50 * k, 50))))
    assert transitions(sent) == []


@settings(max_examples=draws(20), deadline=None)
@given(turns=st.integers(6, 13), back_s=st.one_of(st.integers(0, 120), st.integers(0, 90_000)))
@example(turns=13, back_s=3600)
def test_a_conflict_is_over_half_a_minute_after_the_last_turn_also_if_the_clock_is_set_back(
    turns: int, back_s: int
) -> None:
    ward, count, at_us = Ward(), {1: 0, 2: 0}, 100_000 * SECOND_US

    def sent(session: int) -> list[str]:
        ward.tick(device_chunk(count[session], 50, session=session, arrival_us=at_us))
        count[session] += 50
        return [a["state"] for a in ward.published if a["rule"] == RULE]

    found = []
    for k in range(turns):
        found += sent(1 + k % 2)
        at_us += SECOND_US // 2
    assert found == ["on"]
    at_us -= back_s * SECOND_US
    states = []
    for _ in range(130):
        states += sent(1)
        at_us += SECOND_US // 2
    assert states == ["off"]
