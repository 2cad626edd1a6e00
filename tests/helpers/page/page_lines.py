"""The examples of README, docs and help texts: where they stand, which of them tests run, and why the others do not.

A block of a page names its language: ``sh`` for command lines, ``python`` for programs, ``text`` for what is printed,
``toml`` for files.
"""

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import click
import typer
from beatwire.cli.main import app

ROOT = Path(__file__).parents[3]
README = ROOT / "README.md"
EXAMPLE_PAGES = [README, ROOT / "compose" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [ROOT / "CHANGELOG.md", *EXAMPLE_PAGES]
LANGUAGES = {"sh", "python", "text", "toml"}
ADDRESS = "127.0.0.1:9092"  # in place of every address of a broker
OPTIONAL = {"config", "doctor"}  # commands that may be given a broker and need none

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_BROKERS = re.compile(r"(?<=--bootstrap-servers )\S+")

_BENCHES = "measures for minutes"
_CHAOS = "takes minutes; tests/integration/delivery/test_chaos.py disturbs for less time"
_DOWNLOADS = "downloads packages"
_DOCKER = "needs Docker and images; tests/compose/test_compose.py checks the files"
_REGISTRY = "needs a registry; tests/integration/service/test_registry_kafka.py runs it with one"
_FILES = "tests/wire/test_fhir.py runs it with such files"
_AT_REGISTRY = f"--bootstrap-servers {ADDRESS} --registry http://127.0.0.1:8081/apis/ccompat/v7"
_TOKEN = "tests/compose/test_compose.py runs it and checks the token"
_REFERENCES = "trains on the references of alarms (make train); the synthetic folder has no marked rhythm"
_BUCKET = "needs a bucket and a cluster; tests/api/test_archives.py runs addresses and a cluster"
_DEVICE = "needs the device; tests/devices/test_devices_*.py read real parts"
_PROFILER = "needs a GPU and NVIDIA's profilers"
# The lines that no test here runs, each with its reason.
NOT_RUN = {
    "pip install 'beatwire[lsl]'": _DOWNLOADS,
    "pip install 'beatwire[ble,dashboard]'": _DOWNLOADS,
    "beatwire watch polar:H10": _DEVICE,
    "beatwire watch brainflow:synthetic --column 0 --record ./records": _DEVICE,
    "beatwire watch recording.csv": "plays for minutes; tests/devices/test_watch.py plays a shorter one",
    f"beatwire feed polar:H10 --bootstrap-servers {ADDRESS}": _DEVICE,
    f"beatwire feed lsl:type=ECG --bootstrap-servers {ADDRESS} --spool ./spool": _DEVICE,
    f"beatwire feed lsl:type=ECG --bootstrap-servers {ADDRESS}": _DEVICE,
    f"beatwire feed 'mqtt://localhost/ward/+/ecg?rate=250&uv=2.5' --bootstrap-servers {ADDRESS}": _DEVICE,
    f"beatwire feed 'mqtt://localhost/ward/+/ecg?samples=ecg&time=ts&rate=250&uv=2.5' --bootstrap-servers {ADDRESS}": (
        _DEVICE
    ),
    "beatwire feed 'mqtt://localhost/ecg/bed-1?format=int16&header=count:u32,time_ms:u64&rate=250' "
    f"--bootstrap-servers {ADDRESS}": _DEVICE,
    f"beatwire feed serial:/dev/ttyUSB0 --fs 250 --bootstrap-servers {ADDRESS}": _DEVICE,
    "beatwire archive s3://bucket/holter --out s3://bucket/tables --scheduler tcp://10.0.0.1:8786": _BUCKET,
    "beatwire analyze mitdb/203 --scorer mine.pt2": "tests/judging/test_scorer.py runs it with such a file",
    "make docs": "writes into the pages; tests/commands/test_bench.py compares them",
    "beatwire bench --record docs/benchmarks.jsonl": _BENCHES,
    "beatwire demo": "takes half a minute; tests/service/test_demo.py runs a shorter one",
    "export BEATWIRE_KAFKA__PROPERTIES__SASL_PASSWORD=...": "tests/docs/test_docs_commands.py sets the variable",
    "beatwire bench": _BENCHES,
    "beatwire bench detection graph": _BENCHES,
    "beatwire bench gpu": f"needs a GPU; {_BENCHES}",
    "beatwire chaos": _CHAOS,
    "beatwire chaos --minutes 5": _CHAOS,
    "beatwire chaos --kills 100 --broker-restarts 20 --scale-changes 20 --network-faults 20": _CHAOS,
    "beatwire chaos mitdb/100 mitdb/203 --events kill --streams 80 --speed 10 --json": _CHAOS,
    "beatwire chaos mitdb/100 mitdb/203 --events kill --every 4 --json": _CHAOS,
    "beatwire train rhythm cinc2015 cinc2017 cudb mimicaf mitdb vfdb --out r.safetensors": _REFERENCES,
    "beatwire train ventricular cinc2015 cinc2017 mimicaf mitdb svdb vfdb --out v.safetensors": _REFERENCES,
    "pip install 'beatwire[report]'": _DOWNLOADS,
    f"beatwire topics {_AT_REGISTRY}": _REGISTRY,
    f"beatwire monitor {_AT_REGISTRY}": _REGISTRY,
    "beatwire export fhir --beats beats.csv --stream bed-1 --start 2026-11-23T08:00:00Z --out rates.json": _FILES,
    "beatwire export fhir --resource device-alert --alerts alerts.jsonl --out alerts.json": _FILES,
    f"beatwire export fhir --bootstrap-servers {ADDRESS} --stream bed-1 --out rates.json": (
        "tests/integration/service/test_events_kafka.py runs it"
    ),
    "pip install 'beatwire[broker,gpu]'": _DOWNLOADS,
    "pip install 'beatwire[broker,dashboard]'": _DOWNLOADS,
    "pip install 'beatwire[broker,dashboard,report]'": _DOWNLOADS,
    """python -c 'import wfdb; wfdb.dl_database("mitdb", "mitdb")'""": _DOWNLOADS,
    """sed "s/^BEATWIRE_TOKEN=.*/BEATWIRE_TOKEN=$(openssl rand -hex 16)/" .env.example > .env""": _TOKEN,
    """(. ./.env; echo "http://127.0.0.1:8765/?token=$BEATWIRE_TOKEN")""": _TOKEN,
    "docker compose up --build --detach --wait": _DOCKER,
    "docker compose up --build --detach --no-deps topics monitor dashboard prometheus grafana": _DOCKER,
    "docker compose -f compose.yaml -f compose.gpu.yaml up --build --detach --wait": _DOCKER,
    "docker compose -f compose.yaml -f compose.cluster.yaml up --build --detach --wait": _DOCKER,
    f"nsys profile -t cuda,nvtx beatwire monitor --bootstrap-servers {ADDRESS} --nvtx --backend gpu": _PROFILER,
    "ncu --kernel-name regex:respond --launch-count 1 beatwire bench gpu": _PROFILER,
}


def name(page: Path) -> str:
    """Return the path of a page in the repository."""
    return str(page.relative_to(ROOT))


def prose(page: Path) -> str:
    """Return a page without its blocks."""
    return _FENCE.sub("", page.read_text())


def languages(page: Path) -> set[str]:
    """Return the languages of the blocks of a page; '' for a block without one."""
    return {language for language, _ in _FENCE.findall(page.read_text())}


def blocks(page: Path, language: str) -> list[str]:
    """Return the blocks of a page in a language."""
    return [block for named, block in _FENCE.findall(page.read_text()) if named == language]


def shell_lines(page: Path) -> list[str]:
    """Return the command lines in the blocks of a page, without comments."""
    lines = (re.split(r"(?:^|\s+)#", line)[0] for block in blocks(page, "sh") for line in block.splitlines())
    return [line for line in lines if line]


def block_commands(page: Path) -> list[str]:
    """Return the commands of beatwire in the blocks of a page, without what a shell or a profiler adds."""
    found = (re.search(r"(?:^|\s)(beatwire [a-z].*)", re.split(r";|\s+[|>&]", line)[0]) for line in shell_lines(page))
    return [match.group(1).strip() for match in found if match]


def inline_commands(page: Path) -> list[str]:
    """Return the texts in backticks that begin with a command of beatwire."""
    return [" ".join(text.split()) for text in re.findall(r"`(beatwire [a-z][^`]*)`", prose(page))]


def resolve(words: list[str]) -> tuple[click.Command, list[str]]:
    """Return the command that words name, and what is left of them."""
    command = _main()
    while words and hasattr(command, "commands"):
        assert words[0] in command.commands, f"there is no command {words[0]!r}"
        command, words = command.commands[words[0]], words[1:]
    return command, words


def help_commands() -> list[str]:
    """Return the examples of the help texts."""
    found: list[str] = []
    waiting: list[Any] = [_main()]
    while waiting:
        command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        found += re.findall(r"^(beatwire [a-z].*?)(?:   .*)?$", command.epilog or "", re.MULTILINE)
    return found


@cache
def page_examples() -> tuple[str, ...]:
    """Return every command line that README and docs show as it can be typed, once each, with `ADDRESS`.

    Of the commands in backticks these are those with all arguments that they need.
    """
    lines = [line for page in EXAMPLE_PAGES for line in shell_lines(page)]
    lines += [line for page in EXAMPLE_PAGES for line in inline_commands(page) if _is_complete(line)]
    return _distinct(lines)


@cache
def examples() -> tuple[str, ...]:
    """Return the command lines of the pages and those of the help texts, once each, with `ADDRESS`."""
    return _distinct([*page_examples(), *help_commands()])


def runs_live(line: str) -> bool:
    """Return True if `test_docs_live` runs the line: a command that needs a broker, or is one."""
    return _runs(line) and (ADDRESS in line or line.startswith("beatwire broker") or _is_client(line))


def runs_offline(line: str) -> bool:
    """Return True if tests/docs/test_docs_commands.py runs the line."""
    return _runs(line) and not runs_live(line)


def needs_gpu(line: str) -> bool:
    """Return True if a line runs on a machine with a GPU only."""
    return "--backend gpu" in line


def _runs(line: str) -> bool:
    return line.startswith("beatwire ") and line not in NOT_RUN


def _distinct(lines: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_BROKERS.sub(ADDRESS, line) for line in lines))


@cache
def _main() -> click.Command:
    return typer.main.get_command(app)


def _is_client(line: str) -> bool:
    """Return True if the command of a line needs a broker."""
    command, _ = resolve(shlex.split(line.split(" > ")[0])[1:])
    return command.name not in OPTIONAL and any(parameter.name == "bootstrap" for parameter in command.params)


def _is_complete(line: str) -> bool:
    command, rest = resolve(shlex.split(line)[1:])
    if hasattr(command, "commands") or (_is_client(line) and "--bootstrap-servers" not in line):
        return False
    try:
        command.make_context("beatwire", rest)
    except typer.BadParameter:  # a missing argument
        return False
    return True
