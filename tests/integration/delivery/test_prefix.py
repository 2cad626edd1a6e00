"""A prefix of the topics: added and removed by `beatwire.kafka` alone, wherever a topic is named."""

import pytest
from alert_values import value
from beatwire.errors import UserError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import commits
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.local.broker import LocalKafka
from beatwire.kafka.publishing.sink import Sink
from beatwire.kafka.reading.follower import BEGINNING, Follower
from beatwire.kafka.reading.readers import read_active_alerts, read_to_end
from beatwire.records import Outgoing
from beatwire.wire import names
from kafka_messages import positions_after, quick_sender, take

pytestmark = pytest.mark.kafka


def test_topics_with_a_prefix_are_read_and_written_by_their_logical_names(kafka: LocalKafka) -> None:
    cluster = Cluster(kafka.bootstrap, prefix="icu.")
    assert topics.create_topics(cluster) == list(topics.TOPICS)
    assert topics.create_topics(cluster) == []
    topics.check_broker(cluster, topics.TOPICS)
    there = set(kafka.cluster.admin().list_topics(timeout=60).topics)
    assert {f"icu.{name}" for name in topics.TOPICS} <= there
    assert set(topics.topics_of(cluster)) == set(topics.TOPICS)
    with quick_sender(cluster) as sender:
        sender.send(names.SAMPLES, [b"s"] * 3, [b"1", b"2", b"3"])
    outgoing = [
        Outgoing(names.BEATS, [b"s"], [b"beat"]),
        Outgoing(names.ALERTS, [b"a"], [value("a")]),
        Outgoing(names.DEAD_LETTERS, [b"s"], [b"3"], [[("reason", b"field")]]),
    ]
    with Source(cluster, "prefixed") as source, Sink(cluster) as sink:
        polled = take(source)
        assert polled.origin.addresses([0]).topic == "icu.ecg.samples"  # where the message is
        while sum(polled.positions.values()) < 3:
            polled = take(source)
        sink.publish(outgoing, positions_after(polled), source, polled.epoch)
        sink.end_open_transactions(source)
    assert commits.group_lag(cluster, "prefixed") == 0
    assert list(read_to_end(cluster, names.BEATS)) == [(b"s", b"beat")]
    assert [alert["id"] for alert in read_active_alerts(cluster)] == ["a"]
    with Follower(cluster, {names.DEAD_LETTERS: BEGINNING}) as follower:
        found = []
        while not found:
            found = follower.records(1.0)
    assert [(record.topic, record.value) for record in found] == [(names.DEAD_LETTERS, b"3")]
    assert list(read_to_end(kafka.cluster, names.BEATS)) == []  # the topic without a prefix
    with pytest.raises(UserError, match=r"expected topic 'ward\.ecg\.samples' at"):
        Source(Cluster(kafka.bootstrap, prefix="ward."), "g")
