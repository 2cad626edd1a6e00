"""The source on a real Kafka: ticks, where their messages are, and what is read again."""

import time

import numpy as np
import pytest
from alert_values import value
from beatwire.alerts.rules import RULES, SERVICE_RULES
from beatwire.kafka import topics
from beatwire.kafka.consuming.positions import Position
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.reading.readers import read_active_alerts
from beatwire.records import Expired
from beatwire.records.letters import Addresses
from beatwire.wire import names
from confluent_kafka import TopicPartition
from kafka_messages import quick_sender, send, take

pytestmark = pytest.mark.kafka


def test_ticks_contain_the_locations_of_their_messages_and_a_tombstone_is_empty(kafka):
    send(kafka, b"1", None, b"333")
    with Source(kafka.cluster, "g") as source:
        polled = take(source)
        tick, origin = polled.tick, polled.origin
        assert tick.payload.tobytes() == b"1333"
        assert tick.start.tolist() == [0, 1, 1, 4]
        (partition,) = set(tick.partition.tolist())
        assert origin.addresses([2, 1]) == Addresses(names.SAMPLES, [2, 1], [b"s"] * 2)
        assert polled.positions == {partition: 3}
        assert polled.start[partition] == 0
        assert np.all(np.abs(tick.now_us - tick.arrival_us) < 60e6)


def test_every_arrival_is_the_brokers_own_time(kafka):
    with quick_sender(kafka.cluster) as sender:
        for _ in range(20):
            sender.send(names.SAMPLES, [b"s"] * 40, [b"x"] * 40)
            sender.flush()
    with Source(kafka.cluster, "g") as source:
        seen, due = [], []
        while len(seen) < 800:
            polled = take(source)
            seen += polled.tick.arrival_us.tolist()
            due += [message.timestamp()[1] * 1000 for message in polled.origin.messages]
    assert seen == due
    assert len(set(seen)) > 1


def test_time_passes_in_empty_ticks_once_everything_was_read(kafka):
    send(kafka, b"1")
    with Source(kafka.cluster, "g") as source:
        take(source)
        empty = [source.take(0.05) for _ in range(30)]  # the other partitions have been quiet for a second
    assert all(polled is not None and len(polled.tick.arrival_us) == 0 for polled in empty)
    assert empty[-1].tick.caught_up
    assert not empty[-1].positions


def test_a_replay_that_is_no_longer_kept_starts_with_the_oldest_message(kafka):
    send(kafka, *[str(n).encode() for n in range(100)])
    with Source(kafka.cluster, "g") as source:
        polled = take(source)
        ((partition, end),) = polled.positions.items()
        source.commit({partition: Position(60, 10)})
    admin = kafka.cluster.admin()
    for future in admin.delete_records([TopicPartition(names.SAMPLES, partition, 30)]).values():
        future.result(60)
    with Source(kafka.cluster, "g") as source:
        replay = take(source)
        assert replay.replay
        assert (replay.start[partition], replay.positions[partition]) == (30, 60)
        live = take(source)
        assert not live.replay
        assert (live.start[partition], live.positions[partition]) == (60, 100)
        assert (replay.expired, live.expired) == ({}, {partition: Expired(unread=0, replay=20)})
    assert end == 100


def test_the_replay_is_cut_exactly_at_each_partitions_commit(kafka):
    with quick_sender(kafka.cluster) as sender:
        for n in range(50):
            sender.send(names.SAMPLES, [f"s{k}".encode() for k in range(30)], [str(n).encode()] * 30)
    ends = topics.end_offsets(kafka.cluster, names.SAMPLES)
    commits = {p: Position(end // (p + 1), end // (p + 3)) for p, end in ends.items()}
    with Source(kafka.cluster, "g") as source:
        take(source)
        source.commit(commits)
    replayed, live = {p: [] for p in ends}, {p: [] for p in ends}
    with Source(kafka.cluster, "g") as source:
        while sum(map(len, live.values())) < sum(end - commits[p].offset for p, end in ends.items()):
            polled = take(source)
            for message in polled.origin.messages:
                (replayed if polled.replay else live)[message.partition()].append(message.offset())
    assert replayed == {p: list(range(at.rewind, at.offset)) for p, at in commits.items()}
    assert live == {p: list(range(at.offset, ends[p])) for p, at in commits.items()}


def test_active_alerts_are_those_whose_last_state_is_not_off(kafka):
    states = [("a", value("a")), ("b", value("b")), ("a", value("a", "off")), ("c", value("c", "latched")), ("d", None)]
    with quick_sender(kafka.cluster) as sender:
        sender.send(names.ALERTS, [key.encode() for key, _ in states], [value for _, value in states])
    said_us = {}
    active = read_active_alerts(kafka.cluster, said=said_us.__setitem__)
    assert {alert["id"] for alert in active} == said_us.keys() == {"b", "c"}
    assert all(abs(time.time() - at_us / 1e6) < 60 for at_us in said_us.values())


def test_an_alert_of_every_rule_is_read_and_one_of_another_version_is_said(kafka):
    rules = sorted({rule.name for rule in (*RULES, *SERVICE_RULES)})
    said = []
    with quick_sender(kafka.cluster) as sender:
        keys = [f"{number:02x}" for number in range(len(rules) + 1)]
        values = [value(key, rule=rule) for key, rule in zip(keys, [*rules, "of tomorrow"], strict=True)]
        sender.send(names.ALERTS, [key.encode() for key in keys], values)
    found = read_active_alerts(kafka.cluster, any_rule=False, unusable=said.append)
    assert {alert["rule"] for alert in found} == set(rules)
    assert {alert["rule"] for alert in read_active_alerts(kafka.cluster)} == {*rules, "of tomorrow"}
    assert [one.reason for one in said] == ["expected a rule of this version; got 'of tomorrow'"]
