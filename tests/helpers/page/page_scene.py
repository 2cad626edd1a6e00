"""A ward for screenshots and benches: synthetic people, librdkafka's mock cluster, the monitor, the page's server."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from beatwire.kafka.consuming.source import Source
from beatwire.kafka.local.mock import MockKafka
from beatwire.kafka.publishing.sink import Sink
from beatwire.page.dashboard import Dashboard
from beatwire.pipeline import Pipeline, Settings
from beatwire.recordings.synthetic.person import synthesise
from beatwire.recordings.synthetic.rhythm import ASYSTOLE, LEAD_OFF, TACHYCARDIA, VENTRICULAR_RUN, Event
from beatwire.service.monitor import Monitor
from beatwire_producers.feeds import Feed
from beatwire_producers.replay import play
from kafka_messages import quick_sender

SECONDS = 240.0


@contextmanager
def live_ward(feeds: list[Feed]) -> Iterator[Dashboard]:
    """Yield the page of a ward that is monitored live."""
    stop = threading.Event()
    with (
        MockKafka() as kafka,
        Dashboard(kafka.cluster, port=0) as page,
        Sink(kafka.cluster, exactly_once=False) as sink,
        Source(kafka.cluster, "scene", protocol="classic") as source,
    ):
        monitor = Monitor(Pipeline(Settings()), source, sink)

        def send() -> None:
            while not monitor.counters.ticks and not stop.wait(0.02):
                pass
            with quick_sender(kafka.cluster) as sender:
                play(feeds, sender, stop=stop.is_set)

        threads = [threading.Thread(target=send), threading.Thread(target=monitor.run, args=(stop,))]
        for thread in threads:
            thread.start()
        try:
            yield page
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def feeds(count: int, leads: int = 1) -> list[Feed]:
    """Return streams without events."""
    people = [synthesise(k, seconds=SECONDS, leads=leads) for k in range(count)]
    return [Feed(f"bed-{k + 1}", person.recording) for k, person in enumerate(people)]


def eventful_feeds() -> list[Feed]:
    """Return twelve streams; four of them have an event."""
    made = feeds(12, leads=3)
    events = {
        4: (Event(ASYSTOLE, 26.0, 34.0),),
        6: (Event(VENTRICULAR_RUN, 30.0, 33.0),),
        8: (Event(TACHYCARDIA, 20.0, 80.0),),
        10: (Event(LEAD_OFF, 34.0, 60.0),),
    }
    for number, planted in events.items():
        person = synthesise(
            100 + number, seconds=SECONDS, leads=3, events=planted, ectopy=0.15 if number == 4 else 0.03
        )
        off = tuple((round(e.start_s * 250), round(e.stop_s * 250), 7) for e in planted if e.kind == LEAD_OFF)
        made[number - 1] = Feed(f"bed-{number}", person.recording, lead_off=off)
    return made
