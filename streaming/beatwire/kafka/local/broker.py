"""Apache Kafka as a process on this machine, without Docker: one KRaft node on 127.0.0.1.

In: a folder for its logs, ports, and the Java and the jars that `beatwire.kafka.local.jvm` finds.
Out: `LocalKafka.bootstrap`, the address of a broker with all topics of the monitor.

After `LocalKafka.kill` the node can be started again with the same folder and port, like a broker after a power cut.
The node ends with this process.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from beatwire.errors import FatalError, UserError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local.classes import from_archive
from beatwire.kafka.local.jvm import KAFKA, find_jars, find_java, last_line
from beatwire.kafka.local.network import Network
from beatwire.kafka.local.server_properties import SERVER_PROPERTIES
from beatwire.kafka.reachability import broker_responds
from beatwire.signals import stop_on_signals

# Few resources, as the node shares its cores with the monitor. Java's second compiler takes half a core for the first
# minutes and gains nothing measurable here. Most objects of a node are short-lived: with a large young generation they
# are collected rarely, by all cores, in 20 ms.
_JVM = ("-Xmx512m", "-Xmn320m", "-XX:+UseParallelGC", "-XX:TieredStopAtLevel=1")
_PORTS = range(10_240, 32_768)  # below those that systems give to connections
_READY_S = 60.0  # for the first answer of the node; 2.5 s on a machine without other work
_CHECK_S = 0.5
_LITTLE_BYTES = 16 << 20  # on the disk: a node that cannot write ends
# A shell around the node that sends it SIGTERM when the shell's standard input closes: in `stop`, and when this process
# ends for any reason.
_STOP_WITH_PARENT = (
    'exec 3<&0; "$@" </dev/null 3<&- & node=$!; { cat <&3 >/dev/null; kill $node; } 2>/dev/null & wait $node'
)


def unavailable_reason() -> str | None:
    """Return the reason why Kafka cannot be started on this machine, or None if it can; may download the jars."""
    try:
        find_java()
        find_jars()
    except UserError as error:
        return str(error).removeprefix("broker: ")
    return None


class Security(NamedTuple):
    """How clients reach a node: in place of the plain connections of everyone on this machine.

    protocol    of the listener: ``SSL`` or ``SASL_SSL``
    properties  lines of ``server.properties``: keys, mechanisms, authorizer
    users       values of ``--add-scram`` of Kafka's storage tool
    client      librdkafka properties of a client that may do everything
    """

    protocol: str
    properties: str
    users: Sequence[str]
    client: Mapping[str, str]


class LocalKafka:
    """One Kafka node as a child process.

    Parameters
    ----------
    directory
        The folder of its logs, which is kept. None: a temporary one, removed at the end.
    port
        The port for clients; 0: a free one.
    jars
        See `find_jars`.
    partitions
        The number of partitions of each topic; 0: no topics are created.
    security
        None: connections are plain and anonymous.
    behind_network
        Clients reach it through `network` only.

    Attributes
    ----------
    bootstrap : str
        ``host:port``.
    cluster : Cluster
        The same, as clients take it.
    network : Network or None
        Between clients and the node.
    java, jars : Path
        What it is run by.
    options : sequence of str
        Of Java, besides those of every node.

    Raises
    ------
    UserError
        Java or the jars are missing.
    """

    def __init__(
        self,
        directory: Path | None = None,
        port: int = 0,
        jars: Path | None = None,
        *,
        partitions: int = 4,
        security: Security | None = None,
        behind_network: bool = False,
    ) -> None:
        self.java, self.jars = find_java(), find_jars(jars)
        self.options: Sequence[str] = from_archive(self.java, self.jars)
        self._temporary = directory is None
        self._directory = Path(tempfile.mkdtemp(prefix="beatwire-kafka-")) if directory is None else directory
        self._port = port or free_port()
        self._controller = free_port()
        self._partitions, self._security = partitions, security
        self._process: subprocess.Popen[bytes] | None = None
        self.network = Network(self._port) if behind_network else None
        self._advertised = self._port if self.network is None else self.network.port
        self.bootstrap = f"127.0.0.1:{self._advertised}"
        self.cluster = Cluster(self.bootstrap, security.client if security is not None else {})

    def start(self) -> Self:
        """Start the node, wait until it answers, and create the topics.

        Raises
        ------
        UserError
            The port is in use, or the node does not answer in time; the message then ends with its last log line.
        """
        if _listening(self._port):
            raise UserError(f"broker: expected port {self._port} to be free; got a listener on it")
        self._directory.mkdir(parents=True, exist_ok=True)
        properties = self._directory / "server.properties"
        logs = self._directory / "logs"
        protocol, extra = ("PLAINTEXT", "") if self._security is None else self._security[:2]
        properties.write_text(
            SERVER_PROPERTIES.format(
                protocol=protocol, port=self._port, advertised=self._advertised, controller=self._controller, logs=logs
            )
            + extra
        )
        if not (logs / "meta.properties").exists():
            self._format(properties)
        with (self._directory / "kafka.log").open("ab") as log:
            # A session of its own: Ctrl-C at the terminal ends the node only after the last commit of this process.
            self._process = subprocess.Popen(  # noqa: S603
                ["/bin/sh", "-c", _STOP_WITH_PARENT, "sh", *self._command("kafka.Kafka", str(properties))],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait_ready()
        if self._partitions:
            topics.create_topics(self.cluster, partitions=self._partitions)
        return self

    def check(self) -> None:
        """Check that the node runs: it ends by itself where it cannot write its logs.

        Raises
        ------
        FatalError
            It has ended.
        """
        if self._process is not None and (code := self._process.poll()) is not None:
            raise FatalError(
                f"broker: expected Kafka at {self.bootstrap} to run; it ended with code {code}: {self._last_words()}"
            )

    def stop(self, timeout_s: float = 15.0) -> None:
        """Stop the node with SIGTERM, and kill it if it has not ended after `timeout_s` seconds."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)
        self.kill()

    def kill(self) -> None:
        """Kill the node with SIGKILL: it flushes nothing and leaves no group."""
        if self._process is not None:
            process, self._process = self._process, None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()  # for the shell; the node has ended when nothing listens on its port
            deadline = time.monotonic() + 10.0
            while _listening(self._port) and time.monotonic() < deadline:
                time.sleep(0.02)
            assert process.stdin is not None
            process.stdin.close()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.__exit__(None, None, None)
            raise

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self.network is not None:
            self.network.close()
        if self._temporary:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _format(self, properties: Path) -> None:
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "a")
        users = [word for user in (self._security.users if self._security else ()) for word in ("--add-scram", user)]
        done = subprocess.run(  # noqa: S603
            self._command("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties), *users),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise UserError(f"broker: expected to format {self._directory}; got {last_line(done.stderr)}")

    def _command(self, main: str, *arguments: str) -> list[str]:
        return [str(self.java), *_JVM, *self.options, "-cp", f"{self.jars}/*", main, *arguments]

    def _wait_ready(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                break
            with contextlib.suppress(UserError):  # while it starts it may refuse its own users
                if _listening(self._port) and broker_responds(self.cluster):
                    return
            time.sleep(0.05)
        self.kill()
        raise UserError(
            f"broker: expected Kafka {KAFKA} at {self.bootstrap} in {_READY_S:g} s; got: {self._last_words()}"
        )

    def _last_words(self) -> str:
        """Return why a node has ended, as far as that is found: a full disk, or the last line of its log."""
        free = shutil.disk_usage(self._directory).free
        if free < _LITTLE_BYTES:
            return f"{free / 1e6:.1f} MB are left on the disk of {self._directory}"
        lines = (self._directory / "kafka.log").read_text(errors="replace").splitlines()
        return last_line("\n".join(line for line in lines if not line.startswith("SLF4J")) or "it wrote no reason")


def main_broker(port: int = 9092, directory: Path | None = None, jars: Path | None = None) -> None:
    """Run a broker until SIGINT or SIGTERM; print its address once it answers.

    Raises
    ------
    UserError, FatalError
        It does not start, or has ended by itself.
    """
    with stop_on_signals() as stop, LocalKafka(directory, port, jars) as kafka:
        print(f"Kafka {KAFKA} is ready at {kafka.bootstrap}", flush=True)  # noqa: T201
        while not stop.wait(_CHECK_S):
            kafka.check()


def free_port() -> int:
    """Return a port that is free, and that no connection is given before the node listens or while it is stopped."""
    for port in secrets.SystemRandom().sample(_PORTS, 100):
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise UserError(f"broker: expected a free port of {_PORTS.start}-{_PORTS.stop - 1}; all that were tried are in use")


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0
