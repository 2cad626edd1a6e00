"""README and docs: links resolve, command lines parse, examples run, packages are described."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import numpy as np
import pytest
import typer
from beatwire.cli.main import app
from beatwire.kafka.local.mock import MockKafka
from beatwire.recordings.synthetic.person import synthesise
from beatwire.wire.avro import decode_chunk
from beatwire.wire.names import SAMPLES
from laws import Signal

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
CARDS = sorted((ROOT / "streaming" / "beatwire" / "model" / "weights").glob("*.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]\[]*\]\(([^)\s]+)\)")


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    text = FENCE.sub("", page.read_text())
    headings = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "") for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def broken_links(page: Path) -> list[str]:
    broken = []
    for link in LINK.findall(FENCE.sub("", page.read_text())):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


def block_commands(page: Path) -> list[str]:
    """Return the command lines of beatwire in the code blocks of a page, without comments, pipes and redirections."""
    blocks = [block for language, block in FENCE.findall(page.read_text()) if not language]
    lines = [re.split(r"\s+#|;|\s+[|>&]", line)[0] for block in blocks for line in block.splitlines()]
    return [found.group().strip() for line in lines if (found := re.search(r"(^|\s)beatwire [a-z].*", line))]


def inline_commands(page: Path) -> list[str]:
    """Return the texts in backticks that begin with a command of beatwire."""
    return re.findall(r"`(beatwire [a-z][^`]*)`", FENCE.sub("", page.read_text()))


def make_targets(page: Path) -> set[str]:
    text = page.read_text()
    blocks = "\n".join(block for language, block in FENCE.findall(text) if language == "")
    named = re.findall(r"^make ([a-z-]+)", blocks, re.MULTILINE)
    return {*named, *re.findall(r"`make ([a-z-]+)[^`]*`", FENCE.sub("", text))}


def resolve(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that words name, and what is left of them."""
    command: click.Command = typer.main.get_command(app)
    while words and hasattr(command, "commands"):
        assert words[0] in command.commands, f"there is no command {words[0]!r}"
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize("page", PAGES + CARDS, ids=name)
def test_links_of_a_page_resolve(page: Path) -> None:
    assert broken_links(page) == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_commands_in_the_text_of_a_page_exist_with_their_options(page: Path) -> None:
    for line in inline_commands(page):
        command, rest = resolve(shlex.split(line)[1:])
        known = {text for parameter in command.params for text in (*parameter.opts, *parameter.secondary_opts)}
        unknown = {word.split("=")[0] for word in rest if word.startswith("--")} - known
        assert not unknown, f"{line!r}: no such option"


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_command_lines_in_code_blocks_of_a_page_parse(page: Path) -> None:
    for line in block_commands(page):
        command, rest = resolve(shlex.split(line)[1:])
        command.make_context("beatwire", rest)  # raises for a wrong option, value or number of arguments


def test_the_pages_show_most_commands() -> None:
    """The two tests before this one would hold for pages without commands."""
    lines = [line for page in PAGES for line in block_commands(page)]
    assert len(lines) >= 15
    assert len({line.split()[1] for line in lines}) >= 8


def test_every_command_stands_in_the_readme() -> None:
    table = README.read_text().split("## Commands")[1].split("\n## ")[0]
    known = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert set(known) == set(re.findall(r"^\| `beatwire ([a-z]+)", table, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_make_targets_of_a_page_exist(page: Path) -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert make_targets(page) <= known


def test_every_package_has_its_sentence_in_the_architecture() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text().split("## Packages")[1].split("\n## ")[0]
    described = {
        package
        for first, sentence in re.findall(r"^\| (.+?) \| ([A-Z].+\.) \|$", table, re.MULTILINE)
        for package in re.findall(r"`(beatwire[\w.]*)`", first)
        if sentence
    }
    inits = [path for root in ("streaming", "producers") for path in (ROOT / root).rglob("__init__.py")]
    packages = {".".join(path.parent.relative_to(ROOT).parts[1:]) for path in inits} - {"beatwire"}
    modules = {
        f"beatwire.{path.stem}" for path in (ROOT / "streaming" / "beatwire").glob("*.py") if path.stem[0] != "_"
    }
    assert described == packages | modules


def test_every_rule_of_alerts_stands_in_operating() -> None:
    from beatwire.stages.support.alert_rules import RULES

    table = (ROOT / "docs" / "operating.md").read_text().split("## Alerts")[1].split("\n## ")[0]
    first = {
        rule.strip() for cell in re.findall(r"^\| ([a-z][a-z, ]+) \|", table, re.MULTILINE) for rule in cell.split(",")
    }
    assert first - {"alert"} == {rule.name for rule in RULES}


def test_every_metric_stands_in_operating() -> None:
    source = (ROOT / "streaming" / "beatwire" / "service" / "metrics.py").read_text()
    named = set(re.findall(r'"(beatwire_[a-z_]+)"', source))
    assert named <= set(re.findall(r"`(beatwire_[a-z_]+)`", (ROOT / "docs" / "operating.md").read_text()))


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= 150


def example(title: str) -> str:
    found = re.search(rf"<!-- example: {title} -->\n```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert found, f"README has no example {title!r}"
    return found.group(1)


def test_the_feed_example_sends_chunks_that_can_be_read() -> None:
    from confluent_kafka import Consumer

    chunks = [np.arange(50, dtype=np.int16), np.arange(50, 100, dtype=np.int16)]
    with MockKafka() as kafka:
        exec(example("feed"), {"bootstrap": kafka.bootstrap, "my_chunks": chunks})
        consumer = Consumer(
            {"bootstrap.servers": kafka.bootstrap, "group.id": "readme", "auto.offset.reset": "earliest"}
        )
        consumer.subscribe([SAMPLES])
        got = consumer.consume(2, 20.0)
        consumer.close()
    decoded = [decode_chunk(message.value()) for message in got]
    assert [(c["stream"], c["first"], len(c["samples"])) for c in decoded] == [("bed-1", 0, 100), ("bed-1", 50, 100)]
    assert all(message.key() == b"bed-1" for message in got)


def test_the_sink_example_prints_beats_and_alerts(capsys: pytest.CaptureFixture[str]) -> None:
    samples = synthesise(1, rate_hz=250.0, seconds=20).recording.samples.copy()
    samples[:, 2500:] = samples[0, 2500]
    signal = Signal("bed-1", samples)
    ticks = [[signal.chunk(a, a + 250)] for a in range(0, 5000, 250)]
    exec(example("sink"), {"my_messages": ticks})
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("asystole: ") for line in lines)
    assert sum(int(line) for line in lines if line.isdigit()) > 10
