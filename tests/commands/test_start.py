"""Commands start at once: what takes time to load is not loaded for help, for reading, and for errors of arguments."""

import json
import subprocess
import sys
from pathlib import Path

import typer
from beatwire.cli.main import app

HEAVY = {"numba", "llvmlite", "pandas", "pyarrow", "scipy", "streamz"}
ALSO = {*HEAVY, "numpy", "confluent_kafka"}
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
# Runs commands one after the other, each up to its first question to a broker, and prints what is loaded after each.
PROGRAM = """
import importlib, json, sys
from beatwire.cli.main import main
def stop(*_, **__): raise SystemExit(0)
setattr(importlib.import_module({module!r}), "check_broker", stop)
for words in {runs}:
    sys.argv = ["beatwire", *words]
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    print("loaded", json.dumps([code, sorted({{name.partition(".")[0] for name in sys.modules}})]))
"""
OF_ARGUMENTS = [
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
]
OF_STAFF = [
    ["tail", "alerts"],
    ["tail", "beats"],
    ["ack", "bed-1", "--by", "Ada"],
    ["limits", "bed-1", "asystole=5", "--by", "Ada"],
    ["alerts"],
]


def loaded_after(runs: list[list[str]], folder: Path, module: str = "os") -> list[tuple[int, set[str]]]:
    """Return the exit code of each command and what is loaded after it; ``check_broker`` of a module ends it."""
    program = PROGRAM.format(runs=runs, module=module)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder, timeout=120)
    found = [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("loaded [")]
    assert len(found) == len(runs), done.stderr
    return [(code, set(loaded)) for code, loaded in found]


def test_help_and_version_load_nothing_else(tmp_path: Path) -> None:
    runs = [["--version"], *([name, "--help"] for name in sorted(COMMANDS))]
    for words, (code, loaded) in zip(runs, loaded_after(runs, tmp_path), strict=True):
        assert (code, ({*ALSO, "pydantic"} if words == ["--version"] else ALSO) & loaded) == (0, set()), words


def test_errors_of_arguments_and_the_configuration_load_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "record.hea").write_text("record 1 250 4\nrecord.dat 16 200/mV 16 0 0 0 0 II\n")
    (tmp_path / "record.dat").write_bytes(bytes(8))
    for words, (_, loaded) in zip(OF_ARGUMENTS, loaded_after(OF_ARGUMENTS, tmp_path), strict=True):
        assert not HEAVY & loaded, words


def test_what_staff_use_loads_no_compiler(tmp_path: Path) -> None:
    runs = [[*words, "--bootstrap-servers", "127.0.0.1:9"] for words in OF_STAFF]
    for words, (_, loaded) in zip(runs, loaded_after(runs, tmp_path, "beatwire.kafka.topics"), strict=True):
        assert "confluent_kafka" in loaded
        assert not HEAVY & loaded, words
