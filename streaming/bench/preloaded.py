"""A preloaded topic on a real Kafka: read to the end and published exactly once.

The rival is a bare confluent-kafka ``consume`` loop over the same topic in the same run: before ours,
after it, and the better of the two counts. Both are timed from the first message to the last.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

from confluent_kafka import Consumer

from producers.encode import Encoder
from producers.feeds import Lanes
from producers.schedule import chunks_of
from producers.sink import Sink as Feeder
from producers.ward import ward
from streaming import broker
from streaming.bench.row import Row
from streaming.kafka import topics
from streaming.kafka.sink import Sink
from streaming.kafka.source import Source
from streaming.monitor import Monitor
from streaming.pipeline import Pipeline
from streaming.settings import Settings

STREAMS = 2000
CHUNKS = 1000
CHUNK = 64
RATE_HZ = 250.0


def preload(bootstrap: str) -> int:
    """Fill the samples topic; returns the number of messages."""
    shown = ward(STREAMS, CHUNKS * CHUNK / RATE_HZ, seed=1, events=(), distinct=64)
    lanes = Lanes.of(shown.feeds)
    encoder = Encoder.of(lanes, time.time_ns() // 1000)
    sent = 0
    with Feeder(bootstrap) as feeder:
        for first in range(0, CHUNKS, 10):
            rows = chunks_of(lanes, 1000 * CHUNK / RATE_HZ, first, first + 10)
            messages = encoder.messages(rows)
            feeder.send(zip(map(lanes.keys.__getitem__, rows.lane.tolist()), messages, strict=True))
            sent += len(messages)
        feeder.flush(60.0)
    return sent


def bare(bootstrap: str, messages: int, group: str) -> float:
    """Read the topic with a bare loop, tuned as ours; returns seconds from the first message to the last."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "queued.min.messages": 200_000,
            "fetch.message.max.bytes": 4 << 20,
            "fetch.wait.max.ms": 10,
            "fetch.queue.backoff.ms": 5,
        }
    )
    consumer.subscribe([topics.SAMPLES])
    begin, seen = 0.0, 0
    while seen < messages:
        seen += len(consumer.consume(10_000, 1.0))
        begin = begin or (time.perf_counter() if seen else 0.0)
    taken_s = time.perf_counter() - begin
    consumer.close()
    return taken_s


def ours(bootstrap: str, messages: int, group: str) -> float:
    """Read and publish exactly once; returns seconds from the first tick taken to the last published."""
    pipeline = Pipeline(Settings())
    first: list[float] = []
    pipeline.source.sink(lambda tick: first.append(time.perf_counter()) if len(tick.arrival_us) and not first else None)
    with Sink(bootstrap) as sink, Source(bootstrap, group) as source:
        monitor = Monitor(pipeline, source, sink)
        monitor.run(threading.Event(), until=lambda counters: counters.messages >= messages)
        return time.perf_counter() - first[0]


def measure(say: Callable[[str], None]) -> Iterator[Row]:
    """Against the bare loop."""
    missing = broker.available()
    if missing:
        say(f"preloaded: left out, {missing}")
        return
    with broker.LocalKafka() as kafka:
        messages = preload(kafka.bootstrap)
        say(f"preloaded: {messages} messages of {CHUNK} samples")
        before = bare(kafka.bootstrap, messages, "bare-1")
        taken = ours(kafka.bootstrap, messages, "ours")
        after = bare(kafka.bootstrap, messages, "bare-2")
        bare_rates = f"{messages / before:.0f} and {messages / after:.0f}"
        say(f"preloaded: bare {bare_rates} messages/s, ours {messages / taken:.0f}")
    million = messages * CHUNK / 1e6
    best = min(before, after)
    yield Row("preloaded, exactly-once", million / taken, "Msamples/s", "bare consume loop", million / best, ">= 0.4")
