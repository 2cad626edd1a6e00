"""The distribution: the content of the wheel, its demo in an empty environment, and its types for type checkers."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
USER_FILE = """
import beatwire
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire_producers.ward import ward

reveal_type(Pipeline(Settings()).counts)
reveal_type(ward(2, 10.0, seed=1).feeds)
"""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "uv", "build", "--quiet", "--wheel", "--out-dir", str(folder), str(ROOT)])
    (built,) = folder.glob("beatwire-*.whl")
    return built


def run(command: list[str], folder: Path | None = None, **changed: str) -> str:
    """Run a command without the variables that make this checkout importable; return its standard output."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    done = subprocess.run(command, cwd=folder, env=kept | changed, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout


def install(python: Path, *given: str) -> None:
    """Install into the environment of an interpreter."""
    run([sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(python), *given])


def environment(folder: Path, *, dependencies_of_this_one: bool) -> Path:
    """Make an environment; return its interpreter.

    With ``dependencies_of_this_one`` it can import the packages of the environment that runs the tests, but for those
    that are installed in place.
    """
    venv.create(folder)
    python = folder / "bin" / "python"
    if dependencies_of_this_one:
        site = Path(run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]).strip())
        (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def test_the_wheel_holds_two_packages_with_their_data_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"beatwire", "beatwire_producers"}
    needed = {"beatwire/py.typed", "beatwire_producers/py.typed", "beatwire/wire/schemas/beat.avsc"}
    needed |= {
        "beatwire/wire/schemas/sample_chunk.avsc",
        "beatwire/model/weights/vae.safetensors",
        "beatwire/jit/signatures.txt",
        "beatwire/report/figures/overview.js",
        "beatwire/report/page.css",
        "beatwire/wire/schemas/ack.schema.json",
        "beatwire/page/static/index.html",
    }
    assert needed <= set(names)
    written = {
        "beatwire/jit",
        "beatwire/kafka/local",
        "beatwire/model/weights",
        "beatwire/page/static",
        "beatwire/report",
        "beatwire/report/figures",
        "beatwire/wire/schemas",
    }
    odd = [n for n in names if not n.endswith((".py", "py.typed")) and str(Path(n).parent) not in written]
    assert all(".dist-info/" in name for name in odd), odd
    sources = {str(p.relative_to(ROOT / "streaming")) for p in (ROOT / "streaming").rglob("*.py")}
    assert sources <= set(names)


@pytest.mark.timeout(900)
def test_the_wheel_installs_into_an_empty_environment_and_runs_the_demo(wheel: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "venv", dependencies_of_this_one=False)
    install(python, "--constraint", str(CONSTRAINTS), str(wheel))
    assert not list(tmp_path.glob("venv/lib/python*/site-packages/torch")), "training alone needs torch"
    assert list(tmp_path.glob("venv/lib/python*/site-packages/numpy"))
    beatwire = str(python.with_name("beatwire"))
    shown = run([beatwire, "demo", "--broker", "mock", "--seconds", "10", "--json"], tmp_path)
    result = json.loads(shown)
    assert result["beats"] > 8 * 5
    assert run([beatwire, "--version"], tmp_path) == run([str(python), "-m", "beatwire", "--version"], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["wheel", "editable"])
def test_type_checkers_find_the_types_of_the_package(how: str, wheel: Path, tmp_path: Path) -> None:
    if how == "wheel":
        python = environment(tmp_path / "venv", dependencies_of_this_one=True)
        install(python, "--no-deps", str(wheel))
    else:
        python = Path(sys.executable)
    (tmp_path / "mine.py").write_text(USER_FILE)
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python), "mine.py"]
    shown = run(command, tmp_path)
    assert 'Revealed type is "dict[str, int]"' in shown.replace("builtins.", "")
    assert "Feed" in shown
    assert "py.typed" not in shown


def test_importing_the_package_writes_nothing_and_starts_nothing(tmp_path: Path) -> None:
    program = """
import sys, threading
import beatwire, beatwire.pipeline, beatwire.cli.main
assert threading.active_count() == 1
assert not {"torch", "cupy", "cudf"} & set(sys.modules)
"""
    folders = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    run([sys.executable, "-B", "-c", program], tmp_path, **folders)
    assert not list(tmp_path.iterdir())
