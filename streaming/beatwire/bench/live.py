"""2,000 live streams at 250 Hz in 200 ms chunks for 60 s, real Kafka and producer on the same cores.

Latency is from a chunk's arrival at the broker to the moment a read_committed consumer holds the beat
that it completed. The rival is a loop without any work, with the same number of messages out.
Producer, worker and broker are processes of their own; this one only listens.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np

from beatwire.bench.row import Row
from beatwire.kafka import commits
from beatwire.kafka.local import broker
from beatwire.kafka.readers import follow
from beatwire.records import F64
from beatwire.wire import names
from beatwire.wire.avro import decode_beat

STREAMS = 2000
SECONDS = 60
SETTLE_S = 5.0
WORKERS = {
    "exactly-once": ["beatwire", "monitor", "--delivery", "exactly-once"],
    "at-least-once": ["beatwire", "monitor", "--delivery", "at-least-once"],
    "bare": ["beatwire.bench.kafka_baseline"],
}
LIMIT_MS = {"exactly-once": 150.0, "at-least-once": 80.0}


class Listener(threading.Thread):
    """Holds, for each message of the beats topic, when it came and when its chunk had arrived."""

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.bootstrap = bootstrap
        self.over = threading.Event()
        self.came_us: list[int] = []
        self.values: list[bytes] = []

    def run(self) -> None:
        """Listen until told to stop."""
        for _, value in follow(self.bootstrap, names.BEATS, stop=self.over):
            self.came_us.append(time.time_ns() // 1000)
            self.values.append(value)

    def latencies_ms(self, kind: str) -> F64:
        """Return the latencies of everything after the first seconds."""
        if kind == "bare":
            arrived = np.array([int(value) for value in self.values])
        else:
            arrived = np.array([round(decode_beat(value)["arrived"].timestamp() * 1e6) for value in self.values])
        came = np.array(self.came_us)
        settled = arrived > arrived.min() + SETTLE_S * 1e6
        waited: F64 = (came - arrived)[settled] / 1000.0
        return waited


def run_live(kind: str, say: Callable[[str], None], seconds: int = SECONDS) -> tuple[float, int, int]:
    """Run one worker against live streams; returns p99 in ms, messages sent, and messages left behind."""
    with broker.LocalKafka() as kafka:
        module, *arguments = WORKERS[kind]
        group = f"live-{kind}"
        worker = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", module, *arguments, "--bootstrap-servers", kafka.bootstrap, "--group", group],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        listener = Listener(kafka.bootstrap)
        try:
            assert worker.stderr is not None
            for line in worker.stderr:
                if line.startswith("monitoring"):
                    break
            listener.start()
            time.sleep(2.0)
            feeder = subprocess.run(  # noqa: S603
                [sys.executable, "-m", "beatwire.bench.feeder", kafka.bootstrap, str(STREAMS), str(seconds)],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            time.sleep(2.0)
            lag = commits.group_lag(kafka.bootstrap, group)
        finally:
            worker.terminate()
            worker.communicate()
            listener.over.set()
            listener.join()
    latencies = listener.latencies_ms(kind)
    sent = int(feeder.stdout)
    p50, p99 = np.quantile(latencies, [0.5, 0.99])
    say(f"live: {kind}: {sent} sent, {lag} left, {len(latencies)} out, p50 {p50:.0f} p99 {p99:.0f} ms")
    return float(p99), sent, lag


def measure(say: Callable[[str], None]) -> Iterator[Row]:
    """Against the limits, beside the bare loop."""
    missing = broker.unavailable_reason()
    if missing:
        say(f"live: left out, {missing}")
        return
    bare_ms, _, _ = run_live("bare", say)
    for kind, limit_ms in LIMIT_MS.items():
        p99_ms, sent, lag = run_live(kind, say)
        yield Row(f"live p99, {kind}", p99_ms, "ms", "the limit", limit_ms, "<= 1")
        yield Row(f"live p99, {kind}", p99_ms, "ms", "bare loop, exactly-once", bare_ms, "<= 2")
        yield Row(f"live, published, {kind}", float(sent - lag), "messages", "sent", float(sent), ">= 1")
