"""Tombstones of alerts: what ended long ago is removed once, and what goes on never."""

import json
import random
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from alert_values import alert, value
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.reading import readers
from beatwire.records import Outgoing
from beatwire.service import ended_alerts
from beatwire.service.ended_alerts import EndedAlerts, own_alerts
from beatwire.stages.support.streams.partitions import murmur2
from beatwire.wire import names
from hypothesis import example, given
from hypothesis import strategies as st

DAY_US = 86_400_000_000
KEEP_S = 7 * 86_400.0
VALUES = {state: value("?", state) for state in ("on", "off")}


def published(*transitions: tuple[str, str]) -> list[Outgoing]:
    keys: list[bytes | None] = [name.encode() for name, _ in transitions]
    values = [VALUES[state].replace(b"?", name.encode()) for name, state in transitions]
    return [Outgoing(names.BEATS, [b"x"], [b"y"]), Outgoing(names.ALERTS, keys, values)]


def removed(found: list[Outgoing]) -> list[bytes | None]:
    assert all(one.topic == names.ALERTS and one.tombstones and not len(one) for one in found)
    return [key for one in found for key in one.keys]


def test_an_alert_is_removed_a_week_after_it_ended_and_once() -> None:
    ended = EndedAlerts(KEEP_S)
    assert removed(ended.due(published(("a", "on"), ("b", "on"), ("a", "off")), 0)) == []
    assert removed(ended.due([], 7 * DAY_US - 1)) == []
    assert removed(ended.due([], 7 * DAY_US)) == [b"a"]
    assert removed(ended.due([], 70 * DAY_US)) == []


def test_an_alert_that_is_on_again_under_its_id_is_not_removed() -> None:
    ended = EndedAlerts(KEEP_S)
    ended.begin([(b"a", 0, 0), (b"b", 0, 0)], {0})
    assert removed(ended.due(published(("a", "on")), 8 * DAY_US)) == [b"b"]
    assert removed(ended.due(published(("a", "off")), 9 * DAY_US)) == []
    assert removed(ended.due([], 16 * DAY_US)) == [b"a"]


def test_those_of_other_partitions_are_left_to_their_worker() -> None:
    ended = EndedAlerts(KEEP_S)
    ended.begin([(b"a", 0, 0), (b"b", 0, 1), (b"c", 0, 2)], {0, 2})
    assert removed(ended.due([], 8 * DAY_US)) == [b"a", b"c"]


@given(
    counts=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    workers=st.lists(st.integers(0, 3), min_size=12, max_size=12),
    partition=st.integers(0, 11),
)
@example(counts=(5, 4), workers=[0] * 12, partition=4)
def test_each_alert_of_the_log_is_one_workers_though_its_partition_may_be_no_more(
    counts: tuple[int, int], workers: list[int], partition: int
) -> None:
    before, now = counts
    of_worker = [{p for p in range(now) if workers[p] == worker} for worker in range(4)]
    raised = alert("ab", partition=partition % before)
    owners = [own for own in of_worker if own_alerts([raised], own, now)]
    assert len(owners) == 1
    assert raised["partition"] in owners[0] or murmur2(raised["stream"].encode()) % now in owners[0]
    ended = [EndedAlerts(KEEP_S) for _ in of_worker]
    for one, own in zip(ended, of_worker, strict=True):
        one.begin([(b"ab", 0, raised["partition"])], own, now)
    assert sum(map(len, ended)) == 1


def test_an_alert_without_a_partition_is_everybodys_and_nothing_is_moved_while_their_number_is_unknown() -> None:
    older = {name: one for name, one in alert("ab").items() if name != "partition"}
    assert own_alerts([older], {3}, 4) == [older]
    assert own_alerts([alert("ab", partition=9)], {0, 1}, 0) == []


def test_a_backlog_is_removed_a_few_a_tick_and_the_oldest_of_too_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ended_alerts, "MOST_ENDED", 100)
    monkeypatch.setattr(ended_alerts, "MOST_A_TICK", 30)
    ended = EndedAlerts(KEEP_S)
    ended.begin([(b"%d" % k, k, 0) for k in reversed(range(150))], {0})
    got = [removed(ended.due([], 1000)) for _ in range(4)]
    assert [len(one) for one in got] == [30, 20, 0, 0]
    assert got[0] + got[1] == [b"%d" % k for k in range(50)]
    assert len(ended) == 100


class Log:
    """A compacted topic: of each key the newest value, and when it was written."""

    def __init__(self) -> None:
        self.newest: dict[bytes, tuple[bytes | None, int]] = {}

    def write(self, outgoing: list[Outgoing], now_us: int) -> None:
        for messages in outgoing:
            if messages.topic == names.ALERTS:
                for key, content in zip(messages.keys, messages.values, strict=True):
                    self.newest.pop(key or b"", None)
                    if not messages.tombstones:
                        self.newest[key or b""] = content, now_us

    def messages(self, *_: Any) -> Iterator[SimpleNamespace]:
        for key, (content, time_us) in self.newest.items():
            yield SimpleNamespace(
                key=lambda key=key: key,
                value=lambda content=content: content,
                partition=lambda: 0,
                timestamp=lambda time_us=time_us: (1, time_us // 1000),
            )


def slowness() -> float:
    """Return how many times longer JSON takes to read at the moment than on the machine of the limit, at least 1."""
    began_s = time.thread_time()
    for _ in range(20_000):
        json.loads(VALUES["on"])
    return max(1.0, (time.thread_time() - began_s) / (20_000 * 4e-6))


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(0, id="from the first day", marks=pytest.mark.slow),
        pytest.param(365, id="after a year without tombstones"),
    ],
)
def test_a_year_of_a_small_ward_is_read_in_seconds_at_start_and_at_each_hand_over(
    monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    """Twenty beds, twenty alerts a day each; a hand-over four times a year."""
    log, rng, durations, most = Log(), random.Random(1), [], 0
    monkeypatch.setattr(readers, "_to_end", log.messages)
    open_ones: list[str] = []

    def day(number: int) -> list[Outgoing]:
        begun = [f"{number:x}-{k:x}" for k in range(400)]
        over = [name for name in open_ones + begun if rng.random() < 0.95]
        open_ones[:] = sorted({*open_ones, *begun} - set(over))
        return published(*((name, "on") for name in begun), *((name, "off") for name in over))

    for number in range(before):
        log.write(day(number), number * DAY_US)
    ended, slow = EndedAlerts(KEEP_S), slowness()
    for number in range(before, before + 365):
        if number % 90 == before % 90:
            began_s = time.thread_time()
            found: list[tuple[bytes, int, int]] = []
            active = readers.read_active_alerts(Cluster("x"), ended=lambda *one, found=found: found.append(one))
            ended.begin(found, {0})
            durations.append(time.thread_time() - began_s)
            assert {alert["id"] for alert in active} == set(open_ones)
        outgoing = day(number)
        now_us = number * DAY_US
        log.write([*outgoing, *ended.due(outgoing, now_us)], now_us)
        for tick in range(1, 400 if number == before else 3):  # a day has a million
            log.write(ended.due([], now_us + tick), now_us + tick)
        most = max(most, len(log.newest))
    assert max(durations) < 5.0 * slow
    assert len(log.newest) <= 400 * 9
    assert most <= 400 * (9 + before)
