"""The command line: help texts, refused arguments, exit codes, and what is printed on standard output."""

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import beatwire
import pytest
import typer
from beatwire.cli import main
from beatwire.errors import UserError
from confluent_kafka import KafkaError, KafkaException
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

COMMANDS = [
    "doctor",
    "demo",
    "broker",
    "topics",
    "replay",
    "monitor",
    "analyze",
    "report",
    "tail",
    "dashboard",
    "bench",
    "evaluate",
    "train vae",
    "train detector",
]
INTERRUPTED = """
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == "beatwire.cli.ward.monitor":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from beatwire.__main__ import run
run()
"""


def run(arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command line."""
    result = CliRunner().invoke(main.app, arguments.split())
    if isinstance(result.exception, UserError):
        return 2, result.stdout, f"beatwire: {result.exception}"
    return result.exit_code, result.stdout, result.stderr


def all_commands() -> dict[str, Any]:
    """Every command and group of commands, by name."""
    found: dict[str, Any] = {}
    waiting: dict[str, Any] = {"": typer.main.get_command(main.app)}
    while waiting:
        name, command = waiting.popitem()
        found[name] = command
        waiting |= {f"{name} {k}".strip(): c for k, c in getattr(command, "commands", {}).items()}
    return found


def all_parameters() -> Iterator[tuple[str, Any]]:
    """Every visible option and argument, with the name of its command."""
    for name, command in all_commands().items():
        yield from ((name, p) for p in command.params if not getattr(p, "hidden", False))


def test_every_option_of_every_command_has_a_help_text() -> None:
    found = list(all_parameters())
    assert {name for name, _ in found} >= set(COMMANDS)
    assert [f"{name} {p.opts[0]}" for name, p in found if len(getattr(p, "help", None) or "") < 10] == []


@pytest.mark.parametrize("command", ["", "train", *COMMANDS])
def test_every_command_prints_its_help_text(command: str) -> None:
    code, out, _ = run(f"{command} --help")
    assert code == 0
    assert f"Usage: beatwire {command}".strip() in out.replace("Usage: root", "Usage: beatwire")
    assert not re.search(r"<(bool|str|int|float|list|path)", out, re.IGNORECASE), (
        "a type of Python means nothing to a user"
    )


def test_the_examples_of_the_help_texts_use_options_that_exist() -> None:
    commands, examples = all_commands(), []
    for name, command in commands.items():
        lines = [line for line in (command.epilog or "").split("\n") if line.startswith("beatwire ")]
        examples += lines
        for line in lines:
            used = line.split()[1:]
            own = name.split() or used[:1]
            assert used[: len(own)] == own
            options = {opt for p in commands[" ".join(own)].params for opt in p.opts}
            assert {word for word in used if word.startswith("--")} <= options, line
    assert len(examples) > 10


@settings(max_examples=draws(40), deadline=None)
@given(
    option=st.sampled_from([
        "analyze --fs", "analyze --gain", "analyze --chunk-ms", "analyze --seed", "analyze --backend", "demo --seconds",
        "demo --streams", "demo --broker", "feed --seconds", "replay --bundle", "watch --seconds", "train vae --seed",
        "tail",
    ]),
    value=st.text("abcxyz.", min_size=3, max_size=9),
)  # fmt: skip
def test_a_value_that_an_option_cannot_have_is_in_the_error(option: str, value: str) -> None:
    code, out, err = run(f"{option} {value}")
    said = "".join(re.sub(r"[^ -~]", " ", err).split())
    assert (code, out, "Invalidvalue" in said, "Valueerror" in said) == (2, "", True, False)
    assert f"'{value}'" in said


@pytest.mark.parametrize(("option", "value"), [("--streams", "0"), ("--seconds", "0"), ("--seconds", "-1.5")])
def test_a_number_that_is_too_small_is_in_the_error(option: str, value: str) -> None:
    assert f"got '{value}'" in " ".join(run(f"demo {option} {value}")[2].split())


def test_the_version_is_that_of_the_package() -> None:
    assert run("--version") == (0, f"beatwire {version('beatwire')}\n", "")
    assert beatwire.__version__ == version("beatwire")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        beatwire.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_an_interrupt_while_modules_are_imported_ends_without_a_word() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("words", [["--help"], ["config", "--help"], ["--version"]])
def test_a_standard_output_that_is_full_is_one_line(words: list[str]) -> None:
    command = [sys.executable, "-m", "beatwire", *words]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    expected = "beatwire: standard output: expected room for the result; got: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, expected)


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "beatwire", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"beatwire {version('beatwire')}\n"


def test_a_usage_error_names_the_command_beatwire_however_it_was_started(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["/somewhere/__main__.py", "analyze"])
    with pytest.raises(SystemExit, match="2"):
        main.main()
    assert "Usage: beatwire analyze" in capsys.readouterr().err


def test_an_error_of_the_client_that_nothing_has_handled_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KafkaException(KafkaError(KafkaError._FATAL, "the producer was fenced", fatal=True))

    monkeypatch.setattr("beatwire.kafka.topics.check_broker", fail)
    monkeypatch.setattr("sys.argv", ["beatwire", "tail", "beats", "--bootstrap-servers", "127.0.0.1:1"])
    with pytest.raises(SystemExit, match="1"):
        main.main()
    said = capsys.readouterr().err
    assert said == "beatwire: kafka: expected the brokers to go on; got the producer was fenced\n"


@pytest.mark.parametrize(
    "command", ["demo", "replay r.csv --bootstrap-servers x", "analyze r.csv", "evaluate d", "train vae d --out x"]
)
def test_a_negative_seed_is_refused(command: str) -> None:
    code, out, err = run(f"{command} --seed -1")
    assert (code, out) == (2, "")
    assert "--seed" in err


@pytest.mark.parametrize("option", ["--gpu-memory 4GiB", "--managed-memory", "--nvtx"])
def test_a_gpu_option_is_refused_on_the_cpu(option: str) -> None:
    code, out, err = run(f"monitor --bootstrap-servers 127.0.0.1:1 --backend cpu {option}")
    assert (code, out) == (2, "")
    assert err == f"beatwire: {option.split()[0]}: expected --backend gpu or auto beside it; got --backend cpu"


def test_a_missing_noise_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.atr").touch()
    code, out, err = run(f"evaluate {tmp_path} --noise {tmp_path}/nofile --backend cpu")
    assert (code, out) == (2, "")
    assert err == "beatwire: nofile: expected a WFDB record; there is no nofile.hea"


def test_a_report_in_a_missing_folder_is_refused_before_the_evaluation(tmp_path: Path) -> None:
    code, out, err = run(f"evaluate {tmp_path} --html {tmp_path}/no/report.html --backend cpu")
    assert (code, out) == (2, "")
    assert err.startswith("beatwire: --html: expected a file in an existing folder; there is no folder ")


@pytest.mark.parametrize(
    ("comment", "options", "message"),
    [
        ("", "--people development", "--people: expected a folder of judged alerts (--alerts); got one of annotated"),
        ("", "--ward-beds 3", "--ward-beds: expected a folder of judged alerts (--alerts); got one of annotated beats"),
        ("", "--snr 6", "--snr: expected --noise beside it; got none"),
        (
            "",
            "--alerts --lead all",
            "--lead: expected a folder of annotated beats; got one of judged alerts (--alerts)",
        ),
        ("", "--alerts --seed 0", "--seed: expected a folder of annotated beats or activities; got one of judged"),
        ("#walk\n", "--noise electrode-motion", "--noise: expected a folder of annotated beats; got one of activities"),
    ],
)
def test_an_option_of_evaluate_that_would_do_nothing_is_refused(
    comment: str, options: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "r.hea").write_text(f"r 1 250 10\nr.dat 16 200 16 0 0 0 0 II\n{comment}")
    code, out, err = run(f"evaluate {tmp_path} {options} --backend cpu")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith(f"beatwire: {message}")


@pytest.mark.parametrize("seconds", [3600, 2592000, 12345678])
def test_config_prints_every_digit_of_a_duration(seconds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEATWIRE_ALERTS__KEEP_ENDED_S", str(seconds))
    _, out, _ = run("config --bootstrap-servers 127.0.0.1:9092")
    assert any(line.split()[:3] == ["alerts.keep_ended_s", str(seconds), "s"] for line in out.splitlines())


@pytest.mark.parametrize("words", ["", "--lead all", "--one-lead --noise electrode-motion"])
def test_a_folder_without_annotated_records_is_refused_before_kernels_are_compiled(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("beatwire.api.commands.compile_kernels", lambda *_, **__: pytest.fail("compiled"))
    code, _, err = run(f"evaluate {tmp_path} --backend cpu {words}")
    assert code == 2
    assert err.endswith("expected WFDB records with annotations (.atr); there are none")


def test_json_is_one_object_on_standard_output_and_nothing_else() -> None:
    code, out, _ = run("analyze synthetic:seconds=10,rate=250 --json --backend auto")
    assert code == 0
    assert json.loads(out)["seconds"] == 10
    assert out.count("\n") == 1


def test_the_help_text_of_bench_names_every_benchmark() -> None:
    bench = importlib.import_module("beatwire.bench")
    names = next(p for name, p in all_parameters() if name == "bench" and p.name == "names")
    assert names.help == f"Benchmarks: {', '.join(bench.BENCHMARKS)}."


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("live --bundle 50", "--bundle: expected --streams beside it; got none"),
        ("graph --streams 100", "--streams: expected the benchmark live alone; got graph"),
        ("--streams 100", "--streams: expected the benchmark live alone; got all"),
        ("live --streams 100 --bundle 1001", "bundle: expected 1-1000 streams; got 1001"),
    ],
)
def test_options_of_many_live_streams_are_refused_where_they_do_nothing(given: str, expected: str) -> None:
    code, _, error = run(f"bench {given}")
    assert (code, expected in error) == (2, True), error


def test_the_token_of_the_page_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEATWIRE_TOKEN", "a-token-of-24-characters")
    command = typer.main.get_command(main.app).commands["dashboard"]  # type: ignore[attr-defined]
    context = command.make_context("dashboard", ["--bootstrap-servers", "127.0.0.1:9092"])
    assert context.params["token"] == "a-token-of-24-characters"
