"""Another group of monitors on the same topics is found by its commits."""

from __future__ import annotations

import re
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import beatwire
import pytest
from beatwire.alerts.settings import Settings
from beatwire.errors import UserError
from beatwire.kafka import other_groups
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.other_groups import GroupWatch, judging_otherwise, other_monitors
from beatwire.kafka.publishing.sender import Sender
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from hypothesis import given
from hypothesis import strategies as st
from moments import wait_until


def done(result: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(result)
    return future


class Brokers:
    """Groups by name with the metadata of their commits on ecg.samples; None: they may not be seen."""

    def __init__(self, groups: dict[str, list[str] | None]) -> None:
        self.groups = groups

    def topic(self, name: str) -> str:
        return name

    def admin(self) -> Brokers:
        return self

    def list_consumer_groups(self, **_: Any) -> Future[Any]:
        return done(SimpleNamespace(valid=[SimpleNamespace(group_id=name) for name in self.groups]))

    def list_topics(self, topic: str, **_: Any) -> Any:
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions={0: None, 1: None, 2: None})})

    def consumer(self, own: dict[str, Any]) -> Commits:
        return Commits(self.groups[own["group.id"]])


class Commits:
    """Stands in for the consumer that asks for the commits of a group."""

    def __init__(self, metadata: list[str] | None) -> None:
        self.metadata = metadata

    def committed(self, partitions: list[TopicPartition], **_: Any) -> list[TopicPartition]:
        if self.metadata is None:
            raise KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
        stated = [*self.metadata, *[""] * len(partitions)]
        return [TopicPartition(at.topic, at.partition, 7, of) for at, of in zip(partitions, stated, strict=False)]

    def close(self) -> None:
        pass


def test_no_admin_client_asks_for_the_commits_or_the_members_of_a_group() -> None:
    """It may end the process while a broker starts (`beatwire.kafka.consuming.commits`)."""
    code = "\n".join(path.read_text("utf-8") for path in Path(beatwire.__file__).parent.rglob("*.py"))
    assert "list_consumer_groups(" in code
    assert not re.findall(r"list_consumer_group_offsets|describe_consumer_groups|alter_consumer_group_offsets", code)


def test_groups_that_commit_as_monitors_do_are_found_and_archivers_are_none() -> None:
    monitors = [Position(120, 7, banks=frozenset({(250.0, 2)})).metadata]
    groups = {"ours": monitors, "archive": ["", "x"], "theirs": ["", *monitors], "hidden": None}
    assert other_monitors(Brokers(groups), "ours") == ["theirs"]  # type: ignore[arg-type]


def test_groups_that_judge_by_other_limits_than_a_page_are_found_by_what_their_commits_state() -> None:
    own, other = Settings(), Settings().with_limits({"asystole": 5.0})
    stated = {
        "ours": [f"limits:{own.digest},models:0d9e8f"], "theirs": [f"limits:{other.digest},models:0d9e8f"],
        "both": [f"limits:{one.digest},models:0d9e8f" for one in (own, other)],
    }  # fmt: skip
    groups: dict[str, list[str] | None] = {
        name: [Position(1, 0, settings=one).metadata for one in of] for name, of in stated.items()
    }
    brokers = Brokers(groups | {"older": [Position(1, 0).metadata], "archive": ["x"], "hidden": None})
    assert judging_otherwise(brokers, own.digest) == ["both", "theirs"]  # type: ignore[arg-type]
    assert judging_otherwise(brokers, other.digest) == ["both", "ours"]  # type: ignore[arg-type]


@given(st.lists(st.sets(st.sampled_from(["a", "b", "c"])), max_size=8))
def test_each_group_that_begins_is_reported_once_to_those_that_were_there_before(present: list[set[str]]) -> None:
    monitors = [Position(120, 7, banks=frozenset({(250.0, 2)})).metadata]
    brokers, reported, before = Brokers({}), list[list[str]](), set[str]()
    watch = GroupWatch(brokers, "ours", reported.append)  # type: ignore[arg-type]
    for groups in present:
        brokers.groups = dict.fromkeys({"ours", *groups}, monitors)
        watch.look()
        assert reported == ([sorted(groups)] if groups - before else [])
        reported.clear()
        before = groups


def test_a_watch_looks_at_once_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_groups, "_INTERVAL_S", 0.01)
    brokers, reported = Brokers({"theirs": [Position(1, 0).metadata]}), list[list[str]]()
    with GroupWatch(brokers, "ours", reported.append):  # type: ignore[arg-type]
        assert reported == [["theirs"]]
        brokers.groups = {**brokers.groups, "third": [Position(1, 0).metadata]}
        wait_until(lambda: reported == [["theirs"], ["theirs", "third"]])


@given(st.text() | st.from_regex(r"beatwire rewind=[0-9]+ at=[0-9]+ banks=\S*", fullmatch=True))
def test_metadata_of_a_commit_that_anybody_has_written_stop_nothing(metadata: str) -> None:
    found = Position.from_commit(120, metadata)
    assert found.offset == 120
    assert found.rewind <= 120


def test_the_cause_of_a_producer_that_has_ended_is_raised_with_headers_as_without() -> None:
    denied = KafkaException(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED))

    class Ended:
        def produce(self, *_: Any, **__: Any) -> None:
            raise KafkaException(KafkaError(KafkaError._FATAL))

        def poll(self, _: float) -> None:
            raise denied

    sender = Sender(Cluster("127.0.0.1:1"))
    sender.close()
    sender.producer = Ended()  # type: ignore[assignment]
    for send in (
        lambda: sender.send("t", [b"k"], [b"v"]),
        lambda: sender.send_with_headers("t", [b"k"], [b"v"], [[("h", b"v")]]),
    ):
        with pytest.raises(UserError, match="expected this client to be allowed to write"):
            send()
