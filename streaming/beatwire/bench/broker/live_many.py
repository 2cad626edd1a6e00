"""Many live streams at 250 Hz in chunks of one second through a real Kafka, on one host.

Latency is the time from a chunk's arrival at the broker to the commit of the output that it completed, as counted by
the monitor, without the first seconds in which lanes are created. The workers share one GPU where there is one, each
with its part of the partitions. With bundles a message has the chunks of several streams, as a gateway sends them.
Broker, producers and workers are separate processes of one machine (``bench.broker.live_many_worker``).
"""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
from beatwire_producers.bundles import check_bundle

from beatwire.backends.cards import cards, driver_of, places
from beatwire.bench.result import Log, Result
from beatwire.errors import FatalError, shown
from beatwire.kafka.consuming import commits
from beatwire.kafka.local import broker
from beatwire.records import I64

SETTLE_S = 15.0
START_S, STOP_S = 300.0, 60.0  # for all workers to start, and for each to stop
READY = "working"  # what a worker prints when it reads
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


GPU = Plan(backend="gpu", workers=8, limit_ms=80.0)


def run(log: Log, plan: Plan) -> tuple[float, int, int]:
    """Run all processes; return the 99 % quantile of the latency in ms, the messages sent, and those not processed.

    Raises
    ------
    FatalError
        A process failed or took too long, or no latency was counted.
    """

    def start(role: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", f"{__package__}.live_many_worker", role, *arguments]
        process = started.enter_context(
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})  # noqa: S603
        )
        started.callback(process.kill)
        return process

    with broker.LocalKafka(partitions=PARTITIONS) as kafka, ExitStack() as started:
        begin = time.monotonic()
        of_cards = places(plan.workers, [] if plan.backend == "cpu" else cards(driver_of()))
        workers = [
            start("work", kafka.bootstrap, plan.backend, str(plan.workers), str(place.workers), **place.environment)
            for place in of_cards
        ]
        for worker in workers:
            wait_until_ready(worker, begin + START_S - time.monotonic())
        log(f"live: {plan.workers} workers ready in {time.monotonic() - begin:.0f} s")
        parts = [len(part) for part in np.array_split(np.arange(plan.streams), plan.feeders)]
        feeders = [
            start("feed", kafka.bootstrap, str(k), str(part), str(plan.seconds), str(plan.bundle))
            for k, part in enumerate(parts)
        ]
        within_s = 2 * plan.seconds + 120
        sums = [json.loads(printed_by(feeder, "producer", within_s)) for feeder in feeders]
        time.sleep(1.0)
        lag = commits.group_lag(kafka.cluster, GROUP)
        for worker in workers:
            worker.terminate()
        summaries = [json.loads(printed_by(worker, "worker", STOP_S)) for worker in workers]
    sent, chunks = np.sum(sums, axis=0).tolist()
    counts = np.sum([summary["latency"] for summary in summaries], axis=0)
    p50, p99 = quantiles_ms(counts)
    log(
        f"live: {plan.streams} streams: {sent} messages with {chunks} chunks sent, {lag} messages not processed, "
        f"{sum(s['beats'] for s in summaries)} beats; {counts.sum()} messages after {SETTLE_S:g} s: "
        f"p50 {p50:.0f} ms, p99 {p99:.0f} ms"
    )
    return p99, sent, lag


def wait_until_ready(worker: subprocess.Popen[str], within_s: float) -> None:
    """Wait for the line with which a worker says that it reads.

    Raises
    ------
    FatalError
        It ended or took too long.
    """
    assert worker.stdout is not None
    if not select.select([worker.stdout], [], [], max(0.0, within_s))[0]:
        raise FatalError(f"live: expected the workers to be ready within {START_S:g} s; got none from one of them")
    line = worker.stdout.readline()
    if line.strip() != READY:
        raise FatalError(f"live: expected {READY!r} from a worker; got {shown(line)}, exit code {worker.wait(STOP_S)}")


def printed_by(process: subprocess.Popen[str], role: str, within_s: float) -> str:
    """Return what a process printed until its end.

    Raises
    ------
    FatalError
        It failed or took too long.
    """
    try:
        printed, _ = process.communicate(timeout=within_s)
    except subprocess.TimeoutExpired:
        raise FatalError(f"live: expected the end of each {role} within {within_s:g} s; one still runs") from None
    if process.returncode:
        raise FatalError(f"live: expected exit code 0 of each {role}; got {process.returncode}")
    return printed


def quantiles_ms(counts: I64) -> tuple[float, float]:
    """Return the 50 % and the 99 % quantile of a histogram by millisecond.

    Raises
    ------
    FatalError
        Nothing was counted.
    """
    total = int(counts.sum())
    if total == 0:
        raise FatalError(
            f"live: expected latencies of messages more than {SETTLE_S:g} s after a worker's first; got none"
        )
    p50, p99 = (float(np.searchsorted(np.cumsum(counts), q * total)) for q in (0.5, 0.99))
    return p50, p99


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
