"""Commits that do not hold for the topic: its log has lost its end, or it was deleted and created again."""

import logging
import struct
from pathlib import Path

import pytest
from beatwire.kafka import topics
from beatwire.kafka.consuming.commits import committed_offsets, committed_positions
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.local.broker import LocalKafka
from beatwire.kafka.publishing.sink import Sink
from beatwire.kafka.reading.follower import BEGINNING, Follower
from beatwire.wire import names
from confluent_kafka import TopicPartition
from confluent_kafka.cimpl import NewTopic
from kafka_messages import quick_sender, take
from moments import wait_until

pytestmark = pytest.mark.kafka

COMMIT, REWIND, LEFT = 1000, 950, 960


@pytest.fixture
def one(bare_kafka: LocalKafka) -> tuple[LocalKafka, Path]:
    """The shared broker with one partition a topic, and the folder of its logs."""
    topics.create_topics(bare_kafka.cluster, partitions=1)
    return bare_kafka, bare_kafka._directory / "logs"


def send(kafka: LocalKafka, prefix: str, count: int) -> list[bytes]:
    values = [f"{prefix}{k}".encode() for k in range(count)]
    with quick_sender(kafka.cluster) as sender:
        for k in range(0, count, 10):  # a batch each
            sender.send(names.SAMPLES, [b"s"] * 10, values[k : k + 10])
            sender.flush()
    return values


def commit_all(kafka: LocalKafka, rewind: int = REWIND, group: str = "g") -> None:
    """Commit `COMMIT` messages, as a monitor does."""
    with Source(kafka.cluster, group) as source, Sink(kafka.cluster) as sink:
        read = 0
        while read < COMMIT:
            polled = take(source)
            read += len(polled.tick.arrival_us)
            leaders = polled.leaders
            positions = {p: Position(at, min(at, rewind), leader=leaders[p]) for p, at in polled.positions.items()}
            sink.publish([], positions, source, polled.epoch)
    found = dict[int, Position]()

    def is_committed() -> bool:  # a moment after the transaction is
        found.update(committed_positions(kafka.cluster, group, names.SAMPLES, [0]))
        return 0 in found

    wait_until(is_committed)
    assert found[0].topic_id is not None


def cut(logs: Path) -> None:
    """Leave the first `LEFT` messages of the samples, as a power cut may: the node is not running."""
    log = logs / f"{names.SAMPLES}-0" / "00000000000000000000.log"
    content, at = log.read_bytes(), 0
    while (batch := struct.unpack_from(">qi", content, at))[0] < LEFT:
        at += 12 + batch[1]
    log.write_bytes(content[:at])
    for snapshot in log.parent.glob("*.snapshot"):
        snapshot.unlink()
    for name in ("recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        (logs / name).write_text("0\n0\n")
    (logs / ".kafka_cleanshutdown").unlink(missing_ok=True)


def create_again(kafka: LocalKafka) -> None:
    admin = kafka.cluster.admin()
    admin.delete_topics([names.SAMPLES])[names.SAMPLES].result(30)
    wait_until(lambda: names.SAMPLES not in admin.list_topics(timeout=30).topics)
    topic = NewTopic(names.SAMPLES, num_partitions=1, replication_factor=1, config=dict(topics.TOPICS[names.SAMPLES]))
    admin.create_topics([topic])[names.SAMPLES].result(30)


def commit_late(kafka: LocalKafka, group: str, at: Position) -> None:
    """Commit what a member at work still commits after the broker has deleted the commits along with the topic."""
    consumer = kafka.cluster.consumer({"group.id": group})
    consumer.commit(offsets=[TopicPartition(names.SAMPLES, 0, at.offset, at.metadata)], asynchronous=False)
    consumer.close()


def read(source: Source, live: int) -> tuple[list[bytes], list[bytes]]:
    """Return the messages of the replay, and at least `live` messages after it."""
    found: tuple[list[bytes], list[bytes]] = ([], [])
    while len(found[0]) < live:
        polled = take(source)
        assert polled.expired == {}
        tick = polled.tick
        values = [tick.payload[a:b].tobytes() for a, b in zip(tick.start[:-1], tick.start[1:], strict=True)]
        found[polled.replay].extend(values)
    return found[1], found[0]


def reported(caplog, what: str = "commit does not hold") -> list[dict[str, object]]:
    events = [record.__dict__ for record in caplog.records]
    return [event["fields"] for event in events if event.get("event") == what]


def gone_back(caplog) -> list[dict[str, object]]:
    return reported(caplog, "offsets go back")


def test_a_log_that_has_lost_its_end_is_read_from_its_end_and_a_successor_reads_what_comes(one, caplog):
    kafka, logs = one
    old = send(kafka, "old", COMMIT)
    commit_all(kafka)
    kafka.kill()
    cut(logs)
    kafka.start()
    assert topics.end_offsets(kafka.cluster, names.SAMPLES) == {0: LEFT}
    caplog.set_level(logging.WARNING, "beatwire")
    with Source(kafka.cluster, "g") as source:
        while not source.partitions:
            source.take(0.1)
    assert reported(caplog) == [{"partition": 0, "cause": "lost", "committed": COMMIT, "begin": LEFT}]
    assert committed_offsets(kafka.cluster, "g", names.SAMPLES, [0]) == {0: LEFT}
    new = send(kafka, "new", 60)  # the end is beyond the commit that was lost
    with Source(kafka.cluster, "g") as source:
        assert read(source, len(new)) == (old[REWIND:LEFT], new)
    assert len(reported(caplog)) == 1


SLOW = [(REWIND, 60), (LEFT + 20, 20), (LEFT + 20, 60), (COMMIT, 20)]


@pytest.mark.parametrize(
    ("rewind", "count"), [(REWIND, 20), (COMMIT, 60), *(pytest.param(*one, marks=pytest.mark.slow) for one in SLOW)]
)
def test_what_was_sent_after_a_cut_before_a_monitor_started_is_analysed_as_live(one, caplog, rewind, count):
    """With an end before the commit and one beyond it; a replay that begins before the cut and after it, and none."""
    kafka, logs = one
    old = send(kafka, "old", COMMIT)
    commit_all(kafka, rewind)
    kafka.kill()
    cut(logs)
    kafka.start()
    new = send(kafka, "new", count)
    caplog.set_level(logging.WARNING, "beatwire")
    with Source(kafka.cluster, "g") as source:
        assert read(source, count) == (old[rewind:LEFT], new)
    assert [fields for fields in reported(caplog) if fields["committed"] == COMMIT] or gone_back(caplog)


def test_a_source_at_work_whose_log_is_cut_reads_what_comes_then(one, caplog):
    kafka, logs = one
    with Source(kafka.cluster, "of its own") as source:
        old = send(kafka, "old", COMMIT)
        assert read(source, COMMIT) == ([], old)
        kafka.kill()
        cut(logs)
        kafka.start()
        new = send(kafka, "new", 60)
        caplog.set_level(logging.WARNING, "beatwire")
        assert read(source, 60) == ([], new)
    assert gone_back(caplog) == [{"partition": 0, "expected": COMMIT, "got": LEFT}]


@pytest.mark.parametrize("count", [60, COMMIT + 200])
def test_a_follower_at_work_whose_log_is_cut_returns_what_comes_then(one, count):
    kafka, logs = one
    with Follower(kafka.cluster, {names.SAMPLES: BEGINNING}) as follower:
        found = list[bytes | None]()

        def has(most: int) -> bool:
            found.extend(record.value for record in follower.records(0.1))
            return len(found) >= most

        old = send(kafka, "old", COMMIT)
        wait_until(lambda: has(COMMIT))
        kafka.kill()
        cut(logs)
        kafka.start()
        new = send(kafka, "new", count)
        wait_until(lambda: has(COMMIT + count))
        assert [follower.records(0.1) for _ in range(5)] == [[]] * 5
    assert found == old + new


@pytest.mark.parametrize("count", [40, COMMIT + 200])
def test_a_topic_that_was_created_again_is_read_from_its_begin(one, caplog, count):
    (kafka, _), group = one, f"without a member, {count}"
    send(kafka, "old", COMMIT)
    commit_all(kafka, group=group)
    (before,) = committed_positions(kafka.cluster, group, names.SAMPLES, [0]).values()
    create_again(kafka)
    commit_late(kafka, group, before)
    new = send(kafka, "new", count)
    caplog.set_level(logging.WARNING, "beatwire")
    with Source(kafka.cluster, group) as source:
        assert read(source, count) == ([], new)
    assert reported(caplog) == [{"partition": 0, "cause": "created", "committed": COMMIT, "begin": 0}]
