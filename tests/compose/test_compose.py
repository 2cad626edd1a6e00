"""The folder ``compose/`` agrees with the code: commands, ports, topics, variables, metrics; nothing runs as root."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest
import typer
from beatwire.cli.main import app
from beatwire.configuration.keys import Configuration, keys
from beatwire.configuration.load import ALIASES, load
from beatwire.kafka.local.jvm import KAFKA
from beatwire.page.dashboard import SHORTEST_TOKEN
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.service.interruption import INTERRUPTED_S
from beatwire.service.observing.counters import INTERRUPTED_BOUNDS_S, Counters
from beatwire.service.observing.health import LoopState
from beatwire.service.observing.instruments import Instruments
from beatwire.service.observing.metrics import MonitorAnswers
from compose_files import (  # fmt: skip
    FILES,
    FOLDER,
    LABELS,
    METRIC,
    ROOT,
    VARIABLE,
    commands,
    dashboard,
    expressions,
    merged,
    panels,
    read,
    rules,
    services,
)
from page_lines import blocks

ALL = [merged(FILES[0]), merged(FILES[0], FILES[1]), merged(FILES[0], FILES[2])]
EVERY_SERVICE = [(name, service) for found in ALL for name, service in found.items()]


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def parsed(words: list[str]) -> dict[str, Any]:
    """Return the parameters of a command line; raises for a wrong option, value or number of arguments."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    command: click.Command = commands[words[0]]
    return command.make_context("beatwire", words[1:]).params


def command_of(service: str, path: Path = FILES[0]) -> list[str]:
    return next(words for words in commands(path) if words[0] == service)


@pytest.mark.parametrize("path", FILES, ids=name)
def test_the_command_lines_of_a_compose_file_parse(path: Path) -> None:
    lines = commands(path)
    assert lines
    for words in lines:
        parsed(words)


def test_the_services_of_the_stack_are_there() -> None:
    usual = {"kafka", "topics", "monitor", "ward", "dashboard", "prometheus", "grafana"}
    assert {name for name, service in ALL[0].items() if "profiles" not in service} == usual
    assert ALL[0]["kafka-ui"]["profiles"] == ["ui"]
    assert ALL[0]["registry"]["profiles"] == ["registry"]


def test_the_broker_is_the_one_that_the_tests_start() -> None:
    images = {service["image"] for _, service in EVERY_SERVICE if "apache/kafka" in service["image"]}
    assert images == {f"apache/kafka:{KAFKA}"}


@pytest.mark.parametrize(("name", "service"), EVERY_SERVICE, ids=[name for name, _ in EVERY_SERVICE])
def test_a_service_has_a_user_a_tag_and_a_health_check_and_is_reached_from_this_machine_alone(
    name: str, service: dict[str, Any]
) -> None:
    user = str(service["user"]).split(":")[0]
    assert user.isdigit()
    assert user != "0"
    _, _, tag = service["image"].partition(":")
    assert tag
    assert tag != "latest"
    assert service["cap_drop"] == ["ALL"]
    assert not service.get("privileged")
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    if name == "topics":  # it ends
        assert service["restart"].startswith("on-failure:")
    else:
        assert service["healthcheck"]["test"][0] in ("CMD", "CMD-SHELL")


def test_published_ports_are_different() -> None:
    for found in ALL:
        published = [port.split(":")[1] for service in found.values() for port in service.get("ports", [])]
        assert len(published) == len(set(published))


def test_ports_of_commands_probes_and_prometheus_are_the_same() -> None:
    health = module(FOLDER / "health.py")
    assert parsed(command_of("monitor"))["metrics_port"] == health.PORTS["monitor"]
    assert parsed(command_of("dashboard"))["port"] is None
    assert Configuration().page.port == health.PORTS["dashboard"]
    # The page accepts the port that it listens on in the address of a browser.
    assert services(FILES[0])["dashboard"]["ports"] == [f"127.0.0.1:{health.PORTS['dashboard']}:8765"]
    (job,) = read(FOLDER / "prometheus" / "prometheus.yaml")["scrape_configs"]
    assert job["static_configs"] == [{"targets": [f"monitor:{health.PORTS['monitor']}"]}]
    source = read(FOLDER / "grafana" / "provisioning" / "datasources" / "prometheus.yaml")["datasources"][0]
    assert source["url"] == "http://prometheus:9090"
    assert source["uid"] == "prometheus"


def test_variables_are_those_of_the_example_and_are_read() -> None:
    example = set(re.findall(r"^(?:# )?([A-Z_]+)=", (FOLDER / ".env.example").read_text(), re.MULTILINE))
    assert {found.group(1) for path in FILES for found in VARIABLE.finditer(path.read_text())} == example
    inside = {key for _, s in EVERY_SERVICE for key in s.get("environment", {}) if key.startswith("BEATWIRE")}
    read_there = {f"BEATWIRE_{key.upper().replace('.', '__')}" for key, *_ in keys()} | set(ALIASES)
    assert inside <= read_there | {"BEATWIRE_CONFIG"}
    assert '"BEATWIRE_CONFIG"' in (FOLDER / "health.py").read_text()
    assert all(
        s["environment"]["BEATWIRE_REGISTRY__URL"] for _, s in EVERY_SERVICE if s["image"].startswith("beatwire")
    )


def test_the_settings_of_the_containers_are_read_and_its_example_is_accepted(tmp_path: Path) -> None:
    file = FOLDER / "settings" / "beatwire.toml"
    mounted = services(FILES[0])["monitor"]["volumes"]
    assert "./settings:/etc/beatwire:ro" in mounted
    assert services(FILES[0])["monitor"]["environment"]["BEATWIRE_CONFIG"] == "/etc/beatwire/beatwire.toml"
    assert load(file, environment={}).origins == {}
    example = tmp_path / "beatwire.toml"
    example.write_text(re.sub(r"^# (?=[\[a-z].*[\]\"]$)", "", file.read_text(), flags=re.MULTILINE))
    assert load(example, environment={}).values.kafka.properties["sasl.mechanisms"] == "SCRAM-SHA-512"


@pytest.mark.parametrize("found", ALL, ids=["one", "gpu", "cluster"])
def test_our_containers_cannot_write_and_serve_their_metrics_to_others(found: dict[str, dict[str, Any]]) -> None:
    ours = {name: service for name, service in found.items() if service["image"].startswith("beatwire:")}
    assert set(ours) == {"topics", "monitor", "ward", "dashboard"}
    assert all(service["read_only"] and service["tmpfs"] == ["/tmp"] for service in ours.values())
    assert parsed(ours["monitor"]["command"])["metrics_address"] == "0.0.0.0"


def test_a_cluster_has_as_many_partitions_as_its_workers_need_and_loses_nothing_with_a_broker() -> None:
    found = ALL[2]
    brokers = [service["environment"] for service in found.values() if "apache/kafka" in service["image"]]
    assert [env["KAFKA_NODE_ID"] for env in brokers] == [1, 2, 3]
    assert len({env["CLUSTER_ID"] for env in brokers}) == 1
    assert len({env["KAFKA_CONTROLLER_QUORUM_VOTERS"] for env in brokers}) == 1
    assert {env["KAFKA_MIN_INSYNC_REPLICAS"] for env in brokers} == {2}
    assert {env["KAFKA_TRANSACTION_STATE_LOG_MIN_ISR"] for env in brokers} == {2}
    topics, monitor = (parsed(command_of(service, FILES[2])) for service in ("topics", "monitor"))
    assert topics["replication"] == 3
    assert topics["partitions"] >= monitor["workers"] == 4


def test_the_commands_of_the_readme_make_a_token_and_print_the_address_of_the_page(tmp_path: Path) -> None:
    make, up, show = blocks(FOLDER / "README.md", "sh")[0].splitlines()
    assert up.startswith("docker compose up ")
    shutil.copy(FOLDER / ".env.example", tmp_path)
    for line in (make, show):
        done = subprocess.run(["/bin/sh", "-ec", line], cwd=tmp_path, capture_output=True, text=True, check=True)
    token = re.search(r"^BEATWIRE_TOKEN=(\w+)$", (tmp_path / ".env").read_text(), re.MULTILINE)
    assert token
    assert len(token.group(1)) >= SHORTEST_TOKEN
    assert done.stdout == f"http://127.0.0.1:8765/?token={token.group(1)}\n"


def samples() -> dict[str, set[str]]:
    """Return the names of a monitor's samples with their labels; those that a CPU has not, from the source."""
    pipeline = Pipeline(Settings())
    answers = MonitorAnswers(Counters(), LoopState(), pipeline, Instruments(pipeline))
    source = (ROOT / "streaming" / "beatwire" / "service" / "observing" / "metrics.py").read_text()
    found = {metric: {"worker", "what"} for metric in re.findall(r'"(beatwire_gpu_[a-z_]+)"', source)}
    for family in answers.registry().collect():
        for sample in family.samples:
            found.setdefault(sample.name, {"worker", "job", "instance"}).update(sample.labels)
        if not family.samples:
            found.setdefault(family.name, {"worker", "of", "stream", "quantile"})
    return found


def test_every_metric_and_label_of_the_dashboard_and_of_the_rules_exists() -> None:
    known = samples()
    texts = expressions() + [rule["expr"] for rule in rules()]
    assert len(texts) > 25
    for text in texts:
        named = METRIC.findall(text)
        assert set(named) <= set(known), text
        labels = {label.strip() for part in LABELS.findall(text) for label in part.split(",")}
        for label in labels - {""}:
            assert any(label in known[metric] for metric in named), f"{text}: no label {label}"


def test_legends_name_labels_that_their_expressions_keep() -> None:
    known = samples()
    for panel in panels():
        for target in panel["targets"]:
            kept = {label.strip() for part in LABELS.findall(target["expr"]) for label in part.split(",")}
            kept = kept or set.union(*(known[metric] for metric in METRIC.findall(target["expr"])))
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= kept, panel["title"]


def test_the_dashboard_is_what_its_program_writes() -> None:
    program = module(FOLDER / "grafana" / "make_dashboard.py")
    assert program.FILE.read_text() == program.text(), "python compose/grafana/make_dashboard.py writes it"


def test_the_panels_do_not_overlap_and_have_units_and_texts() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells
    for panel in panels():
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"]


def test_what_the_dashboard_must_show_is_there() -> None:
    shown = " ".join(expressions())
    for metric in ("lag_seconds", "latency_seconds_bucket", "stage_seconds_bucket", "messages_total", "beats_total",
                   "alert_transitions_total", "rejects_total", "interrupted_seconds_total", "streams",
                   "gpu_memory_bytes", "ready", "interruption_duration_seconds_bucket", "held_partitions",
                   "expired_messages_total"):  # fmt: skip
        assert f"beatwire_{metric}" in shown


def test_the_rules_watch_every_state_in_which_streams_are_not_monitored() -> None:
    watched = " ".join(rule["expr"] for rule in rules())
    for metric in ("healthy", "ready", "interrupted", "interruption_duration_seconds_count", "held_partitions",
                   "lag_seconds", 'rejects_total{reason="no_memory"}', 'expired_messages_total{what="unread"}',
                   'expired_messages_total{what="replay"}'):  # fmt: skip
        assert f"beatwire_{metric}" in watched
    (bound,) = re.findall(r'interruption_duration_seconds_bucket{le="([^"]+)"}', watched)
    assert float(bound) == INTERRUPTED_S
    assert bound in map(str, INTERRUPTED_BOUNDS_S), "the label as the monitor writes it"
