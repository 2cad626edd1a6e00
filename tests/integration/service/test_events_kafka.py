"""CloudEvents on a real Kafka: readers of committed messages find the headers, and the values as they were."""

import json

import pytest
from beatwire.alerts.settings import Settings as AlertSettings
from beatwire.cli.main import app
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.publishing.orders import change_limits
from beatwire.kafka.publishing.sink import Sink
from beatwire.pipeline import Pipeline, Settings
from beatwire.records import RawTick
from beatwire.wire import names
from beatwire.wire.avro import decode_beat
from confluent_kafka import Consumer
from kafka_messages import positions_after, quick_sender, send, take, values_in
from monitored import feed
from typer.testing import CliRunner

pytestmark = pytest.mark.kafka


def test_beats_and_alerts_are_read_with_their_headers(kafka):
    pipeline = Pipeline(Settings(detector="rule", cloud_events="all"))
    outgoing = [out for values in feed(14, flat_from_s=6) for out in pipeline.emit(RawTick.of(values))]
    send(kafka, b"1")
    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        polled = take(source)
        sink.publish(outgoing, positions_after(polled), source, polled.epoch)
    for topic, kind in ((names.BEATS, "beatwire.beat"), (names.ALERTS, "beatwire.alert")):
        expected = sum(len(out.values) for out in outgoing if out.topic == topic)
        messages = read(kafka, topic, expected)
        assert len(messages) == expected
        for message in messages:
            found = dict(message.headers())
            assert (found["ce_type"], found["ce_subject"]) == (kind.encode(), b"bed-1")
            value = decode_beat(message.value()) if topic == names.BEATS else json.loads(message.value())
            assert value["stream"] == "bed-1"


def test_limits_and_the_audit_log_are_read_with_their_headers(kafka):
    change_limits(kafka.cluster, "bed-1", {"asystole": 5.0}, {}, "Ada", AlertSettings().limits)
    for topic, kind in ((names.SETTINGS, b"beatwire.limits"), (names.AUDIT, b"beatwire.audit")):
        (message,) = read(kafka, topic, 1)
        found = dict(message.headers())
        assert (found["ce_type"], found["ce_source"], found["ce_subject"]) == (kind, b"urn:beatwire:staff", b"bed-1")
        assert found["ce_id"].endswith(str(json.loads(message.value())["at_us"]).encode())


def test_what_the_topics_hold_is_exported_as_fhir(kafka):
    pipeline = Pipeline(Settings(detector="rule"))
    with quick_sender(kafka.cluster) as sender:
        for values in feed(14, flat_from_s=6):
            for out in pipeline.emit(RawTick.of(values)):
                sender.send(out.topic, out.keys, out.values)
    command = ["export", "fhir", "--bootstrap-servers", kafka.bootstrap, "--stream", "bed-1"]
    rates = json.loads(CliRunner().invoke(app, command).stdout)
    assert [one["resource"]["subject"]["identifier"]["value"] for one in rates["entry"]] == ["bed-1"]
    alerts = json.loads(CliRunner().invoke(app, [*command, "--resource", "device-alert"]).stdout)
    codes = {one["resource"]["code"]["coding"][0]["code"] for one in alerts["entry"]}
    assert (
        codes
        == {json.loads(value)["rule"].replace(" ", "-") for value in values_in(kafka, names.ALERTS)}
        > {"asystole"}
    )


def read(kafka, topic, count):
    """Return so many committed messages of a topic, or those of ten seconds."""
    settings = {"group.id": "reader", "auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    consumer = Consumer(kafka.cluster.settings(settings))
    try:
        consumer.subscribe([topic])
        found = []
        for _ in range(100):
            found += consumer.consume(1000, 0.1)
            if len(found) >= count:
                break
        return found
    finally:
        consumer.close()
