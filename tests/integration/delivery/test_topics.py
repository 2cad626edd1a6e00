"""Topics on a Kafka of one's own: missing topics are named, and created by a command."""

import re

import pytest
from beatwire.cli.main import app
from beatwire.errors import UserError
from beatwire.kafka import topic_kinds, topics
from beatwire.kafka.cluster import Cluster
from beatwire.service import doctor
from beatwire.service.run import check_kinds
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
    assert topic_kinds.has_broker_clock(kafka.cluster) is True
    assert topic_kinds.has_broker_clock(kafka.cluster, names.BEATS) is False
    assert topic_kinds.has_broker_clock(kafka.cluster, "ecg.none") is None
    asked = (names.SAMPLES, names.ALERTS, names.ACKS, "none")
    compacted = [kind.is_compacted for kind in topic_kinds.kinds_of(kafka.cluster, asked).values()]
    assert compacted == [False, True, True, None]


def test_missing_topics_of_others_are_named_without_that_command(kafka):
    with pytest.raises(UserError) as error:
        topics.check_broker(kafka.cluster, ["ecg.none"])
    assert re.search(r"got a broker with \d+ other topics$", str(error.value))


@pytest.mark.parametrize(
    ("name", "expected", "got"),
    [(name, "LogAppendTime", "CreateTime") for name in (names.SAMPLES, names.SETTINGS, names.ACKS)]
    + [(names.BEATS, "CreateTime", "LogAppendTime")],
)
def test_a_monitor_says_that_a_topic_has_the_times_of_another_clock(
    bare_kafka, monkeypatch, caplog, name, expected, got
):
    monkeypatch.setitem(topics.TOPICS, name, {**topics.TOPICS[name], "message.timestamp.type": got})
    topics.create_topics(bare_kafka.cluster)
    caplog.set_level("WARNING", "beatwire")
    opened, admin = list[AdminClient](), Cluster.admin
    monkeypatch.setattr(Cluster, "admin", lambda self: opened.append(admin(self)) or opened[-1])
    check_kinds(bare_kafka.cluster)
    assert len(opened) == 1, "a client for each topic connects, and is waited for, twice"
    (said,) = caplog.messages
    assert said.startswith(f"{name}: expected message.timestamp.type={expected}; got {got}: ")


EXPECTED_OF_OTHERS = {
    names.SAMPLES: "cleanup.policy=delete; got compact: ",
    names.BEATS: "cleanup.policy=delete; got compact: ",
    names.ALERTS: "cleanup.policy=compact; got compact,delete: ",
    names.SETTINGS: "cleanup.policy=compact; got delete: ",
    names.AUDIT: "retention.ms and retention.bytes of -1; got a limit: ",
    names.DEAD_LETTERS: "cleanup.policy=delete; got compact: ",
}


def test_a_monitor_and_doctor_say_of_each_topic_what_the_broker_will_remove(bare_kafka, monkeypatch, caplog):
    for name in EXPECTED_OF_OTHERS:
        others = dict(topics.TOPICS[name])
        others["cleanup.policy"] = EXPECTED_OF_OTHERS[name].partition("got ")[2][:-2].replace("a limit", "delete")
        others["retention.bytes" if name == names.AUDIT else "retention.ms"] = "100000000"
        monkeypatch.setitem(topics.TOPICS, name, others)
    topics.create_topics(bare_kafka.cluster)
    caplog.set_level("WARNING", "beatwire")
    check_kinds(bare_kafka.cluster)
    for name, text in EXPECTED_OF_OTHERS.items():
        assert [said for said in caplog.messages if said.startswith(f"{name}: ")] == [
            said for said in caplog.messages if said.startswith(f"{name}: expected {text}")
        ]
    assert len(caplog.messages) == len(EXPECTED_OF_OTHERS)
    found = doctor.broker(bare_kafka.cluster)
    assert found.state == doctor.WARNING
    assert all(said in found.found for said in caplog.messages)


def test_topics_as_the_command_creates_them_are_fit(kafka):
    assert topic_kinds.unfit_topics(kafka.cluster) == []
