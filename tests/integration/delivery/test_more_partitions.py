"""Topics of the output that are given more partitions while they are followed: nothing is missing, nothing is back."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from alert_values import value
from beatwire.alerts.settings import Settings
from beatwire.kafka.publishing.orders import change_limits, read_limits
from beatwire.kafka.reading import follower
from beatwire.kafka.reading.readers import follow, read_active_alerts
from beatwire.kafka.reading.staff import StaffReader
from beatwire.wire import names
from confluent_kafka.admin import NewPartitions
from kafka_messages import quick_sender
from moments import wait_until

pytestmark = pytest.mark.kafka

KEYS = [f"{k:02x}" for k in range(16)]


def more_partitions(cluster, topic, partitions):
    admin, topic = cluster.admin(), cluster.topic(topic)
    admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(30)
    wait_until(lambda: len(admin.list_topics(topic, timeout=30).topics[topic].partitions) == partitions)


def send(cluster, state):
    with quick_sender(cluster) as sender:
        sender.send(names.ALERTS, [key.encode() for key in KEYS], [value(key, state) for key in KEYS])


def test_alerts_whose_keys_have_moved_are_followed_and_end(kafka, monkeypatch, wait):
    monkeypatch.setattr(follower, "_DISCOVERY_S", 0.2)
    stop = threading.Event()
    seen = []

    def run():
        messages = follow(kafka.cluster, names.ALERTS, stop=stop, earliest=True)
        seen.extend((message.key().decode(), message.partition()) for message in messages)

    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(run)
        try:
            send(kafka.cluster, "on")
            wait(lambda: len(seen) == len(KEYS) or following.done())
            more_partitions(kafka.cluster, names.ALERTS, 9)
            send(kafka.cluster, "off")
            wait(lambda: len(seen) == 2 * len(KEYS) or following.done(), 30)
        finally:
            stop.set()
        following.result(20)
    assert sorted(key for key, _ in seen) == sorted(2 * KEYS)
    assert max(partition for _, partition in seen) > 3, "keys have moved"
    assert read_active_alerts(kafka.cluster) == []


def test_limits_whose_keys_have_moved_are_those_entered_last(kafka):
    streams, last = KEYS[:6], {}
    for limit in (4.0, 5.0):
        for stream in streams:
            change_limits(kafka.cluster, stream, {"asystole": limit}, last, "Ada", Settings().limits)
        last = {"asystole": limit}
        more_partitions(kafka.cluster, names.SETTINGS, 9 if limit == 4.0 else 10)
    assert [read_limits(kafka.cluster, stream, Settings().limits) for stream in streams] == [last] * len(streams)
    with StaffReader(kafka.cluster) as staff:
        assert staff.wait(timeout_s=20)
        changes = staff.take_all_changes()
    for stream in streams:
        assert [change.limits["asystole"] for change in changes if change.stream == stream] == [4.0, 5.0]
