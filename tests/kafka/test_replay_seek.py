"""Partitions are sought in as soon as librdkafka has started them; one that is not started begins a new epoch."""

from typing import Any

import pytest
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import poller, replay
from beatwire.kafka.consuming.handover import HandOver
from beatwire.kafka.consuming.progress import Progress
from confluent_kafka import KafkaError, KafkaException, TopicPartition

STATE, GONE = KafkaError._STATE, KafkaError._UNKNOWN_PARTITION


class Starting:
    """A consumer that starts a partition after so many refusals."""

    def __init__(self, refusals: float, code: int = STATE) -> None:
        self.refusals, self.code, self.sought = refusals, code, list[int]()

    def resume(self, _: Any) -> None:
        """Resume nothing."""

    def seek(self, target: TopicPartition) -> None:
        if self.refusals > 0:
            self.refusals -= 1
            raise KafkaException(KafkaError(self.code))
        self.sought.append(target.partition)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Sleep without waiting; return the seconds."""
    slept = [0.0]
    monkeypatch.setattr(replay.time, "monotonic", lambda: slept[0])
    monkeypatch.setattr(replay.time, "sleep", lambda s: slept.__setitem__(0, slept[0] + s))
    return slept


TARGETS = [TopicPartition("ecg.samples", p, 7) for p in (0, 1)]


def test_a_partition_that_starts_late_is_sought_in_once_it_has_started(clock: list[float]) -> None:
    consumer = Starting(900)
    assert replay.read_on(consumer, TARGETS)  # type: ignore[arg-type]
    assert consumer.sought == [0, 1]
    assert 4.0 < clock[0] < 5.0


@pytest.mark.parametrize(
    ("code", "within_s", "said"),
    [(STATE, (5.0, 5.1), "Local: Erroneous state"), (GONE, (0.0, 0.0), "Local: Unknown partition")],
)
def test_one_that_does_not_start_is_said_after_five_seconds_one_that_is_gone_at_once(
    clock: list[float], caplog: pytest.LogCaptureFixture, code: int, within_s: tuple[float, float], said: str
) -> None:
    consumer = Starting(1, GONE) if code == GONE else Starting(float("inf"), code)
    assert not replay.read_on(consumer, TARGETS)  # type: ignore[arg-type]
    assert within_s[0] <= clock[0] <= within_s[1]
    (record,) = caplog.records
    assert record.getMessage() == (
        f"kafka: ecg.samples/0: expected to read on at offset 7; got {said}: a new epoch begins at the group's commits"
    )
    assert record.event == "does not resume"  # type: ignore[attr-defined]


def test_after_such_an_error_a_new_epoch_begins_at_the_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    class Client:
        def __init__(self, *_: Any, **__: Any) -> None:
            self.consumer = Starting(float("inf"))

    monkeypatch.setattr(poller, "GroupClient", Client)
    handover = HandOver()
    own = poller.Poller(Cluster(""), "group", "ecg.samples", handover, Progress(), protocol="classic")
    own.changing, own._next_offset = False, {0: 5, 1: 5}
    handover.resume(replaying=True)
    own._resume({0, 1})
    assert own.changing
    assert handover.take(0.0) is None, "what was polled is discarded"
