"""Marks: the tick from which a successor must replay, per partition."""

import math

import numpy as np
import pytest
from beatwire.alerts.rules import NUMBERS, RULES
from beatwire.kernels.alerts.unjudged import LIVING_FOR_US
from beatwire.kernels.intake.senders import GAP_US, TURN_US
from beatwire.pipeline import rewind
from beatwire.pipeline.rewind import OUTLASTS_US, STEP_S, TIME_STEPS, Marks, TimeMarks
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from marked import HORIZON_S, LONG_S, SILENCE_S, START_US, Reading


def test_what_outlasts_a_restart_is_replayed_for_as_long_as_it_is_remembered() -> None:
    arrival_us, active_us = OUTLASTS_US
    assert arrival_us >= 3 * TURN_US, "a session, and two returns of it"
    longest_s = max(RULES[NUMBERS[key]].limit.most for key in ("cannot analyse", "cannot analyse, high"))
    assert active_us >= max(longest_s * 1e6, LIVING_FOR_US) + 2 * GAP_US, "and two marks"


@pytest.mark.parametrize("tick_s", [0.5, 1.0, 3.0, 7.0, 25.0])
def test_the_replay_begins_one_horizon_before_now_or_a_little_earlier(tick_s: float) -> None:
    reading, step_s = Reading(), math.ceil(STEP_S / tick_s) * tick_s
    for k in range(round(200 / tick_s)):
        reading.read(("bed", k * tick_s, (k + 1) * tick_s))
        now_s = (k + 1) * tick_s
        back_s = now_s - reading.oldest() * tick_s
        assert back_s >= min(now_s, HORIZON_S)
        assert back_s <= HORIZON_S + 2 * step_s + tick_s


@pytest.mark.parametrize("caught_up", [True, False])
def test_a_clock_of_the_broker_that_is_set_back_takes_no_replay_away(caught_up: bool) -> None:
    reading = Reading()
    reading.now_s = 5000.0
    for k in range(100):
        if k == 90:
            reading.now_s -= 3600.0
        reading.read(("bed", k, k + 1), caught_up=caught_up)
        reading.read(("other", k, k + 1), partition=1, caught_up=caught_up)
    reading.read()
    assert max(reading.oldest(0), reading.oldest(1)) <= 2 * (100 - HORIZON_S)


def test_of_what_was_before_a_restart_only_what_outlasts_it_is_replayed_and_only_while_it_is_recent() -> None:
    reading = Reading()
    arrival_s, active_s = OUTLASTS_US / 1e6
    for k in range(200):
        reading.read(("bed", k, k + 1))
    for k in range(200):
        reading.read(("bed", k, k + 1), session=2)
        now = reading.tick + 1
        if k < active_s:
            step_s = arrival_s / TIME_STEPS
            assert now - arrival_s - 2 * step_s - 1 <= reading.oldest() <= now - arrival_s
        if k > arrival_s:
            assert reading.oldest() >= 200


@pytest.mark.parametrize("first", [0, 90, 5000])
def test_a_session_is_replayed_from_its_beginning_until_the_horizon_has_passed_wherever_it_counts_from(
    first: int,
) -> None:
    reading = Reading()
    reading.marks = Marks(LONG_S, SILENCE_S)  # longer than what outlasts a restart
    for k in range(100):
        reading.read(("bed", k, k + 1))
    for k in range(200):
        reading.read(("bed", first + k, first + k + 1), session=2)
        back_s = reading.tick + 1 - reading.oldest()
        assert min(k + 1, LONG_S) <= back_s <= max(k + 1, LONG_S + 2 * STEP_S + 1, OUTLASTS_US[0] / 1e6 + 21)


def test_a_stream_that_restarts_all_the_time_is_replayed_for_as_long_as_what_outlasts_restarts() -> None:
    reading = Reading()
    arrival_s, _ = OUTLASTS_US / 1e6
    for k in range(300):
        reading.read(("bed", k % 5, k % 5 + 1), session=k // 5)
        back_s = k + 1 - reading.oldest()
        assert min(k + 1, arrival_s) <= back_s <= arrival_s + 2 * arrival_s / TIME_STEPS + 1


def test_what_outlasts_a_restart_is_replayed_for_its_active_time_however_slowly_that_passes() -> None:
    reading = Reading()
    for k in range(100):
        reading.read(("bed", k, k + 1))
    for k in range(30):  # two seconds of active time each
        reading.now_s += 19.0
        reading.read(("bed", k, k + 1), session=2)
        assert reading.oldest() < 100 - OUTLASTS_US[1] / 2e6 + k


def test_ticks_without_end_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = Reading(), Reading()
    for k in range(420):
        parts = [("bed", k, k + 1), ("restarts", k % 50, k % 50 + 1)] + [("pauses", k, k + 1)] * (k // 90 % 2 == 0)
        found = []
        for reading, most in ((few, 1 << 30), (many, 130)):
            monkeypatch.setattr(rewind, "MOST_TICKS", most)
            reading.read(*parts, sessions=(1, k // 50, 1)[: len(parts)])
            found.append((reading.oldest(), reading.oldest(1)))
        assert found[0] == found[1]
    assert (few.marks.origin, many.marks.origin) == (0, 390)


def test_nothing_before_a_silence_is_replayed() -> None:
    reading = Reading()
    for k in range(50):
        reading.read(("bed", k, k + 1), session=k // 10)
    reading.now_s += 200.0
    for k in range(10):
        reading.read(("bed", k, k + 1), session=9)
        assert reading.oldest() == 50


def test_a_session_that_begins_within_a_long_tick_is_replayed_from_that_tick() -> None:
    reading = Reading()
    reading.read(("bed", 0, 80))
    reading.read(("bed", 80, 160), ("bed", 0, 81), sessions=(1, 2))
    assert reading.oldest() == 1
    reading.read(("bed", 81, 82), session=2)
    assert reading.oldest() == 1


def test_a_partition_is_replayed_from_the_oldest_mark_of_its_own_streams() -> None:
    reading = Reading()
    for k in range(80):
        reading.read(("old", k, k + 1), partition=3)
        if k == 50:
            reading.read(("young", k, k + 1), partition=4)
        if k > 50:
            reading.read(("young", k, k + 1), partition=4)
    assert reading.oldest(4) == 51
    assert 5 <= reading.oldest(3) < 25
    assert reading.oldest(5) == reading.tick + 1


def test_a_stream_that_has_been_silent_needs_no_replay() -> None:
    reading = Reading()
    reading.read(("silent", 0, 5), partition=1)  # arrived at second 5
    for k in range(5, 36):
        reading.read(("bed", k, k + 1), partition=2)
        assert reading.oldest(1) == (0 if k + 1 - 5 <= SILENCE_S else reading.tick + 1), k


def test_a_partition_that_is_read_later_than_another_is_not_silent() -> None:
    reading = Reading()
    reading.read(("late", 0, 5), partition=1, caught_up=False)
    reading.read(("bed", 5, 105), partition=2, caught_up=False)
    assert reading.oldest(1) == 0
    reading.read(("bed", 105, 106), partition=2, unread=(1,))  # partition 1 waits for the schema registry
    assert reading.oldest(1) == 0
    reading.read(("bed", 106, 107), partition=2)
    assert reading.oldest(1) == reading.tick + 1


def test_ticks_without_messages_leave_the_marks_as_they_are() -> None:
    reading = Reading()
    reading.read(("bed", 0, 30))
    before = reading.oldest()
    reading.read()
    assert (before, reading.oldest()) == (0, 0)


def test_streams_that_appear_later_get_rows_of_their_own() -> None:
    reading = Reading()
    for k in range(10):
        reading.read(*[(f"bed-{s}", k, k + 1) for s in range(10 * k, 10 * k + 10)])
    assert reading.oldest() == 0
    assert reading.marks.ticks[:100, 0].tolist() == [s // 10 for s in range(100)]


PAUSES_US = st.sampled_from([-1_000_000, 0, 10_000_000, 31_000_000, 70_000_000, 3_000_000_000, 1 << 45])


@settings(max_examples=draws(60), deadline=None)
@given(pauses=st.lists(st.tuples(PAUSES_US, PAUSES_US), min_size=1, max_size=30))
def test_the_ages_of_marks_are_those_of_their_times_however_long_a_pause_is(pauses: list[tuple[int, int]]) -> None:
    marks, now = TimeMarks(), np.array([START_US, 5_000_000])
    marks.grow(1, 0)
    marks.newest_us[0], marks.ages_us[0] = now, 0
    ticks, times = [0] * (TIME_STEPS + 1), [now] * (TIME_STEPS + 1)
    for tick, pause in enumerate(pauses, 1):
        now = now + np.array(pause)
        marks.now_us[0] = now
        marks.add(np.array([0]), tick)
        ticks, times = [*ticks[1:], tick], [*times[1:], now]
        last = max((k for k, at in enumerate(times) if (now - at >= OUTLASTS_US).all()), default=0)
        ticks, times = (
            [ticks[max(k, last)] for k in range(len(ticks))],
            [times[max(k, last)] for k in range(len(ticks))],
        )
        assert marks.ticks[0].tolist() == ticks
