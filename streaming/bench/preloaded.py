"""A preloaded topic on a real Kafka: read to the end and published exactly once.

The rival is a bare confluent-kafka ``consume`` loop over the same topic in the same run, its fetching tuned
as ours. Both run twice in turn, the better run counts, timed from the first message to the last.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

from producers.encode import Encoder
from producers.feeds import Lanes
from producers.schedule import chunks_of
from producers.sink import Sink as Feeder
from producers.ward import ward
from streaming import broker
from streaming.bench.row import Row
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
    """Read the topic with a bare loop in a process of its own; returns seconds from the first message to the last."""
    told = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "streaming.bench.reader", bootstrap, group, str(messages)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return float(told.stdout)


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
        bare_s, ours_s = [], []
        for turn in (1, 2):
            bare_s.append(bare(kafka.bootstrap, messages, f"bare-{turn}"))
            ours_s.append(ours(kafka.bootstrap, messages, f"ours-{turn}"))
        rates = [" and ".join(f"{messages / taken:.0f}" for taken in each) for each in (bare_s, ours_s)]
        say(f"preloaded: bare {rates[0]} messages/s, ours {rates[1]}")
    million = messages * CHUNK / 1e6
    ours_rate, bare_rate = million / min(ours_s), million / min(bare_s)
    yield Row("preloaded, exactly-once", ours_rate, "Msamples/s", "bare consume loop", bare_rate, ">= 0.4")
