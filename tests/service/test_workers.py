"""Several workers on one port: each a small process that serves as a worker does."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from beatwire.service.observing.metric_table import METRICS
from beatwire.service.observing.server import Server
from beatwire.service.observing.worker_answers import WorkerAnswers
from monitored import get
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families

# A worker that serves one counter and one histogram, and is ready or not; it ends with its standard input.
SCRIPT = """
import sys
from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from beatwire.service.observing.health import Verdict
from beatwire.service.observing.server import Server

disable_created_metrics()
count, ok = float(sys.argv[1]), sys.argv[2] == "ready"

class Answers:
    def registry(self):
        registry = CollectorRegistry()
        Counter("beatwire_messages", "messages", registry=registry).inc(count)
        stage = Histogram("beatwire_stage_seconds", "stages", ["stage"], buckets=(0.1, 1.0), registry=registry)
        stage.labels("align").observe(count)
        return registry

    def healthy(self):
        return Verdict(True, {"status": "healthy"})

    def ready(self):
        return Verdict(ok, {"status": "ready"} if ok else {"status": "not ready", "reason": "no partition is assigned"})

with Server(Answers(), "127.0.0.1", 0) as server:
    print(server.port, flush=True)
    sys.stdin.read()
"""


class Workers:
    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self.answers = WorkerAnswers()
        self.processes: list[subprocess.Popen[str]] = []
        self.port = stack.enter_context(Server(self.answers, "127.0.0.1", 0)).port

    def start(self, *arguments: str, script: str = SCRIPT) -> None:
        words = [sys.executable, "-c", script, *arguments]
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._stack.callback(process.wait)
        assert process.stdin is not None
        self._stack.callback(process.stdin.close)
        self.answers.add(process)
        self.processes.append(process)

    def wait_for_ports(self) -> None:
        for member in self.answers._members:
            member._reader.join(60)

    def probe(self, path: str) -> tuple[int, dict[str, object]]:
        status, _, body = get(self.port, path)
        return status, json.loads(body)


@pytest.fixture
def workers() -> Iterator[Workers]:
    with ExitStack() as stack:
        yield Workers(stack)


def test_metrics_of_all_workers_have_a_label_each(workers: Workers) -> None:
    workers.start("3", "ready")
    workers.start("0.5", "ready")
    workers.wait_for_ports()
    _, _, text = get(workers.port, "/metrics")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert text.count("# TYPE beatwire_messages_total counter") == 1
    _, _, as_openmetrics = get(workers.port, "/metrics", "application/openmetrics-text; version=1.0.0")
    assert "beatwire_messages" in {family.name for family in openmetrics(as_openmetrics)}
    totals = [s for s in families["beatwire_messages"].samples if s.name == "beatwire_messages_total"]
    assert [(s.labels, s.value) for s in totals] == [({"worker": "1"}, 3.0), ({"worker": "2"}, 0.5)]
    buckets = [s for s in families["beatwire_stage_seconds"].samples if s.name.endswith("_bucket")]
    assert [(s.labels["worker"], s.labels["stage"], s.labels["le"], s.value) for s in buckets] == [
        ("1", "align", "0.1", 0), ("1", "align", "1.0", 0), ("1", "align", "+Inf", 1),
        ("2", "align", "0.1", 0), ("2", "align", "1.0", 1), ("2", "align", "+Inf", 1),
    ]  # fmt: skip


def test_all_workers_have_to_be_ready_and_the_answer_names_the_one_that_is_not(workers: Workers) -> None:
    workers.start("1", "ready")
    workers.start("1", "not")
    workers.wait_for_ports()
    assert workers.probe("/healthz")[0] == 200
    status, body = workers.probe("/readyz")
    assert (status, body["reason"]) == (503, "worker 2: no partition is assigned")
    assert body["workers"] == [
        {"worker": 1, "status": "ready"},
        {"worker": 2, "status": "not ready", "reason": "no partition is assigned"},
    ]


def test_a_worker_that_starts_is_healthy_and_not_ready_and_a_dead_one_is_unhealthy(workers: Workers) -> None:
    workers.start(script="import sys; sys.stdin.read(); sys.exit(7)")
    assert workers.probe("/healthz")[0] == 200
    assert workers.probe("/readyz")[1]["reason"] == "worker 1: its process has just started"
    (process,) = workers.processes
    assert process.stdin is not None
    process.stdin.close()
    process.wait(60)
    status, body = workers.probe("/healthz")
    assert (status, body["reason"]) == (503, "worker 1: its process ended with code 7")
    text = get(workers.port, "/metrics")[2]
    assert 'beatwire_healthy{worker="1"} 0.0' in text
    for name in ("beatwire_healthy", "beatwire_ready"):  # as a worker that answers describes them
        assert f"# HELP {name} {METRICS[name].text}\n" in text


def test_before_workers_are_started_and_while_they_are_stopped_the_parent_is_healthy_and_not_ready(
    workers: Workers,
) -> None:
    assert workers.probe("/healthz") == (200, {"status": "starting"})
    assert workers.probe("/readyz") == (503, {"status": "starting"})
    workers.answers.stopping = True
    assert workers.probe("/healthz") == (200, {"status": "stopping"})
    assert workers.probe("/readyz") == (503, {"status": "stopping"})
