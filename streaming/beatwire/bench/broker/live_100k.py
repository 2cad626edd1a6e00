"""100,000 live streams at 250 Hz in chunks of one second through a real Kafka, on one GPU.

Latency is the time from a chunk's arrival at the broker to the commit of the output that it completed, as counted by
the monitor, without the first seconds in which lanes are created. Two workers share one GPU, each with half of the
partitions. Broker, four producers and two workers are separate processes of one machine:
``python -m beatwire.bench.broker.live_100k work|feed ...``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from beatwire_producers.replay import play
from beatwire_producers.ward import ward

from beatwire.backends.choose import choose
from beatwire.bench.result import Log, Result
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import commits
from beatwire.kafka.consuming.source import Source
from beatwire.kafka.local import broker
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.publishing.sink import Sink
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.service.monitor import Monitor
from beatwire.service.warmup import warm_up
from beatwire.settings import bytes_of
from beatwire.signals import stop_on_signals

STREAMS, SECONDS, SETTLE_S = 100_000, 40, 15.0
WORKERS, FEEDERS, PARTITIONS = 2, 4, 16
CHUNK_MS = 1000.0
MEMORY = "16GiB"  # of the GPU, for each worker
LIMIT_MS = 200.0  # p99
LIMIT_LAG = 0.01  # share of the messages that may be under way at the end
GROUP = "live-100k"


def work(bootstrap: str) -> None:
    """Run a worker until SIGTERM; print its counters, with the histogram of latencies by millisecond, as JSON."""
    backend = choose("gpu", limit_bytes=bytes_of(MEMORY))
    pipeline = Pipeline(Settings(), backend)
    warm_up(lambda _: None, backend)
    with stop_on_signals() as stop, Sink(Cluster(bootstrap)) as sink, Source(Cluster(bootstrap), GROUP) as source:
        monitor = Monitor(pipeline, source, sink)
        counters = monitor.counters

        def clear_latencies() -> None:
            while not counters.messages and not stop.wait(0.05):
                pass
            if not stop.wait(SETTLE_S):
                counters.latency.counts[:] = 0

        threading.Thread(target=clear_latencies, daemon=True).start()
        print("working", flush=True)  # noqa: T201
        monitor.run(stop)
    summary = {"messages": counters.messages, "beats": counters.beats, "latency": counters.latency.counts.tolist()}
    print(json.dumps(summary))  # noqa: T201


def feed(bootstrap: str, number: int, streams: int, seconds: float) -> None:
    """Run a producer; print the number of chunks sent."""
    synthetic = ward(streams, 60, seed=number, events=(), distinct=64)
    feeds = [replace(feed, stream=f"ward-{number}-{k}") for k, feed in enumerate(synthetic.feeds)]
    with Sender(Cluster(bootstrap)) as sender:
        print(play(feeds, sender, chunk_ms=CHUNK_MS, seconds=seconds).chunks)  # noqa: T201


def run(log: Log, streams: int = STREAMS, seconds: float = SECONDS) -> tuple[float, float]:
    """Run all processes; return the 99 % quantile of the latency in ms, and the share of messages not processed."""
    with broker.LocalKafka(partitions=PARTITIONS) as kafka:
        workers = [_start("work", kafka.bootstrap) for _ in range(WORKERS)]
        try:
            for worker in workers:
                assert worker.stdout is not None
                worker.stdout.readline()
            arguments = [str(streams // FEEDERS), str(seconds)]
            feeders = [_start("feed", kafka.bootstrap, str(k), *arguments) for k in range(FEEDERS)]
            sent = sum(int(feeder.communicate(timeout=seconds + 60)[0]) for feeder in feeders)
            time.sleep(1.0)
            lag = commits.group_lag(kafka.cluster, GROUP)
        finally:
            for worker in workers:
                worker.terminate()
            summaries = [json.loads(worker.communicate(timeout=30)[0] or "{}") for worker in workers]
    counts = np.sum([summary["latency"] for summary in summaries], axis=0)
    p50, p99 = (float(np.searchsorted(np.cumsum(counts), q * counts.sum())) for q in (0.5, 0.99))
    log(
        f"live_100k: {sent} messages sent, {lag} not processed, {sum(s['beats'] for s in summaries)} beats; "
        f"{counts.sum()} messages after {SETTLE_S:g} s: p50 {p50:.0f} ms, p99 {p99:.0f} ms"
    )
    return p99, lag / max(1, sent)


def measure(log: Log) -> Iterator[Result]:
    """Compare latency and lag with their limits."""
    missing = broker.unavailable_reason()
    if missing:
        log(f"live_100k: skipped, {missing}")
        return
    p99_ms, lag = run(log)
    name = f"gpu, {STREAMS} live streams, exactly-once"
    yield Result(f"{name}, p99", p99_ms, "ms", "limit", LIMIT_MS, "<= 1")
    yield Result(f"{name}, not processed", lag, "of all", "limit", LIMIT_LAG, "<= 1")


def _start(role: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "beatwire.bench.broker.live_100k", role, *arguments], stdout=subprocess.PIPE, text=True
    )


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(sys.argv[2])
    else:
        feed(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
