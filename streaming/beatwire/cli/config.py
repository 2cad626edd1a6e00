"""The command that prints the configuration in force: config."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.text import Text

from beatwire.cli.options import Bootstrap, ConfigFile, Json, Properties, TopicPrefix, examples

if TYPE_CHECKING:
    from beatwire.configuration.show import Row

EXAMPLES = examples("beatwire config --config beatwire.toml", "beatwire config -X security.protocol=SSL --json")


def config(
    bootstrap: Bootstrap = None,
    properties: Properties = None,
    prefix: TopicPrefix = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Print the configuration in force, secrets masked, and where each value came from.

    The file of --config, environment variables BEATWIRE_SECTION__KEY and options are read; each overrides the one
    before. A wrong key or value is an error that names it. No broker is asked.
    """
    from beatwire.cli.configured import load_with_options
    from beatwire.configuration.effect import alert_settings_of, lifecycle_of, streams_of
    from beatwire.configuration.show import rows

    loaded = load_with_options(config, bootstrap, properties, prefix, monitors=True)
    for settings in (alert_settings_of, lifecycle_of, streams_of):  # they check what no range says
        settings(loaded.values)
    found = rows(loaded)
    if as_json:
        typer.echo(json.dumps({"values": [row._asdict() for row in found]}))
        return
    _print(found)


def _print(rows: list[Row]) -> None:
    console = Console(highlight=False)
    texts = [_text(row) for row in rows]
    key_width, value_width = max(len(row.key) for row in rows), max(map(len, texts))
    for row, text in zip(rows, texts, strict=True):
        style = "dim" if row.origin == "default" else ""
        console.print(Text(f"{row.key:{key_width}}  {text:{value_width}}  {row.origin}", style=style), soft_wrap=True)


def _text(row: Row) -> str:
    """Return a value as people read it, with its unit."""
    if row.value is None:
        return "-"
    if isinstance(row.value, bool):
        return str(row.value).lower()
    text = f"{row.value:.15g}" if isinstance(row.value, float) else str(row.value)
    return f"{text} {row.unit}".rstrip() if text else '""'
