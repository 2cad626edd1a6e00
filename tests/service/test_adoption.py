"""The monitor adopts the alerts of the log: it waits for them while it turns, and not once it is to stop."""

import itertools
import json
import threading
import time

import pytest
from beatwire.errors import FatalError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.reading.staff import StaffReader
from beatwire.service.interfaces import NoStaff
from beatwire.service.monitor import Monitor
from letters import Graph
from moments import LIMIT_S, wait_until
from ticks import Ticks, polled


def test_alerts_that_cannot_be_read_while_the_broker_is_away_are_read_when_it_is_back():
    ticks, graph, away = Ticks(polled("a", 0)), Graph(), [True, True]

    def read_alerts():
        if away:
            away.pop()
            raise FatalError("kafka: away")
        return [{"id": "a"}]

    monitor = Monitor(graph, ticks, ticks, read_alerts=read_alerts, clock_us=lambda: 2_000)
    monitor.run(threading.Event(), until=lambda _: not ticks.ticks)
    assert graph.calls == ["reset", "adopt [{'id': 'a'}]", "emit a"]


def test_an_alert_of_a_partition_that_is_no_more_is_adopted_and_not_on_for_ever():
    class OnePartition(NoStaff):
        partitions = 1

    orphan = {"id": "a", "stream": "bed-1", "partition": 7}
    ticks, graph = Ticks(polled("a", 0)), Graph()
    monitor = Monitor(graph, ticks, ticks, staff=OnePartition(), read_alerts=lambda: [orphan], clock_us=lambda: 2_000)
    monitor.run(threading.Event(), until=lambda _: not ticks.ticks)
    assert graph.calls == ["reset", f"adopt [{orphan}]", "emit a"]


def test_a_monitor_that_is_stopped_waits_for_no_broker():
    ticks, graph, stop = Ticks(polled("a", 0)), Graph(), threading.Event()

    def read_alerts():
        stop.set()
        raise FatalError("kafka: away")

    Monitor(graph, ticks, ticks, read_alerts=read_alerts, clock_us=lambda: 2_000).run(stop)
    assert graph.calls == ["reset"]
    assert ticks.published == []


def test_the_loop_turns_while_a_slow_log_of_alerts_is_read_and_adopts_what_it_publishes_meanwhile():
    ticks, graph, now_s = Ticks(polled("a", 0)), Graph(), itertools.count(0.0, 3.0)
    turned: list[float | None] = []

    def read_alerts():
        wait_until(lambda: turned.append(monitor.loop.turned_s) or ticks.published)
        return [{"id": "a"}]

    monitor = Monitor(graph, ticks, ticks, read_alerts=read_alerts, clock_s=lambda: next(now_s))
    monitor.run(threading.Event(), until=lambda _: not ticks.ticks)
    assert len(set(turned)) > 1
    interrupted = json.loads(ticks.published[0][0])
    assert interrupted["rule"] == "monitoring interrupted"
    assert [call.count(interrupted["id"]) for call in graph.calls] == [0, 1, 0]


@pytest.mark.parametrize("ends", ["stop", "epoch"])
def test_a_slow_log_of_alerts_is_not_waited_for_once_it_is_not_needed(ends):
    ticks, graph, stop, needed = Ticks(polled("a", 0), polled("b", 0, epoch=2)), Graph(), threading.Event(), []

    def read_alerts():
        if not needed:
            needed.append(True)
            stop.set() if ends == "stop" else setattr(ticks, "epoch", 2)
            assert over.wait(LIMIT_S)
        return [{"id": "a"}]

    begin_s, over = time.monotonic(), threading.Event()
    try:
        Monitor(graph, ticks, ticks, read_alerts=read_alerts).run(stop, until=lambda _: not ticks.ticks)
        assert time.monotonic() - begin_s < LIMIT_S / 2
    finally:
        over.set()
    again = [] if ends == "stop" else ["reset", "adopt [{'id': 'a'}]", "emit b"]
    assert graph.calls == ["reset", *again]


def test_a_monitor_that_is_stopped_waits_for_no_answer_about_staff():
    ticks, graph, stop = Ticks(polled("a", 0)), Graph(), threading.Event()
    staff = StaffReader(Cluster("nowhere"))  # not entered: nothing is read
    stop.set()
    begin_s = time.monotonic()
    assert staff.wait(stop) is False
    assert time.monotonic() - begin_s < LIMIT_S

    class Away(NoStaff):
        def wait(self, stop: threading.Event) -> bool:
            stop.set()
            return False

    Monitor(graph, ticks, ticks, staff=Away(), clock_us=lambda: 2_000).run(threading.Event())
    assert graph.calls == ["reset"]
    assert ticks.published == []
