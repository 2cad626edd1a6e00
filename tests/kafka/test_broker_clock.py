"""Silence by one clock: that of the broker, wherever the clock of this machine is."""

import json

import numpy as np
import pytest
from beatwire.kafka.consuming.batch import Part
from beatwire.kafka.reading import broker_clock
from beatwire.kafka.reading.broker_clock import BrokerClock
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.records import RawTick
from beatwire.records.feed import Watched
from beatwire.wire.avro import encode_chunk
from beatwire.wire.names import ALERTS
from hypothesis import given, settings
from hypothesis import strategies as st
from received import Received

BROKER_S = 1_700_000_000.0
SKEWS_S = (-86_400.0, -2.5, -0.6, 0.0, 0.6, 2.5, 86_400.0)


class Clock:
    """A machine whose clock is ahead of the broker's by so many seconds."""

    def __init__(self, ahead_s: float) -> None:
        self.s, self.ahead_s, self.set_by_s = 0.0, ahead_s, 0.0

    def monotonic(self) -> float:
        return 77.0 + self.s

    def time_ns(self) -> int:
        return round((BROKER_S + self.s + self.ahead_s) * 1e9)

    @property
    def broker_us(self) -> int:
        return round((BROKER_S + self.s + self.set_by_s) * 1e6)


def part(clock: Clock, *late_s: float) -> Part:
    arrival_us = np.array([clock.broker_us - round(s * 1e6) for s in late_s], np.int64)
    none = np.zeros(len(late_s), np.int64)
    return Part([], np.zeros(0, np.uint8), none, arrival_us, none.astype(np.int32), {}, polled_s=clock.monotonic())


def no_data(
    monkeypatch: pytest.MonkeyPatch, ahead_s: float, set_by_s: float = 0.0, set_at: int = 999
) -> list[tuple[str, str, float]]:
    """Monitor three beds for 20 s, of which one falls silent after 10 s; the broker's clock is set before a tick."""
    clock, broker = Clock(ahead_s), BrokerClock()
    monkeypatch.setattr(broker_clock, "time", clock)
    pipeline = Pipeline(Settings(detector="rule"))
    found = []
    for k in range(80):
        clock.s, clock.set_by_s = 0.25 * k, set_by_s if k >= set_at else 0.0
        beds = [0, 1, 2] if k < 40 else [0, 1]
        values = [
            encode_chunk(f"bed-{b}", 1, 62 * k, 4_000 * 62 * k, 250, ["II"], np.zeros(62, np.int16)) for b in beds
        ]
        polled = part(clock, *[0.01 * b for b in beds])
        broker.note([polled], caught_up=True)
        clock.s += 0.02
        watched_us = 1 + round(clock.s * 1e6)
        pipeline.watch_feed(Watched(watched_us, watched_us), broker.now_us())
        tick = RawTick.of(values, arrival_us=polled.arrival_us, now_us=broker.now_us())
        for out in pipeline.emit(tick, Received(values), None):
            if out.topic == ALERTS:
                alerts = [json.loads(content) for content in out.values]
                found += [(a["stream"], a["state"], 0.25 * k) for a in alerts if a["rule"] == "no data"]
    return found


@pytest.mark.parametrize("ahead_s", SKEWS_S)
def test_no_bed_is_silent_because_the_clock_of_the_monitor_is_another_one(
    monkeypatch: pytest.MonkeyPatch, ahead_s: float
) -> None:
    assert no_data(monkeypatch, ahead_s) == [("bed-2", "on", 12.0)]


@pytest.mark.parametrize(
    ("set_by_s", "set_at"),
    [(-86_400.0, 40), (-3.0, 39), (-1.6, 41), (-0.4, 40), (1.9, 10), (2.0, 39), (1.8, 43), (2.1, 60), (50.0, 20)],
)
def test_a_clock_of_the_broker_that_is_set_gives_no_false_alarm_and_delays_no_right_one(
    monkeypatch: pytest.MonkeyPatch, set_by_s: float, set_at: int
) -> None:
    ((bed, state, at_s),) = no_data(monkeypatch, 0.0, set_by_s, set_at)
    assert (bed, state) == ("bed-2", "on")
    assert at_s == 12.0


@given(ahead_s=st.floats(-1e5, 1e5), waits_s=st.lists(st.floats(0.0, 3.0), min_size=1, max_size=20))
@settings(deadline=None)
def test_the_time_is_late_by_the_last_poll_at_most_and_never_early(ahead_s: float, waits_s: list[float]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        clock, broker = Clock(ahead_s), BrokerClock()
        patch.setattr(broker_clock, "time", clock)
        for wait_s in waits_s:
            clock.s += wait_s
            broker.note([part(clock, 0.2, wait_s / 10)], caught_up=False)
            late_us = min(0.2, wait_s / 10) * 1e6
            for _ in range(3):
                assert -2 <= clock.broker_us - broker.now_us() - late_us <= 2
                clock.s += 0.7
                broker.note([], caught_up=True)


@pytest.mark.parametrize("ahead_s", SKEWS_S)
def test_the_difference_of_the_clocks_is_found_soon_and_small_ones_are_none(
    monkeypatch: pytest.MonkeyPatch, ahead_s: float
) -> None:
    clock, broker = Clock(ahead_s), BrokerClock()
    monkeypatch.setattr(broker_clock, "time", clock)
    for k in range(60):
        clock.s = 0.25 * k
        polled = part(clock, 0.01)
        clock.s += 1.0 if k == 7 else 0.01  # a poll that was late
        broker.note([polled], caught_up=True)
        if k == 20:
            assert broker.ahead_s == pytest.approx(ahead_s if abs(ahead_s) > 0.5 else 0.0, abs=0.05)


@given(
    ages_s=st.lists(st.floats(1.0, 1e5), min_size=1, max_size=8), polls=st.lists(st.booleans(), min_size=8, max_size=8)
)
@settings(deadline=None)
def test_the_end_of_a_backlog_of_a_feed_that_has_failed_says_nothing_about_the_clocks(
    ages_s: list[float], polls: list[bool]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        clock, broker = Clock(0.0), BrokerClock()
        patch.setattr(broker_clock, "time", clock)
        for age_s in sorted(ages_s, reverse=True):
            clock.s += 3.0
            broker.note([part(clock, age_s)], caught_up=age_s == min(ages_s))
        for caught_up in polls:
            clock.s += 3.0
            broker.note([], caught_up=caught_up)
            assert broker.ahead_s == 0.0
        for _ in range(8):  # the feed is back
            clock.s += 3.0
            broker.note([part(clock, 0.01)], caught_up=True)
            assert broker.ahead_s == 0.0


def test_before_any_message_the_clock_of_this_machine_is_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_clock, "time", Clock(3.0))
    assert BrokerClock().now_us() == round((BROKER_S + 3.0) * 1e6)
