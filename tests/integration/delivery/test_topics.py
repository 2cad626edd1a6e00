"""Topics on a Kafka of one's own: missing topics are named, and created by a command."""

import re

import pytest
from beatwire.cli.main import app
from beatwire.errors import UserError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.service.run import check_clocks
from beatwire.wire import names
from confluent_kafka.admin import AdminClient
from typer.testing import CliRunner

pytestmark = pytest.mark.kafka


def test_missing_topics_are_named_with_the_command_that_creates_them(kafka, wait):
    expected, admin = list(topics.TOPICS), kafka.cluster.admin()
    for future in admin.delete_topics(expected).values():
        future.result(60)
    wait(lambda: not set(expected) & set(admin.list_topics(timeout=60).topics))
    command = ["topics", "--bootstrap-servers", kafka.bootstrap]
    with pytest.raises(UserError, match=f"'ecg.beats'.*; create the topics with: beatwire {' '.join(command)}"):
        topics.check_broker(kafka.cluster, expected)
    created = CliRunner().invoke(app, [*command, "--partitions", "3"])
    assert created.stdout.splitlines() == [f"{name}: created" for name in expected]
    assert len(admin.list_topics(timeout=60).topics[names.ALERTS].partitions) == 3
    again = CliRunner().invoke(app, command)
    assert again.stdout.splitlines() == [f"{name}: already exists" for name in expected]
    topics.check_broker(kafka.cluster, expected)


def test_a_topic_with_the_brokers_clock_is_distinguished_from_one_with_the_producers_clocks(kafka):
    assert topics.has_broker_clock(kafka.cluster) is True
    assert topics.has_broker_clock(kafka.cluster, names.BEATS) is False
    assert topics.has_broker_clock(kafka.cluster, "ecg.none") is None
    asked = (names.SAMPLES, names.ALERTS, names.ACKS, "none")
    compacted = [kind.is_compacted for kind in topics.kinds_of(kafka.cluster, asked).values()]
    assert compacted == [False, True, True, None]


def test_missing_topics_of_others_are_named_without_that_command(kafka):
    with pytest.raises(UserError) as error:
        topics.check_broker(kafka.cluster, ["ecg.none"])
    assert re.search(r"got a broker with \d+ other topics$", str(error.value))


@pytest.mark.parametrize("name", [names.SAMPLES, names.SETTINGS])
def test_a_monitor_says_that_a_topic_carries_its_producers_clocks(bare_kafka, monkeypatch, caplog, name):
    without = dict(topics.TOPICS[name])
    del without["message.timestamp.type"]
    monkeypatch.setitem(topics.TOPICS, name, without)
    topics.create_topics(bare_kafka.cluster)
    caplog.set_level("WARNING", "beatwire")
    opened, admin = list[AdminClient](), Cluster.admin
    monkeypatch.setattr(Cluster, "admin", lambda self: opened.append(admin(self)) or opened[-1])
    check_clocks(bare_kafka.cluster)
    assert len(opened) == 1, "a client for each topic connects, and is waited for, twice"
    (said,) = caplog.messages
    assert said.startswith(f"{name}: expected message.timestamp.type=LogAppendTime; got CreateTime: ")
