"""``beatwire doctor``: what this machine offers, on one screen."""

import json
import os
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from beatwire.cli.options import ConfigFile, Json, Properties, TopicPrefix, examples, option

EXAMPLES = examples("beatwire doctor", "beatwire doctor --bootstrap-servers localhost:9092")
VARIABLES = ("BEATWIRE_KAFKA__BOOTSTRAP", "BEATWIRE_BOOTSTRAP")  # name brokers, as the option and the file do
STYLES = {"ok": "green", "missing": "cyan", "warning": "yellow"}


def doctor(
    bootstrap: Annotated[
        str | None,
        option(
            "--bootstrap-servers HOST:PORT[,...]",
            "Kafka brokers to look for, and for their topics.",
            shown="from the configuration; else no broker",
        ),
    ] = None,
    properties: Properties = None,
    prefix: TopicPrefix = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Show what this machine offers, and what installs the rest.

    Nothing that is missing is an error: the exit code is 0.
    """
    from beatwire.service.doctor import checks

    cluster = None
    if any((bootstrap, config, properties, prefix, *map(os.environ.get, VARIABLES))):
        from beatwire.cli.configured import cluster_with_options

        cluster = cluster_with_options(config, bootstrap, properties, prefix)

    if as_json:
        typer.echo(json.dumps({"checks": [check._asdict() for check in checks(cluster)]}))
        return
    console = Console(highlight=False)
    for check in checks(cluster):
        state = f"{check.state:8}", STYLES[check.state]
        console.print(Text.assemble(state, f"{check.name:12}{check.found}"), soft_wrap=True)
        if check.remedy:
            console.print(Text(f"{'':20}-> {check.remedy}", style="bold"), soft_wrap=True)
