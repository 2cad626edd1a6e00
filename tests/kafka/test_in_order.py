"""The order of what a tick's transaction asks for, of parts between threads, and of commits; without a broker."""

from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from beatwire.kafka.consuming import batch
from beatwire.kafka.consuming.commit_queue import CommitQueue
from beatwire.kafka.consuming.handover import FEWEST_MESSAGES, TICK_MESSAGES, TICK_S, HandOver, Reading
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.publishing.tick_transaction import TickTransaction
from hypothesis import given
from hypothesis import strategies as st
from kafka_messages import Message, beats

FIRST, LAST = beats(b"first"), beats(b"last")
AT_9, AT_12 = {0: Position(9, 7)}, {0: Position(12, 7)}


@pytest.fixture(autouse=True)
def plain_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "Message", Message)


def messages(*offsets: int) -> Any:
    return [Message(0, offset, b"x") for offset in offsets]


@pytest.mark.parametrize(
    ("ahead", "positions", "expected"),
    [
        ({}, AT_9, ["begin", "send 1", "send 1", "offsets 9", "await", "commit"]),
        (AT_9, AT_9, ["begin", "offsets 9", "send 1", "send 1", "await", "commit"]),
        (AT_9, AT_12, ["begin", "offsets 9", "send 1", "send 1", "await", "offsets 12", "await", "commit"]),
        (AT_9, {}, ["begin", "offsets 9", "send 1", "send 1", "await", "commit"]),
        ({}, {}, ["begin", "send 1", "send 1", "commit"]),
    ],
)
def test_a_tick_is_committed_with_all_messages_once_and_with_offsets_that_the_broker_has_taken(
    ahead: dict[int, Position], positions: dict[int, Position], expected: list[str]
) -> None:
    calls: list[str] = []
    transactions: Any = SimpleNamespace(
        begin=lambda: calls.append("begin"),
        start_offsets=lambda offsets, _: calls.append(f"offsets {offsets}"),
        await_offsets=lambda: calls.append("await"),
        commit=lambda retry_s: calls.append("commit"),
        sender=SimpleNamespace(send_all=lambda outgoing, _: calls.append(f"send {sum(map(len, outgoing))}")),
    )
    source: Any = SimpleNamespace(offsets=lambda positions: positions[0].offset, group_metadata=None)
    tick = TickTransaction(transactions, source)
    if ahead:
        tick.start_offsets(ahead)
    tick.send(FIRST)
    committed = tick.commit([*FIRST, *LAST], positions)
    assert calls == expected
    assert {p: at.offset for p, at in committed.items()} == {p: at.offset for p, at in (positions or ahead).items()}


def test_parts_of_a_replay_are_taken_apart_from_live_ones_and_before_them() -> None:
    handover, caught_up = HandOver(), Reading(caught_up=True)
    handover.resume(replaying=True)
    handover.put(batch.join_messages(messages(1)), caught_up, replay=True)
    handover.put(batch.join_messages(messages(2)), caught_up, replay=False)
    taken = [handover.take(0.0) for _ in range(3)]
    found = [(len(one.parts), one.replay, one.reading.caught_up) for one in taken if one is not None]
    assert found == [(1, True, False), (1, False, True), (0, False, True)]


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 9)), max_size=12), st.integers(1, 12))
def test_parts_are_taken_in_order_and_no_more_than_a_tick_takes(polls: list[tuple[bool, int]], most: int) -> None:
    with mock.patch.object(batch, "Message", Message):
        handover, left = HandOver(), [(replay, batch.join_messages(messages(*range(n)))) for replay, n in polls]
    handover.resume(replaying=False)
    handover.most = most
    for replay, part in left:
        handover.put(part, Reading(caught_up=True), replay=replay)
    while left:
        taken = handover.take(0.0)
        assert taken is not None
        n = len(taken.parts)
        assert [(taken.replay, part) for part in taken.parts] == left[:n]
        size = sum(len(part.messages) for part in taken.parts)
        assert n == 1 or size <= most
        left = left[n:]
        assert not left or left[0][0] != taken.replay or size + len(left[0][1].messages) > most
        assert taken.reading.caught_up == (not left and not taken.replay)


@given(st.floats(1e-6, 0.1), st.integers(0, 8))
def test_a_tick_takes_about_a_second_whatever_a_message_takes(message_s: float, quicker: int) -> None:
    handover = HandOver()
    for each_s in (message_s, message_s / 4**quicker):
        for _ in range(20):
            handover.took(handover.most, handover.most * each_s)
        assert min(TICK_MESSAGES, TICK_S / each_s) / 2 < handover.most <= max(FEWEST_MESSAGES, 2 * TICK_S / each_s)
    before = handover.most
    handover.took(1, 0.01)
    assert handover.most == before, "a tick of few messages says nothing of large ones"


def test_what_was_polled_before_the_assignment_has_changed_is_discarded() -> None:
    handover = HandOver()
    handover.resume(replaying=False)
    handover.put(batch.join_messages(messages(1)), Reading(caught_up=True), replay=False)
    handover.suspend()
    handover.put(batch.join_messages(messages(1)), Reading(caught_up=True), replay=False)
    assert handover.take(0.0) is None
    assert handover.wait_until_idle(0.0)
    handover.resume(replaying=True)
    taken = handover.take(0.0)
    assert taken is not None
    assert (taken.parts, taken.reading) == ([], Reading(replaying=True))


def test_the_newest_position_of_each_assigned_partition_is_committed_once() -> None:
    queue, committed = CommitQueue("there", SimpleNamespace(known=None)), list[tuple[int, int]]()  # type: ignore[arg-type]

    def commit(offsets: list[Any], asynchronous: bool) -> None:
        committed.extend((at.partition, at.offset) for at in offsets)

    queue.add({0: Position(5, 5), 1: Position(3, 3)})
    queue.add(AT_9)
    for assigned in ({0}, {0, 1}):
        queue.carry_out(SimpleNamespace(commit=commit), assigned)  # type: ignore[arg-type]
    assert committed == [(0, 9)]


@pytest.mark.parametrize("until", [2, 3, 4, 6, 7, 8])
def test_a_replay_has_the_messages_before_the_commit_and_reaches_it(until: int) -> None:
    polled = messages(3, 4, 6)
    assert [one.offset() for one in batch.truncate(polled, {0: until})] == [k for k in (3, 4, 6) if k < until]
    assert batch.reaching(polled, {0: until}) == ({0} if until <= 6 else set())
