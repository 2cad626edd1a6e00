"""Two devices that send one session: what comes of a sample is not what came of it before."""

import random

import pytest
from announced import play
from conflicts import OTHER, RULE, Sent, in_order, sent_by, transitions
from draws import draws
from hostile_senders import RATE_HZ, SECOND_US, Device, heart
from hypothesis import example, given, settings
from hypothesis import strategies as st
from laws import START_US, Run, assert_equal, run_graph, run_with_successors, transitions_by_stream


@settings(max_examples=draws(8), deadline=None)
@given(
    st.floats(0.0, 40.0), st.integers(0, 5_000), st.sampled_from([25, 50, 125, 250]),
    st.sampled_from([25, 50, 125, 250]), st.integers(0, 99),
)  # fmt: skip
@example(0.0, 0, 50, 50, 1)
@example(30.0, 0, 50, 50, 1)
@example(0.0, 1_000, 50, 50, 1)
def test_a_second_device_in_the_session_is_announced_until_it_is_gone(
    begins_s: float, first: int, size: int, other: int, seed: int
) -> None:
    """The other one has begun later, or counts from elsewhere: it says something of the same samples."""
    behind_s = begins_s - first / RATE_HZ
    one = sent_by(0, size, 0.0, begins_s + 80.0, 0)
    sent = in_order(one, sent_by(first, other, begins_s, 25.0, OTHER))
    found = transitions(sent, seed=seed)
    assert [state for state, _ in found] == ["on", "off"], found
    on_s, off_s = (at for _, at in found)
    ahead_s = max(0.0, -behind_s)  # by which the other one counts: only what both have sent can differ
    assert begins_s + 2.0 <= on_s <= begins_s + min(2 * ahead_s + 9.0, ahead_s + 12.0)
    assert off_s <= begins_s + max(25.0, 2 * ahead_s) + 42.0
    assert transitions(sent, longest_s=3.0, seed=seed + 1) == found


@settings(max_examples=draws(8), deadline=None)
@given(st.randoms(use_true_random=False), st.floats(0.0, 50.0), st.integers(1, 300))
def test_what_is_sent_again_is_no_second_device(rng: random.Random, late_s: float, size: int) -> None:
    device, sent = Device("bed", 1), Sent()
    for at in range(0, 60 * RATE_HZ, 50):
        value = device.chunk(heart(1, at, 50))
        arrives_us = START_US + (at + 50) * SECOND_US // RATE_HZ
        sent += [(arrives_us, "bed", value)] * rng.choice([1, 1, 2])
        if rng.random() < 0.3:  # again, in other pieces
            again = Device("bed", 1, first=max(0, at - size))
            value = again.chunk(heart(1, again.first, size))
            sent.append((arrives_us + round(late_s * SECOND_US), "bed", value))
    assert transitions(in_order(sent)) == []


def test_samples_that_are_corrected_now_and_then_are_no_second_device() -> None:
    device, sent = Device("bed", 1), Sent()
    for at in range(0, 60 * RATE_HZ, 50):
        arrives_us = START_US + (at + 50) * SECOND_US // RATE_HZ
        sent.append((arrives_us, "bed", device.chunk(heart(1, at, 50))))
        if at % (8 * RATE_HZ) < 2 * RATE_HZ:  # two of eight seconds come again, with other values
            sent.append((arrives_us, "bed", Device("bed", 1, first=at).chunk(heart(1, at, 50) + 9)))
    assert transitions(sent) == []


def test_of_two_devices_the_first_is_analysed() -> None:
    sent = in_order(sent_by(0, 50, 0.0, 60.0, 0), sent_by(0, 50, 2.0, 58.0, OTHER))
    ends = [START_US + k * SECOND_US // 2 for k in range(122)]
    both, alone = play(sent, ends).run, play(sent_by(0, 50, 0.0, 60.0, 0), ends).run
    assert_equal(Run(both.beats), Run(alone.beats))
    assert {a["rule"] for a in both.alerts} - {a["rule"] for a in alone.alerts} == {RULE}


@pytest.mark.parametrize("takeover_s", [[33.0], [36.0, 41.0, 70.0]])
def test_a_successor_finds_the_same_conflict(takeover_s: list[float]) -> None:
    sent = in_order(sent_by(0, 50, 0.0, 100.0, 0), sent_by(0, 50, 30.0, 20.0, OTHER))
    ticks: list[list[bytes]] = [[] for _ in range(205)]
    for arrives_us, _, value in sent:
        ticks[2 * (arrives_us - START_US) // SECOND_US].append(value)
    whole = run_graph(ticks, published=True)
    handed_over = run_with_successors(ticks, [round(2 * at) for at in takeover_s])
    assert next(a["state"] for a in whole.alerts if a["rule"] == RULE) == "on"
    assert transitions_by_stream(handed_over) == transitions_by_stream(whole)
