"""The commands of pages and help texts that need a broker, or are one, on a real Kafka: each runs until it works.

A command that ends by itself must end well. One that runs until Ctrl-C is interrupted when it has done its work once: a
monitor has published beats, `tail` has printed a line, a page has been served, a replay has sent samples.
"""

import os
import queue
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
import tomllib
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from beatwire.backends.cuda.card import missing
from beatwire.cli.main import app
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.reading.readers import read_to_end
from beatwire.kafka.reading.record import Record
from beatwire.service.warmup import warm_up
from beatwire.wire import names
from beatwire.wire.schema_files import SCHEMAS
from beatwire_producers.replay import replay
from kafka_messages import quick_sender
from page_folder import CONFIGURATION, write_folder
from page_lines import ADDRESS, examples, needs_gpu, page_examples, runs_live
from page_ward import alert, beat
from registry_server import RegistryServer
from typer.testing import CliRunner

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]
WITHOUT_A_CARD = missing()
WITHIN_S = 90.0  # for each sign of a command


def typed(line: str) -> str:
    """Return a line with free ports in place of its own, and one copy of each message, as there is one broker."""
    line = re.sub(r" --port \d+", "", line)
    if line.startswith(("beatwire broker", "beatwire dashboard")):
        line += " --port 0"
    return re.sub(r"(--metrics-port) \d+", r"\1 0", line).replace("--replication 3", "--replication 1")


def typed_lines(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(typed(line) for line in lines if runs_live(line)))


def of(*commands: str) -> list[object]:
    """Return the lines of commands as parameters; help texts alone, and four workers, are in the heavy suite."""
    of_pages = typed_lines(page_examples())
    found = []
    for line in typed_lines(examples()):
        # A replay in real time takes as long as the recording.
        real_time = line.startswith("beatwire replay") and "--speed" not in line and "--seconds" not in line
        marks = [] if line in of_pages and "--workers" not in line and not real_time else [pytest.mark.slow]
        if needs_gpu(line):
            marks += [pytest.mark.gpu, pytest.mark.skipif(WITHOUT_A_CARD is not None, reason=f"{WITHOUT_A_CARD}")]
        if line.split()[1] in commands:
            found.append(pytest.param(line, id=line, marks=marks))
    return found


class Running:
    """A command as a process; a thread reads what it prints."""

    def __init__(self, line: str, folder: Path, environment: dict[str, str]) -> None:
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", *shlex.split(line)], cwd=folder, env=os.environ | environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        self._new: queue.Queue[str | None] = queue.Queue()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._new.put(line)
        self._new.put(None)

    def prints(self, pattern: str, meanwhile: Callable[[], None] = lambda: None) -> re.Match[str]:
        """Wait for a line with a pattern, and do something four times a second until it is there."""
        deadline = time.monotonic() + WITHIN_S
        while time.monotonic() < deadline:
            meanwhile()
            try:
                line = self._new.get(timeout=0.25)
            except queue.Empty:
                continue
            if line is None:
                break
            self.lines.append(line)
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"expected a line with {pattern!r}; got {self.lines}")

    def ended(self) -> bool:
        return self._process.poll() is not None

    def interrupt(self) -> str:
        """Send Ctrl-C unless it has ended; return all it printed. It must end with 0, or 130 if it had not done."""
        if not self.ended():
            self._process.send_signal(signal.SIGINT)
        code = self._process.wait(WITHIN_S)
        self._thread.join()
        while (line := self._new.get()) is not None:
            self.lines.append(line)
        self._new.put(None)
        printed = "".join(self.lines)
        assert code == (130 if re.search("stopped early +yes", printed) else 0), printed
        return printed

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._thread.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    warm_up(print)
    return write_folder(tmp_path_factory.mktemp("pages"))


@pytest.fixture
def cluster(line: str, request: pytest.FixtureRequest, prefixed: Callable[[str], Cluster]) -> Cluster:
    """The shared broker with empty topics, without topics, or with those of a configuration, as a line needs it."""
    if "--config" in line:
        return prefixed(tomllib.loads(CONFIGURATION.read_text())["kafka"]["prefix"])
    found: Cluster = request.getfixturevalue("bare_kafka" if " topics " in line else "kafka").cluster
    return found


@pytest.fixture
def registry() -> Iterator[RegistryServer]:
    with RegistryServer() as server:
        yield server


def filled(line: str, cluster: Cluster, registry: RegistryServer) -> str:
    """Return a line with the addresses of the broker and the registry of the test."""
    return re.sub(r"(--registry) \S+", rf"\1 {registry.url}", line.replace(ADDRESS, cluster.bootstrap))


@pytest.fixture
def running(line: str, folder: Path, cluster: Cluster, registry: RegistryServer) -> Iterator[Running]:
    """The line as a process; ended after the test. The environment overrides the brokers of a configuration."""
    changes = {
        "BEATWIRE_KAFKA__BOOTSTRAP": cluster.bootstrap,
        "BEATWIRE_KAFKA__PROPERTIES__SECURITY_PROTOCOL": "PLAINTEXT",
        "BEATWIRE_METRICS__PORT": "0",
    }
    started = Running(filled(line, cluster, registry), folder, changes if "--config" in line else {})
    yield started
    started.kill()


def sent(cluster: Cluster, topic: str) -> int:
    return sum(topics.end_offsets(cluster, topic).values())


def publish(cluster: Cluster, *records: Record) -> None:
    with quick_sender(cluster) as sender:
        for record in records:
            sender.send(record.topic, [record.key], [record.value])


def listens(broker: Running, cluster: Cluster, wait) -> None:
    address = broker.prints(r"ready at (\S+)").group(1)
    assert set(topics.topics_of(Cluster(address))) >= set(topics.TOPICS)


def sends(replay: Running, cluster: Cluster, wait) -> None:
    wait(lambda: sent(cluster, names.SAMPLES) > 0 or replay.ended(), WITHIN_S)
    assert "samples sent" in replay.interrupt()
    assert sent(cluster, names.SAMPLES) > 0


def publishes(monitor: Running, cluster: Cluster, wait) -> None:
    replay(["synthetic:seconds=20"], cluster, speed="max", streams=8)
    # Messages of aborted transactions have offsets too.
    wait(lambda: any(True for _ in read_to_end(cluster, names.BEATS)) or monitor.ended(), WITHIN_S)
    assert re.search(r"stopped: \d+ messages, [1-9]\d* beats, .*; all published", monitor.interrupt())


def follows(tail: Running, cluster: Cluster, wait) -> None:
    places = [("reason", b"decode: cut off"), ("topic", b"ecg.samples"), ("partition", b"0"), ("offset", b"7")]

    def publish_one_of_each() -> None:
        publish(cluster, beat("bed-1", 1.0), alert("bed-1"))
        with quick_sender(cluster) as sender:
            sender.send_with_headers(names.DEAD_LETTERS, [b"bed-1"], [b"?"], [places])

    tail.prints("bed-1", publish_one_of_each)


def serves(page: Running, cluster: Cluster, wait) -> None:
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())  # the token becomes a cookie
    with browser.open(page.prints(r"http://\S+").group(), timeout=WITHIN_S) as answer:
        assert b"<title>" in answer.read()


WORK = {"broker": listens, "replay": sends, "monitor": publishes, "tail": follows, "dashboard": serves}


@pytest.mark.parametrize("line", of(*WORK))
def test_a_line_works_and_ends_with_ctrl_c(line: str, running: Running, cluster: Cluster, wait) -> None:
    WORK[line.split()[1]](running, cluster, wait)
    running.interrupt()


def creates(printed: str, line: str, cluster: Cluster) -> None:
    """Topics with as many partitions as the line says; on a registry their schemas too."""
    lines = printed.splitlines()
    assert lines[: len(topics.TOPICS)] == [f"{name}: created" for name in topics.TOPICS]
    partitions = re.search(r"--partitions (\d+)", line)
    assert partitions is None or len(topics.end_offsets(cluster, names.SAMPLES)) == int(partitions[1])
    assert len([text for text in lines if "schema id" in text]) == (len(SCHEMAS) if "--registry" in line else 0)


def looks(printed: str, line: str, cluster: Cluster) -> None:
    assert f"answers at {cluster.bootstrap}, with all topics" in printed


def stream_of(line: str) -> str:
    """Return the stream that a line acknowledges; bed-1 where it names an alert or none."""
    found = line.split()[2]
    return found if re.fullmatch(r"\w+-\d+", found) else "bed-1"


def acknowledges(printed: str, line: str, cluster: Cluster) -> None:
    assert f"acknowledged by Ada Lovelace: {stream_of(line)}: tachycardia" in printed
    assert sent(cluster, names.ACKS) == 1


def limits(printed: str, line: str, cluster: Cluster) -> None:
    found = {rule: float(limit) for rule, limit in re.findall(r"^([a-z ]+?) +([\d.]+) ", printed, re.MULTILINE)}
    assert (found["asystole"], found["tachycardia"]) == ((5, 140) if "asystole=5" in line else (4, 120))
    assert sent(cluster, names.SETTINGS) == ("--by" in line)


def lists(printed: str, line: str, cluster: Cluster) -> None:
    assert "bed-1" in printed
    assert "tachycardia" in printed


RESULTS = {"alerts": lists, "topics": creates, "doctor": looks, "ack": acknowledges, "limits": limits}


@pytest.mark.parametrize("line", of(*RESULTS))
def test_a_line_ends_with_its_result(line: str, cluster: Cluster, registry: RegistryServer) -> None:
    command = line.split()[1]
    if command in ("ack", "alerts"):
        alarm = f"{line.split()[2]:0<32}" if line.split()[2].isalnum() else "3f9c21" + "0" * 26
        publish(cluster, alert(stream_of(line), id=alarm)._replace(key=alarm.encode()))
    done = CliRunner().invoke(app, shlex.split(filled(line, cluster, registry))[1:])
    assert done.exit_code == 0, f"{done.output}{done.exception}"
    RESULTS[command](done.output, line, cluster)


def test_every_live_line_is_run_by_a_test_of_this_file() -> None:
    commands = {line.split()[1] for line in examples() if runs_live(line)}
    assert commands == {*WORK, *RESULTS}
