"""The command for the live page: dashboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from beatwire.cli.options import Bootstrap, ConfigFile, ModelPath, Properties, TopicPrefix, examples, flag, option

if TYPE_CHECKING:
    from beatwire.alerts.settings import Settings
    from beatwire.kafka.cluster import Cluster

EXAMPLES = examples(
    "beatwire dashboard --bootstrap-servers localhost:9092",
    "beatwire dashboard --bootstrap-servers localhost:9092 --host 0.0.0.0 --token a-long-random-word --read-only",
)


def dashboard(
    bootstrap: Bootstrap = None,
    port: Annotated[
        int | None, option("PORT", "TCP port to listen on; 0 selects a free port.", shown="8765", min=0, max=65535)
    ] = None,
    host: Annotated[
        str | None,
        option("ADDRESS", "Address to listen on; other than this machine's needs --token.", shown="127.0.0.1"),
    ] = None,
    token: Annotated[
        str | None,
        option("TEXT", "What a browser must present, 16 characters or more.", shown="none", envvar="BEATWIRE_TOKEN"),
    ] = None,
    read_only: Annotated[
        bool | None, flag("--read-only", "Do not publish acknowledgements and limits.", shown=False)
    ] = None,
    model: ModelPath = None,
    properties: Properties = None,
    prefix: TopicPrefix = None,
    config: ConfigFile = None,
) -> None:
    """Show the ward, its traces, beats and alerts in a browser, until Ctrl-C.

    The page reads the topics without a consumer group: it can be started and stopped at any time, and changes nothing
    in the monitor. Acknowledgements are published to ecg.acks, limits of beds to ecg.settings.
    """
    from beatwire.cli.configured import load_with_options
    from beatwire.configuration.effect import alert_settings_of, cluster_of

    others = {
        "page.port": port, "page.address": host, "page.token": token, "page.read_only": read_only,
        "models.scoring": model,
    }  # fmt: skip
    values = load_with_options(config, bootstrap, properties, prefix, others).values
    page = values.page
    serve(
        cluster_of(values), page.address, page.port, page.token, not page.read_only, values.models.scoring,
        alert_settings_of(values),
    )  # fmt: skip


def serve(
    cluster: Cluster, host: str, port: int, token: str | None, writable: bool, model: Path | None, settings: Settings
) -> None:
    """Run the page until SIGINT or SIGTERM."""
    from beatwire.cli.terminal import print_message
    from beatwire.page.dashboard import Dashboard
    from beatwire.service.warmup import compile_kernels
    from beatwire.signals import stop_on_signals

    with (
        stop_on_signals() as stop,
        Dashboard(cluster, host, port, token=token, writable=writable, model=model, settings=settings) as page,
    ):
        typer.echo(page.url)
        compile_kernels(print_message)
        while not stop.wait(0.5):
            page.check()
