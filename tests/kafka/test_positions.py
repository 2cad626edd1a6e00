"""A commit is moved into the offsets that the broker has, by the id of the topic that it belongs to."""

import logging
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest
from beatwire.kafka.consuming.deleted import Deleted
from beatwire.kafka.consuming.positions import (
    Cause,
    OffsetRange,
    Position,
    cause_to_go_back,
    clip_to_available,
    is_monitors,
)
from beatwire.kafka.consuming.topic_id import TopicId
from beatwire.records import Expired
from confluent_kafka import KafkaError, KafkaException
from hypothesis import example, given
from hypothesis import strategies as st

A, B = "obSTE3MLT0CklpNUVoNolw", "hTyvOpw1SH-QJxRHbT_TUw"
IDS = st.none() | st.sampled_from([A, B])
OFFSETS = st.integers(0, 60)


@st.composite
def commits(draw: st.DrawFn) -> Position:
    offset = draw(OFFSETS)
    banks = draw(st.none() | st.frozensets(st.tuples(st.sampled_from([128.0, 360.0]), st.integers(1, 12))))
    return Position(offset, draw(st.integers(0, offset)), draw(st.integers(0, 2**60)), banks, draw(IDS))


@st.composite
def ranges(draw: st.DrawFn) -> OffsetRange:
    low = draw(OFFSETS)
    return OffsetRange(low, draw(st.integers(low, 60)))


@given(commits())
def test_a_commit_is_read_as_it_was_written(commit: Position) -> None:
    assert Position.from_commit(commit.offset, commit.metadata) == commit
    assert is_monitors(commit.metadata)


@given(commits(), st.text("AZaz09-_", max_size=30))
def test_an_id_of_another_length_is_no_metadata_of_a_monitor(commit: Position, topic_id: str) -> None:
    metadata = commit._replace(topic_id="?").metadata.replace("topic=?", f"topic={topic_id}")
    assert is_monitors(metadata) == (len(topic_id) == 22)


def test_metadata_with_an_id_and_too_many_banks_keep_the_id() -> None:
    banks = frozenset((50 + k / 3, 12) for k in range(400))
    at = Position(9, 4, 1, banks, "obSTE3MLT0CklpNUVoNolw")
    assert Position.from_commit(9, at.metadata) == at._replace(banks=None)


def test_a_replay_ends_at_the_commit_whatever_its_metadata_say() -> None:
    assert Position.from_commit(5, Position(9, 9).metadata)[:2] == (5, 5)


def test_behind_messages_that_retention_has_deleted_no_leader_epoch_is_known() -> None:
    commit = Position(9, 4, leader=3)
    leaders = {low: clip_to_available(commit, OffsetRange(low, 60))[0].leader for low in (0, 9, 10)}
    assert leaders == {0: 3, 9: 3, 10: None}


@given(commits(), ranges(), IDS)
@example(Position(50, 40, topic_id="obSTE3MLT0CklpNUVoNolw"), OffsetRange(0, 30), "obSTE3MLT0CklpNUVoNolw")
def test_a_position_lies_in_the_offsets_that_the_broker_has(
    commit: Position, available: OffsetRange, present: str | None
) -> None:
    at, expired = clip_to_available(commit, available, present)
    assert available.low <= at.rewind <= at.offset <= available.high
    assert at.topic_id == present
    both_known = commit.topic_id is not None and present is not None
    cause = cause_to_go_back(commit, available, present)
    if (both_known and commit.topic_id != present) or (commit.offset > available.high and not both_known):
        assert cause is Cause.CREATED
        assert (at.offset, at.rewind, expired) == (available.low, available.low, Expired())
    elif commit.offset > available.high:
        assert cause is Cause.LOST
        assert at.offset == available.high, "nothing is published again"
        assert at.rewind == max(available.low, min(commit.rewind, available.high))
        assert expired.unread == 0
        assert expired.replay == at.rewind - min(commit.rewind, available.high)
    else:
        assert cause is None
        assert at.offset == max(commit.offset, available.low)
        assert expired.unread == at.offset - commit.offset
        assert expired.first == (commit.offset if expired.unread else 0)
        assert expired.replay == min(commit.offset, at.rewind) - commit.rewind


class Described:
    """A broker that describes a topic with what it is given: an id, an error, or None for no answer yet."""

    def __init__(self, *answers: Any) -> None:
        self.answers = [*answers]

    def admin(self) -> Any:
        return self

    def describe_topics(self, _: Any, **__: Any) -> dict[str, Any]:
        answer, future = self.answers.pop(0), Future[Any]()
        if isinstance(answer, Exception):
            future.set_exception(answer)
        elif answer is not None:
            future.set_result(type("Description", (), {"topic_id": answer}))
        self.asked = future
        return {"t": future}


DENIED = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))


def test_a_topic_that_may_not_be_described_has_no_id() -> None:
    topic_id = TopicId(Described(DENIED), "t")  # type: ignore[arg-type]
    assert (topic_id.known, topic_id.wait()) == (None, None)


def test_the_id_before_holds_until_the_broker_answers_unless_it_is_doubted() -> None:
    for doubted, meanwhile in ((False, A), (True, None)):
        broker = Described(A, None)
        topic_id = TopicId(broker, "t")  # type: ignore[arg-type]
        assert topic_id.known == A
        topic_id.ask(doubted=doubted)
        assert topic_id.known == meanwhile
        broker.asked.set_result(type("Description", (), {"topic_id": "hTyvOpw1SH+QJxRHbT/TUw"}))
        assert topic_id.known == B


class Polled:
    """A part of one partition, and its messages."""

    def __init__(self, *offsets: int) -> None:
        self.messages = [type("Message", (), {"offset": lambda _, at=at: at})() for at in offsets]
        self.partition, self.next_offset = np.zeros(len(offsets), np.int32), {0: offsets[-1] + 1}


class Fetched:
    """A consumer whose last fetch said what the broker has."""

    def get_watermark_offsets(self, _: Any, **__: Any) -> tuple[int, int]:
        return 0, 100


@pytest.mark.parametrize(("offsets", "back"), [((7, 8), None), ((8, 9), None), ((5, 6), 5), ((7, 8, 0, 1), 0)])
def test_offsets_that_go_back_are_reported_and_the_id_is_asked_for(
    offsets: tuple[int, ...], back: int | None, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("beatwire.kafka.consuming.batch._offset", lambda message: message.offset())
    caplog.set_level(logging.WARNING, "beatwire")
    topic_id = TopicId(Described(A, B), "t")  # type: ignore[arg-type]
    deleted = Deleted("t", topic_id)
    deleted.note(Fetched(), Polled(*offsets), {0: 7}, {})  # type: ignore[arg-type]
    assert topic_id.known == (A if back is None else B)
    events = [record.__dict__ for record in caplog.records]
    expected = [] if back is None else [{"partition": 0, "expected": 7, "got": back}]
    assert [event["fields"] for event in events if event["event"] == "offsets go back"] == expected
