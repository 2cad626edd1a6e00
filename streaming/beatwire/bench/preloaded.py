"""A preloaded topic on a real Kafka: read to the end and published exactly once.

Ours are two monitors of one group, as ``beatwire monitor --workers 2`` starts them; what one alone does is said. The
rival is a bare confluent-kafka ``consume`` loop over the same topic in the same run, its fetching tuned as ours. All
run twice in turn, the better run counts, timed from the first message to the last.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise

from beatwire_producers.encode import Encoder
from beatwire_producers.feeds import Lanes
from beatwire_producers.schedule import chunks_of
from beatwire_producers.ward import ward

from beatwire.bench.row import Row
from beatwire.errors import FatalError
from beatwire.kafka.local import broker
from beatwire.kafka.sender import Sender
from beatwire.service.workers import Worker
from beatwire.wire import names

STREAMS = 2000
CHUNKS = 1000
CHUNK = 64
RATE_HZ = 250.0
WORKERS = 2


def preload(bootstrap: str) -> int:
    """Fill the samples topic; returns the number of messages."""
    shown = ward(STREAMS, CHUNKS * CHUNK / RATE_HZ, seed=1, events=(), distinct=64)
    lanes = Lanes.of(shown.feeds)
    encoder = Encoder.of(lanes, time.time_ns() // 1000)
    sent = 0
    with Sender(bootstrap) as sender:
        for first in range(0, CHUNKS, 10):
            rows = chunks_of(lanes, 1000 * CHUNK / RATE_HZ, first, first + 10)
            messages = encoder.messages(rows)
            sender.send(names.SAMPLES, [lanes.keys[k] for k in rows.lane.tolist()], messages)
            sent += len(messages)
        sender.flush(60.0)
    return sent


def bare(bootstrap: str, messages: int, group: str) -> float:
    """Read the topic with a bare loop in a process of its own; returns seconds from the first message to the last."""
    told = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "beatwire.bench.reader", bootstrap, group, str(messages)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return float(told.stdout)


def ours(bootstrap: str, messages: int, group: str, workers: int) -> float:
    """Read and publish exactly once; returns seconds from the first tick taken to the last published."""
    progress: list[list[tuple[float, int]]] = [[] for _ in range(workers)]  # when, messages published

    def follow(worker: subprocess.Popen[str], told: list[tuple[float, int]]) -> None:
        for line in worker.stdout or ():
            when, count = line.split()
            told.append((float(when), int(count)))

    with ExitStack() as started:
        processes = [
            started.enter_context(Worker("beatwire.bench.worker", bootstrap, group, stdout=subprocess.PIPE))
            for _ in progress
        ]
        for worker, told in zip(processes, progress, strict=True):
            threading.Thread(target=follow, args=(worker, told), daemon=True).start()
        while sum(told[-1][1] for told in progress if told) < messages:
            if any(worker.poll() is not None for worker in processes):
                raise FatalError("bench: expected the workers of preloaded to read to the end; one ended")
            time.sleep(0.05)
    first = min(last for told in progress for last, _ in _starts(told))
    return max(when for told in progress for when, _ in _steps(told)) - first


def _starts(told: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Return the last word before the first message was published: the first tick had been taken then."""
    return [before for before, after in pairwise(told) if before[1] == 0 and after[1] > 0]


def _steps(told: list[tuple[float, int]]) -> list[tuple[float, int]]:
    """Return when messages were published."""
    return [after for before, after in pairwise(told) if after[1] > before[1]]


def measure(say: Callable[[str], None]) -> Iterator[Row]:
    """Against the bare loop."""
    missing = broker.unavailable_reason()
    if missing:
        say(f"preloaded: left out, {missing}")
        return
    with broker.LocalKafka() as kafka:
        messages = preload(kafka.bootstrap)
        say(f"preloaded: {messages} messages of {CHUNK} samples")
        bare_s, alone_s, ours_s = [], [], []
        for turn in (1, 2):
            bare_s.append(bare(kafka.bootstrap, messages, f"bare-{turn}"))
            alone_s.append(ours(kafka.bootstrap, messages, f"alone-{turn}", 1))
            ours_s.append(ours(kafka.bootstrap, messages, f"ours-{turn}", WORKERS))
        rates = [" and ".join(f"{messages / taken:.0f}" for taken in each) for each in (bare_s, alone_s, ours_s)]
        say(f"preloaded: bare {rates[0]} messages/s, one worker {rates[1]}, {WORKERS} workers {rates[2]}")
    million = messages * CHUNK / 1e6
    yield Row(
        f"preloaded, exactly-once, {WORKERS} workers", million / min(ours_s), "Msamples/s", "bare consume loop",
        million / min(bare_s), ">= 0.4",
    )  # fmt: skip
