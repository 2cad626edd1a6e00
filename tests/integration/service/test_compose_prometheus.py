"""Debian's Prometheus with the files of ``compose/``: it accepts them, scrapes a monitor, and answers the dashboard.

In the heavy suite; skipped without the package (``apt-get install prometheus``).
"""

import json
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from beatwire.kafka.local.broker import LocalKafka, free_port
from compose_files import FOLDER, expressions, read, rules
from moments import LIMIT_S

pytestmark = pytest.mark.slow
CONFIG = FOLDER / "prometheus" / "prometheus.yaml"
GPU = "beatwire_gpu_"
FAULTS = "malformed=0.02,dropped=0.01,duplicated=0.01"


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"expected {name} on PATH: apt-get install prometheus")
    return found


@contextmanager
def running(command: list[str], log: Path) -> Iterator[None]:
    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            yield
        finally:
            process.terminate()
            process.wait(LIMIT_S)


def answer(port: int, path: str, **query: str) -> Any:
    address = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
    with urllib.request.urlopen(address, timeout=60) as reply:
        return json.load(reply)["data"]


def test_promtool_accepts_the_configuration_and_the_rules() -> None:
    checked = subprocess.run(
        [program("promtool"), "check", "config", str(CONFIG)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"SUCCESS: {len(rules())} rules found" in checked.stdout


@pytest.mark.kafka
def test_every_expression_of_the_dashboard_returns_data_of_a_real_monitor(
    kafka: LocalKafka, tmp_path: Path, wait: Callable[[Callable[[], bool], float], None]
) -> None:
    beatwire, bootstrap = [sys.executable, "-m", "beatwire"], f"--bootstrap-servers={kafka.bootstrap}"
    metrics, port = free_port(), free_port()
    config = read(CONFIG)
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    config["scrape_configs"][0]["static_configs"] = [{"targets": [f"127.0.0.1:{metrics}"]}]
    (tmp_path / "prometheus.yaml").write_text(yaml.safe_dump(config))
    shutil.copy(FOLDER / "prometheus" / "rules.yaml", tmp_path)
    server = [
        program("prometheus"), f"--config.file={tmp_path / 'prometheus.yaml'}",
        f"--storage.tsdb.path={tmp_path / 'data'}", f"--web.listen-address=127.0.0.1:{port}",
    ]  # fmt: skip
    ward = ["replay", "synthetic:seconds=300,bpm=150", "synthetic:seconds=300", "--streams=8", f"--faults={FAULTS}"]
    wanted = [text.removesuffix(" > 0") for text in expressions() if GPU not in text]
    missing = set(wanted)

    def has_data(text: str) -> bool:
        return any(each["value"][1] != "NaN" for each in answer(port, "query", query=text)["result"])

    def answered() -> bool:
        missing.difference_update([text for text in missing if has_data(text)])
        return not missing

    def scraped() -> bool:
        try:
            return [target["health"] for target in answer(port, "targets")["activeTargets"]] == ["up"]
        except OSError:
            return False

    with ExitStack() as started:
        monitor = ["monitor", "--workers=2", f"--metrics-port={metrics}", "--log-format=json"]
        started.enter_context(running([*beatwire, *monitor, bootstrap], tmp_path / "monitor.log"))
        started.enter_context(running([*beatwire, *ward, bootstrap], tmp_path / "ward.log"))
        started.enter_context(running(server, tmp_path / "prometheus.log"))
        wait(scraped)
        try:
            wait(answered)
        except AssertionError:
            log = (tmp_path / "monitor.log").read_text()[-2000:]
            raise AssertionError(f"no data: {sorted(missing)}\n{log}") from None
        found = {rule["name"]: rule["health"] for group in answer(port, "rules")["groups"] for rule in group["rules"]}
        workers = {each["metric"]["worker"] for each in answer(port, "query", query="beatwire_ready")["result"]}
    assert len(wanted) > 20
    assert found == dict.fromkeys([rule["alert"] for rule in rules()], "ok")
    assert workers == {"1", "2"}
