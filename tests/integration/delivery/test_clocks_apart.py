"""The clocks of a worker and of the broker are apart: times in the log are by the broker's, and go together."""

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
from beatwire.alerts.settings import Lifecycle
from beatwire.kafka.consuming.commits import committed_positions
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.local.broker import LocalKafka
from beatwire.kafka.publishing.sender import SENT
from beatwire.kafka.publishing.sink import Sink
from beatwire.kafka.reading.broker_clock import BrokerClock
from beatwire.kafka.reading.readers import follow
from beatwire.kafka.reading.staff import StaffReader
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import Outgoing
from beatwire.service.monitor import Monitor
from beatwire.wire import names
from kafka_messages import positions_after, quick_sender, send, take
from laws import Signal
from moments import LIMIT_S

pytestmark = pytest.mark.kafka

REMIND_S, RUN_S, REMINDERS = 2.0, 1.0, 2
SETTINGS = Settings(detector="rule", lifecycle=Lifecycle(remind_high_s=REMIND_S))


@pytest.fixture
def feed(kafka: LocalKafka) -> Iterator[None]:
    """Send a stream that falls silent at once, and one that goes on."""
    samples = np.tile(synthesise(3, rate_hz=250.0, seconds=60).recording.samples, 4)
    beds, stop = [Signal(f"bed-{k}", samples) for k in (1, 2)], threading.Event()

    def run() -> None:
        with quick_sender(kafka.cluster) as sender:
            for k in range(4 * 240):
                for bed in beds if k < 4 else beds[1:]:
                    sender.send(names.SAMPLES, [bed.stream.encode()], [bed.chunk(62 * k, 62 * (k + 1))])
                if stop.wait(0.25):
                    return

    thread = threading.Thread(target=run)
    thread.start()
    yield
    stop.set()
    thread.join()


@pytest.mark.parametrize("apart_s", [-190.0, 190.0])
def test_reminders_go_on_over_hand_overs_that_come_more_often_than_they(kafka, feed, monkeypatch, apart_s):
    of_machine, begun_s, found = BrokerClock.now_us, time.monotonic(), list[tuple[float, int]]()
    monkeypatch.setattr(BrokerClock, "now_us", lambda clock: of_machine(clock) + round(apart_s * 1e6))
    while len(found) <= REMINDERS and time.monotonic() < begun_s + 60:
        graph, stop = Pipeline(SETTINGS), threading.Event()
        graph.subscribe(
            graph.lifecycle,
            lambda alerts: found.extend(
                (time.monotonic(), one["reminders"])
                for one in alerts.transitions
                if (one["rule"], one["stream"]) == ("no data", "bed-1")
            ),
        )
        with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink, StaffReader(kafka.cluster) as staff:
            threading.Timer(RUN_S if found else 4.0, stop.set).start()
            Monitor(graph, source, sink, staff=staff).run(stop)
    late_s = [at_s - found[0][0] - REMIND_S * number for at_s, number in found]
    assert len(found) > REMINDERS
    assert min(late_s) > -0.5
    assert max(late_s) < LIMIT_S
    assert sorted({number for _, number in found}) == [number for _, number in found]


def test_what_is_sent_and_what_is_committed_of_a_tick_have_one_time(kafka):
    """So a successor knows which of what the broker left open counts as published (`torn`)."""
    send(kafka, b"1")
    with Source(kafka.cluster, "g") as source, Sink(kafka.cluster) as sink:
        polled = take(source)
        positions = positions_after(polled)
        sink.begin_tick(positions, source, polled.epoch)
        time.sleep(0.01)
        said = [
            Outgoing(names.DEAD_LETTERS, [b"s"], [b"x"], [[]]),
            Outgoing(names.BEATS, [b"s"], [b"x"]),
            Outgoing(names.ALERTS, [b"a"], [b"x"], [[]], at_us=190_000_999),
            Outgoing(names.ALERTS, [b"a"], [b""], tombstones=True),
        ]
        sink.send_ahead(said[:1], source, polled.epoch)
        time.sleep(0.01)
        sink.publish(said, positions, source, polled.epoch)
    (at_ms,) = {at.at_ms for at in committed_positions(kafka.cluster, "g", names.SAMPLES, positions).values()}
    found = {topic: next(follow(kafka.cluster, topic, earliest=True)) for topic in {one.topic for one in said}}
    times_ms = {topic: message.timestamp()[1] for topic, message in found.items()}
    assert times_ms == {names.DEAD_LETTERS: at_ms, names.BEATS: at_ms, names.ALERTS: 190_000}
    assert found[names.ALERTS].headers() == [(SENT, b"%d" % at_ms)]
    assert abs(at_ms / 1000 - time.time()) < 60
