"""What MkDocs does beside its own work when it builds the site (`mkdocs.yml` names this file).

- Pages that lie outside of ``docs/`` join it: the README as the first page, the changelog, the page of the containers.
- The options of every command are appended to the page of commands.
- A link to a file of the repository becomes a link to ``repo_url``, or plain text where there is none.
"""

import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
from tables import rows

ROOT = Path(__file__).parents[2]
# Pages outside of docs -> their place in the site.
OUTSIDE = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "compose/README.md": "how-to/containers.md"}
COMMANDS = "reference/commands.md"
LINK = re.compile(r"(!?)\[([^\]\[]*)\]\(([^)\s]+)\)")
OF_GROUP = {"--help"}  # stands in every command


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie outside of ``docs``."""
    for source, place in OUTSIDE.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Mend the links of a page, and append the options of the commands to theirs."""
    place = page.file.src_uri
    here = next((source for source, to in OUTSIDE.items() if to == place), f"docs/{place}")
    if place == COMMANDS:
        markdown = "\n".join([markdown, "\n## All options\n", *command_pages(typer_command(), "beatwire")])
    return LINK.sub(lambda link: mended(link, here, place, config.repo_url, files), markdown)


def mended(link: re.Match[str], here: str, place: str, repository: str | None, files: Files) -> str:
    """Return a link as the site has it: to a page, to the repository, or its text alone."""
    picture, text, url = link.groups()
    path, _, anchor = url.partition("#")
    if not path or re.match(r"[a-z]+:", url):
        return link.group(0)
    target = posixpath.normpath(posixpath.join(posixpath.dirname(here), path))
    inside = OUTSIDE.get(target, target.removeprefix("docs/") if target.startswith("docs/") else "")
    if inside and files.get_file_from_path(inside) is not None:
        relative = posixpath.relpath(inside, posixpath.dirname(place) or ".")
        return f"{picture}[{text}]({relative}{'#' + anchor if anchor else ''})"
    if not (ROOT / target).exists():
        return link.group(0)  # MkDocs says that it is broken
    return f"[{text}]({repository.rstrip('/')}/blob/main/{target})" if repository else text


def typer_command() -> Any:
    """Return the command line as click has it."""
    from beatwire.cli.main import app

    return typer.main.get_command(app)


def command_pages(command: Any, name: str) -> Iterator[str]:
    """Yield the help of a command, and of those under it, as Markdown."""
    for word, one in getattr(command, "commands", {}).items():
        yield from command_pages(one, f"{name} {word}")
    if hasattr(command, "commands"):
        return
    yield f"### {name}\n\n{command.help or ''}\n"
    cells = [cell for parameter in command.params if (cell := option(parameter)) is not None]
    if cells:
        yield rows(["option", "default", "meaning"], cells) + "\n"
    examples = re.findall(r"^(beatwire .*)$", command.epilog or "", re.MULTILINE)
    if examples:
        yield "\n".join(["```sh", *examples, "```", ""])


def option(parameter: Any) -> list[str] | None:
    """Return the row of an option or argument; None of one that is not shown."""
    if getattr(parameter, "hidden", False) or OF_GROUP & set(parameter.opts):
        return None
    if isinstance(parameter, click.Argument) or parameter.param_type_name == "argument":
        names = f"`{(parameter.metavar or parameter.name).strip('[].').upper()}`"
    else:
        names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    default = getattr(parameter.default, "value", parameter.default)
    if callable(default) or default in (None, (), [], "") or type(default).__name__ == "Sentinel":
        shown = "required" if parameter.required else ""
    else:
        shown = f"`{str(default).lower() if isinstance(default, bool) else default}`"
    return [names, shown, " ".join((getattr(parameter, "help", "") or "").split())]
