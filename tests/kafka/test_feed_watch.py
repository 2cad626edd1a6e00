"""The watch over the feed, on a stand-in for a cluster: in a real one it needs a broker that hangs beside others."""

from __future__ import annotations

import pytest
from beatwire.kafka.reading import feed_watch
from beatwire.kafka.reading.feed_watch import FeedWatch
from feed_brokers import PARTITIONS, Brokers, Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(feed_watch, "time", clock)
    return clock


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


@pytest.fixture
def watch(brokers: Brokers, clock: Clock) -> FeedWatch:
    """Return a watch that has seen a chunk arrive now."""
    watch = FeedWatch(brokers)  # type: ignore[arg-type]
    watch.look()
    brokers.ends[0] += 1
    watch.look()
    assert watch.silent_s == pytest.approx(0.0, abs=1e-6)
    return watch


def test_silence_grows_while_all_brokers_answer(watch: FeedWatch, clock: Clock) -> None:
    for _ in range(30):
        clock.s += 0.1
        watch.look()
    assert watch.silent_s == pytest.approx(3.0)


def test_what_was_before_the_first_look_is_unknown_until_the_silence_is_one_by_itself(
    brokers: Brokers, clock: Clock
) -> None:
    watch = FeedWatch(brokers)  # type: ignore[arg-type]
    assert watch.silent_s is None
    for _ in range(20):
        watch.look()
        assert watch.silent_s is None
        clock.s += 0.1
    clock.s += 0.1
    watch.look()
    assert watch.silent_s == pytest.approx(2.1)


def test_a_feed_that_has_been_off_for_days_is_silent_for_days_and_one_without_any_chunk_is_unknown(
    brokers: Brokers, clock: Clock
) -> None:
    clock.wall_s = 3 * 86_400.0
    watch = FeedWatch(brokers)  # type: ignore[arg-type]
    watch.look()
    assert watch.silent_s == pytest.approx(3 * 86_400.0 - 1)
    brokers.newest_ms = -1
    without = FeedWatch(brokers)  # type: ignore[arg-type]
    without.look()
    assert without.silent_s is None


@pytest.mark.parametrize("step_s", [-86_400.0, -5.0, 5.0, 86_400.0])
def test_a_step_of_the_clock_on_the_wall_changes_nothing(watch: FeedWatch, clock: Clock, step_s: float) -> None:
    for k in range(30):
        clock.s += 0.1
        clock.wall_s += step_s if k == 10 else 0.1
        watch.look()
    assert watch.silent_s == pytest.approx(3.0)


def test_chunks_that_arrive_elsewhere_count_while_a_broker_is_away(
    watch: FeedWatch, brokers: Brokers, clock: Clock
) -> None:
    brokers.away = {2, 3}
    for _ in range(30):
        clock.s += 0.1
        brokers.ends[0] += 1
        watch.look()
        assert watch.silent_s == pytest.approx(0.0, abs=1e-6)


def test_silence_does_not_grow_while_a_broker_is_away_or_nobody_looks(
    watch: FeedWatch, brokers: Brokers, clock: Clock
) -> None:
    clock.s += 1.0
    watch.look()
    brokers.away = {3}
    for _ in range(30):
        clock.s += 0.1
        watch.look()
    assert watch.silent_s == pytest.approx(1.0)
    brokers.away = set()
    watch.look()
    assert watch.silent_s == pytest.approx(4.0)
    clock.s += 10.0  # the process stood still
    assert watch.silent_s == pytest.approx(4.0)


def test_a_client_without_answers_is_replaced(watch: FeedWatch, brokers: Brokers, clock: Clock) -> None:
    brokers.away = set(PARTITIONS)
    for _ in range(25):
        clock.s += 1.0
        watch.look()
    assert brokers.clients == 3
