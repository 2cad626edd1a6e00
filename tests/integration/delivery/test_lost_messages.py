"""Topics that lose their messages under a monitor: alerts and limits in force are there again."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from beatwire.alerts.settings import Settings
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.local.broker import LocalKafka
from beatwire.kafka.publishing.orders import change_limits, read_limits, restore_limits
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.publishing.sink import Sink
from beatwire.kafka.reading import removed
from beatwire.kafka.reading.readers import read_active_alerts, read_to_end
from beatwire.kafka.reading.staff import EFFECT_S, StaffReader
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings as GraphSettings
from beatwire.service.monitor import Monitor
from beatwire.wire import names
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.cimpl import NewTopic
from kafka_messages import set_topic
from laws import Signal
from moments import LIMIT_S, wait_until

pytestmark = pytest.mark.kafka

DEFAULTS = Settings().limits
LIMITS = {"tachycardia": 100.0}


def create_anew(cluster: Cluster, topic: str) -> None:
    admin = cluster.admin()
    admin.delete_topics([topic])[topic].result(LIMIT_S)

    def is_created() -> bool:
        new = NewTopic(topic, 4, 1, config=dict(topics.TOPICS[topic]))
        try:
            admin.create_topics([new])[topic].result(LIMIT_S)
        except KafkaException:
            return False
        return True

    wait_until(is_created)


def empty(cluster: Cluster, topic: str) -> None:
    """Delete the messages of a topic, as retention does; brokers refuse that where a topic is compacted alone."""
    set_topic(cluster, topic, "cleanup.policy", "compact,delete")
    admin = cluster.admin()
    ends = topics.end_offsets(cluster, topic)
    for future in admin.delete_records([TopicPartition(topic, p, end) for p, end in ends.items()]).values():
        future.result(LIMIT_S)


def no_data(cluster: Cluster) -> list[dict[str, Any]]:
    return [one for one in read_active_alerts(cluster) if one["rule"] == "no data"]


def audited(cluster: Cluster) -> list[str]:
    return [json.loads(value)["what"] for _, value in read_to_end(cluster, names.AUDIT) if value]


@pytest.mark.parametrize("lose", [create_anew, empty])
def test_alerts_and_limits_in_force_are_there_again_as_they_were(
    kafka: LocalKafka, monkeypatch: pytest.MonkeyPatch, lose: Callable[[Cluster, str], None]
) -> None:
    monkeypatch.setattr(removed, "_INTERVAL_S", 0.2)
    stop, cluster = threading.Event(), kafka.cluster
    change_limits(cluster, "bed-1", LIMITS, {}, "Ada", DEFAULTS)
    in_force_s = time.monotonic() + 2 * EFFECT_S
    pipeline = Pipeline(GraphSettings())
    with (
        Sink(cluster) as sink,
        Source(cluster, "g") as source,
        StaffReader(cluster) as staff,
        Sender(cluster) as sender,
    ):
        signal = Signal("bed-1", np.zeros((1, 250), np.int16))
        monitor = threading.Thread(target=Monitor(pipeline, source, sink, staff=staff).run, args=(stop,))
        monitor.start()
        try:
            wait_until(lambda: time.monotonic() > in_force_s)
            sender.send(names.SAMPLES, [b"bed-1"], [signal.chunk(0, 250)])
            sender.flush()
            wait_until(lambda: no_data(cluster))
            before = no_data(cluster)
            wait_until(lambda: bool(staff._removed._begins))
            for topic in (names.ALERTS, names.SETTINGS):
                lose(cluster, topic)
            wait_until(lambda: all(one in no_data(cluster) for one in before))
            wait_until(lambda: read_limits(cluster, "bed-1", DEFAULTS) == LIMITS)
        finally:
            stop.set()
            monitor.join(LIMIT_S)
    assert audited(cluster) == ["limits entered", "limits in force"]


def test_limits_are_written_again_where_the_topic_has_none_and_a_new_worker_has_them_since_before(
    kafka: LocalKafka,
) -> None:
    cluster = kafka.cluster
    with StaffReader(cluster) as staff:
        for stream in ("bed-1", "bed-2", "bed-3"):
            change_limits(cluster, stream, LIMITS, {}, "Ada", DEFAULTS)
        change_limits(cluster, "bed-3", {}, LIMITS, "Ada", DEFAULTS)
        wait_until(lambda: len(staff.changes) == 4)
        create_anew(cluster, names.SETTINGS)
        change_limits(cluster, "bed-2", {"asystole": 5.0}, LIMITS, "Bob", DEFAULTS)
        wait_until(lambda: len(staff.changes) == 5)
        assert restore_limits(cluster, staff.changes) == ["bed-1"]
        assert restore_limits(cluster, staff.changes) == []
        change_limits(cluster, "bed-9", LIMITS, {}, "Ada", DEFAULTS)
        wait_until(lambda: staff.changes[-1].stream == "bed-9")
        assert [one.stream for one in staff.changes].count("bed-1") == 1, "what is written again is no change"
    found = {stream: read_limits(cluster, stream, DEFAULTS) for stream in ("bed-1", "bed-2", "bed-3")}
    assert found == {"bed-1": LIMITS, "bed-2": {"asystole": 5.0}, "bed-3": {}}
    with StaffReader(cluster) as successor:
        wait_until(lambda: len(successor.changes) == 3)
        (again,) = [one for one in successor.changes if one.stream == "bed-1"]
        assert (again.limits, again.before, again.by) == (LIMITS, LIMITS, "Ada")
