"""Partitions that the coordinator gives to members that are gone: found, and assigned again."""

import math
import struct
from uuid import UUID

import pytest
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import unassigned
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.local.broker import LocalKafka
from beatwire.kafka.publishing.sender import Sender
from beatwire.wire import names
from confluent_kafka import Producer, TopicCollection
from confluent_kafka.admin import AdminClient
from kafka_messages import abort_messages, send, take

pytestmark = pytest.mark.kafka

GROUP = "monitors"
OFFSETS = "__consumer_offsets"
TARGET_OF_A_MEMBER = 7  # version of the key: ConsumerGroupTargetAssignmentMember
GHOST_HAS = [0, 1, 2]


def topic_id(admin: AdminClient) -> bytes:
    described = admin.describe_topics(TopicCollection([names.SAMPLES]))[names.SAMPLES].result(60)
    most, least = described.topic_id.get_most_significant_bits(), described.topic_id.get_least_significant_bits()
    return UUID(int=((most % 2**64) << 64) + least % 2**64).bytes


def text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def coordinator_partition(group: str, partitions: int) -> int:
    """Return the partition of the offsets topic that holds a group: the absolute value of Java's hash of its name."""
    code = 0
    for letter in group:
        code = (31 * code + ord(letter)) % 2**32
    return min(code, 2**32 - code) % partitions


def give_to_ghost(kafka: LocalKafka, partitions: list[int]) -> None:
    """Write to the log of the group that a member that is gone is to have partitions."""
    admin = kafka.cluster.admin()
    key = struct.pack(">h", TARGET_OF_A_MEMBER) + text(GROUP) + text("ghost")
    assigned = bytes([len(partitions) + 1]) + b"".join(struct.pack(">i", p) for p in partitions)
    value = struct.pack(">h", 0) + bytes([2]) + topic_id(admin) + assigned + bytes([0, 0])
    # The one client id that may write to this topic.
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "client.id": "__admin_client"})
    failures: list[object] = []
    at = coordinator_partition(GROUP, len(admin.list_topics(OFFSETS, timeout=60).topics[OFFSETS].partitions))
    producer.produce(OFFSETS, value, key, at, on_delivery=lambda error, _: failures.append(error))
    producer.flush(60)
    assert failures == [None]


def assigned(*members: Source) -> list[int]:
    for member in members:
        member.take(0.05)
    return sorted(partition for member in members for partition in member.assigned)


@pytest.mark.slow  # waits for the coordinator's timeouts
def test_partitions_of_a_member_that_is_gone_are_assigned_again(
    need_kafka: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, wait
) -> None:
    monkeypatch.setattr(unassigned, "EVERY_S", 0.5)
    monkeypatch.setattr(unassigned, "LONG_S", 4.0)
    monkeypatch.setattr(unassigned, "SPREAD_S", 2.0)
    with LocalKafka(partitions=4) as kafka:
        with Source(kafka.cluster, GROUP) as source:
            wait(lambda: assigned(source) == [0, 1, 2, 3])
        give_to_ghost(kafka, GHOST_HAS)
        kafka.stop()
        kafka.start()
        with Sender(kafka.cluster) as sender:
            keys: list[bytes | None] = [b"bed-%d" % k for k in range(60)]
            sender.send(names.SAMPLES, keys, [b"x"] * len(keys))
        with Source(kafka.cluster, GROUP) as first, Source(kafka.cluster, GROUP) as second:
            wait(lambda: assigned(first, second) == [3])
            wait(lambda: assigned(first, second) == [0, 1, 2, 3])
    said = [r for r in caplog.records if getattr(r, "event", "") == "unassigned"]
    assert set(GHOST_HAS) <= set(said[0].__dict__["fields"]["partitions"])
    assert said[0].getMessage().startswith("messages wait in partitions 0, 1, 2")


def test_partitions_that_others_work_on_or_without_messages_are_not_reported(kafka: LocalKafka, wait) -> None:
    now_s = [0.0]
    state = unassigned.Unassigned(kafka.cluster, GROUP, names.SAMPLES, lambda: now_s[0])
    with Source(kafka.cluster, GROUP) as source:
        send(kafka, *[b"x"] * 30)  # one key: one partition
        (partition,) = take(source).positions
        abort_messages(kafka.cluster, (partition + 1) % 4)  # they have offsets, and nobody receives them
        committed = 0

        def commit_next() -> None:
            nonlocal committed
            committed += 1
            source.commit({partition: Position(committed, committed)})  # is carried out after a poll
            wait(lambda: source.committed([partition]) == {partition: committed})

        def find_for(requests: int, own: set[int], *, commits: bool) -> list[int]:
            found: set[int] = set()
            for _ in range(requests):
                if commits:
                    commit_next()
                now_s[0] += unassigned.EVERY_S
                found |= set(state.find(own))
            return sorted(found)

        long = math.ceil((unassigned.LONG_S + unassigned.SPREAD_S) / unassigned.EVERY_S) + 1
        assert find_for(2 * long, {partition}, commits=False) == []
        assert find_for(2 * long, set(), commits=True) == []
        assert find_for(long, set(), commits=False) == [partition]
        assert find_for(long, set(), commits=False) == []  # an attempt was made: it pauses


def test_a_broker_that_is_away_leaves_nothing_unassigned() -> None:
    now_s = iter((0.0, unassigned.EVERY_S))
    away = unassigned.Unassigned(Cluster("127.0.0.1:1"), GROUP, names.SAMPLES, lambda: next(now_s))
    assert away.find([]) == []
