"""What the monitor passes to its graph, and commits of what the graph returns."""

import itertools
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from beatwire.kafka.consuming.positions import Position
from beatwire.records import Outgoing
from beatwire.service.interfaces import NoStaff
from beatwire.service.monitor import Monitor
from beatwire.wire import names
from hypothesis import given
from hypothesis import strategies as st
from letters import Graph
from ticks import Ticks, polled


class Asked(Graph):
    """Notes what it gets."""

    def __init__(self) -> None:
        super().__init__(reach=0)
        self.adopted: list[Any] = []
        self.changes: list[Any] = []
        self.newest_us: list[int] = []
        self.ticks: list[tuple[bool, bool]] = []  # overloaded; something may be sent ahead

    def adopt(self, alerts, acks, said_us):
        self.adopted.append(alerts)

    def change_limits(self, changes):
        self.changes += changes

    def watch_feed(self, watched, newest_us):
        self.newest_us.append(newest_us)

    def emit(self, tick, origin, ahead):
        self.ticks.append((tick.overloaded, ahead is not None))
        return super().emit(tick, origin, ahead)


class Staff(NoStaff):
    """Has entered two changes before the monitor began, and enters one more with each tick."""

    silent_s = 0.5

    def __init__(self) -> None:
        super().__init__()
        self.entered, self.taken = [1, 2], 0

    def take_changes(self):
        before, self.taken = self.taken, len(self.entered)
        new = self.entered[before:]
        self.entered.append(len(self.entered) + 1)
        return new

    def take_all_changes(self):
        self.taken = 0
        return self.take_changes()


def run(*ticks: Any, graph: Graph | None = None, read_alerts: Callable[..., Any] = list, **given: Any) -> Any:
    """Run a monitor over ticks; return the source and its graph."""
    source, graph = Ticks(*ticks), Asked() if graph is None else graph
    given = {"staff": Staff(), "clock_us": lambda: 2_000_000} | given
    monitor = Monitor(graph, source, source, read_alerts=lambda: read_alerts(source), **given)
    monitor.run(threading.Event(), until=lambda _: not source.ticks)
    return source, graph


def test_limits_are_passed_once_and_all_of_them_to_a_graph_that_is_empty() -> None:
    _, graph = run(polled("a", 0), polled("b", 1), polled("c", 2), polled("d", 3, epoch=2), read_alerts=lambda _: [])
    assert graph.changes == [1, 2, 3, 4, 1, 2, 3, 4, 5]


def test_in_a_replay_nothing_is_sent_ahead_and_each_beat_is_scored() -> None:
    late = np.array([1], np.int64)
    ticks = [polled("a", 0, replay=True), polled("b", 1)]
    ticks = [replace(one, tick=replace(one.tick, arrival_us=late)) for one in ticks]
    _, graph = run(*ticks, read_alerts=lambda _: [], score_within_s=1.0)
    assert graph.ticks == [(False, False), (True, True)]
    assert run(*ticks, read_alerts=lambda _: [], score_within_s=3.0)[1].ticks[1] == (False, True)


@pytest.mark.parametrize("assigned", [{0}, {1}])
def test_the_feed_is_watched_by_the_worker_of_the_first_partition_and_not_in_a_replay(
    monkeypatch: pytest.MonkeyPatch, assigned: set[int]
) -> None:
    monkeypatch.setattr(Ticks, "assigned", frozenset(assigned))
    ticks = [polled("a", 0, replay=True), polled("b", 1)]
    ticks = [replace(one, tick=replace(one.tick, now_us=9_000_000)) for one in ticks]
    _, graph = run(*ticks, read_alerts=lambda _: [])
    assert graph.newest_us == [0, 8_500_000 if 0 in assigned else 0]


@pytest.mark.parametrize("is_logged", [False, True])
def test_an_interruption_that_was_announced_is_adopted_once_whether_the_log_has_it_or_not(is_logged: bool) -> None:
    ticks = [*(polled("a", k, replay=True) for k in range(20)), polled("d", 30)]
    now_s = itertools.count(0.0, 0.5)
    source, graph = run(
        *ticks, clock_s=lambda: next(now_s),
        read_alerts=lambda source: [json.loads(source.published[0][0])] * is_logged,
    )  # fmt: skip
    ((alert,),) = graph.adopted
    assert alert["id"] == json.loads(source.published[0][0])["id"]


@pytest.mark.parametrize(("replayed", "announced"), [((20, 20), 2), ((20, 3), 1), ((3, 20), 1)])
def test_each_long_interruption_is_announced_and_adopted_once(replayed: tuple[int, int], announced: int) -> None:
    now_s, ticks = itertools.count(0.0, 0.5), list[Any]()
    for epoch, count in enumerate(replayed, 1):
        ticks += [polled("a", k, replay=True, epoch=epoch) for k in range(count)] + [polled("d", 30, epoch=epoch)]

    class Epochs(Ticks):
        def take(self, timeout_s):
            taken = super().take(timeout_s)
            self.epoch = taken.epoch
            return taken

    source, graph = Epochs(*ticks), Asked()
    monitor = Monitor(graph, source, source, read_alerts=list, clock_us=lambda: 9_000_000, clock_s=lambda: next(now_s))
    monitor.run(threading.Event(), until=lambda _: not source.ticks)
    assert len(source.published) == announced + 2
    assert [len(alerts) for alerts in graph.adopted] == [count > 10 for count in replayed]


@given(failures=st.integers(0, 3), step_s=st.sampled_from([0.1, 0.5, 2.0]))
def test_an_interruption_that_could_not_be_announced_is_announced_when_the_broker_takes_it(
    failures: int, step_s: float
) -> None:
    now_s, moved_us = itertools.count(0.0, step_s), itertools.count(9_000_000)
    source = Ticks(
        *(polled("a", k, replay=True) for k in range(round(20 / step_s))), polled("d", 300),
        stale=tuple(range(1, failures + 1)),
    )  # fmt: skip
    graph, sent = Asked(), list[str]()
    publish = source.publish

    def publish_and_note(outgoing: Any, *given: Any) -> None:
        sent.extend(value.decode() for messages in outgoing for value in messages.values)
        publish(outgoing, *given)

    source.publish = publish_and_note  # type: ignore[method-assign]
    Monitor(graph, source, source, read_alerts=list, clock_us=lambda: next(moved_us), clock_s=lambda: next(now_s)).run(
        threading.Event(), until=lambda _: not source.ticks
    )
    *announced, beat = sent
    assert len(announced) == failures + 1
    assert len({json.loads(one)["id"] for one in announced}) == 1, "it may have been published"
    assert (beat, [len(alerts) for alerts in graph.adopted]) == ("d", [1])


def test_alerts_of_partitions_of_other_workers_are_not_adopted() -> None:
    logged = [{"id": str(k), "stream": "bed", "partition": k} for k in range(3)]
    _, graph = run(polled("a", 0), read_alerts=lambda _: logged)
    assert graph.adopted == [[logged[0]]]


def test_what_a_tick_without_messages_publishes_is_committed_with_the_positions_that_hold() -> None:
    class Clocked(Asked):
        def emit(self, tick, origin, ahead):
            return super().emit(tick, origin, ahead) or [Outgoing(names.ALERTS, [b"id"], [b"by the clock"])]

    source, _ = run(polled("ab", 10), polled("", 12), graph=Clocked(), read_alerts=lambda _: [])
    assert source.published == [(b"ab", {0: Position(12, 10)}), (b"by the clock", {0: Position(12, 12)})]


def test_a_commit_has_the_leader_epoch_of_the_message_before_it() -> None:
    source, _ = run(replace(polled("ab", 10), leaders={0: 7, 1: 3}), read_alerts=lambda _: [])
    assert [at[0].leader for _, at in source.published] == [7]
