"""The watch over the feed, on a stand-in for a cluster: in a real one it needs a broker that hangs beside others."""

import itertools

import pytest
from beatwire.kafka.reading import feed_watch
from beatwire.kafka.reading.feed_watch import FeedWatch
from feed_brokers import PARTITIONS, Brokers, Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(feed_watch, "time", clock)
    return clock


@pytest.fixture(params=["an error", "no offset"])
def brokers(clock: Clock, request: pytest.FixtureRequest) -> Brokers:
    return Brokers(clock, raises=request.param == "an error")


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


def test_that_brokers_are_away_is_logged_once_and_that_they_are_back_and_not_each_time_if_they_come_and_go(
    watch: FeedWatch, brokers: Brokers, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    def passes(seconds: float, *away: int) -> list[str]:
        caplog.clear()
        brokers.away = set(away)
        for _ in range(round(10 * seconds)):
            clock.s += 0.1
            watch.look()
        return [record.getMessage() for record in caplog.records]

    assert passes(2.9, 1, 3) == passes(1.0) == []
    assert passes(60, 1, 3) == [
        "no broker has answered about partitions 1, 3 of ecg.samples for 3 s: their samples are read when one does"
    ]
    assert passes(1.0) == ["brokers answer again about all partitions of ecg.samples, after 60 s"]
    assert len(passes(5, *PARTITIONS)) == len(passes(5)) == 1
    assert passes(20, *PARTITIONS) == passes(20) == [], "soon after the last time"
    clock.s += 60
    assert len(passes(5, 0)) == 1


@pytest.mark.parametrize("left", [1, 2, 3])
def test_of_a_topic_created_again_with_fewer_partitions_no_broker_is_away_until_one_is(
    watch: FeedWatch, brokers: Brokers, clock: Clock, caplog: pytest.LogCaptureFixture, left: int
) -> None:
    brokers.partitions = range(left)
    for away, events in (([], []), ([0], ["broker away"]), ([], ["broker back"])):
        brokers.away = set(away)
        caplog.clear()
        for _ in range(300):
            clock.s += 0.1
            watch.look()
        assert [record.__dict__["event"] for record in caplog.records] == events


def test_the_clock_of_silence_advances_only_while_a_broker_answers(
    watch: FeedWatch, brokers: Brokers, clock: Clock
) -> None:
    before = watch.watched
    for _ in range(20):
        clock.s += 0.1
        watch.look()
    assert watch.watched.now_us - before.now_us == pytest.approx(2_000_000, abs=2)
    assert watch.watched.newest_us == before.newest_us
    assert watch.watched.resumed_us == 0
    brokers.away = set(PARTITIONS)
    for _ in range(100):
        clock.s += 0.1
        watch.look()
    assert watch.watched.now_us - before.now_us == pytest.approx(2_400_000, abs=2)
    brokers.away = {0, 1}  # one of several brokers is back
    clock.s += 0.1
    watch.look()
    assert watch.watched.resumed_us == watch.watched.now_us == pytest.approx(before.now_us + 2_400_000, abs=2)
    clock.s += 30  # the process stood still
    assert watch.watched.now_us - before.now_us == pytest.approx(2_800_000, abs=2)


@pytest.mark.parametrize("late_s", [0.5, 0.95, 1.5, 1.99, 60.0])
@pytest.mark.parametrize("late", [{0}, {3}, {2, 3}])
def test_the_clock_of_silence_advances_steadily_while_one_of_several_brokers_is_slow_or_hangs(
    watch: FeedWatch, brokers: Brokers, clock: Clock, late: set[int], late_s: float
) -> None:
    brokers.late_s = dict.fromkeys(late, late_s)
    before, begin_s, given_us = watch.watched, clock.s, []
    while clock.s < begin_s + 20.0:
        clock.s += 0.1
        watch.look()
        given_us.append(watch.watched.now_us - before.now_us)
    assert given_us[-1] == pytest.approx((clock.s - begin_s) * 1e6, abs=5)
    assert max(b - a for a, b in itertools.pairwise(given_us)) < 500_000
    assert watch.watched.resumed_us == 0


@pytest.mark.parametrize("late_s", [0.1, 0.9, 1.5, 1.9, 3.0])
@pytest.mark.parametrize("until_s", [2.0, 5.0, 12.0])
def test_the_clock_of_silence_is_never_set_back(brokers: Brokers, clock: Clock, late_s: float, until_s: float) -> None:
    watch, begin_s, given_us = FeedWatch(brokers), clock.s, []  # type: ignore[arg-type]
    brokers.late_s = dict.fromkeys(PARTITIONS, late_s)
    while clock.s < begin_s + 20.0:
        if clock.s > begin_s + until_s:
            brokers.late_s = {}
        watch.look()
        given_us.append(watch.watched.now_us)
        clock.s += 0.1
    assert given_us == sorted(given_us)
    assert given_us[-1] - given_us[0] > 6_000_000
