"""100,000 live streams at 250 Hz in chunks of a second through a real Kafka, on one GPU.

Latency is from a chunk's arrival at the broker to the commit of what it completed, as the monitor counts it, after the
first seconds, in which lanes are made. Two workers share one card, each with half of the partitions; broker, four
producers and workers are processes of one machine.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from beatwire_producers.replay import play
from beatwire_producers.ward import ward

from beatwire.backends.choose import bytes_of, choose
from beatwire.bench.row import Row
from beatwire.kafka import commits
from beatwire.kafka.local import broker
from beatwire.kafka.sender import Sender
from beatwire.kafka.sink import Sink
from beatwire.kafka.source import Source
from beatwire.pipeline.graph import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.service.monitor import Monitor
from beatwire.service.warmup import warm_up
from beatwire.signals import stop_on_signals

STREAMS, SECONDS, SETTLE_S = 100_000, 40, 15.0
WORKERS, FEEDERS, PARTITIONS = 2, 4, 16
CHUNK_MS = 1000.0
MEMORY = "16GiB"
LIMIT_MS = 200.0
GROUP = "crowd"


def work(bootstrap: str) -> None:
    """Be a worker until told to stop; print counts of latencies by the millisecond after the first seconds."""
    backend = choose("gpu", limit_bytes=bytes_of(MEMORY))
    pipeline = Pipeline(Settings(), backend)
    warm_up(lambda _: None, backend)
    with stop_on_signals() as stop, Sink(bootstrap) as sink, Source(bootstrap, GROUP) as source:
        monitor = Monitor(pipeline, source, sink)
        counters = monitor.counters

        def forget() -> None:
            while not counters.messages and not stop.wait(0.05):
                pass
            if not stop.wait(SETTLE_S):
                counters.latency.counts[:] = 0

        threading.Thread(target=forget, daemon=True).start()
        print("working", flush=True)  # noqa: T201
        monitor.run(stop)
    told = {"messages": counters.messages, "beats": counters.beats, "latency": counters.latency.counts.tolist()}
    print(json.dumps(told))  # noqa: T201


def feed(bootstrap: str, number: int, streams: int, seconds: float) -> None:
    """Be one of the producers; print how many chunks were sent."""
    shown = ward(streams, 60, seed=number, events=(), distinct=64)
    feeds = [replace(one, stream=f"ward-{number}-{k}") for k, one in enumerate(shown.feeds)]
    with Sender(bootstrap) as sender:
        print(play(feeds, sender, chunk_ms=CHUNK_MS, seconds=seconds).chunks)  # noqa: T201


def run(say: Callable[[str], None], streams: int = STREAMS, seconds: float = SECONDS) -> tuple[float, float]:
    """Return the 99 % quantile of the latency in ms, and the share of messages that were left behind."""
    with broker.LocalKafka(partitions=PARTITIONS) as kafka:
        workers = [_start("work", kafka.bootstrap) for _ in range(WORKERS)]
        try:
            for one in workers:
                assert one.stdout is not None
                one.stdout.readline()
            each = [str(streams // FEEDERS), str(seconds)]
            feeders = [_start("feed", kafka.bootstrap, str(k), *each) for k in range(FEEDERS)]
            sent = sum(int(one.communicate(timeout=seconds + 60)[0]) for one in feeders)
            time.sleep(1.0)
            lag = commits.group_lag(kafka.bootstrap, GROUP)
        finally:
            for one in workers:
                one.terminate()
            told = [json.loads(one.communicate(timeout=30)[0] or "{}") for one in workers]
    counts = np.sum([one["latency"] for one in told], axis=0)
    p50, p99 = (float(np.searchsorted(np.cumsum(counts), q * counts.sum())) for q in (0.5, 0.99))
    say(
        f"crowd: {sent} sent, {lag} left, {sum(one['beats'] for one in told)} beats; "
        f"{counts.sum()} after {SETTLE_S:g} s: p50 {p50:.0f} p99 {p99:.0f} ms"
    )
    return p99, lag / max(1, sent)


def measure(say: Callable[[str], None]) -> Iterator[Row]:
    """Against the limit."""
    missing = broker.unavailable_reason()
    if missing:
        say(f"crowd: left out, {missing}")
        return
    p99_ms, left = run(say)
    yield Row(f"gpu, {STREAMS} live streams, exactly-once, p99", p99_ms, "ms", "the limit", LIMIT_MS, "<= 1")
    yield Row("the same, left behind", left, "of all", "what is under way", 0.01, "<= 1")


def _start(role: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "beatwire.bench.live_100k", role, *arguments], stdout=subprocess.PIPE, text=True
    )


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(sys.argv[2])
    else:
        feed(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
