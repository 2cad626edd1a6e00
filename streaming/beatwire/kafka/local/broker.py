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
from types import TracebackType
from typing import NamedTuple, Self

from beatwire.errors import UserError
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local.jvm import KAFKA, find_jars, find_java, last_line
from beatwire.kafka.local.network import Network
from beatwire.kafka.reachability import broker_responds
from beatwire.signals import stop_on_signals

# Few resources, as the node shares its cores with the monitor. Java's second compiler takes half a core for the first
# minutes and gains nothing measurable here. Most objects of a node are short-lived: with a large young generation they
# are collected rarely, by all cores, in 20 ms.
_JVM = ("-Xmx512m", "-Xmn320m", "-XX:+UseParallelGC", "-XX:TieredStopAtLevel=1")
_PORTS = range(10_240, 32_768)  # below those that systems give to connections
_READY_S = 60.0  # for the first answer of the node; 2.5 s on a machine without other work
# A shell around the node that sends it SIGTERM when the shell's standard input closes: in `stop`, and when this process
# ends for any reason.
_STOP_WITH_PARENT = (
    'exec 3<&0; "$@" </dev/null 3<&- & node=$!; { cat <&3 >/dev/null; kill $node; } 2>/dev/null & wait $node'
)

_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners={protocol}://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={protocol}://127.0.0.1:{advertised}
listener.security.protocol.map={protocol}:{protocol},CONTROLLER:PLAINTEXT
inter.broker.listener.name={protocol}
log.dirs={logs}
num.partitions=4
# For the keys of compacted topics; by default a quarter of the heap.
log.cleaner.dedupe.buffer.size=16777216
auto.create.topics.enable=false
message.max.bytes=16777216
# One node has the only replica.
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
# Compacted often: a coordinator that starts has read its log before the first member asks.
offsets.topic.segment.bytes=1048576
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
# The end of a worker is detected, and its open transaction aborted, within seconds.
transaction.max.timeout.ms=60000
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
group.initial.rebalance.delay.ms=0
group.consumer.min.session.timeout.ms=3000
group.consumer.session.timeout.ms=6000
group.consumer.min.heartbeat.interval.ms=500
group.consumer.heartbeat.interval.ms=1000
group.min.session.timeout.ms=3000
# After a kill the node is ready again when its old registration has expired. With a much shorter timeout (600 ms was
# tried) a busy machine sometimes loses its broker for seconds.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
"""


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
        self._java, self._jars = find_java(), find_jars(jars)
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
            _PROPERTIES.format(
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        return [str(self._java), *_JVM, "-cp", f"{self._jars}/*", main, *arguments]

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
        last = last_line((self._directory / "kafka.log").read_text(errors="replace"))
        raise UserError(f"broker: expected Kafka {KAFKA} at {self.bootstrap} in {_READY_S:g} s; got: {last}")


def main_broker(port: int = 9092, directory: Path | None = None, jars: Path | None = None) -> None:
    """Run a broker until SIGINT or SIGTERM; print its address once it answers."""
    with stop_on_signals() as stop, LocalKafka(directory, port, jars) as kafka:
        print(f"Kafka {KAFKA} is ready at {kafka.bootstrap}", flush=True)  # noqa: T201
        stop.wait()


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
