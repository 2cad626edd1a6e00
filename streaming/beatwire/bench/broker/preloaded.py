"""A preloaded topic on a real Kafka, read to the end with exactly-once output.

Ours are two workers of one group, as ``beatwire monitor --workers 2`` starts them; the rate of a single worker is
logged. The rival is a confluent-kafka ``consume`` loop over the same topic in the same run, with the same settings of
fetching (``bench.broker.consume_baseline``). All run twice, alternately; the better run counts, timed from the first
message to the last.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise

from beatwire_producers.encode import Encoder
from beatwire_producers.feeds import Lanes
from beatwire_producers.schedule import chunks_of
from beatwire_producers.ward import ward

from beatwire.bench.result import Log, Result
from beatwire.errors import FatalError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local import broker
from beatwire.kafka.publishing.sender import Sender
from beatwire.service.workers import Worker
from beatwire.wire import names

STREAMS = 2000
CHUNKS = 1000  # of a stream
CHUNK = 64  # samples
RATE_HZ = 250.0
WORKERS = 2


def preload(cluster: Cluster) -> int:
    """Fill the samples topic; return the number of messages."""
    feeds = ward(STREAMS, CHUNKS * CHUNK / RATE_HZ, seed=1, events=(), distinct=64).feeds
    lanes = Lanes.of(feeds)
    encoder = Encoder.of(lanes, time.time_ns() // 1000)
    sent = 0
    with Sender(cluster) as sender:
        for first in range(0, CHUNKS, 10):
            rows = chunks_of(lanes, 1000 * CHUNK / RATE_HZ, first, first + 10)
            messages = encoder.messages(rows)
            sender.send(names.SAMPLES, [lanes.keys[k] for k in rows.lane.tolist()], messages)
            sent += len(messages)
        sender.flush(60.0)
    return sent


def consume_s(cluster: Cluster, messages: int, group: str) -> float:
    """Return the seconds from the first message to the last of a consume loop in a process of its own."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "beatwire.bench.broker.consume_baseline", cluster.bootstrap, group, str(messages)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return float(done.stdout)


def monitor_s(cluster: Cluster, messages: int, group: str, workers: int) -> float:
    """Return the seconds from the first tick taken to the last published by workers that publish exactly once."""
    progress: list[list[tuple[float, int]]] = [[] for _ in range(workers)]  # per worker (time, messages published)
    readers: list[threading.Thread] = []

    def read_progress(worker: subprocess.Popen[str], lines: list[tuple[float, int]]) -> None:
        assert worker.stdout is not None
        with worker.stdout as printed:
            for line in printed:
                time_s, count = line.split()
                lines.append((float(time_s), int(count)))

    with ExitStack() as started:
        processes = [
            started.enter_context(
                Worker("beatwire.bench.broker.preloaded_worker", cluster.bootstrap, group, stdout=subprocess.PIPE)
            )
            for _ in progress
        ]
        for worker, lines in zip(processes, progress, strict=True):
            reader = threading.Thread(target=read_progress, args=(worker, lines), daemon=True)
            reader.start()
            readers.append(reader)
        while sum(lines[-1][1] for lines in progress if lines) < messages:
            if any(worker.poll() is not None for worker in processes):
                raise FatalError("bench: expected the workers of preloaded to read to the end; one ended")
            time.sleep(0.05)
    for reader in readers:  # the workers have ended, and what they have printed with them
        reader.join()
    first = min(time_s for lines in progress for time_s in _first_ticks(lines))
    return max(time_s for lines in progress for time_s in _publications(lines)) - first


def _first_ticks(lines: list[tuple[float, int]]) -> list[float]:
    """Return when the first tick was taken: the last time before a message was published."""
    return [before[0] for before, after in pairwise(lines) if before[1] == 0 and after[1] > 0]


def _publications(lines: list[tuple[float, int]]) -> list[float]:
    """Return the times at which messages were published."""
    return [after[0] for before, after in pairwise(lines) if after[1] > before[1]]


def measure(log: Log) -> Iterator[Result]:
    """Compare two workers with the consume loop."""
    missing = broker.unavailable_reason()
    if missing:
        log(f"preloaded: skipped, {missing}")
        return
    with broker.LocalKafka() as kafka:
        messages = preload(kafka.cluster)
        log(f"preloaded: {messages} messages of {CHUNK} samples")
        baseline_s, single_s, ours_s = [], [], []
        for run in (1, 2):
            baseline_s.append(consume_s(kafka.cluster, messages, f"baseline-{run}"))
            single_s.append(monitor_s(kafka.cluster, messages, f"single-{run}", 1))
            ours_s.append(monitor_s(kafka.cluster, messages, f"ours-{run}", WORKERS))
        rates = [" and ".join(f"{messages / s:.0f}" for s in runs) for runs in (baseline_s, single_s, ours_s)]
        log(f"preloaded: messages/s: consume loop {rates[0]}, one worker {rates[1]}, {WORKERS} workers {rates[2]}")
    million = messages * CHUNK / 1e6
    yield Result(
        f"preloaded, exactly-once, {WORKERS} workers", million / min(ours_s), "Msamples/s", "consume loop",
        million / min(baseline_s), ">= 0.4",
    )  # fmt: skip
