"""The brokers of the compose files: Apache Kafka accepts every setting and knows its name; the cluster runs."""

import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local.broker import LocalKafka, free_port
from beatwire.kafka.local.jvm import find_jars, find_java
from beatwire.kafka.reachability import broker_responds
from compose_files import FILES, commands, merged
from confluent_kafka.admin import ConfigResource

pytestmark = pytest.mark.kafka
NOT_SETTINGS = {"KAFKA_HEAP_OPTS"}  # of the shell scripts
OF_THE_ROLE = {"process.roles", "controller.quorum.voters", "controller.listener.names"}  # not of `describe configs`


def brokers() -> list[dict[str, str]]:
    """Return the environment of every broker: alone, and in the cluster."""
    found = [*merged(FILES[0]).values(), *merged(FILES[0], FILES[2]).values()]
    return [{key: str(value) for key, value in s["environment"].items()} for s in found if "apache/kafka" in s["image"]]


def properties(environment: dict[str, str]) -> dict[str, str]:
    """Return the settings that the image makes of its environment."""
    settings = {
        key: value for key, value in environment.items() if key.startswith("KAFKA_") and key not in NOT_SETTINGS
    }
    return {key.removeprefix("KAFKA_").lower().replace("_", "."): value for key, value in settings.items()}


def test_every_setting_is_one_of_the_broker(kafka: LocalKafka) -> None:
    resource: Any = ConfigResource(ConfigResource.Type.BROKER, "1")
    admin = kafka.cluster.admin()
    known = set(admin.describe_configs([resource])[resource].result(60))
    assert len(brokers()) == 4
    for environment in brokers():
        assert set(properties(environment)) <= known | OF_THE_ROLE


def java(main: str, *arguments: str) -> list[str]:
    options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{find_jars()}/*"]
    return [str(find_java()), *options, main, *arguments]


def formatted(number: int, folder: Path, replaced: Callable[[str], str] = str) -> Path:
    """Format the folder of a broker with its settings; return the file of settings."""
    environment = brokers()[number]
    settings = {name: replaced(value) for name, value in properties(environment).items()}
    folder.mkdir()
    path = folder / "server.properties"
    lines = [f"{name}={value}\n" for name, value in (settings | {"log.dirs": str(folder / "logs")}).items()]
    path.write_text("".join(lines))
    command = java("kafka.tools.StorageTool", "format", "-t", environment["CLUSTER_ID"], "-c", str(path))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert environment["CLUSTER_ID"] in (folder / "logs" / "meta.properties").read_text()
    return path


@pytest.mark.parametrize("number", [0, 2], ids=["alone", "in the cluster"])
def test_kafka_formats_its_folder_with_the_settings(number: int, tmp_path: Path, need_kafka: None) -> None:
    formatted(number, tmp_path / "broker")


@pytest.mark.slow
def test_the_cluster_has_three_copies_of_each_message_and_four_workers_are_ready(
    tmp_path: Path, need_kafka: None, wait: Callable[[Callable[[], bool], float], None]
) -> None:
    """The cluster of compose.cluster.yaml as processes of this machine; only addresses are replaced."""
    ports = [free_port() for _ in range(10)]
    names = ["kafka", "kafka-2", "kafka-3"]
    addresses = {f"{name}:{port}": f"127.0.0.1:{ports[3 * k + at]}"
                 for k, name in enumerate(names) for at, port in enumerate((9092, 9093))}  # fmt: skip

    def moved(text: str) -> str:
        return re.sub(r"kafka(-\d)?:909\d", lambda found: addresses[found.group()], text)

    def of(number: int) -> Callable[[str], str]:
        own = {"9092": ports[3 * number], "9093": ports[3 * number + 1], "29092": ports[3 * number + 2]}
        return lambda text: re.sub(r"://:(\d+)", lambda found: f"://127.0.0.1:{own[found.group(1)]}", moved(text))

    def running(command: list[str], log: str, *, is_broker: bool = False) -> None:
        out = started.enter_context((tmp_path / log).open("w"))
        process = started.enter_context(subprocess.Popen(command, stdout=out, stderr=out))
        # The last broker of a cluster would wait five minutes for a quorum before it stops.
        started.callback(process.kill if is_broker else process.terminate)

    def ready() -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{ports[9]}/readyz", timeout=60) as reply:
                return bool(reply.status == 200)
        except OSError:
            return False

    create, monitor = ([moved(word) for word in words] for words in commands(FILES[2]))
    monitor = [word.replace("--metrics-port=9100", f"--metrics-port={ports[9]}") for word in monitor]
    cluster = Cluster(addresses["kafka:9092"])
    beatwire = [sys.executable, "-m", "beatwire"]
    with ExitStack() as started:
        for number in range(3):
            path = formatted(1 + number, tmp_path / names[number], of(number))
            running(java("kafka.Kafka", str(path)), f"{names[number]}.log", is_broker=True)
        admin = cluster.admin()
        wait(lambda: broker_responds(cluster) and len(admin.list_topics(timeout=60).brokers) == 3)
        subprocess.run([*beatwire, *create], check=True, capture_output=True)
        running([*beatwire, *monitor], "monitor.log")
        wait(ready)
        found = admin.list_topics(timeout=60).topics
        copies = [part.isrs for name in topics.TOPICS for part in found[name].partitions.values()]
        resource: Any = ConfigResource(ConfigResource.Type.TOPIC, "ecg.alerts")
        least = admin.describe_configs([resource])[resource].result(60)["min.insync.replicas"].value
    assert len(copies) == 12 * len(topics.TOPICS)
    assert {len(copy) for copy in copies} == {3}
    assert least == "2"
