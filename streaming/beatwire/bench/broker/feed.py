"""200 MQTT devices and 32 LSL streams at 250 Hz through ``beatwire feed``, a broker and the monitor, on the same cores.

Latency is the time from a beat's R, at which its device sampled it, to the moment when a consumer receives the beat:
0.3 s of it are the monitor's look-ahead, and up to 0.1 s the packet of the device. Devices, MQTT broker (mosquitto),
feed, Kafka and monitor are processes of their own.
"""

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from beatwire.bench.broker.live import BeatConsumer
from beatwire.bench.result import Log, Result
from beatwire.errors import FatalError
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import commits
from beatwire.kafka.local import broker
from beatwire.wire.avro import decode_beat

DEVICES, STREAMS, SECONDS = 200, 32, 300.0
SETTLE_S = 10.0  # at the start, not counted
END_S = 15.0  # for the monitor to process what was sent last, and to commit that it has
LIMIT_MS = 600.0
MISSING = "mosquitto is not installed (apt-get install mosquitto)"


def run_feed_bench(log: Log, devices: int, streams: int, seconds: float) -> tuple[float, int, int]:
    """Return the p99 latency in ms, the samples that were sent, and those that arrived."""
    kind, group = f"bench-{uuid.uuid4().hex[:8]}", "bench-feed"
    own = [sys.executable, "-m"]
    with _mosquitto() as port, broker.LocalKafka() as kafka:
        to = ["--bootstrap-servers", kafka.bootstrap]
        source = f"mqtt://127.0.0.1:{port}/bench/+/ecg?format=int16&header=count:u32,time_us:u64&rate=250&uv=5"
        worker = subprocess.Popen(  # noqa: S603
            [*own, "beatwire", "monitor", "--delivery", "at-least-once", "--group", group, *to],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert worker.stderr is not None
        for line in worker.stderr:
            if line.startswith("monitoring"):
                break
        sources = [source] if devices else []
        sources += [f"lsl:type={kind}"] if streams else []
        feed = subprocess.Popen(  # noqa: S603
            [*own, "beatwire", "feed", *sources, "--json", *to],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        consumer = BeatConsumer(kafka.cluster)
        consumer.start()
        try:
            time.sleep(5.0)
            pushed = subprocess.run(  # noqa: S603
                [*own, "beatwire.bench.broker.feed_devices", str(port), str(devices), str(streams), kind, str(seconds)],
                check=True, capture_output=True, text=True,
            )  # fmt: skip
            time.sleep(2.0)
            feed.send_signal(signal.SIGINT)
            out, said = feed.communicate(timeout=60)
            lag = _lag_at_the_end(kafka.cluster, group)
        finally:
            for process in (feed, worker):
                process.terminate()
                process.communicate()
            consumer.stop.set()
            consumer.join()
    if not out:
        raise FatalError(f"bench feed: expected a summary of the feed; got {said[-500:]}")
    summary = json.loads(out)
    beats = np.array([decode_beat(value)["time"].timestamp() * 1e6 for value in consumer.values])
    received = np.array(consumer.received_us)
    settled = received > received.min() + SETTLE_S * 1e6
    latency_ms = (received - beats)[settled] / 1000.0
    p50, p99 = np.quantile(latency_ms, [0.5, 0.99])
    each, behind_ms = map(int, pushed.stdout.split())
    sent = each * (devices + streams)
    log(
        f"feed: {summary['streams']} streams, {sent} samples sent, {summary['samples']} arrived, "
        f"{summary['holes']} holes, {summary['unreadable']} messages unreadable, {summary['lost']} lost, "
        f"{lag} not processed, {len(beats)} beats, "
        f"p50 {p50:.0f} ms, p99 {p99:.0f} ms; the devices were behind by up to {behind_ms} ms"
    )
    if summary["samples"] != sent:
        log(said[-2000:])
    return float(p99), sent, int(summary["samples"])


def measure(log: Log) -> Iterator[Result]:
    """Compare with the limit."""
    missing = broker.unavailable_reason() or (None if _mosquitto_path() else MISSING)
    if missing:
        log(f"feed: skipped, {missing}")
        return
    p99_ms, sent, arrived = run_feed_bench(log, DEVICES, STREAMS, SECONDS)
    yield Result("feed, R to published beat, p99", p99_ms, "ms", "limit", LIMIT_MS, "<= 1")
    yield Result("feed, arrived", float(arrived), "samples", "sent", float(sent), ">= 1")


def _lag_at_the_end(cluster: Cluster, group: str) -> int:
    """Return how many messages the monitor has not processed once it had time for the last ones."""
    until_s = time.monotonic() + END_S
    while (lag := commits.group_lag(cluster, group)) and time.monotonic() < until_s:
        time.sleep(1.0)
    return lag


def _mosquitto_path() -> str | None:
    return shutil.which("mosquitto", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")


@contextmanager
def _mosquitto() -> Iterator[int]:
    """Run an MQTT broker; yield its port."""
    port = broker.free_port()
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "mosquitto.conf"
        config.write_text(
            f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence false\nmax_queued_messages 0\n"
        )
        path = _mosquitto_path()
        assert path is not None
        running = subprocess.Popen([path, "-c", str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603
        try:
            time.sleep(1.0)
            yield port
        finally:
            running.terminate()
            running.wait(10)
