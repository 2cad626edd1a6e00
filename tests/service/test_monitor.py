"""The monitor's loop with a source and a sink made of lists."""

import inspect
import itertools
import json
import threading
import weakref
from dataclasses import replace

import pytest
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.progress import Beginning
from beatwire.records import Expired
from beatwire.service import interfaces
from beatwire.service.monitor import Monitor
from beatwire.service.observing.tick_log import TickLog
from hypothesis import given
from hypothesis import strategies as st
from letters import Graph
from quiet_graph import QuietGraph
from ticks import Ticks, polled, run


@pytest.mark.parametrize("ahead_s", [0.0, 190.0, -190.0])
def test_a_replay_of_more_than_five_seconds_is_published_as_interrupted_once_for_each_partition(ahead_s):
    ticks, now_s = (
        Ticks(
            replace(polled("c", 1), ahead_s=ahead_s),
            *(polled("a", 3 + k, epoch=2, replay=True) for k in range(20)),
            polled("d", 30, epoch=2),
        ),
        itertools.count(0.0, 0.5),
    )
    clock_us = round(1e6 * ahead_s) + 10_000_000
    monitor = Monitor(Graph(), ticks, ticks, read_alerts=list, clock_us=lambda: clock_us, clock_s=lambda: next(now_s))
    monitor.run(threading.Event(), until=lambda counters: counters.messages == 1)
    ticks.epoch = 2
    monitor.run(threading.Event(), until=lambda _: not ticks.ticks)
    _, interrupted, live = ticks.published
    found = json.loads(interrupted[0])
    assert (found["rule"], found["state"], found["stream"], found["priority"]) == (
        "monitoring interrupted",
        "on",
        "ecg.samples/0",
        "low",
    )
    assert (found["partition"], found["model"], interrupted[1], live[0]) == (0, "model-1", {}, b"d")
    assert 0 < found["onset_us"] < 10_000_000 - 5_000_000


def test_a_short_replay_raises_no_alert():
    ticks = Ticks(*(polled("a", 3 + k, replay=True) for k in range(20)), polled("d", 30))
    run(ticks, Graph())
    assert [value for value, _ in ticks.published] == [b"d"]


def test_a_replay_is_processed_but_not_published_and_the_alerts_are_adopted_after_it():
    ticks, graph = Ticks(polled("ab", 3, replay=True), polled("c", 5, replay=True), polled("d", 6)), Graph()
    monitor = run(ticks, graph)
    assert graph.calls == ["reset", "emit ab", "emit c", "adopt [{'id': 'a'}]", "emit d"]
    assert [value for value, _ in ticks.published] == [b"d"]
    assert (monitor.counters.replayed, monitor.counters.messages) == (3, 1)


def test_a_commit_contains_the_start_of_the_tick_from_which_a_successor_replays():
    ticks = Ticks(*[polled(text, start) for text, start in (("ab", 10), ("c", 12), ("def", 13), ("g", 16))])
    run(ticks, Graph(reach=2))
    assert [at for _, at in ticks.published] == [
        {0: Position(12, 10)},
        {0: Position(13, 10)},
        {0: Position(16, 10)},
        {0: Position(17, 12)},
    ]


class Begun(Ticks):
    """Notes what ticks are begun with."""

    def __init__(self, *ticks):
        super().__init__(*ticks)
        self.begun = []

    def begin_tick(self, positions, source, epoch):
        self.begun.append(positions)


def test_a_tick_is_begun_with_what_it_commits_unless_a_successor_has_to_know_more_after_it():
    class Later(Graph):
        """Opens a bank in its second tick; its fourth makes a successor replay from the second on."""

        @property
        def open_banks(self):
            return frozenset({(250.0, 1)} if len(self.calls) > 3 else ())

        def rewind_tick(self, partition):
            return (0 if partition else super().rewind_tick(partition)) if len(self.calls) <= 5 else 1

    ticks = Begun(
        *[
            replace(polled(text, 10 + k), start={0: 10 + k, 1: 7}, positions={0: 11 + k})
            for k, text in enumerate("abcde")
        ]
    )
    run(ticks, Later(reach=1))
    published = [positions for _, positions in ticks.published]
    assert [a is b for a, b in zip(ticks.begun, published, strict=True)] == [True, False, True, False, True]
    none, one = frozenset(), frozenset({(250.0, 1)})
    expected = [(11, 10, none), (12, 11, one), (13, 11, one), (14, 11, one), (15, 11, one)]
    assert published == [{0: Position(offset, rewind, banks=banks)} for offset, rewind, banks in expected]


def test_a_replay_an_empty_tick_and_a_large_one_are_not_begun_before_they_are_computed():
    ticks = Begun(polled("a", 10, replay=True), polled("b" * 16_385, 11), polled("", 11 + 16_385))
    run(ticks, Graph())
    assert ticks.begun == []


def test_the_messages_of_a_tick_are_freed_before_the_next_is_taken():
    class Messages:
        pass

    origins: list[weakref.ref[Messages]] = []

    class Source(Ticks):
        def take(self, timeout_s):
            assert [origin() for origin in origins] == [None] * len(origins)
            messages = Messages()
            origins.append(weakref.ref(messages))
            return replace(super().take(timeout_s), origin=messages)

    run(Source(polled("a", 10), polled("b", 11), polled("c", 12)), Graph())
    assert len(origins) == 3


def test_a_graph_without_state_rewinds_to_its_last_tick():
    ticks = Ticks(polled("ab", 10), polled("c", 12))
    run(ticks, Graph(reach=0))
    assert [at for _, at in ticks.published] == [{0: Position(12, 10)}, {0: Position(13, 12)}]


def test_a_new_epoch_resets_the_graph():
    ticks, graph = Ticks(polled("ab", 10), polled("b", 11, epoch=2)), Graph()
    run(ticks, graph)
    assert graph.calls.count("reset") == 2
    assert ticks.published[-1] == (b"b", {0: Position(12, 11)})


def test_a_stale_tick_is_not_counted_and_the_source_is_rewound():
    ticks = Ticks(polled("a", 0), polled("a", 0, epoch=2), stale=(1,))
    monitor = run(ticks, Graph())
    assert ticks.rewinds == [False]
    assert (monitor.counters.stale_ticks, monitor.counters.messages) == (1, 1)


def test_an_epoch_that_goes_on_keeps_the_graph_and_replays_what_is_new():
    going_on = {"epoch": 2, "beginning": Beginning.GOING_ON}
    ticks = Ticks(polled("ab", 10), polled("c", 3, replay=True, **going_on), polled("d", 12, **going_on))
    graph = Graph()
    monitor = run(ticks, graph)
    adopted = "adopt [{'id': 'a'}]"
    assert graph.calls == ["reset", adopted, "emit ab", "emit c", adopted, "emit d"]
    assert ticks.published == [(b"ab", {0: Position(12, 10)}), (b"d", {0: Position(13, 3)})]
    assert (monitor.counters.epochs, monitor.counters.messages, monitor.counters.replayed) == (2, 3, 1)


def test_a_partition_that_was_taken_over_is_replayed_from_its_beginning_whichever_tick_the_graph_names():
    before = [polled("ab", 10), polled("c", 12)]
    going_on = {"epoch": 2, "beginning": Beginning.GOING_ON}
    taken_over = replace(polled("d", 3, replay=True, **going_on), start={0: 13, 1: 3}, positions={1: 4})
    after = replace(polled("e", 4, **going_on), start={0: 13, 1: 4}, positions={1: 5})
    ticks = Ticks(*before, taken_over, after)
    run(ticks, Graph(reach=4))  # of the last tick, the first one
    assert ticks.published[-1] == (b"e", {1: Position(5, 3)})


@pytest.mark.parametrize("beginning", [Beginning.UNPUBLISHED, Beginning.GOING_ON])
def test_a_stale_tick_is_published_again_if_it_was_not_and_counted_once(beginning):
    ticks = Ticks(polled("a", 0), polled("b", 1, epoch=2, beginning=beginning), stale=(1,))
    graph = Graph(reach=0)
    monitor = run(ticks, graph)
    again = [(b"a", {0: Position(1, 0)})] if beginning is Beginning.UNPUBLISHED else []
    assert ticks.published == [*again, (b"b", {0: Position(2, 1)})]
    assert ticks.rewinds == [False]
    assert [call for call in graph.calls if "adopt" not in call] == ["reset", "emit a", "emit b"]
    assert (monitor.counters.stale_ticks, monitor.counters.messages, monitor.counters.beats) == (1, 2, 2)


def test_a_tick_that_is_stale_twice_is_read_again():
    ticks = Ticks(
        polled("a", 0), polled("b", 1, epoch=2, beginning=Beginning.UNPUBLISHED), polled("ab", 0, epoch=3), stale=(1, 2)
    )
    graph = Graph(reach=0)
    monitor = run(ticks, graph)
    assert ticks.published == [(b"ab", {0: Position(2, 0)})]
    assert ticks.rewinds == [False, True]  # the second time the first tick of the epoch was not processed
    assert [call for call in graph.calls if "adopt" not in call] == ["reset", "emit a", "reset", "emit ab"]
    assert monitor.counters.messages == 2


def test_what_retention_deleted_is_counted_once_when_its_tick_is_published_with_the_position_after_it(caplog):
    caplog.set_level("WARNING", "beatwire")
    lost = {0: Expired(unread=20, replay=5, first=10)}
    ticks = Ticks(
        replace(polled("", 30), positions={0: 30}, expired=lost),
        replace(polled("", 30, epoch=2), positions={0: 30}, expired=lost),
        polled("a", 30, epoch=2),
        stale=(1,),
    )
    graph = Graph(reach=0)
    monitor = run(ticks, graph)
    assert [at for _, at in ticks.published] == [{0: Position(30, 30)}, {0: Position(31, 30)}]
    assert (monitor.counters.unread, monitor.counters.unreplayed) == (20, 5)
    assert [record.fields["unread"] for record in caplog.records if record.event == "expired"] == [20]
    assert [call for call in graph.calls if call.startswith("expired")] == [f"expired {lost}"] * 2


def test_an_empty_tick_without_output_makes_no_transaction():
    ticks, graph = Ticks(polled("", 0), None, polled("", 0)), Graph()
    run(ticks, graph)
    assert graph.calls.count("emit ") == 2
    assert ticks.published == []


def test_a_pending_transaction_is_ended_once_while_there_is_no_tick():
    ticks = Ticks(None, None, polled("a", 0), None)
    ticks.pending = ["partition 3"]
    run(ticks, Graph())
    assert ticks.ended == [["partition 3"]]


def test_the_latency_is_from_arrival_to_publication():
    monitor = run(Ticks(polled("abc", 0)), Graph())  # arrived at 1 us, published at 2 ms
    assert monitor.counters.latency.quantile_ms(0.5) == 1.0


def test_the_tick_log_keeps_the_ticks_that_were_not_discarded():
    log = TickLog()
    for start in range(5):
        log.add({0: start})
    log.discard_before(3)
    assert [log.offset(0, tick, otherwise=9) for tick in range(7)] == [3, 3, 3, 3, 4, 9, 9]


@given(
    st.lists(st.dictionaries(st.integers(0, 3), st.integers(1, 9), max_size=4), min_size=1, max_size=12),
    st.integers(0, 12),
)
def test_no_message_that_a_tick_has_read_is_left_out_of_the_replay(read, discarded):
    """``read``: of each tick, how many messages of which partitions; these are known from their first message on."""
    log, known = TickLog(), dict[int, int]()
    for counts in read:
        known |= {partition: 100 for partition in counts if partition not in known}
        log.add(dict(known))
        known |= {partition: known[partition] + count for partition, count in counts.items()}
    log.discard_before(discarded)
    for tick in range(discarded, len(read)):
        for partition, end in known.items():
            unread = sum(counts.get(partition, 0) for counts in read[tick:])
            assert log.offset(partition, tick, otherwise=end) == end - unread


def test_the_quiet_graph_has_every_member_of_the_interface_with_its_arguments():
    members = {name: member for name, member in vars(interfaces.Graph).items() if not name.startswith("_")}
    assert {"emit", "model_name", "report_expired"} <= set(members)
    for name, member in members.items():
        assert hasattr(QuietGraph, name), name
        if inspect.isfunction(member):
            asked, got = inspect.signature(member), inspect.signature(getattr(QuietGraph, name))
            assert list(asked.parameters.values()) == list(got.parameters.values()), name
