"""The live page over HTTP and WebSocket: a real server, a plain client, librdkafka's mock cluster."""

import json
import signal as signal_module
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, Self
from unittest.mock import create_autospec

import numpy as np
import pytest
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local.mock import MockKafka
from beatwire.kafka.reading.record import Record
from beatwire.page import browser as browser_module
from beatwire.page.dashboard import Dashboard
from beatwire.page.protocol import GAP, NEW_SESSION
from beatwire.page.reader import Reader
from beatwire.page.ward import Ward
from beatwire.records import RawTick
from beatwire.wire.names import BEATS, SAMPLES
from kafka_messages import quick_sender
from laws import Signal
from page_client import Client, get
from page_ward import alert, beat
from test_names import LONG
from websockets.exceptions import ConnectionClosed


@pytest.fixture(scope="module")
def shared_page(mock: MockKafka) -> Iterator[Dashboard]:
    with Dashboard(mock.cluster, port=0) as page:
        yield page


@pytest.fixture
def page(shared_page: Dashboard) -> Dashboard:
    """The page without streams of other tests."""
    ward = shared_page.ward
    ward.__init__()  # type: ignore[misc]
    return shared_page


def signal(stream: str, leads: int = 1, **changed: Any) -> Signal:
    rng = np.random.default_rng(len(stream))
    return Signal(stream, rng.integers(-2000, 2000, (leads, 6000)).astype(np.int16), **changed)


def add(page: Dashboard, *chunks: bytes) -> None:
    page.ward.add_samples(RawTick.of(chunks, now_us=time.time_ns() // 1000))


def test_samples_reach_a_browser_through_a_broker_as_they_were_sent(mock: MockKafka, page: Dashboard) -> None:
    one, two = signal("kafka-1"), signal("kafka-22", leads=3)
    with Client(page.url) as client, quick_sender(mock.cluster) as sender:
        assert client.expect("hello")["protocol"] == 1
        begin = 0

        def on() -> bool:
            nonlocal begin
            for s in (one, two):
                if begin < 5000:
                    sender.send(SAMPLES, [s.stream.encode()], [s.chunk(begin, begin + 50)])
            begin += 50
            return len(page.ward.slots(["kafka-1", "kafka-22"])) == 2

        client.until(on)  # the reader begins at the end of the topic, perhaps after the first chunks
        client.send(type="watch", streams=["kafka-1", "kafka-22"], leads="first")
        sender.flush()
        number = page.ward.slots(["kafka-1", "kafka-22"])
        last = min(begin, 5000) - 1
        client.until(lambda: all(last in client.samples(k) for k in number.values()))
    for s in (one, two):
        got = client.samples(number[s.stream])
        assert len(got) >= 50
        assert got == {k: (int(s.samples[0, k]),) for k in got}


def test_a_watching_browser_gets_what_is_kept_and_then_only_what_is_new(page: Dashboard) -> None:
    s = signal("bed-1")
    add(page, *(s.chunk(k, k + 50) for k in range(0, 3000, 50)))
    with Client(page.url) as client:
        client.send(type="watch", streams=["bed-1", "unknown"], leads="first")
        client.until(lambda: bool(client.blocks))
        assert client.blocks[0].samples.shape[1] >= 2500
        add(page, s.chunk(3000, 3050), s.chunk(3100, 3200))
        client.until(lambda: 3199 in client.samples(0))
        got = client.samples(0)
        assert [got[k] for k in (2999, 3000, 3049, 3050, 3099, 3100)] == [
            (int(s.samples[0, 2999]),), (int(s.samples[0, 3000]),), (int(s.samples[0, 3049]),), (-32768,), (-32768,),
            (int(s.samples[0, 3100]),),
        ]  # fmt: skip
        firsts = [block.first for block in client.blocks]
        ends = [block.first + block.samples.shape[1] for block in client.blocks]
        assert firsts[1:] == ends[:-1]
        assert {block.flags for block in client.blocks} == {0}
        add(page, signal("bed-1", session=2).chunk(0, 50))
        client.until(lambda: client.blocks[-1].flags == NEW_SESSION)
        assert client.blocks[-1].first == 0


def test_the_bed_view_gets_all_leads_and_the_bed_itself(page: Dashboard) -> None:
    s = signal("bed-12", leads=12)
    add(page, s.chunk(0, 50))
    page.ward.add_records([beat("bed-12", 0.1, map_y=-2.0)])
    with Client(page.url) as client:
        client.send(type="watch", streams=["bed-12"], leads="all")
        shown = client.expect("bed", stream="bed-12")["bed"]
        assert (shown["leads"], shown["bpm"]) == ([f"L{k}" for k in range(12)], 75.0)
        client.until(lambda: bool(client.blocks))
        assert np.array_equal(client.blocks[0].samples, s.samples[:, :50])
        client.send(type="watch", streams=["nobody"], leads="all")
        assert client.expect("bed", stream="nobody")["bed"] is None
    (beats,) = [message for message in client.messages if message["type"] == "beats"]
    assert [(b["x"], b["y"], b["class"]) for b in beats["beats"]] == [(1.0, -2.0, "normal")]


def test_a_browser_that_sees_nothing_gets_a_bounded_number_of_messages_and_is_told_what_it_missed(
    page: Dashboard,
) -> None:
    s = signal("slow-bed", rate_hz=50.0)  # the ring has 544 samples, 20 of them for what comes early
    begin = 0

    def until_newest(each: Client) -> None:
        each.until(lambda: begin - 1 in each.samples(0))

    with Client(page.url, sees=False) as client, Client(page.url) as quick:
        for each in (client, quick):
            each.send(type="watch", streams=["slow-bed"], leads="first")
            each.expect("ward")
        while len(client.numbers) < browser_module.MOST_UNSEEN:
            add(page, s.chunk(begin, begin + 20))
            begin += 20
            until_newest(client)
        until_newest(quick)
        for _ in range(3):
            add(page, s.chunk(begin, begin + 400))
            begin += 400
            until_newest(quick)
        client.send(type="seen", number=client.numbers[-1])
        lag = client.expect("lag")
        client.until(lambda: len(client.numbers) > browser_module.MOST_UNSEEN)
        resumed = client.blocks[-1]
        before = client.blocks[-2].first + client.blocks[-2].samples.shape[1]
    assert resumed.flags == GAP
    assert lag["dropped"] == resumed.first - before > 0
    assert resumed.first == begin - 524
    assert len(quick.samples(0)) == begin, "the slow browser does not delay another"


def test_alerts_are_sent_at_once_and_to_those_who_come_later(page: Dashboard, monkeypatch: pytest.MonkeyPatch) -> None:
    for timer in ("FLUSH_S", "WARD_S"):  # what is sent is sent because of the alerts
        monkeypatch.setattr(browser_module, timer, 1e6)
    monkeypatch.setattr(browser_module, "FASTEST_WARD_S", 0.0)
    add(page, signal("bed-1").chunk(0, 50))
    page.ward.add_records([alert("bed-1", "lead off")])
    with Client(page.url) as client:
        assert [a["rule"] for a in client.expect("alerts", stream="bed-1")["alerts"]] == ["lead off"]
        client.expect("ward")
        page.ward.add_records([alert("bed-2", "asystole")])
        assert [a["priority"] for a in client.expect("alerts", stream="bed-2")["alerts"]] == ["high"]
        ward = client.expect("ward")
        assert [bed["stream"] for bed in ward["beds"]] == ["bed-2", "bed-1"]
        page.ward.add_records([alert("bed-2", "asystole", "off")])
        assert client.expect("alerts", stream="bed-2")["alerts"] == []


def test_a_browser_chooses_its_part_of_the_ward(page: Dashboard) -> None:
    add(page, *(signal(f"bed-{k}").chunk(0, 50) for k in range(20)))
    with Client(page.url) as client:
        client.send(type="ward", query="BED-1", offset=2, limit=3)
        ward = client.expect("ward", total=11)
        assert [bed["stream"] for bed in ward["beds"]] == ["bed-11", "bed-12", "bed-13"]
        assert ward["broker"] == "connected"


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("{", "expected a JSON message"),
        ("[]", "expected a message of type"),
        ('{"type": "open"}', "expected a message of type"),
        ("[" * 9000, "expected a JSON message"),
        ('{"type": "ward", "query": 3, "offset": 0, "limit": 1}', "ward: expected query"),
        ('{"type": "ward", "query": "\\n", "offset": 0, "limit": 1}', "ward: expected query"),
        ('{"type": "ward", "query": "", "offset": -1, "limit": 1}', "ward: expected offset"),
        ('{"type": "ward", "query": "", "offset": 0, "limit": 1000000}', "ward: expected limit of 0-200"),
        ('{"type": "ward", "query": "", "offset": 0, "limit": true}', "ward: expected limit of 0-200"),
        ('{"type": "watch", "streams": "bed-1"}', "watch: expected at most 64"),
        ('{"type": "watch", "streams": ["a", "b"], "leads": "all"}', "watch: expected at most 1"),
        ('{"type": "watch", "streams": [], "leads": "some"}', "watch: expected leads"),
        ('{"type": "seen", "number": 99}', "seen: expected number of 0-0"),
        ('{"type": "ack", "alert": "x", "stream": "bed-1", "by": ""}', "ack: expected by of 1-64"),
        ('{"type": "ack", "alert": "x", "stream": "bed-1", "by": "  "}', "not only spaces"),
        (json.dumps({"type": "ack", "alert": "x", "stream": "bed-1", "by": LONG}), "alert that is in force"),
        (json.dumps({"type": "ack", "alert": "x", "stream": "bed-1", "by": LONG + "x"}), "ack: expected by of 1-64"),
        ('{"type": "ack", "alert": "x", "stream": "bed-1", "by": "Ada"}', "ack: expected an alert that is in force"),
        (json.dumps({"type": "ward", "query": "x" * 16_400}), "expected a JSON message of at most"),
        (b"\x00\x01", "expected a JSON message"),
    ],
)
def test_a_wrong_message_is_answered_and_the_connection_stays(page: Dashboard, message: Any, answer: str) -> None:
    with Client(page.url) as client:
        client.socket.send(message)
        assert answer in client.expect("error")["text"]
        client.send(type="ward", query="", offset=0, limit=999)
        assert "ward: expected limit" in client.expect("error")["text"]


def test_a_huge_message_ends_the_connection_and_nothing_else(page: Dashboard) -> None:
    with Client(page.url) as client:
        client.socket.send("x" * 1_000_000)
        with pytest.raises(ConnectionClosed):
            client.until(lambda: False)
    with Client(page.url) as client:
        client.expect("ward")


def test_a_read_only_page_publishes_nothing(mock: MockKafka) -> None:
    with Dashboard(mock.cluster, port=0, writable=False) as page, Client(page.url) as client:
        assert client.expect("hello")["writable"] is False
        client.send(type="ack", alert="x", stream="bed-1", by="Ada")
        assert client.expect("error")["text"] == "ack: this page is read-only"


def test_the_command_prints_the_address_first_and_ends_at_ctrl_c(mock: MockKafka) -> None:
    command = [sys.executable, "-m", "beatwire", "dashboard", "--bootstrap-servers", mock.bootstrap, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert get(url)[0] == 200
        with Client(url) as client:
            client.expect("ward")
            process.send_signal(signal_module.SIGINT)
            assert process.wait(60) == 0


def test_beats_of_the_broker_are_sent_to_those_who_watch(mock: MockKafka, page: Dashboard) -> None:
    with Client(page.url) as client, quick_sender(mock.cluster) as sender:
        client.expect("ward")
        record = beat("mock-bed", 1.0)
        sender.send(BEATS, [record.key], [record.value])
        sender.flush()
        client.send(type="watch", streams=["mock-bed"], leads="first")
        assert client.expect("beats", stream="mock-bed")["beats"][0]["sample"] == 250


def test_a_watcher_may_leave_the_beats_out_and_gets_all_of_them_later(page: Dashboard) -> None:
    s = signal("bed-1")
    add(page, s.chunk(0, 250))
    page.ward.add_records([beat("bed-1", 1.0)])
    with Client(page.url) as client:
        client.send(type="watch", streams=["bed-1"], leads="first", beats=False)
        client.until(lambda: bool(client.blocks))
        page.ward.add_records([beat("bed-1", 2.0)])
        client.expect("ward")
        assert not [message for message in client.messages if message["type"] == "beats"]
        client.send(type="watch", streams=["bed-1"], leads="first")
        assert [b["sample"] for b in client.expect("beats", stream="bed-1")["beats"]] == [250, 500]


class Busy:
    """Topics of which something comes at any time, but little."""

    connected = True

    def __init__(self, *_: object) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def ticks(self, _: float) -> RawTick:
        return RawTick.of([b""])

    def records(self, _: float) -> list[Record]:
        return [Record("", b"", b"")]


def test_what_comes_little_by_little_is_read_in_few_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beatwire.page.reader.Follower", Busy)
    ward = create_autospec(Ward, instance=True)
    reading = Reader(Cluster("127.0.0.1:1"), ward)
    begin_s = time.monotonic()
    reading.start()
    time.sleep(0.5)
    reading.close()
    assert 1 <= ward.add_samples.call_count <= 1 + (time.monotonic() - begin_s) / 0.05
