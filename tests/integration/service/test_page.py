"""The live page on a real Kafka: acknowledgements there and back, old beats and alerts, outages, late partitions."""

import json
import time
from importlib import resources

import numpy as np
import pytest
from beatwire.kafka.reading.follower import BEGINNING, END, Follower
from beatwire.kafka.reading.readers import read_to_end
from beatwire.page import lost_alerts
from beatwire.page.dashboard import Dashboard
from beatwire.wire import names
from confluent_kafka import KafkaException
from confluent_kafka.admin import ConfigResource, NewPartitions
from confluent_kafka.cimpl import NewTopic
from jsonschema import Draft202012Validator
from kafka_messages import quick_sender
from laws import Signal
from page_client import Client
from page_ward import alert, beat

pytestmark = pytest.mark.kafka


def publish(kafka, *records):
    with quick_sender(kafka.cluster) as sender:
        for record in records:
            sender.send(record.topic, [record.key], [record.value])


def signal(stream):
    return Signal(stream, np.arange(5000, dtype=np.int16)[None])


def test_an_acknowledgement_goes_to_the_broker_and_to_every_browser_and_survives_a_restart(kafka):
    asystole = alert("bed-1", "asystole")
    publish(kafka, asystole, alert("bed-2", "tachycardia"), alert("bed-2", "tachycardia", "off"), beat("bed-1", 1.0))
    ack = {"type": "ack", "alert": asystole.key.decode(), "stream": "bed-1", "by": "Ada Lovelace"}
    with (
        Dashboard(kafka.cluster, port=0) as page,
        Dashboard(kafka.cluster, port=0) as second,
        Client(page.url) as one,
        Client(second.url) as other,
    ):
        for client in (one, other):
            assert client.expect("alerts", stream="bed-1")["alerts"][0]["ack_by"] is None
        one.send(**ack)
        reply = one.expect("ack")
        for client in (one, other):
            (shown,) = client.expect("alerts", stream="bed-1")["alerts"]
            assert (shown["state"], shown["ack_by"], shown["ack_us"]) == ("ack", "Ada Lovelace", reply["at_us"])
    ((key, value),) = read_to_end(kafka.cluster, names.ACKS)
    assert key == asystole.key
    schema = json.loads(resources.files("beatwire.wire").joinpath("schemas/ack.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(json.loads(value))
    with Dashboard(kafka.cluster, port=0) as page, Client(page.url) as client:
        client.until(lambda: any(m["type"] == "alerts" and m["alerts"][0]["ack_by"] for m in client.messages))
        ward = client.expect("ward", streams=1)
        assert ward["beds"][0]["alerts"][0]["state"] == "ack"
        client.send(type="watch", streams=["bed-1"], leads="first")
        assert [b["sample"] for b in client.expect("beats", stream="bed-1")["beats"]] == [250]


def test_alerts_that_a_topic_created_again_does_not_have_leave_the_page(kafka, wait, monkeypatch):
    monkeypatch.setattr(lost_alerts, "PATIENCE_S", 4.0)
    kept, gone = alert("bed-1", "asystole"), alert("bed-2", "tachycardia")
    publish(kafka, kept, gone)
    with Dashboard(kafka.cluster, port=0) as page:
        wait(lambda: page.ward.alarmed() == {"bed-1", "bed-2"} and page._reader._lost._removed._ids != {})
        admin = kafka.cluster.admin()
        admin.delete_topics([names.ALERTS])[names.ALERTS].result(60)

        def is_created():
            try:
                admin.create_topics([NewTopic(names.ALERTS, 4, 1)])[names.ALERTS].result(60)
            except KafkaException:
                return False
            return True

        wait(is_created)
        publish(kafka, kept)
        wait(lambda: page.ward.alarmed() == {"bed-1"})
        publish(kafka, gone)
        wait(lambda: page.ward.alarmed() == {"bed-1", "bed-2"})


def test_acknowledgements_and_alerts_are_kept_by_compaction(kafka):
    admin = kafka.cluster.admin()
    for name in (names.ACKS, names.ALERTS):
        resource = ConfigResource(ConfigResource.Type.TOPIC, name)
        assert admin.describe_configs([resource])[resource].result(60)["cleanup.policy"].value.startswith("compact")


def test_the_page_survives_an_outage_of_the_broker_and_says_so(own_kafka, wait):
    stopped, again = signal("bed-1"), signal("bed-2")
    with Dashboard(own_kafka.cluster, port=0) as page, Client(page.url) as client:
        with quick_sender(own_kafka.cluster) as sender:

            def arrives(s):
                sender.send(names.SAMPLES, [s.stream.encode()], [s.chunk(0, 50)])
                return s.stream in page.ward.slots([s.stream])

            wait(lambda: arrives(stopped))
            sender.flush()
        own_kafka.stop()
        client.until(lambda: any(m.get("broker") == "disconnected" for m in client.messages))
        own_kafka.start()
        with quick_sender(own_kafka.cluster) as sender:
            wait(lambda: arrives(again))
        client.messages.clear()
        client.until(lambda: any(m.get("broker") == "connected" and m["streams"] == 2 for m in client.messages))


def test_a_follower_reads_from_a_time_and_partitions_and_topics_that_come_later(kafka, wait):
    admin = kafka.cluster.admin()
    publish(kafka, beat("bed-1", 1.0))
    time.sleep(0.01)
    got = []
    begin = {names.BEATS: 60.0, names.ALERTS: END, names.ACKS: BEGINNING, "ecg.later": END}
    with Follower(kafka.cluster, begin) as follower:

        def received(count):
            got.extend(follower.records(0.05))
            return len(got) >= count

        wait(lambda: received(1))
        for future in admin.create_partitions([NewPartitions(names.BEATS, 12)]).values():
            future.result(60)
        wait(lambda: len(admin.list_topics(names.BEATS, timeout=60).topics[names.BEATS].partitions) == 12)
        publish(kafka, *(beat(f"bed-{k}", 2.0) for k in range(40)))
        for future in admin.create_topics([NewTopic("ecg.later", 1, 1)]).values():
            future.result(60)
        with quick_sender(kafka.cluster) as sender:
            sender.send("ecg.later", [b"k"], [b"v"])
        wait(lambda: received(42))
        assert not follower.records(0.2)
    assert sum(record.topic == names.BEATS for record in got) == 41
    assert [record.value for record in got if record.topic == "ecg.later"] == [b"v"]
    with Follower(kafka.cluster, {names.BEATS: 60.0}, most_back=1) as follower:
        few = []
        wait(lambda: few.extend(follower.records(0.05)) or len(few) >= 5)
        assert len(few) < 41, "so many messages of a partition at most"
    for future in admin.delete_topics(["ecg.later"]).values():
        future.result(60)
