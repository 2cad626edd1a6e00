"""One real Kafka for all tests of this folder, emptied before each test; without Kafka the tests are skipped."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.consuming import commits
from beatwire.kafka.local import broker
from beatwire.kafka.publishing.sender import Sender
from beatwire.kafka.reading.readers import read_to_end
from beatwire.wire import names
from moments import LIMIT_S, wait_until

broker._READY_S = LIMIT_S
WORKER = Path(__file__).with_name("worker.py")


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


worker = _load(WORKER)


@pytest.fixture(scope="session", autouse=True)
def formatted_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give each broker of this process a copy of the first one's empty folder, which saves a start of Java."""
    formats, kept = broker.LocalKafka._format, tmp_path_factory.mktemp("formatted") / "logs"

    def copied(kafka: broker.LocalKafka, properties: Path) -> None:
        if kafka._security is not None:  # the folder holds its users
            formats(kafka, properties)
        elif kept.exists():
            shutil.copytree(kept, kafka._directory / "logs")
        else:
            formats(kafka, properties)
            shutil.copytree(kafka._directory / "logs", kept)

    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(broker.LocalKafka, "_format", copied)
        yield


@pytest.fixture(scope="session")
def shared_kafka(need_kafka: None) -> Iterator[broker.LocalKafka]:
    with broker.LocalKafka() as kafka:
        yield kafka


@pytest.fixture
def kafka(shared_kafka: broker.LocalKafka) -> broker.LocalKafka:
    """The shared broker with empty topics."""
    remove_topics(shared_kafka.cluster)
    topics.create_topics(shared_kafka.cluster)
    return shared_kafka


@pytest.fixture
def bare_kafka(shared_kafka: broker.LocalKafka) -> broker.LocalKafka:
    """The shared broker without topics."""
    remove_topics(shared_kafka.cluster)
    return shared_kafka


@pytest.fixture
def prefixed(shared_kafka: broker.LocalKafka) -> Iterator[Callable[[str], Cluster]]:
    """Return a function that creates topics with a prefix on the shared broker; remove them after the test."""
    made: list[Cluster] = []

    def create(prefix: str) -> Cluster:
        made.append(Cluster(shared_kafka.bootstrap, prefix=prefix))
        topics.create_topics(made[-1])
        return made[-1]

    yield create
    for cluster in made:
        remove_topics(cluster)


@pytest.fixture
def own_kafka(need_kafka: None) -> Iterator[broker.LocalKafka]:
    """A broker that the test may stop and kill."""
    with broker.LocalKafka() as kafka:
        yield kafka
        kafka.kill()  # nobody reads what a clean stop would write


@pytest.fixture
def ward() -> Iterator[Callable[[str], Ward]]:
    """Return a function that makes wards; end their processes after the test."""
    made: list[Ward] = []

    def make(cluster: Cluster, streams: int = 12) -> Ward:
        made.append(Ward(cluster, streams))
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture(name="wait")
def wait_fixture() -> Callable[[Callable[[], bool], float], None]:
    """Return a function that waits until a condition is true, at most so many seconds."""
    return wait_until


def remove_topics(cluster: Cluster) -> None:
    admin, names_there = cluster.admin(), {cluster.topic(name) for name in topics.TOPICS}
    existing = [name for name in admin.list_topics(timeout=LIMIT_S).topics if name in names_there]
    for future in admin.delete_topics(existing).values() if existing else ():
        future.result(LIMIT_S)
    wait_until(lambda: not names_there & set(admin.list_topics(timeout=LIMIT_S).topics))


class Ward:
    """Streams of numbered messages, the workers that read them, and the expected output."""

    def __init__(self, cluster: Cluster, streams: int) -> None:
        self.cluster = cluster
        self.streams = [f"s{n}" for n in range(streams)]
        self.sent = 0
        self.workers: list[subprocess.Popen[str]] = []

    @contextmanager
    def feeding(self) -> Iterator[Callable[[int], None]]:
        """Yield a function that sends the next n messages of every stream, `rate_hz` a second and stream."""
        with Sender(self.cluster) as sender:

            def feed(count: int, rate_hz: float = 0.0) -> None:
                began = time.monotonic()
                for k in range(count):
                    keys = [name.encode() for name in self.streams]
                    sender.send(names.SAMPLES, keys, [f"{name}:{self.sent}".encode() for name in self.streams])
                    self.sent += 1
                    if rate_hz:
                        time.sleep(max(0.0, began + (k + 1) / rate_hz - time.monotonic()))
                sender.flush()

            yield feed

    def start_worker(self, *arguments: str, group: str = "ward") -> subprocess.Popen[str]:
        started = subprocess.Popen(
            [sys.executable, str(WORKER), self.cluster.bootstrap, group, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self.workers.append(started)
        return started

    def wait_published(self, beats: int, timeout_s: float = LIMIT_S) -> None:
        """Wait until the beats topic has so many offsets of transactions that ended: there is a commit, too."""
        self._wait(
            lambda: sum(topics.end_offsets(self.cluster, names.BEATS, committed=True).values()) >= beats, timeout_s
        )

    def wait_done(self, timeout_s: float = LIMIT_S, group: str = "ward") -> None:
        """Wait until the group has committed all messages that were sent."""
        try:
            self._wait(lambda: commits.group_lag(self.cluster, group) == 0, timeout_s)
        except AssertionError as error:
            raise AssertionError(f"{error}; {self._diagnosis(group)}") from None

    def _wait(self, done: Callable[[], bool], timeout_s: float) -> None:
        """Wait until a condition is true; fail if a worker ends by itself."""

        def check() -> bool:
            for process in self.workers:
                if process.poll() not in (None, 0, -signal.SIGKILL):
                    raise AssertionError(f"a worker ended: {process.communicate()[1]}")
            return done()

        wait_until(check, timeout_s)

    def stop(self, process: subprocess.Popen[str], timeout_s: float = LIMIT_S) -> dict[str, float]:
        """Stop a worker with SIGTERM; return the counters that it prints. It must end with exit code 0."""
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=timeout_s)
        assert process.returncode == 0, err
        counters: dict[str, float] = json.loads(out)
        return counters

    def _diagnosis(self, group: str) -> str:
        """Return offsets of broker and group, and the stacks of all threads of the workers; ends the workers."""
        ends = topics.end_offsets(self.cluster, names.SAMPLES)
        visible = topics.end_offsets(self.cluster, names.SAMPLES, committed=True)
        done = commits.committed_offsets(self.cluster, group, names.SAMPLES, ends)
        pending = [p for p in ends if commits.has_pending_commits(self.cluster, group, names.SAMPLES, [p])]
        lines = [f"end offsets {ends}, of committed messages {visible}, commits {done}, pending {pending}"]
        for process in self.workers:
            if process.poll() is None:
                process.send_signal(signal.SIGUSR1)
                time.sleep(1.0)
                process.kill()
                lines.append(process.communicate()[1])
        return "\n".join(lines)

    def end(self) -> None:
        for process in self.workers:
            if process.poll() is None:
                process.kill()
            process.communicate()

    def expected(self) -> dict[str, Counter[str]]:
        """Return topic -> the messages that it must contain after all that was sent."""
        lines: dict[str, Counter[str]] = {name: Counter() for name in (names.BEATS, names.ALERTS, names.DEAD_LETTERS)}
        for stream in self.streams:
            for name, more in zip(lines, worker.expected(stream, self.sent), strict=True):
                lines[name].update(more)
        return lines

    def surplus_and_missing(self) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
        """Compare the topics with the expected messages: (repeated or unexpected, missing)."""
        expected = self.expected()
        got = {name: Counter(self.published(name)) for name in expected}
        return (
            {name: list((got[name] - lines).elements()) for name, lines in expected.items() if got[name] - lines},
            {name: list((lines - got[name]).elements()) for name, lines in expected.items() if lines - got[name]},
        )

    def published(self, topic: str) -> list[str]:
        values = [value.decode() for _, value in read_to_end(self.cluster, topic) if value is not None]
        if topic != names.ALERTS:
            return values
        # The others are the monitor's own: a slow machine interrupts the monitoring long enough to say so.
        alerts = [alert for alert in map(json.loads, values) if alert["rule"] == worker.ALERT["rule"]]
        return [f"{alert['id']} {alert['state']}" for alert in alerts]
