"""A local Kafka: the node starts and stops, and says why it ends."""

import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from beatwire.errors import FatalError, UserError
from beatwire.kafka.local import broker


@pytest.mark.kafka
def test_a_port_in_use_is_named(need_kafka):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(UserError, match=f"expected port {port} to be free"), broker.LocalKafka(port=port):
            pass


@pytest.mark.parametrize(("free", "told"), [(1_000, r"0\.0 MB are left on the disk of "), (1 << 40, "no room$")])
def test_a_node_that_has_ended_ends_the_command_with_its_reason(monkeypatch, tmp_path, free, told):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "meta.properties").touch()
    program = "echo no room; echo 'SLF4J: see'; exit 3"
    monkeypatch.setattr(broker, "find_java", lambda: Path("/bin/sh"))
    monkeypatch.setattr(broker, "find_jars", lambda jars: tmp_path)
    monkeypatch.setattr(broker.LocalKafka, "_command", lambda *_: ["/bin/sh", "-c", program])
    monkeypatch.setattr(broker.LocalKafka, "_wait_ready", lambda _: None)
    monkeypatch.setattr(broker.topics, "create_topics", lambda *_, **__: [])
    monkeypatch.setattr(broker.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    with pytest.raises(FatalError, match=rf"expected Kafka at \S+ to run; it ended with code 3: .*{told}"):
        broker.main_broker(0, tmp_path)


@pytest.mark.kafka
def test_the_command_prints_its_address_and_stops_cleanly(need_kafka, tmp_path):
    program = f"import pathlib, beatwire.kafka.local.broker as b; b.main_broker(0, pathlib.Path({str(tmp_path)!r}))"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        assert line.startswith("Kafka 4.3.1 is ready at 127.0.0.1:")
        port = int(line.rsplit(":", 1)[1])
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
