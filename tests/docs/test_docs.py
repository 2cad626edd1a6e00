"""README and docs: links resolve, commands parse and run in some test, packages, rules and metrics are described."""

import re
import shlex
from pathlib import Path

import pytest
import typer
from beatwire.cli.main import app
from hooks import command_pages, typer_command
from page_lines import (  # fmt: skip
    LANGUAGES,
    NOT_RUN,
    PAGES,
    README,
    ROOT,
    block_commands,
    examples,
    inline_commands,
    languages,
    name,
    prose,
    resolve,
    runs_live,
    runs_offline,
    shell_lines,
)
from tables import TABLES, written

CARDS = sorted((ROOT / "streaming" / "beatwire" / "model" / "weights").glob("*.md"))
LINK = re.compile(r"(?<!!)\[[^\]\[]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as forges make them."""
    headings = re.findall(r"^#+ +(.+)$", prose(page), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "") for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


def broken_links(page: Path) -> list[str]:
    broken = []
    for link in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


def make_targets(page: Path) -> set[str]:
    named = re.findall(r"^make ([a-z-]+)", "\n".join(shell_lines(page)), re.MULTILINE)
    return {*named, *re.findall(r"`make ([a-z-]+)[^`]*`", prose(page))}


@pytest.mark.parametrize("page", PAGES + CARDS, ids=name)
def test_links_of_a_page_resolve(page: Path) -> None:
    assert broken_links(page) == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_of_a_page_names_its_language(page: Path) -> None:
    """``sh`` for command lines, which tests run; ``python`` for programs; ``text`` for what is printed."""
    assert languages(page) <= LANGUAGES


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


def test_every_line_of_the_pages_runs_in_a_test_or_has_a_reason() -> None:
    lines = examples()
    assert [line for line in lines if not (runs_offline(line) or runs_live(line) or line in NOT_RUN)] == []
    assert sorted(NOT_RUN.keys() - set(lines)) == [], "no page has these lines"
    assert sum(map(runs_offline, lines)) >= 20
    assert sum(map(runs_live, lines)) >= 15


def test_every_command_stands_in_the_readme() -> None:
    table = README.read_text().split("## Commands")[1].split("\n## ")[0]
    known = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    first_cells = "\n".join(line.lstrip("|").split("|")[0] for line in table.splitlines())
    assert set(known) == set(re.findall(r"`beatwire ([a-z]+)", first_cells))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_make_targets_of_a_page_exist(page: Path) -> None:
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert make_targets(page) <= known


@pytest.mark.parametrize("table", TABLES)
def test_a_table_of_the_pages_is_what_make_docs_writes(table: str) -> None:
    page = (ROOT / "docs" / TABLES[table][0]).read_text()
    assert page == written(table, page), "run: make docs"


def test_every_option_of_every_command_is_in_the_page_that_the_site_shows() -> None:
    page = "\n".join(command_pages(typer_command(), "beatwire"))
    for line in block_commands(README):
        command, _ = resolve(shlex.split(line)[1:])
        assert f"### beatwire {command.name}\n" in page
    assert page.count("|`--bootstrap-servers`") >= 8
    assert "Sentinel" not in page


def test_the_readme_is_short() -> None:
    assert len(README.read_text().splitlines()) <= 150
