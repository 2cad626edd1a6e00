"""Another group of monitors on the same topics is found by its commits."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from beatwire.errors import UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.other_groups import other_monitors
from beatwire.kafka.publishing.sender import Sender
from confluent_kafka import KafkaError, KafkaException
from hypothesis import given
from hypothesis import strategies as st


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

    def list_consumer_group_offsets(self, asked: list[Any], **_: Any) -> dict[str, Future[Any]]:
        (group,) = (one.group_id for one in asked)
        commits = self.groups[group]
        if commits is None:
            refused: Future[Any] = Future()
            refused.set_exception(KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)))
            return {group: refused}
        found = [SimpleNamespace(topic="ecg.samples", metadata=metadata) for metadata in commits]
        return {group: done(SimpleNamespace(topic_partitions=found))}


def test_groups_that_commit_as_monitors_do_are_found_and_archivers_are_none() -> None:
    monitors = [Position(120, 7, banks=frozenset({(250.0, 2)})).metadata]
    groups = {"ours": monitors, "archive": ["", "x"], "theirs": ["", *monitors], "hidden": None}
    assert other_monitors(Brokers(groups), "ours") == ["theirs"]  # type: ignore[arg-type]


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
