"""The watch over the feed, on a stand-in for a cluster: in a real one it needs a broker that hangs beside others."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from beatwire.kafka import feed_watch
from beatwire.kafka.feed_watch import FeedWatch
from confluent_kafka import KafkaError, KafkaException

PARTITIONS = range(4)


class Brokers:
    """Answers requests for the ends of four partitions; those of brokers that are away fail."""

    def __init__(self) -> None:
        self.ends = dict.fromkeys(PARTITIONS, 5)
        self.away: set[int] = set()
        self.clients = 0

    def topic(self, name: str) -> str:
        return name

    def admin(self) -> Brokers:
        self.clients += 1
        return self

    def list_topics(self, name: str, timeout: float) -> SimpleNamespace:
        return SimpleNamespace(topics={name: SimpleNamespace(partitions=PARTITIONS)})

    def list_offsets(self, asked: dict, request_timeout: float) -> dict:
        futures = {at: Future() for at in asked}
        for at, future in futures.items():
            if at.partition in self.away:
                future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
            else:
                future.set_result(SimpleNamespace(offset=self.ends[at.partition], timestamp=1_000))
        return futures


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.s = 2_000.0

    def time_ns(self) -> int:
        return round(self.s * 1e9)

    def monotonic(self) -> float:
        return self.s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(feed_watch, "time", clock)
    return clock


def silent_s(watch: FeedWatch, clock: Clock) -> float:
    return clock.s - watch.newest_us / 1e6


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
    assert silent_s(watch, clock) == pytest.approx(0.0, abs=1e-6)
    return watch


def test_silence_grows_while_all_brokers_answer(watch: FeedWatch, clock: Clock) -> None:
    for _ in range(30):
        clock.s += 0.1
        watch.look()
    assert silent_s(watch, clock) == pytest.approx(3.0)


def test_the_time_of_the_newest_message_counts_before_one_is_seen_to_arrive(brokers: Brokers, clock: Clock) -> None:
    watch = FeedWatch(brokers)  # type: ignore[arg-type]
    assert watch.newest_us == 0
    watch.look()
    assert watch.newest_us == 1_000_000


def test_chunks_that_arrive_elsewhere_count_while_a_broker_is_away(
    watch: FeedWatch, brokers: Brokers, clock: Clock
) -> None:
    brokers.away = {2, 3}
    for _ in range(30):
        clock.s += 0.1
        brokers.ends[0] += 1
        watch.look()
        assert silent_s(watch, clock) == pytest.approx(0.0, abs=1e-6)


def test_silence_does_not_grow_while_a_broker_is_away_or_nobody_looks(
    watch: FeedWatch, brokers: Brokers, clock: Clock
) -> None:
    clock.s += 1.0
    watch.look()
    brokers.away = {3}
    for _ in range(30):
        clock.s += 0.1
        watch.look()
    assert silent_s(watch, clock) == pytest.approx(1.0)
    brokers.away = set()
    watch.look()
    assert silent_s(watch, clock) == pytest.approx(4.0)
    clock.s += 10.0  # the process stood still
    assert silent_s(watch, clock) == pytest.approx(4.0)


def test_a_client_without_answers_is_replaced(watch: FeedWatch, brokers: Brokers, clock: Clock) -> None:
    brokers.away = set(PARTITIONS)
    for _ in range(25):
        clock.s += 1.0
        watch.look()
    assert brokers.clients == 3
