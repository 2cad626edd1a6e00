"""The image: its stages, its context, its health checks; its steps run in a folder; the example for Kubernetes."""

import ast
import json
import os
import re
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from beatwire.kafka.local.mock import MockKafka
from beatwire.kafka.publishing.sender import Sender
from beatwire.page.dashboard import Dashboard
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.service.observing.counters import Counters
from beatwire.service.observing.health import LoopState
from beatwire.service.observing.instruments import Instruments
from beatwire.service.observing.metrics import MonitorAnswers
from beatwire.service.observing.server import PATHS, Server
from beatwire.wire.names import SAMPLES
from compose_files import FOLDER, services
from dockerfile import Build, chain, context, stages
from test_compose import module, parsed

TARGETS = ("cpu", "gpu")
HEALTH = module(FOLDER / "health.py")
START = FOLDER / "start.sh"


def cache_of(target: str) -> str:
    """Return the folder of the cache in a target."""
    (found,) = [word for step in chain(target) if step.name == "ENV" for word in step.text.split() if "CACHE" in word]
    return found.partition("=")[2]


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_ends_with_a_user_without_rights_an_entry_point_and_a_health_check(target: str) -> None:
    last = {step.name: step.text for step in chain(target)}
    assert last["USER"] == services(FOLDER / "compose.yaml")["monitor"]["user"] == "10001:10001"
    assert json.loads(last["ENTRYPOINT"]) == ["/opt/beatwire/start.sh"]
    assert os.access(START, os.X_OK)
    assert "health.py" in last["HEALTHCHECK"]
    copied = [re.findall(r"\S+", step.text) for step in chain(target) if "--from" in step.text]
    assert {place for *_, place in copied} == {"/opt/venv", "/opt/beatwire/kernels"}
    assert f"{cache_of(target)}/beatwire/kernels" in [source for _, source, _ in copied]


def test_images_are_built_from_tags_and_the_files_of_compose_name_their_targets() -> None:
    bases = {steps[0].text.split()[0] for steps in stages().values()} - set(stages())
    assert bases
    assert all(":" in base and not base.endswith(":latest") for base in bases)
    built = [s["build"]["target"] for f in ("compose", "compose.gpu") for s in services(FOLDER / f"{f}.yaml").values()
             if "build" in s]  # fmt: skip
    assert set(built) == set(TARGETS)


def test_what_the_image_copies_is_in_the_repository_and_in_the_context() -> None:
    names = context()
    copied = [word for target in stages() for step in stages()[target] if step.name == "COPY" and "--from" not in
              step.text for word in step.text.split()[:-1]]  # fmt: skip
    assert {word for word in copied if word != "."} <= names
    assert "streaming/beatwire/model/weights/vae.safetensors" in names
    assert not [name for name in names if name.startswith(("tests/", "docs/", "."))]


def test_programs_in_the_steps_of_the_image_import_what_there_is() -> None:
    programs = [
        code for steps in stages().values() for step in steps for code in re.findall(r'python -c "(.*?)"', step.text)
    ]
    assert len(programs) == 2
    for code in programs:
        ast.parse(code)
        exec(code.split(";")[0], {})


def started(folder: Path, cache: Path, count: int) -> list[tuple[str, str]]:
    """Start the image's program so often at once, in other folders; it prints the cache's and its arguments."""
    program = folder / "bin" / "beatwire"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$XDG_CACHE_HOME" "$@"\n')
    program.chmod(0o755)
    text = (
        START.read_text().replace("/opt/beatwire", str(folder / "image")).replace("/tmp/cache", str(folder / "scratch"))
    )
    given: dict[str, Any] = {
        "env": {"PATH": f"{program.parent}:/usr/bin:/bin", "XDG_CACHE_HOME": str(cache)}, "text": True,
        "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
    }  # fmt: skip
    command = ["/bin/sh", "-c", text, "start.sh", "monitor", "--workers=2"]
    return [one.communicate() for one in [subprocess.Popen(command, **given) for _ in range(count)]]


@pytest.mark.parametrize("volume", ["empty", "of an older image", "missing"])
def test_a_container_starts_with_the_machine_code_of_its_image_whatever_volume_lies_over_the_cache(
    volume: str, tmp_path: Path
) -> None:
    for name in ("this", "same"):
        (tmp_path / "image" / "kernels" / name / "numba").mkdir(parents=True)
        (tmp_path / "image" / "kernels" / name / "numba" / "code").write_text("image")
    cache = tmp_path / "cache"
    if volume != "missing":
        cache.mkdir()
    for name in ("older", "same") if volume == "of an older image" else ():
        (cache / "beatwire" / "kernels" / name).mkdir(parents=True)
        (cache / "beatwire" / "kernels" / name / "own").write_text("volume")
    used = tmp_path / "scratch" if volume == "missing" else cache
    assert started(tmp_path, cache, 4) == 4 * [(f"{used} monitor --workers=2\n", "")]
    kernels = used / "beatwire" / "kernels"
    stored = {str(path.relative_to(kernels)) for path in kernels.rglob("*") if path.is_file()}
    expected = {"this/numba/code", "same/numba/code"}
    assert stored == ({"this/numba/code", "same/own", "older/own"} if volume == "of an older image" else expected)
    assert not list(kernels.glob("new-*"))


def test_the_monitor_is_healthy_for_the_container_when_it_has_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline, loop = Pipeline(Settings()), LoopState()
    with Server(MonitorAnswers(Counters(), loop, pipeline, Instruments(pipeline)), "127.0.0.1", 0) as server:
        monkeypatch.setitem(HEALTH.PORTS, "monitor", server.port)
        assert not HEALTH.works("monitor")
        loop.turn(time.monotonic(), 2, interrupted=True)
        assert not HEALTH.works("monitor")
        loop.turn(time.monotonic(), 2, interrupted=False)
        assert HEALTH.works("monitor")


def test_the_page_is_healthy_for_the_container_when_it_refuses_whoever_has_no_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with MockKafka() as kafka:
        for token, expected in (("a-token-of-24-characters", True), (None, False)):
            with Dashboard(kafka.cluster, port=0, token=token) as page:
                port = re.search(r":(\d+)/", page.url)
                assert port
                monkeypatch.setitem(HEALTH.PORTS, "dashboard", int(port.group(1)))
                assert HEALTH.works("dashboard") is expected


def test_the_ward_is_healthy_for_the_container_while_it_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    with MockKafka() as kafka, Sender(kafka.cluster) as sender:
        monkeypatch.setenv("BEATWIRE_BOOTSTRAP", kafka.bootstrap)
        assert not HEALTH.grows(0.0)
        ended = threading.Event()

        def send() -> None:
            while not ended.wait(0.01):
                sender.send(SAMPLES, [b"bed-1"], [b"chunk"])
                sender.flush()

        thread = threading.Thread(target=send)
        thread.start()
        try:
            assert HEALTH.works("ward")
        finally:
            ended.set()
            thread.join()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_steps_of_the_dockerfile_install_a_monitor_whose_kernels_are_compiled() -> None:
    """By a user without rights, in an empty folder; the packages are downloaded."""
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.getuid() == 0 else []
    # Not in pytest's folder, which no other user may enter.
    with tempfile.TemporaryDirectory(prefix="beatwire-image-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o755)
        if prefix:
            os.chown(folder, 65534, 65534)
        build = Build(folder, prefix)
        build.run("cpu")
        environment, home = build.environment("cpu"), "/var/lib/beatwire"
        assert build.shell("beatwire --version", environment, home).startswith("beatwire ")
        warm_up = build.shell(
            'python -c "from beatwire.service.warmup import warm_up; warm_up(print)"', environment, home
        )
        assert "compiled" not in warm_up
        found = json.loads(build.shell("beatwire analyze synthetic:seconds=60 --json", environment, home))
        assert found["beats"] > 30
        assert "torch" not in build.shell("pip list", environment, home)
        assert not (build.place(home) / ".cache").exists(), "the machine code is in the image's folder"


def kubernetes() -> dict[str, dict[str, Any]]:
    parts = yaml.safe_load_all((FOLDER / "kubernetes" / "beatwire.yaml").read_text())
    return {part["kind"]: part for part in parts}


def container(kind: str) -> dict[str, Any]:
    (found,) = kubernetes()[kind]["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_the_commands_of_the_example_for_kubernetes_parse_and_fit_each_other() -> None:
    address = kubernetes()["ConfigMap"]["data"]
    lines = {kind: [re.sub(r"\$\((\w+)\)", lambda m: address[m.group(1)], word) for word in container(kind)["args"]]
             for kind in ("Job", "Deployment")}  # fmt: skip
    topics, monitor = parsed(lines["Job"]), parsed(lines["Deployment"])
    scaler = kubernetes()["HorizontalPodAutoscaler"]["spec"]
    assert topics["bootstrap"] == monitor["bootstrap"] == address["BEATWIRE_BOOTSTRAP"]
    assert scaler["maxReplicas"] <= topics["partitions"]
    assert scaler["scaleTargetRef"]["name"] == kubernetes()["Deployment"]["metadata"]["name"]
    ports = {port["name"]: port["containerPort"] for port in container("Deployment")["ports"]}
    assert ports == {"metrics": monitor["metrics_port"]}
    assert monitor["metrics_address"] == "0.0.0.0"


def test_the_probes_of_the_example_for_kubernetes_are_answered_and_allow_for_a_broker_that_is_away() -> None:
    probes = {name: container("Deployment")[f"{name}Probe"] for name in ("startup", "readiness", "liveness")}
    assert all(probe["httpGet"]["path"] in PATHS for probe in probes.values())
    assert all(probe["httpGet"]["port"] == "metrics" for probe in probes.values())
    assert probes["readiness"]["httpGet"]["path"] == "/readyz"
    assert probes["liveness"]["httpGet"]["path"] == "/healthz"
    assert probes["liveness"]["periodSeconds"] * probes["liveness"]["failureThreshold"] > 120


def test_the_pods_of_the_example_for_kubernetes_have_no_rights() -> None:
    for kind in ("Job", "Deployment"):
        pod = kubernetes()[kind]["spec"]["template"]["spec"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}" == "10001:10001"
        assert container(kind)["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        }
        assert container(kind)["resources"]["limits"]["memory"]
        assert ":" in container(kind)["image"]
