"""The commands that pages and help texts show run as printed; what docs/reference/commands.md shows is printed."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from beatwire.archives import cluster
from beatwire.backends.cuda.card import missing
from beatwire.cli.main import app
from beatwire.cli.ward.tail import HEADS
from beatwire.service.doctor import checks
from distributed import LocalCluster
from page_folder import PASSWORD, write_folder
from page_lines import ROOT, examples, needs_gpu, runs_offline
from typer.testing import CliRunner

PAGE = (ROOT / "docs" / "reference" / "commands.md").read_text()
WITHOUT_A_CARD = missing()
OUTPUTS = re.compile(r"(?:--(?:alerts|out|html)|>) (\w\S+)")


def marked(line: str) -> object:
    """Return a line as a parameter: training, filling a topic and chaos take minutes, a GPU is not everywhere."""
    is_long = line.startswith(("beatwire train ", "beatwire bench preloaded", "beatwire chaos"))
    marks = [pytest.mark.slow, pytest.mark.timeout(1800)] if is_long else []
    if needs_gpu(line):
        marks += [
            pytest.mark.gpu,
            pytest.mark.skipif(WITHOUT_A_CARD is not None, reason=f"needs a GPU: {WITHOUT_A_CARD}"),
        ]
    return pytest.param(line, marks=marks, id=line)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("pages"))


@pytest.fixture
def folder(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a line runs, with the recordings that it names, some of them as ../shared/ecg.

    Workers of archives are threads; tests/api has processes.
    """
    folder = shutil.copytree(written, tmp_path / "checkout")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "ecg").symlink_to(written)
    monkeypatch.chdir(folder)
    monkeypatch.setenv(*PASSWORD)
    monkeypatch.setattr(cluster, "_local", lambda *_: LocalCluster(1, processes=False, dashboard_address="127.0.0.1:0"))
    return folder


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def shown(title: str, begin: str) -> list[str]:
    """Return the lines of the block in a section that begins with a text."""
    blocks = re.findall(r"^```text\n(.*?)^```", section(title), re.DOTALL | re.MULTILINE)
    return next(block.splitlines() for block in blocks if block.startswith(begin))


def label(line: str) -> str:
    return line[:14].strip()


def run(line: str) -> tuple[int, str]:
    """Run a line, by a shell if it redirects; return its exit code and what it printed."""
    if ">" not in line:
        done = CliRunner().invoke(app, shlex.split(line)[1:])
        return done.exit_code, done.output if done.exception is None else f"{done.output}{done.exception}"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = subprocess.run(
        ["/bin/sh", "-ec", line], env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    return shell.returncode, shell.stdout + shell.stderr


@pytest.mark.parametrize("line", [marked(line) for line in examples() if runs_offline(line)])
def test_a_line_runs_as_printed(line: str, folder: Path) -> None:
    if needs_gpu(line) and ".csv" in line:
        pytest.importorskip("cudf", reason="needs cuDF, which reads CSV files on a GPU (pip install 'beatwire[gpu]')")
    files = OUTPUTS.findall(line)
    for file in files:
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).unlink(missing_ok=True)
    code, printed = run(line)
    assert code == 0, printed
    assert printed
    assert [file for file in files if not (folder / file).exists()] == []


def test_the_summary_that_the_page_shows_has_the_lines_of_a_summary() -> None:
    done = CliRunner().invoke(app, ["analyze", "synthetic:seconds=120,ectopy=0.3"])
    printed = done.stdout.splitlines()
    lines = shown("Analyze", "recording")
    assert [label(line) for line in lines if label(line)] == [label(line) for line in printed if label(line)]
    head = "COUNT     FIRST    IN ALL"
    assert len({line.index(head) for line in [*lines, *printed] if head in line}) == 1


def test_the_heads_that_the_page_shows_are_those_of_tail() -> None:
    lines = shown("Tail", "TIME")
    assert [line for line in lines if line.startswith("TIME")] == list(HEADS.values())


def test_the_rows_that_the_page_shows_are_those_of_doctor() -> None:
    rows = [line.split()[1] for line in shown("Doctor", "ok") if not line.startswith(" ")]
    assert set(rows) < {check.name for check in checks()}
