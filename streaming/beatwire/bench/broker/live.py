"""2,000 live streams at 250 Hz in chunks of 200 ms for 60 s through a real Kafka, everything on the same cores.

Latency is the time from a chunk's arrival at the broker to the moment when a read_committed consumer receives the beat
that the chunk completed. The rival is a loop without analysis that publishes about as many messages
(``bench.broker.kafka_baseline``). Producer, worker and broker are separate processes; this one consumes the beats.
"""

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from beatwire.bench.result import Log, Result
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import commits
from beatwire.kafka.local import broker
from beatwire.kafka.reading.readers import follow
from beatwire.records import F64
from beatwire.wire import names
from beatwire.wire.avro import decode_beat

STREAMS = 2000
SECONDS = 60
SETTLE_S = 5.0  # at the start, not counted
WORKERS = {
    "exactly-once": ["beatwire", "monitor", "--delivery", "exactly-once"],
    "at-least-once": ["beatwire", "monitor", "--delivery", "at-least-once"],
    "baseline": ["beatwire.bench.broker.kafka_baseline"],
}
LIMIT_MS = {"exactly-once": 150.0, "at-least-once": 80.0}  # p99


class BeatConsumer(threading.Thread):
    """Consumes the beats topic; stores each value and when it was received, in microseconds."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(daemon=True)
        self.cluster = cluster
        self.stop = threading.Event()
        self.received_us: list[int] = []
        self.values: list[bytes] = []

    def run(self) -> None:
        """Consume until ``stop`` is set."""
        for message in follow(self.cluster, names.BEATS, stop=self.stop):
            self.received_us.append(time.time_ns() // 1000)
            self.values.append(message.value() or b"")

    def latencies_ms(self, kind: str) -> F64:
        """Return the latencies of all messages after the first seconds, float64."""
        if kind == "baseline":
            arrived = np.array([int(value) for value in self.values])
        else:
            arrived = np.array([round(decode_beat(value)["arrived"].timestamp() * 1e6) for value in self.values])
        received = np.array(self.received_us)
        settled = arrived > arrived.min() + SETTLE_S * 1e6
        latency_ms: F64 = (received - arrived)[settled] / 1000.0
        return latency_ms


def run_live(
    kind: str,
    log: Log,
    seconds: int = SECONDS,
    *,
    streams: int = STREAMS,
    beside: Callable[[Cluster], AbstractContextManager[object]] = nullcontext,
) -> tuple[float, int, int]:
    """Run one worker on live streams; return the p99 latency in ms, the messages sent, and those not processed.

    Parameters
    ----------
    kind
        Of ``WORKERS``.
    seconds, streams
        Length of the feed, and number of its streams.
    beside
        What runs at the same time: called with the cluster, entered before the feed and left after it.
    """
    with broker.LocalKafka() as kafka:
        module, *arguments = WORKERS[kind]
        group = f"live-{kind}"
        worker = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", module, *arguments, "--bootstrap-servers", kafka.bootstrap, "--group", group],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        consumer = BeatConsumer(kafka.cluster)
        try:
            assert worker.stderr is not None
            for line in worker.stderr:
                if line.startswith("monitoring"):
                    break
            consumer.start()
            time.sleep(2.0)
            with beside(kafka.cluster):
                feeder = subprocess.run(  # noqa: S603
                    [sys.executable, "-m", f"{__package__}.live_feeder", kafka.bootstrap, str(streams), str(seconds)],
                    check=True, capture_output=True, text=True,
                )  # fmt: skip
                time.sleep(2.0)
            lag = commits.group_lag(kafka.cluster, group)
        finally:
            worker.terminate()
            worker.communicate()
            consumer.stop.set()
            consumer.join()
    latencies = consumer.latencies_ms(kind)
    sent = int(feeder.stdout)
    p50, p99 = np.quantile(latencies, [0.5, 0.99])
    log(
        f"live: {kind}: {sent} messages sent, {lag} not processed, {len(latencies)} beats, "
        f"p50 {p50:.0f} ms, p99 {p99:.0f} ms"
    )
    return float(p99), sent, lag


def measure(log: Log) -> Iterator[Result]:
    """Compare with the limits and with the loop without analysis."""
    missing = broker.unavailable_reason()
    if missing:
        log(f"live: skipped, {missing}")
        return
    baseline_ms, _, _ = run_live("baseline", log)
    for kind, limit_ms in LIMIT_MS.items():
        p99_ms, sent, lag = run_live(kind, log)
        yield Result(f"live p99, {kind}", p99_ms, "ms", "limit", limit_ms, "<= 1")
        yield Result(f"live p99, {kind}", p99_ms, "ms", "loop without analysis, exactly-once", baseline_ms, "<= 2")
        yield Result(f"live, processed, {kind}", float(sent - lag), "messages", "sent", float(sent), ">= 1")
