"""Partitions that were resumed: until something comes of them, nobody knows what waits at the broker."""

from typing import Any

import pytest
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import batch, poller
from beatwire.kafka.consuming.handover import HandOver, Taken
from beatwire.kafka.consuming.progress import Progress
from kafka_messages import Message


class Consumer:
    def resume(self, targets: list[Any]) -> None:
        """Resume nothing."""

    seek = resume


class Client:
    """A member whose library says, by its last fetch before a pause, that nothing waits."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.consumer = Consumer()

    def at_end(self, _: Any) -> tuple[bool, frozenset[int]]:
        return True, frozenset()


def test_a_partition_that_was_resumed_is_not_read_to_its_end_before_something_comes_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(poller, "GroupClient", Client)
    monkeypatch.setattr(batch, "Message", Message)
    handover = HandOver()
    own = poller.Poller(Cluster(""), "group", "ecg.samples", handover, Progress(), protocol="classic")
    own._next_offset = {0: 5, 1: 5}
    handover.resume(replaying=False)

    def caught_up(*messages: Any) -> bool:
        own._pass_on(list(messages), drained=True)
        taken = handover.take(0.0)
        assert isinstance(taken, Taken)
        return taken.reading.caught_up

    caught_up()
    assert caught_up()
    own._resume({0, 1})
    assert not caught_up()
    assert not caught_up(Message(0, 5, b"")), "those of the other one wait for the next answer"
    assert caught_up(Message(1, 5, b""))
    monkeypatch.setattr("beatwire.kafka.consuming.resumed.QUIET_S", 0.0)
    own._resume({0, 1})
    assert caught_up(), "nothing has come for long"
