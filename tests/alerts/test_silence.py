"""The law of `no data`: a dead bed is announced in time, and no outage of anything else makes a living one silent.

Feeds are drawn with their truth: beds on gateways whose clocks differ and are set; outages of the brokers, of the
monitor, of the whole feed, of a gateway, of a bed; ticks of any length. The watch over the feed is the real one.
"""

import itertools
import random
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from beatwire.kafka.reading import feed_watch
from beatwire.kafka.reading.feed_watch import FeedWatch
from beatwire.records.feed import Watched
from beatwire.stages.support.alerts.stream_alerts import begin_of_no_data
from beds import BEGIN_US, Beds
from feed_brokers import Brokers, Clock
from hypothesis import example, given, settings
from hypothesis import strategies as st

TICK_S = 0.25
SLOWEST_TICK_S = 1.5
REJOIN_S = 0.8  # after an outage of the brokers, for which a client may take to reach them again


@dataclass(frozen=True)
class Outage:
    """What is away from a time to another; ``of``: a bed or gateway; what was sent meanwhile comes late, or never."""

    kind: str
    begin_s: float
    end_s: float
    of: int = -1
    is_lost: bool = True

    def overlap_s(self, begin_s: float, end_s: float) -> float:
        """Return for how long it was between two times."""
        return max(0.0, min(self.end_s, end_s) - max(self.begin_s, begin_s))


@dataclass
class Drawn:
    """A feed: its beds, outages, and the arrivals at the broker with their stamps."""

    seed: int
    limit_s: float
    every_s: float
    until_s: float = 60.0
    outages: list[Outage] = field(default_factory=list)
    arrivals: list[tuple[float, int, int]] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        rng = self.rng = random.Random(self.seed)
        self.gateways, self.n = rng.choice([1, 2, 3]), rng.choice([1, 5, 12])
        self.skew_s = [rng.choice([0.0, rng.uniform(-9, 9), rng.uniform(-2, 2)]) for _ in range(self.gateways)]
        self.dies_s = rng.uniform(5, 30)
        for _ in range(rng.choice([0, 1, 1, 2, 4])):
            kind, begin_s = rng.choice(["broker", "monitor", "feed", "gateway", "bed"]), rng.uniform(3, 45)
            of = rng.randrange(self.gateways if kind == "gateway" else self.n)
            length_s = rng.choice([0.3, 1.0, 1.9, 3.0, 8.0, 15.0])
            self.outages.append(Outage(kind, begin_s, begin_s + length_s, of, rng.random() < 0.5))
        self.steps = [(rng.uniform(0, 60), rng.uniform(-9, 9)) for _ in range(rng.choice([0, 0, 1, 3]))]
        self.arrivals = self._arrivals()

    def away(self, now_s: float, *kinds: str) -> list[Outage]:
        """Return the outages of such kinds at a time."""
        return [o for o in self.outages if o.kind in kinds and o.begin_s <= now_s < o.end_s]

    def concerns(self, outage: Outage, bed: int) -> bool:
        """Return whether an outage is of this bed's own way to the broker."""
        return (outage.kind, outage.of) in (("bed", bed), ("gateway", bed % self.gateways))

    def _arrivals(self) -> list[tuple[float, int, int]]:
        """Return (time, bed, stamp) of what arrives at the broker, in order; bed 0 dies."""
        found = []
        for bed in range(self.n + 1):
            at_s = self.rng.random() * self.every_s
            while at_s < (self.dies_s if bed == 0 else self.until_s):
                own = [o for o in self.away(at_s, "bed", "gateway") if bed and self.concerns(o, bed)]
                out = own + self.away(at_s, "broker", "feed")
                skew_s = self.skew_s[bed % self.gateways] + sum(by_s for when_s, by_s in self.steps if when_s < at_s)
                stamp_us = BEGIN_US + round((at_s + skew_s) * 1e6)
                if not out:
                    found.append((at_s, bed, stamp_us))
                elif bed and not any(o.is_lost for o in out):
                    late_s = max(o.end_s for o in out) + self.rng.uniform(0, 0.3)
                    if not self.away(late_s, "broker", "feed"):
                        found.append((late_s, bed, stamp_us))
                at_s += self.every_s * self.rng.uniform(0.8, 1.0)
        return sorted(found)


def announced(drawn: Drawn, monkeypatch: pytest.MonkeyPatch) -> tuple[list[tuple[float, int]], float]:
    """Return when which bed is announced, and when the last chunk of bed 0 was read."""
    clock, brokers, rng = Clock(), Brokers(), drawn.rng
    begin_s = clock.s
    monkeypatch.setattr(feed_watch, "time", clock)
    watch, beds = FeedWatch(cast(Any, brokers)), Beds(drawn.n + 1, drawn.limit_s)
    arrivals, found = drawn.arrivals, list[tuple[float, int]]()
    arrived = taken = 0
    now_s = look_s = tick_s = reach_s = last_s = 0.0
    while now_s < drawn.until_s:
        clock.s = begin_s + now_s
        brokers.away = set(brokers.ends) if drawn.away(now_s, "broker") else set()
        reach_s = now_s + rng.uniform(0, REJOIN_S) if brokers.away else reach_s
        while arrived < len(arrivals) and arrivals[arrived][0] <= now_s:
            brokers.ends[arrivals[arrived][1] % len(brokers.ends)] += 1
            arrived += 1
        works = not drawn.away(now_s, "monitor")
        if works and now_s >= look_s:
            watch.look()
            look_s = now_s + 0.1
        if works and now_s >= tick_s:
            new = arrivals[taken:arrived] if now_s >= reach_s else []
            taken += len(new)
            last_s = now_s if any(bed == 0 for _, bed, _ in new) else last_s
            used, stamps_us = (np.array([one[k] for one in new], np.int64) for k in (1, 2))
            found += [(now_s, bed) for bed in beds.tick(watch.watched, used, stamps_us)]
            tick_s = now_s + rng.choice([0.05, 0.25, 0.25, rng.uniform(0.05, SLOWEST_TICK_S)])
        now_s += 0.05
    return found, last_s


def worked_s(drawn: Drawn, begin_s: float, end_s: float) -> tuple[float, bool]:
    """Return for how long between two times brokers, monitor and feed worked, and whether all did all the time."""
    others = [at_s for at_s, bed, _ in drawn.arrivals if bed]
    failed = [Outage("pause", a, b) for a, b in itertools.pairwise([*others, drawn.until_s]) if b - a > 0.6]
    failed += [o for o in drawn.outages if o.kind in ("broker", "monitor")]
    failed = [replace(o, end_s=o.end_s + REJOIN_S) for o in failed if o.end_s + REJOIN_S > begin_s]
    times_s = np.arange(begin_s, end_s, 0.05)
    down = np.zeros(len(times_s), np.bool_)
    for one in failed:
        down |= (one.begin_s <= times_s) & (times_s < one.end_s)
    return 0.05 * float((~down).sum()), not down.any()


@given(st.integers(0, 2**32), st.sampled_from([2.0, 5.0, 10.0]), st.sampled_from([0.25, 0.5, 1.0]))
@settings(max_examples=40, deadline=None)
def test_a_dead_bed_is_announced_in_time_and_no_outage_of_others_makes_a_living_one_silent(
    seed: int, limit_s: float, every_s: float
) -> None:
    check(seed, limit_s, every_s)


@pytest.mark.slow
def test_the_same_for_2000_feeds() -> None:
    rng = random.Random(0)
    for seed in range(2_000):
        check(seed, rng.choice([2.0, 5.0, 10.0]), rng.choice([0.25, 0.5, 1.0]))


def check(seed: int, limit_s: float, every_s: float) -> None:
    """Raise an error if a drawn feed has a false alarm, or its dead bed none in time."""
    drawn = Drawn(seed, limit_s, every_s)
    with pytest.MonkeyPatch.context() as patch:
        found, last_s = announced(drawn, patch)
    of_dead = [at_s for at_s, bed in found if bed == 0 and at_s > last_s]
    in_work_s, all_worked = worked_s(drawn, last_s, of_dead[0] if of_dead else drawn.until_s)
    # A bed has its limit from its last chunk on, and once more after an outage: of the time in which all works.
    assert in_work_s <= (1 if all_worked else 2) * limit_s + 2 * SLOWEST_TICK_S + 0.5, (drawn, last_s, of_dead)
    assert len(of_dead) <= 1
    assert not of_dead or of_dead[0] >= last_s + limit_s - SLOWEST_TICK_S
    for at_s, bed in found:  # bed 0 while it lived, too
        away_s = sum(o.overlap_s(0.0, at_s) for o in drawn.outages)
        own = [o for o in drawn.outages if drawn.concerns(o, bed)]
        is_own = any(o.overlap_s(at_s - limit_s - away_s - 3.0, at_s) for o in own)
        # Few beds raise alarms of their own beside that of the feed.
        few = drawn.n < 4 and any(o.overlap_s(at_s - 20.0, at_s) for o in drawn.outages if o.kind == "feed")
        assert (bed == 0 and at_s > last_s) or is_own or few, (drawn, at_s, bed)


@pytest.mark.parametrize("ahead_s", [(0.0,), (1.0, 0.0), (3.0, 0.0, -3.0), (0.0, -9.0), (0.0, -3_600.0, 86_400.0)])
@pytest.mark.parametrize("every_s", [0.25, 1.0])
def test_gateways_whose_clocks_differ_hide_no_dead_bed_and_miss_no_living_one(
    ahead_s: tuple[float, ...], every_s: float
) -> None:
    n, found = 21, []
    beds = Beds(n, 2.0)
    for k in range(round(30 / every_s * (n - 1))):
        b = 1 + 7 * k % (n - 1)
        now_us = BEGIN_US + round(k * every_s / (n - 1) * 1e6)
        stamp_us = now_us + round(ahead_s[b % len(ahead_s)] * 1e6)
        found += [(b, k * every_s / (n - 1)) for b in beds.tick(Watched(now_us), np.array([b]), np.array([stamp_us]))]
    ((bed, at_s),) = found
    assert bed == 0
    assert 2.0 <= at_s <= 2.5


@given(
    works_s=st.floats(3.0, 130.0),
    outage_s=st.floats(0.3, 30.0),
    every_s=st.sampled_from([0.25, 0.5, 1.0]),
    dies_s=st.floats(1.0, 150.0),
    limit_s=st.sampled_from([2.0, 5.0, 10.0]),
    seed=st.integers(0, 99),
)
@example(works_s=95.0, outage_s=5.0, every_s=0.25, dies_s=150.0, limit_s=2.0, seed=0)
@example(works_s=20.0, outage_s=1.5, every_s=1.0, dies_s=30.0, limit_s=2.0, seed=1)
@settings(max_examples=20, deadline=None)
def test_no_living_bed_is_missed_however_often_the_feed_fails_and_a_dead_one_is_within_its_limit(
    works_s: float, outage_s: float, every_s: float, dies_s: float, limit_s: float, seed: int
) -> None:  # fmt: skip
    rng, n, period_s = np.random.default_rng(seed), 20, works_s + outage_s
    until_s = max(200.0, min(dies_s + 2 * period_s, 400.0))
    sent = [arrivals_s(until_s, every_s, rng.random(), period_s, outage_s) for _ in range(n)]
    sent[0] = sent[0][sent[0] < dies_s]
    bed = np.repeat(np.arange(n), [len(s) for s in sent])
    order = np.argsort(at_s := np.concatenate(sent), kind="stable")
    bed, at_s = bed[order], at_s[order]
    beds, found = Beds(n, limit_s), []
    ticks_s = np.arange(TICK_S, until_s, TICK_S)
    ends = np.searchsorted(at_s, ticks_s, "right").tolist()
    for now_s, begin, end in zip(ticks_s.tolist(), [0, *ends], ends, strict=False):
        newest_us = BEGIN_US + round(at_s[end - 1] * 1e6) if end else BEGIN_US
        watched = Watched(BEGIN_US + round(now_s * 1e6), newest_us)
        found += [(b, now_s) for b in beds.tick(watched, bed[begin:end])]
    assert [b for b, _ in found] == [0]
    last_s = sent[0][-1] if len(sent[0]) else 0.0
    gaps_s = np.diff(at_s)
    outages = np.flatnonzero((gaps_s > 2.0) & (at_s[1:] > last_s) & (at_s[:-1] < last_s + limit_s + 2.0))
    counts_s = at_s[outages[0] + 1] if len(outages) else last_s
    assert last_s + limit_s <= found[0][1] <= counts_s + limit_s + 5.0


def arrivals_s(until_s: float, every_s: float, phase: float, period_s: float, outage_s: float) -> np.ndarray[Any, Any]:
    """Return when the chunks of a bed arrive; what it sends in the last ``outage_s`` of each period is lost."""
    at_s = np.arange(phase * every_s, until_s, every_s)
    return cast("np.ndarray[Any, Any]", at_s[at_s % period_s < period_s - outage_s])


@pytest.mark.parametrize("limit_s", [2.0, 60.0, 300.0])
@pytest.mark.parametrize("interval_s", [0.6, 2.5, 9.0])
def test_a_feed_that_resumes_with_each_chunk_delays_the_alarm_by_one_interval(
    limit_s: float, interval_s: float
) -> None:
    beds, found, newest_s = Beds(2, limit_s), [], 0.0
    for now_s in np.arange(0.0, limit_s + 20.0, TICK_S).tolist():
        used = np.array([1] if now_s - newest_s >= interval_s else [], np.int64)
        newest_s = now_s if len(used) else newest_s
        now_us, newest_us = (BEGIN_US + round(s * 1e6) for s in (now_s, newest_s))
        found += [now_s for b in beds.tick(Watched(now_us, newest_us), used) if b == 0]
    assert len(found) == 1
    assert limit_s <= found[0] <= limit_s + interval_s + 2 * TICK_S


def test_without_a_watch_the_ticks_are_the_clock_and_a_step_back_does_not_count() -> None:
    beds, found = Beds(2, 2.0), []
    for k in range(20):
        now_us = BEGIN_US + 250_000 * k - (3_600_000_000 if k > 3 else 0)
        found += [(k, bed) for bed in tick_unwatched(beds, now_us, [1])]
    assert found == [(10, 0)]


@given(st.dictionaries(st.integers(1, 60), st.integers(1, 300), max_size=3), st.integers(1, 50))
@example(replays={30: 100}, dies=50)
def test_without_a_watch_a_replay_takes_no_time(replays: dict[int, int], dies: int) -> None:
    beds, found = Beds(3, 2.0), []  # bed 0 dies; bed 2 is of a partition that is taken over
    for k in range(62):
        for back in range(replays.get(k, 0), 0, -1):
            found += [(k, bed) for bed in tick_unwatched(beds, BEGIN_US + 250_000 * (k - back), [2], caught_up=False)]
        used = [1, 2] if k >= dies else [0, 1, 2]
        found += [(k, bed) for bed in tick_unwatched(beds, BEGIN_US + 250_000 * k, used)]
    assert found == [(dies + 8, 0)]


def tick_unwatched(beds: Beds, now_us: int, used: list[int], *, caught_up: bool = True) -> list[int]:
    """Return the beds that begin to be without data in a tick with chunks of those in ``used``."""
    beds.used_us[used] = now_us
    slots = SimpleNamespace(used_us=beds.used_us, expected=np.zeros(len(beds.used_us), np.int64))
    tick = cast(Any, SimpleNamespace(now_us=now_us, caught_up=caught_up, used=np.array(used), slots=slots))
    rows = np.zeros(len(beds.used_us), np.int64)
    return begin_of_no_data(beds.slots, tick, rows, beds.limits_s, beds.silence)[:, 0].tolist()
