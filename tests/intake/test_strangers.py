"""Two devices that send one session, of which one is not used: it counts elsewhere, or says other things."""

import random

import pytest
from announced import play
from beatwire.records import RawTick
from conflicts import OTHER, RULE, Sent, in_order, sent_by, transitions
from draws import draws
from hostile_senders import RATE_HZ, SECOND_US, Device, heart
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import START_US, run_with_successors, transitions_by_stream

COUNT = 200 * RATE_HZ  # of the first device at the start
BEGINS_S = 20.0  # of the second one


def other(size: int, seconds: float, elsewhere_s: float, **said: object) -> Sent:
    """Return the messages of a second device, whose count is elsewhere."""
    first = COUNT + round((BEGINS_S + elsewhere_s) * RATE_HZ)
    device, sent = Device("bed", 1, first=first), Sent()
    for at in range(0, round(seconds * RATE_HZ) - size + 1, size):
        arrives_us = START_US + round(BEGINS_S * SECOND_US) + (at + size) * SECOND_US // RATE_HZ
        sent.append((arrives_us, "bed", device.chunk(heart(1, at + OTHER, size), **said)))
    return sent


@settings(max_examples=draws(6), deadline=None)
@given(
    st.one_of(st.floats(12.0, 150.0), st.floats(-150.0, -25.0)), st.sampled_from([25, 50, 125, 250]),
    st.sampled_from([25, 50, 125, 250, 2500]),
)  # fmt: skip
@example(59.0, 50, 50)
@example(-70.0, 50, 50)
@example(71.0, 25, 2500)
def test_a_device_that_counts_elsewhere_is_announced_within_seconds(elsewhere_s: float, size: int, rival: int) -> None:
    long_s = 30.0 + 4 * rival / RATE_HZ
    sent = in_order(sent_by(COUNT, size, 0.0, BEGINS_S + long_s, 0), other(rival, long_s, elsewhere_s))
    found = transitions(sent)
    assert found[0][0] == "on", found
    least_s = 4 * max(2.0, rival / RATE_HZ)
    arrived_s = BEGINS_S + least_s + 4 * rival / RATE_HZ + 4.0
    ahead_s = max(0.0, elsewhere_s)  # of the device that is analysed then: the time of the alert is its own
    assert BEGINS_S <= found[0][1] - COUNT / RATE_HZ <= arrived_s + ahead_s
    assert transitions(sent, longest_s=3.0, seed=2) == found


@pytest.mark.parametrize("said", [{"uv_per_unit": 2.5}, {"leads": ["V1"]}], ids=["scale", "lead"])
def test_a_device_that_says_other_things_is_announced_until_it_is_gone(said: dict[str, object]) -> None:
    sent = in_order(sent_by(COUNT, 50, 0.0, 95.0, 0), other(50, 20.0, -3.0, **said))
    (on, on_s), (off, off_s) = transitions(sent)
    assert (on, off) == ("on", "off")
    assert BEGINS_S + 6.0 <= on_s - COUNT / RATE_HZ <= BEGINS_S + 10.0
    assert off_s - COUNT / RATE_HZ <= BEGINS_S + 20.0 + 32.0


@settings(max_examples=draws(8), deadline=None)
@given(
    st.randoms(use_true_random=False), st.sampled_from([0.02, 0.1, 0.4]), st.floats(0.5, 58.0),
    st.sampled_from(["late", "twice", "scale", "at once"]),
)  # fmt: skip
def test_a_device_whose_chunks_come_late_or_do_not_fit_at_times_is_one(
    rng: random.Random, chance: float, late_s: float, kind: str
) -> None:
    device, sent = Device("bed", 1), Sent()
    for at in range(0, 70 * RATE_HZ, 50):
        said = {"uv_per_unit": 2.5} if kind == "scale" and rng.random() < chance else {}
        value = device.chunk(heart(1, at, 50), **said)
        arrives_us = START_US + (at + 50) * SECOND_US // RATE_HZ
        late_us = round(late_s * SECOND_US)
        if kind == "twice":
            sent.append((arrives_us + late_us, "bed", value))
        elif kind == "at once" and 10.0 <= at / RATE_HZ < 30.0:  # stored, and sent behind what came since
            arrives_us = START_US + 40 * SECOND_US + at * SECOND_US // RATE_HZ // 10
        elif kind == "late" and rng.random() < chance:
            arrives_us += late_us
        sent.append((arrives_us, "bed", value))
    assert transitions(in_order(sent)) == []


def test_what_does_not_fit_is_no_second_device_once_the_first_has_stopped() -> None:
    before, changed = sent_by(COUNT, 50, 0.0, 20.0, 0), other(50, 30.0, 0.0, uv_per_unit=2.5)
    sent = in_order(before, changed)
    ends = [START_US + k * SECOND_US // 2 for k in range(101)]
    alerts = play(sent, ends).run.alerts
    assert RULE not in {a["rule"] for a in alerts}
    assert "no data" in {a["rule"] for a in alerts}


@settings(max_examples=draws(8), deadline=None)
@given(st.floats(8.5, 40.0), st.sampled_from([25, 50, 250]), st.sampled_from([1.0, 2.5]))
def test_a_device_that_counts_anew_before_it_changes_its_session_is_one(
    refused_s: float, size: int, scale: float
) -> None:
    sent = sent_by(COUNT, 50, 0.0, 100.0, 0)
    began_us = START_US + 100 * SECOND_US
    for session, begin, end in ((1, 0, round(refused_s * RATE_HZ)), (2, round(refused_s * RATE_HZ), 60 * RATE_HZ)):
        device = Device("bed", 1, session)
        for at in range(begin, end, size):
            arrives_us = began_us + (at + size) * SECOND_US // RATE_HZ
            value = device.chunk(heart(1, at, size), uv_per_unit=5.0 * scale if session == 1 else 5.0)
            sent.append((arrives_us, "bed", value))
    assert transitions(in_order(sent)) == []


@pytest.mark.parametrize("elsewhere_s", [70.0, -70.0])
def test_a_successor_finds_the_same_stranger(elsewhere_s: float) -> None:
    sent = in_order(sent_by(COUNT, 50, 0.0, 100.0, 0), other(50, 40.0, elsewhere_s))
    ticks = list[RawTick]()
    for k in range(205):
        end_us = START_US + k * SECOND_US // 2
        came = [(at, value) for at, _, value in sent if end_us - SECOND_US // 2 < at <= end_us]
        ticks.append(RawTick.of([v for _, v in came], now_us=end_us, arrival_us=[at for at, _ in came]))
    whole = run_with_successors(ticks, [])
    assert RULE in {a["rule"] for a in whole.alerts}
    handed_over = run_with_successors(ticks, [2 * at for at in (23, 28, 40, 66)])
    assert transitions_by_stream(handed_over) == transitions_by_stream(whole)
