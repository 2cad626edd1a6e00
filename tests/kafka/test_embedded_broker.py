"""The embedded broker with a real source, sink and monitor: samples go in, beats and alerts come out."""

import threading

import pytest
from alert_values import alert, value
from beatwire.errors import UserError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import commits
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.local.mock import MockKafka
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.publishing.sink import Sink
from beatwire.kafka.reading.readers import read_to_end
from beatwire.kafka.reading.tail import tail
from beatwire.service.monitor import Monitor
from beatwire.wire import names
from letters import Graph


@pytest.fixture(scope="module")
def mock():
    with MockKafka() as kafka:
        yield kafka


def test_the_embedded_broker_carries_samples_in_and_beats_out(mock):
    values = [str(n).encode() for n in range(500)]
    with Sender(mock.cluster) as sender:
        sender.send(names.SAMPLES, [value[-1:] for value in values], list(values))
    with Source(mock.cluster, "g") as source, Sink(mock.cluster, exactly_once=False) as sink:
        monitor = Monitor(Graph(), source, sink)
        monitor.run(threading.Event(), until=lambda counters: counters.messages == 500)
    assert sorted(value for _, value in read_to_end(mock.cluster, names.BEATS)) == sorted(values)
    assert commits.group_lag(mock.cluster, "g") == 0
    assert monitor.counters.beats == 500


def test_an_unreachable_broker_is_named_within_seconds():
    with pytest.raises(UserError, match=r"expected a broker at 127\.0\.0\.1:1; got no answer in 5 s"):
        Source(Cluster("127.0.0.1:1"), "g")


def test_a_missing_topic_is_named(mock):
    with pytest.raises(UserError, match=r"expected topic 'ecg\.none'"):
        Source(mock.cluster, "g", topic="ecg.none")


def test_tail_skips_messages_that_it_cannot_decode_and_reports_them(mock):
    written = [b"{", b"[1]", b"\xff", b"[" * 3000, value("bed-1")]
    with Sender(mock.cluster) as sender:
        sender.send(names.ALERTS, [b"bed-1"] * 5, written)
    notes = []
    assert next(tail("alerts", mock.cluster, earliest=True, notes=notes.append)) == alert("bed-1")
    assert [note.partition(" is ignored")[0] for note in notes] == ["ecg.alerts: message with key b'bed-1'"] * 4
    assert notes[1].endswith("expected a JSON object; got b'[1]'")


def test_an_alert_that_ended_long_ago_is_removed_from_the_topic_and_one_that_is_on_is_not(mock):
    with Sender(mock.cluster) as sender:
        keys = [b"long-ago", b"still-on", b"of-another"]
        values = [value("long-ago", "off"), value("still-on"), value("of-another", "off", partition=77)]
        sender.send(names.ALERTS, keys, values)
    with Source(mock.cluster, "h") as source, Sink(mock.cluster, exactly_once=False) as sink:
        monitor = Monitor(Graph(), source, sink, keep_ended_s=-60.0)  # the newest sample is the time
        monitor.run(threading.Event(), until=lambda counters: counters.ticks > 5)
    found = list(read_to_end(mock.cluster, names.ALERTS))
    assert [key for key, content in found if content is None and key] == [b"long-ago"]
    assert monitor.counters.alerts == 0
