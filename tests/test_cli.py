"""The commands as a user meets them: what they say, what they refuse, what goes to standard output."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import typer
from beatwire.cli import main
from beatwire.errors import UserError
from typer.testing import CliRunner

COMMANDS = [
    "demo",
    "broker",
    "replay",
    "monitor",
    "analyze",
    "tail",
    "bench",
    "evaluate",
    "train vae",
    "train detector",
]


def run(arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command line."""
    done = CliRunner().invoke(main.app, arguments.split())
    if isinstance(done.exception, UserError):
        return 2, done.stdout, f"beatwire: {done.exception}"
    return done.exit_code, done.stdout, done.stderr


def of_commands() -> Iterator[tuple[str, Any]]:
    """Every option and argument that is shown, with the name of its command."""
    commands: dict[str, Any] = {"": typer.main.get_command(main.app)}
    while commands:
        name, command = commands.popitem()
        commands |= {f"{name} {k}".strip(): c for k, c in getattr(command, "commands", {}).items()}
        yield from ((name, p) for p in command.params if not getattr(p, "hidden", False))


def test_every_option_of_every_command_says_what_it_is_for() -> None:
    found = list(of_commands())
    assert {name for name, _ in found} >= set(COMMANDS)
    assert [f"{name} {p.opts[0]}" for name, p in found if len(getattr(p, "help", None) or "") < 10] == []


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version") == (0, f"beatwire {version('beatwire')}\n", "")


def test_a_command_line_that_is_wrong_names_the_command_as_users_know_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/somewhere/__main__.py", "analyze"])
    with pytest.raises(SystemExit, match="2"):
        main.main()
    assert "Usage: beatwire analyze" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", ["demo", "replay r.csv --bootstrap-servers x", "analyze r.csv", "evaluate d", "train vae d --out x"]
)
def test_a_negative_seed_is_refused(command: str) -> None:
    code, out, said = run(f"{command} --seed -1")
    assert (code, out) == (2, "")
    assert "--seed" in said


@pytest.mark.parametrize("option", ["--gpu-memory 4GiB", "--managed-memory", "--nvtx"])
def test_what_is_meant_for_a_gpu_is_not_silently_passed_over_on_the_cpu(option: str) -> None:
    code, out, said = run(f"monitor --bootstrap-servers 127.0.0.1:1 --backend cpu {option}")
    assert (code, out) == (2, "")
    assert said == f"beatwire: {option.split()[0]}: expected --backend gpu or auto beside it; got --backend cpu"


def test_a_noise_record_that_is_not_there_is_named(tmp_path: Path) -> None:
    code, out, said = run(f"evaluate {tmp_path} --noise {tmp_path}/nofile --backend cpu")
    assert (code, out) == (2, "")
    assert said == "beatwire: nofile: expected a WFDB record; there is no nofile.hea"


def test_json_is_one_object_on_standard_output_and_nothing_else() -> None:
    code, out, _ = run("analyze synthetic:seconds=10,rate=250 --json --backend auto")
    assert code == 0
    assert json.loads(out)["seconds"] == 10
    assert out.count("\n") == 1


def test_the_benchmarks_that_help_names_are_those_that_there_are() -> None:
    bench = importlib.import_module("beatwire.bench")
    names = next(p for name, p in of_commands() if name == "bench" and p.name == "names")
    assert names.help == f"Of {', '.join(bench.BENCHMARKS)}; all by default."
