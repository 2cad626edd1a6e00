"""Kill -9 one of two workers of 1,000 live streams, ten times: how long until the other one publishes their beats.

A hand-over of a partition is over when the group's commit on it moves past the one that the killed worker left. The
broker first waits for the session of the killed worker to expire, which every group of Kafka does: that is subtracted.
The rest is replay of two minutes of 500 streams, reading the log of alerts, and the first tick. Producer, workers and
broker are separate processes on the same cores.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from beatwire.bench.chaos.workers import Workers
from beatwire.bench.result import Log, Result
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import commits
from beatwire.kafka.local import broker
from beatwire.settings import HORIZON_S
from beatwire.wire import names

STREAMS, KILLS = 1000, 10
SETTLE_S = 15.0  # after a worker has joined
SESSION_S = 6.0  # of the group, at the local broker
LIMIT_S = 5.0  # beyond the session timeout
_GROUP = "handover"
_STEP_S = 0.05


def run_handovers(log: Log, streams: int = STREAMS, kills: int = KILLS) -> list[float]:
    """Return the seconds from each kill until all partitions go on, without the session timeout."""
    seconds = round(HORIZON_S + 30 + kills * (SESSION_S + LIMIT_S + 2 * SETTLE_S))
    found = []
    with broker.LocalKafka() as kafka, tempfile.TemporaryDirectory() as folder:
        workers = Workers(kafka.cluster, _GROUP, Path(folder))
        for _ in range(2):
            _wait_ready(workers)
        feeder = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "beatwire.bench.broker.live_feeder", kafka.bootstrap, str(streams), str(seconds)],
            stdout=subprocess.DEVNULL,
        )
        try:
            time.sleep(HORIZON_S)  # so that a full horizon is replayed
            for kill in range(kills):
                found.append(_hand_over(kafka.cluster, workers) - SESSION_S)
                log(f"handover: kill {kill + 1}: {found[-1]:.2f} s beyond the session timeout")
                _wait_ready(workers)
                time.sleep(SETTLE_S)
        finally:
            feeder.kill()
            feeder.wait()
            workers.close()
    return found


def _wait_ready(workers: Workers) -> None:
    """Start a worker and wait until it has joined the group."""
    worker = workers.start()
    while not worker.ready:
        assert worker.process.poll() is None, worker.log.read_text()
        time.sleep(_STEP_S)


def _hand_over(cluster: Cluster, workers: Workers) -> float:
    """Kill the oldest worker; return the seconds until the group's commits move on every partition."""
    partitions = sorted(topics.end_offsets(cluster, names.SAMPLES))
    killed_s = time.monotonic()
    workers.kill(workers.running[0])
    time.sleep(0.5)  # what it had sent has reached the broker, whose open transaction is aborted later
    before = commits.committed_offsets(cluster, _GROUP, names.SAMPLES, partitions)
    moved_s: dict[int, float] = {}
    waiting = set(_standing(cluster, before, partitions))
    while waiting:
        now = commits.committed_offsets(cluster, _GROUP, names.SAMPLES, partitions)
        for partition in [p for p in waiting if now[p] > before[p]]:
            moved_s[partition] = time.monotonic() - killed_s
            waiting.discard(partition)
        time.sleep(_STEP_S)
    return max(moved_s.values(), default=0.0)


def _standing(cluster: Cluster, before: dict[int, int], partitions: list[int]) -> list[int]:
    """Return the partitions whose commits stand: those of the killed worker."""
    time.sleep(1.0)
    now = commits.committed_offsets(cluster, _GROUP, names.SAMPLES, partitions)
    return [partition for partition in partitions if now[partition] == before[partition]]


def measure(log: Log) -> Iterator[Result]:
    """Compare the hand-overs with the limit."""
    missing = broker.unavailable_reason()
    if missing:
        log(f"handover: skipped, {missing}")
        return
    found = run_handovers(log)
    for name, value in (("p50", np.median(found)), ("p99", np.quantile(found, 0.99))):
        yield Result(f"hand-over after kill -9, {name}", float(value), "s", "limit", LIMIT_S, "<= 1")
