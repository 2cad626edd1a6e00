"""Metrics and health of several workers on one port, served by their parent.

In: the answers of each worker, which serves on a port of its own on this machine and writes that port as the first line
of its standard output. Out: all metrics with a label ``worker``, counted from 1; the worst health; readiness if all are
ready. State: the ports.
"""

import http.client
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families

from beatwire.service.observing.health import Verdict
from beatwire.service.observing.metric_table import METRICS

HOST = "127.0.0.1"
_ANSWER_S = 2.0

T = TypeVar("T")


class Member:
    """One worker as its parent asks it.

    Parameters
    ----------
    process
        The worker; its standard output is a pipe.
    number
        From 1.
    """

    def __init__(self, process: subprocess.Popen[str], number: int) -> None:
        self.number = number
        self._process = process
        self._port: int | None = None
        self._reader = threading.Thread(target=self._read_port, name=f"port of worker {number}", daemon=True)
        self._reader.start()

    def _read_port(self) -> None:
        if self._process.stdout is not None:
            with self._process.stdout as lines:
                first = lines.readline()
            self._port = int(first) if first.strip().isdigit() else None

    def metrics(self) -> str | None:
        """Return its metrics as text; None if it does not answer."""
        answer = None if self._port is None else self._get("/metrics")
        return None if answer is None else answer[1]

    def verdict(self, path: str) -> Verdict:
        """Return its answer to a probe."""
        code = self._process.poll()
        if code is not None:
            return Verdict(False, {"status": "unhealthy", "reason": f"its process ended with code {code}"})
        if self._port is None:
            return Verdict(path == "/healthz", {"status": "starting", "reason": "its process has just started"})
        answer = self._get(path)
        if answer is None:
            return Verdict(False, {"status": "unhealthy", "reason": f"it does not answer within {_ANSWER_S:g} s"})
        return Verdict(answer[0] == 200, json.loads(answer[1]))

    def _get(self, path: str) -> tuple[int, str] | None:
        connection = http.client.HTTPConnection(HOST, self._port, timeout=_ANSWER_S)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


class WorkerAnswers:
    """What the parent of workers serves over HTTP; implements `beatwire.service.observing.server.Answers`.

    Attributes
    ----------
    stopping : bool
        The workers are being stopped: not ready, and healthy whatever they answer.
    """

    def __init__(self) -> None:
        self.stopping = False
        self._members: list[Member] = []

    def add(self, process: subprocess.Popen[str]) -> None:
        """Add the next worker."""
        self._members.append(Member(process, len(self._members) + 1))

    def registry(self) -> CollectorRegistry:
        """Return the metrics of all workers."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return registry

    def collect(self) -> Iterator[Metric]:
        """Yield every metric with a sample of each worker; a worker that does not answer is unhealthy."""
        families: dict[str, Metric] = {}
        for member, text in self._ask(Member.metrics):
            found = self._missing(member) if text is None else list(text_string_to_metric_families(text))
            for family in found:
                merged = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    merged.add_sample(sample.name, {"worker": str(member.number), **sample.labels}, sample.value)
        yield from families.values()

    def healthy(self) -> Verdict:
        """Return whether all workers are healthy."""
        return self._worst("/healthz", "healthy", "unhealthy", without=True)

    def ready(self) -> Verdict:
        """Return whether all workers are ready."""
        return self._worst("/readyz", "ready", "not ready", without=False)

    def _worst(self, path: str, good: str, bad: str, *, without: bool) -> Verdict:
        """Return the answer of all workers; `without` is that before they are started and while they are stopped."""
        if self.stopping:
            return Verdict(without, {"status": "stopping"})
        if not self._members:
            return Verdict(without, {"status": "starting"})
        verdicts = self._ask(lambda member: member.verdict(path))
        failing = [
            f"worker {member.number}: {verdict.body['reason']}" for member, verdict in verdicts if not verdict.ok
        ]
        workers = [{"worker": member.number, **verdict.body} for member, verdict in verdicts]
        if failing:
            return Verdict(False, {"status": bad, "reason": "; ".join(failing), "workers": workers})
        return Verdict(True, {"status": good, "workers": workers})

    def _ask(self, question: Callable[[Member], T]) -> list[tuple[Member, T]]:
        """Return the answer of every worker; they are asked at the same time."""
        members = list(self._members)
        with ThreadPoolExecutor(max(1, len(members))) as threads:
            return list(zip(members, threads.map(question, members), strict=True))

    def _missing(self, member: Member) -> list[Metric]:
        """Return what is known of a worker that serves no metrics."""
        ok = int(member.verdict("/healthz").ok)
        return [
            GaugeMetricFamily(name, METRICS[name].text, value)
            for name, value in (("beatwire_healthy", ok), ("beatwire_ready", 0))
        ]
