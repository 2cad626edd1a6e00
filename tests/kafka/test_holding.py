"""Partitions that wait for the registry: each for its own ids alone."""

from dataclasses import dataclass, field

import pytest
from beatwire.kafka.consuming import batch
from beatwire.kafka.consuming.holding import Holding
from beatwire.wire.avro import frame
from beatwire.wire.bundles import encode_bundle
from kafka_messages import Message


@dataclass
class Answers:
    """A registry that has answered for some ids."""

    known: set[int] = field(default_factory=set)

    def missing(self, ids: list[int]) -> set[int]:
        return set(ids) - self.known

    waiting = missing


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    monkeypatch.setattr(batch, "Message", Message)
    return [
        Message(0, 5, b"plain"), Message(0, 6, frame(b"x", 1)), Message(0, 7, frame(b"x", 2)),
        Message(1, 9, b"plain"), Message(1, 10, frame(b"x", 3)), Message(2, 3, b"plain"),
    ]  # fmt: skip


def test_a_partition_waits_at_its_first_unknown_id_and_for_its_own_ids_alone(messages: list[Message]) -> None:
    answers = Answers()
    holding = Holding(answers)  # type: ignore[arg-type]
    part, held = holding.admit(messages)  # type: ignore[arg-type]
    assert held == {0: 6, 1: 10}
    assert part.next_offset == {0: 6, 1: 10, 2: 4}
    assert holding.partitions == {0: {1, 2}, 1: {3}}
    answers.known.add(3)
    assert holding.released() == {1}
    answers.known |= {1, 2}
    assert holding.released() == {0}


def test_a_bundle_waits_for_its_own_id_and_for_those_of_its_chunks(messages: list[Message]) -> None:
    chunks = encode_bundle([b"plain", frame(b"x", 5), frame(b"x", 4)])
    sent = [messages[0], Message(0, 6, chunks), Message(1, 9, frame(chunks, 6)), Message(2, 3, encode_bundle([b"x"]))]
    holding = Holding(Answers({4}))  # type: ignore[arg-type]
    part, held = holding.admit(sent)  # type: ignore[arg-type]
    assert held == {0: 6, 1: 9}
    assert part.next_offset == {0: 6, 2: 4}
    assert holding.partitions == {0: {5}, 1: {5, 6}}
