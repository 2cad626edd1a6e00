"""Commands start at once: what takes time to load is not loaded for help, for reading, and for errors of arguments."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from beatwire.cli.main import app

HEAVY = {"numba", "llvmlite", "pandas", "pyarrow", "scipy", "streamz"}
ALSO = {*HEAVY, "numpy", "confluent_kafka"}
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
# Runs a command up to its first question to a broker, and prints what is loaded then.
PROGRAM = """
import json, sys
from beatwire.cli.main import main
import {patched} as module
def stop(*_, **__): raise SystemExit(0)
module.{function} = stop
sys.argv = ["beatwire", *{words}]
try:
    main()
finally:
    print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})))
"""


def loaded_by(words: list[str], folder: Path, patched: str = "os", function: str = "unused") -> set[str]:
    program = PROGRAM.format(words=words, patched=patched, function=function)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder, timeout=120)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_help_and_version_load_nothing_else(tmp_path: Path) -> None:
    program = PROGRAM.format(words=["--version"], patched="os", function="unused").replace(
        "main()\n",
        "from typer.testing import CliRunner\n"
        "    from beatwire.cli.main import app\n"
        f"    for name in {sorted(COMMANDS)}: assert CliRunner().invoke(app, [name, '--help']).exit_code == 0, name\n"
        "    main()\n",
        1,
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert not ALSO & set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "words",
    [
        ["analyze", "no.csv"],
        ["analyze", "record", "--lead", "V9"],
        ["analyze", "record", "--out", "beats.docx"],
        ["analyze", "record", "--fs", "9"],
        ["report", "no.csv"],
        ["report", "record", "--out", "nowhere/x.html"],
        ["report", "record", "--out", "x.pdf"],
        ["evaluate", "nowhere"],
        ["evaluate", ".", "--snr", "high"],
        ["evaluate", ".", "--html", "nowhere/x.html"],
        ["config"],
    ],
    ids=" ".join,
)
def test_errors_of_arguments_and_the_configuration_load_no_compiler(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "record.hea").write_text("record 1 250 4\nrecord.dat 16 200/mV 16 0 0 0 0 II\n")
    (tmp_path / "record.dat").write_bytes(bytes(8))
    assert not HEAVY & loaded_by(words, tmp_path)


@pytest.mark.parametrize(
    ("words", "patched"),
    [
        (["tail", "alerts"], "beatwire.kafka.topics:check_broker"),
        (["tail", "beats"], "beatwire.kafka.topics:check_broker"),
        (["ack", "bed-1", "--by", "Ada"], "beatwire.kafka.topics:check_broker"),
        (["limits", "bed-1", "asystole=5", "--by", "Ada"], "beatwire.kafka.topics:check_broker"),
        (["alerts"], "beatwire.kafka.topics:check_broker"),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_what_staff_use_loads_no_compiler(words: list[str], patched: str, tmp_path: Path) -> None:
    module, _, function = patched.partition(":")
    loaded = loaded_by([*words, "--bootstrap-servers", "127.0.0.1:9"], tmp_path, module, function)
    assert "confluent_kafka" in loaded
    assert not HEAVY & loaded
