"""Many live streams at 250 Hz in chunks of one second through a real Kafka, on one host.

Latency is the time from a chunk's arrival at the broker to the commit of the output that it completed, as counted by
the monitor, without the first seconds in which lanes are created. The workers share one GPU where there is one, each
with its part of the partitions. With bundles a message has the chunks of several streams, as a gateway sends them.
Broker, producers and workers are separate processes of one machine:
``python -m beatwire.bench.broker.live_many work|feed ...``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from beatwire_producers.bundles import check_bundle
from beatwire_producers.replay import play
from beatwire_producers.ward import ward

from beatwire.backends.choose import choose
from beatwire.bench.result import Log, Result
from beatwire.jit.threads import share_of_cores, use
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
from beatwire.signals import stop_on_signals

SETTLE_S = 15.0
PARTITIONS = 16
CHUNK_MS = 1000.0
FED = 125_000  # streams of a producer at most
LIMIT_LAG = 0.01  # share of the messages that may be under way at the end
GROUP = "live-many"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent and who reads it.

    streams, seconds  of the feed
    bundle            streams of a message
    workers           processes that read
    backend           of each: ``auto``, ``cpu`` or ``gpu``
    limit_ms          of the latency's 99 % quantile: by then the next chunk is there
    """

    streams: int = 100_000
    seconds: float = 40.0
    bundle: int = 1
    workers: int = 2
    backend: str = "auto"
    limit_ms: float = CHUNK_MS

    @property
    def feeders(self) -> int:
        """Return the number of producers."""
        return min(self.streams, max(4, -(-self.streams // FED)))


GPU = Plan(backend="gpu", limit_ms=200.0)


def work(bootstrap: str, kind: str, workers: int) -> None:
    """Run a worker until SIGTERM; print its counters, with the histogram of latencies by millisecond, as JSON."""
    backend = choose(kind)
    use(share_of_cores(workers))
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


def feed(bootstrap: str, number: int, streams: int, seconds: float, bundle: int) -> None:
    """Run a producer; print the number of messages sent, and of chunks."""
    synthetic = ward(streams, 60, seed=number, events=(), distinct=64)
    feeds = [replace(feed, stream=f"ward-{number}-{k}") for k, feed in enumerate(synthetic.feeds)]
    with Sender(Cluster(bootstrap)) as sender:
        summary = play(feeds, sender, chunk_ms=CHUNK_MS, seconds=seconds, bundle=bundle)
    print(json.dumps([summary.messages, summary.chunks]))  # noqa: T201


def run(log: Log, plan: Plan) -> tuple[float, int, int]:
    """Run all processes; return the 99 % quantile of the latency in ms, the messages sent, and those not processed."""
    with broker.LocalKafka(partitions=PARTITIONS) as kafka:
        workers = [_start("work", kafka.bootstrap, plan.backend, str(plan.workers)) for _ in range(plan.workers)]
        try:
            for worker in workers:
                assert worker.stdout is not None
                worker.stdout.readline()
            parts = [len(part) for part in np.array_split(np.arange(plan.streams), plan.feeders)]
            feeders = [
                _start("feed", kafka.bootstrap, str(k), str(part), str(plan.seconds), str(plan.bundle))
                for k, part in enumerate(parts)
            ]
            sums = [json.loads(feeder.communicate(timeout=2 * plan.seconds + 120)[0]) for feeder in feeders]
            time.sleep(1.0)
            lag = commits.group_lag(kafka.cluster, GROUP)
        finally:
            for worker in workers:
                worker.terminate()
            summaries = [json.loads(worker.communicate(timeout=30)[0] or "{}") for worker in workers]
    sent, chunks = np.sum(sums, axis=0).tolist()
    counts = np.sum([summary["latency"] for summary in summaries], axis=0)
    p50, p99 = (float(np.searchsorted(np.cumsum(counts), q * counts.sum())) for q in (0.5, 0.99))
    log(
        f"live: {plan.streams} streams: {sent} messages with {chunks} chunks sent, {lag} messages not processed, "
        f"{sum(s['beats'] for s in summaries)} beats; {counts.sum()} chunks after {SETTLE_S:g} s: "
        f"p50 {p50:.0f} ms, p99 {p99:.0f} ms"
    )
    return p99, sent, lag


def measure(log: Log, plan: Plan = GPU) -> Iterator[Result]:
    """Compare latency and lag with their limits."""
    check_bundle(plan.bundle)
    missing = broker.unavailable_reason()
    if missing:
        log(f"live: skipped, {missing}")
        return
    p99_ms, sent, lag = run(log, plan)
    name = f"{plan.streams} live streams, exactly-once"
    name += f", bundles of {plan.bundle}" if plan.bundle > 1 else ""
    name = f"gpu, {name}" if plan.backend == "gpu" else name
    yield Result(f"{name}, p99", p99_ms, "ms", "limit", plan.limit_ms, "<= 1")
    yield Result(f"{name}, not processed", lag / max(1, sent), "of all", "limit", LIMIT_LAG, "<= 1")


def _start(role: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-m", "beatwire.bench.broker.live_many", role, *arguments], stdout=subprocess.PIPE, text=True
    )


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        feed(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]), int(sys.argv[6]))
