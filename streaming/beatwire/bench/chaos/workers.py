"""The monitors that are disturbed: processes of ``beatwire monitor`` in one group, each with a log of its own.

In: a broker and a folder for the logs. Out: processes that can be killed, frozen and stopped. State: which of them run,
which are frozen and until when, and which have ended by themselves. The workers end with this process.
"""

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from beatwire.configuration.keys import Compute, Configuration, Kafka, Metrics, MonitorKeys
from beatwire.kafka.cluster import Cluster

_STOP_S = 90.0  # a worker publishes its tick before it ends, if need be after an outage of the broker
_STEP_S = 0.05
_READY = "monitoring "  # how the line begins that a worker writes when it joins the group


@dataclass(slots=True, eq=False)
class Worker:
    """One process, and the time until which it is frozen, seconds of ``time.monotonic``; 0: it runs."""

    number: int
    process: subprocess.Popen[bytes]
    log: Path
    frozen_until_s: float = 0.0

    @property
    def ready(self) -> bool:
        """Return True if the worker has joined its group."""
        return any(line.startswith(_READY) for line in self.log.read_text(errors="replace").splitlines())

    @property
    def port(self) -> int:
        """Return the port of its probes, which it writes on a line of its own; 0: not known yet."""
        lines = self.log.read_text(errors="replace").splitlines()
        return next((int(line) for line in lines if line.isdigit()), 0)


@dataclass(slots=True)
class Workers:
    """The workers of one group.

    cluster, group    the brokers, and the group
    folder            of the logs
    running           workers that have been started and not stopped
    ended             a line for each worker that ended by itself: its number, exit code and last words
    exit_codes        of the workers that were stopped with SIGTERM
    burning           processes that take a core
    """

    cluster: Cluster
    group: str
    folder: Path
    running: list[Worker] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    exit_codes: list[int] = field(default_factory=list)
    burning: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _started: int = 0

    def start(self) -> Worker:
        """Start one more worker."""
        self._started += 1
        log = self.folder / f"worker-{self._started}.log"
        command = [sys.executable, "-m", "beatwire", "monitor", "--as-worker", str(self._started)]
        values = Configuration(
            kafka=Kafka(bootstrap=self.cluster.bootstrap, properties=dict(self.cluster.properties)),
            monitor=MonitorKeys(group=self.group, score_within_s=0.0),
            compute=Compute(backend="cpu"),
            metrics=Metrics(port=0),
        )
        with log.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603
                command, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )
        assert process.stdin is not None
        process.stdin.write(values.model_dump_json().encode() + b"\n")  # as `beatwire monitor --workers` does
        process.stdin.flush()
        self.running.append(Worker(self._started, process, log))
        return self.running[-1]

    def free(self) -> list[Worker]:
        """Return the workers that are not frozen."""
        return [worker for worker in self.running if not worker.frozen_until_s]

    def kill(self, worker: Worker) -> None:
        """Kill a worker with SIGKILL."""
        self.running.remove(worker)
        worker.process.kill()
        self._wait(worker)

    def freeze(self, worker: Worker, seconds: float) -> None:
        """Stop a worker with SIGSTOP for so many seconds; `tend` continues it."""
        worker.process.send_signal(signal.SIGSTOP)
        worker.frozen_until_s = time.monotonic() + seconds

    def stop(self, worker: Worker) -> None:
        """Stop a worker with SIGTERM and wait: it publishes its tick and leaves the group."""
        self.running.remove(worker)
        worker.process.terminate()
        try:
            self.exit_codes.append(self._wait(worker, _STOP_S))
        except subprocess.TimeoutExpired:
            worker.process.kill()
            self.ended.append(f"worker {worker.number} did not stop in {_STOP_S:g} s")
            self._wait(worker)

    def burn(self, seconds: float) -> bool:
        """Take a core for so many seconds; return False if one is taken."""
        if any(process.poll() is None for process in self.burning):
            return False
        loop = f"import time\nend_s = time.monotonic() + {seconds}\nwhile time.monotonic() < end_s: pass"
        self.burning.append(subprocess.Popen([sys.executable, "-c", loop]))  # noqa: S603
        return True

    def tend(self, *, all_frozen: bool = False) -> None:
        """Continue workers whose time is over, or all; replace those that have ended by themselves."""
        for worker in list(self.running):
            if worker.frozen_until_s and (all_frozen or time.monotonic() >= worker.frozen_until_s):
                worker.process.send_signal(signal.SIGCONT)
                worker.frozen_until_s = 0.0
            code = worker.process.poll()
            if code is not None:
                self.running.remove(worker)
                self._wait(worker)
                words = worker.log.read_text(errors="replace").strip().splitlines()
                self.ended.append(f"worker {worker.number} ended with code {code}: {words[-1] if words else ''}")
                self.start()

    def wait_until(self, done: Callable[[], bool], timeout_s: float) -> bool:
        """Tend the workers until `done` returns True; return False after `timeout_s` seconds."""
        deadline = time.monotonic() + timeout_s
        while not done():
            if time.monotonic() > deadline:
                return False
            self.tend()
            time.sleep(_STEP_S)
        return True

    def wait_ready(self, timeout_s: float) -> bool:
        """Wait until every worker that is not frozen has joined the group; return False after `timeout_s` seconds."""
        return self.wait_until(lambda: all(worker.ready for worker in self.free()), timeout_s)

    def pause(self, seconds: float) -> None:
        """Tend the workers for so many seconds."""
        self.wait_until(lambda: False, seconds)

    def close(self) -> None:
        """Kill what is left."""
        for worker in list(self.running):
            self.kill(worker)
        for process in self.burning:
            process.kill()
            process.wait()

    @staticmethod
    def _wait(worker: Worker, timeout_s: float | None = None) -> int:
        code = worker.process.wait(timeout_s)
        if worker.process.stdin is not None:
            with contextlib.suppress(OSError):
                worker.process.stdin.close()
        return code
