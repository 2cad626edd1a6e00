"""Two workers on a real Kafka as an operator sees them: log lines, probes and metrics on one port."""

import json
import subprocess
import sys
import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest
from beatwire.service.warmup import warm_up
from beatwire.wire import names
from beatwire.wire.avro import encode_chunk
from kafka_messages import quick_sender
from moments import LIMIT_S
from monitored import get
from prometheus_client.parser import text_string_to_metric_families

pytestmark = pytest.mark.kafka

STREAMS = 40


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    warm_up(print)


class Lines:
    """The log lines of a process, read by a thread."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.events: list[dict[str, Any]] = []
        self._served = threading.Event()
        self._process = process
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.events.append(json.loads(line))
            if self.events[-1]["event"] == "serving":
                self._served.set()

    def port(self) -> int:
        assert self._served.wait(LIMIT_S), self.events
        return next(event["port"] for event in self.events if event["event"] == "serving")

    def end(self) -> list[dict[str, Any]]:
        self._thread.join(60)
        return self.events


def totals(port: int, name: str) -> dict[str, float]:
    """Return the samples of a name, added up by worker."""
    found: Counter[str] = Counter()
    for family in text_string_to_metric_families(get(port, "/metrics")[2]):
        for sample in family.samples:
            if sample.name == name:
                found[sample.labels["worker"]] += sample.value
    return dict(found)


def test_two_workers_are_served_on_one_port(kafka, wait):
    words = ["monitor", "--bootstrap-servers", kafka.bootstrap, "--workers", "2", "--metrics-port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-m", "beatwire", *words, "--log-format", "json"], stderr=subprocess.PIPE, text=True
    )
    lines = Lines(process)
    try:
        port = lines.port()
        assert get(port, "/readyz")[0] == 503
        assert get(port, "/healthz")[0] == 200
        wait(lambda: get(port, "/readyz")[0] == 200)
        chunk = np.arange(50, dtype=np.int16)
        values = [encode_chunk(f"bed-{k}", 1, 0, 0, 250.0, ["II"], chunk) for k in range(STREAMS)]
        with quick_sender(kafka.cluster) as sender:
            sender.send(names.SAMPLES, [f"bed-{k}".encode() for k in range(STREAMS)], values)
            sender.send(names.SAMPLES, [b"bed-0"], [b"{}"])
        wait(lambda: sum(totals(port, "beatwire_messages_total").values()) == STREAMS + 1)
        messages = totals(port, "beatwire_messages_total")
        assert messages.keys() == {"1", "2"}
        assert min(messages.values()) > 0
        assert totals(port, "beatwire_latency_seconds_count") == messages
        assert sum(totals(port, "beatwire_rejects_total").values()) == 1
        assert min(totals(port, "beatwire_assigned_partitions").values()) > 0
        process.terminate()
        assert process.wait(LIMIT_S) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        events = lines.end()
        process.stderr.close()
    stopped = {event["worker"]: event["messages"] for event in events if event["event"] == "stopped"}
    assert stopped == {int(worker): count for worker, count in messages.items()}
