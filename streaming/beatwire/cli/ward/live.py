"""The commands that send and process live streams on an existing Kafka: replay, monitor."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from beatwire.cli.computing import (
    BackendKind,
    BackendOrNone,
    GpuMemory,
    ManagedMemoryOrNone,
    NvtxOrNone,
    Threads,
    choose_backend,
)  # fmt: skip
from beatwire.cli.configured import cluster_and_registry, load_with_options
from beatwire.cli.options import (
    SOURCES,
    Bootstrap,
    Bundle,
    ColumnName,
    ConfigFile,
    Gain,
    Json,
    ModelPath,
    Properties,
    Rate,
    RegistryUrl,
    ScorerPath,
    TopicPrefix,
    examples,
)
from beatwire.cli.terminal import Line, print_message, print_result, progress_bar
from beatwire.signals import TERMINATED, stop_with_parent

if TYPE_CHECKING:
    from beatwire.configuration.keys import Configuration

PACE = "Pace and faults"
SERVICE = "Service"

REPLAY_EXAMPLES = examples(
    "beatwire replay synthetic --streams 8 --bootstrap-servers localhost:9092",
    "beatwire replay ecg.csv --fs 250 --speed 10 --bootstrap-servers localhost:9092",
    "beatwire replay mitdb/203 --faults dropped=0.01,late=0.001 --bootstrap-servers localhost:9092",
)
MONITOR_EXAMPLES = examples(
    "beatwire monitor --bootstrap-servers localhost:9092",
    "beatwire monitor --bootstrap-servers localhost:9092 --workers 4 --metrics-port 9100",
)

REPLAY_LINES = {
    "streams": Line("streams", "{:,}"),
    "chunks": Line("chunks sent", "{:,}"),
    "messages": Line("messages sent", "{:,}"),
    "samples": Line("samples sent", "{:,}"),
    "bytes": Line("bytes sent", "{:,}"),
    "seconds": Line("time taken", "{:,.1f} s"),
    "signal_s": Line("signal per stream", "{:,.1f} s"),
    "waited_s": Line("waited for the reader", "{:,.1f} s"),
    "faults": Line("injected faults"),
    "behind_ms": Line("largest delay, ms"),
    "stopped": Line("stopped early"),
}


class Delivery(StrEnum):
    """The delivery guarantee of what the monitor publishes."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"


class LogFormat(StrEnum):
    """The form of the lines on standard error."""

    CONSOLE = "console"
    JSON = "json"


class LogLevel(StrEnum):
    """The levels of log lines."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def replay(
    sources: Annotated[list[str], typer.Argument(help=f"Recordings to play: {SOURCES}.")],
    bootstrap: Bootstrap = None,
    streams: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="INTEGER",
            show_default="one per source",
            help="Number of streams. If there are fewer sources, they repeat, each from another position.",
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", show_default="all of it", help="Signal to send of each stream."),
    ] = None,
    chunk_ms: Annotated[
        float, typer.Option(min=1, metavar="MS", help="Signal in each message (chunk), in milliseconds.")
    ] = 200,
    bundle: Bundle = 1,
    fs: Rate = None,
    column: ColumnName = None,
    gain: Gain = None,
    backend: Annotated[
        BackendKind, typer.Option(help="Where CSV files are parsed. auto: on the GPU if there is a usable one.")
    ] = BackendKind.CPU,
    speed: Annotated[
        str,
        typer.Option(
            metavar="FACTOR|max",
            rich_help_panel=PACE,
            help="Multiple of real time; max: as fast as the consumer group of --group reads.",
        ),
    ] = "1",
    group: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            rich_help_panel=PACE,
            show_default="no limit; beatwire on the mock broker",
            help="Faster than real time: the consumer group whose unread messages are limited.",
        ),
    ] = None,
    faults: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=VALUE,...",
            rich_help_panel=PACE,
            show_default="none",
            help="Faults to inject. Fractions (0-1) of the chunks: dropped, duplicated, reordered, late, clock_jump, "
            "lead_off, malformed; no_value, sessions (one for each chunk), rival (a second sender with the same id), "
            "stuck (the index of the first sample). Sizes: window (chunks), late_s, jump_s, off_s (seconds). "
            "Example: dropped=0.01,late=0.001,late_s=5.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="INTEGER", rich_help_panel=PACE, help="Random seed of the faults.")
    ] = 0,
    properties: Properties = None,
    prefix: TopicPrefix = None,
    registry: RegistryUrl = None,
    config: ConfigFile = None,
    as_json: Json = False,
) -> None:
    """Send recordings to Kafka as live streams."""
    from beatwire_producers.replay import replay as play

    from beatwire.tables import library

    cluster, opened = cluster_and_registry(config, bootstrap, properties, prefix, registry)
    with opened or nullcontext(), progress_bar("replay", as_json) as bar:
        task = bar.add_task("replay", total=1.0)
        summary = play(
            sources, cluster, speed=speed, streams=streams, fs=fs, column=column, gain=gain,
            chunk_ms=chunk_ms, bundle=bundle, faults=faults, seed=seed, seconds=seconds, group=group,
            xp=library(choose_backend(backend)),
            progress=lambda done, total: bar.update(task, completed=done, total=total),
            notes=print_message,
            registry=opened,
        )  # fmt: skip
    print_result(summary.as_dict(), as_json, REPLAY_LINES)


def monitor(
    bootstrap: Bootstrap = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default="beatwire",
            help="Consumer group. The monitors of one group share the streams.",
        ),
    ] = None,
    delivery: Annotated[
        Delivery | None,
        typer.Option(
            rich_help_panel=SERVICE,
            show_default="exactly-once",
            help="Delivery guarantee. exactly-once: in transactions; at-least-once: a crash can repeat messages.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="INTEGER",
            rich_help_panel=SERVICE,
            show_default="1",
            help="Number of processes that share the partitions; at most one per partition has work.",
        ),
    ] = None,
    threads: Threads = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            rich_help_panel=SERVICE,
            show_default="nothing is served",
            help="Serve /metrics, /healthz and /readyz of all workers on this TCP port; 0 selects a free one.",
        ),
    ] = None,
    metrics_address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            rich_help_panel=SERVICE,
            show_default="127.0.0.1",
            help="Address to listen on for metrics and health; 0.0.0.0 listens to other machines too.",
        ),
    ] = None,
    log_format: Annotated[
        LogFormat | None,
        typer.Option(
            rich_help_panel=SERVICE,
            show_default="console",
            help="Lines on standard error. json: one object a line.",
        ),
    ] = None,
    log_level: Annotated[
        LogLevel | None,
        typer.Option(rich_help_panel=SERVICE, show_default="info", help="The lowest level that is written."),
    ] = None,
    model: ModelPath = None,
    scorer: ScorerPath = None,
    score_within: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="SECONDS",
            show_default="30",
            help="Stop scoring beats while the monitor is further behind the broker than this; 0: always score.",
        ),
    ] = None,
    backend: BackendOrNone = None,
    gpu_memory: GpuMemory = None,
    managed_memory: ManagedMemoryOrNone = None,
    nvtx: NvtxOrNone = None,
    properties: Properties = None,
    prefix: TopicPrefix = None,
    registry: RegistryUrl = None,
    config: ConfigFile = None,
    as_worker: Annotated[int | None, typer.Option("--as-worker", hidden=True)] = None,
) -> None:
    """Run the monitor: read sample chunks from Kafka, publish beats and alerts.

    Messages that cannot be used are published to a dead-letter topic with the reason. The monitor runs until Ctrl-C
    or SIGTERM, then publishes what it has read.
    """
    from beatwire.service.observing.logs import configure

    configure((log_format or LogFormat.CONSOLE).value)  # for an error of the configuration
    if as_worker is None:
        values = load_with_options(
            config, bootstrap, properties, prefix,
            {
                "registry.url": registry,
                "monitor.group": group, "monitor.delivery": delivery, "monitor.workers": workers,
                "monitor.threads": threads, "monitor.score_within_s": score_within, "models.scoring": model,
                "models.scorer": scorer, "metrics.port": metrics_port, "metrics.address": metrics_address,
                "log.format": log_format, "log.level": log_level,
                "compute.backend": backend, "compute.gpu_memory": gpu_memory,
                "compute.managed_memory": managed_memory, "compute.nvtx": nvtx,
            },
        ).values  # fmt: skip
    else:
        values = parent_configuration()
    configure(values.log.format, values.log.level, worker=as_worker)
    run_configured(values, as_worker)


def parent_configuration() -> Configuration:
    """Return the configuration that the parent of a worker has written to its standard input, as one line.

    What follows it is the end of the parent, or its sign to stop: that ends the worker.
    """
    from beatwire.configuration.keys import Configuration

    line = sys.stdin.readline()
    if not line:
        raise SystemExit(TERMINATED)  # the parent has ended
    stop_with_parent()
    return Configuration.model_validate_json(line)


def run_configured(values: Configuration, worker: int | None) -> None:
    """Run the monitor of a configuration: its workers, or one process."""
    from beatwire.configuration.effect import cluster_of, registry_of
    from beatwire.configuration.settings import settings_of

    cluster, settings, registry = cluster_of(values), settings_of(values), registry_of(values)
    if values.monitor.workers > 1 and worker is None:
        from beatwire.service.workers import run_workers

        # By a pipe: other users can read a command line, and secrets are in it.
        run_workers(values.monitor.workers, values.model_dump_json(), values.metrics.port, values.metrics.address)
        return
    from beatwire.jit.threads import share_of_cores, use
    from beatwire.service.run import run_monitor

    compute, metrics = values.compute, values.metrics
    use(values.monitor.threads or share_of_cores(values.monitor.workers))
    run_monitor(
        cluster, values.monitor.group,
        choose_backend(BackendKind(compute.backend), compute.gpu_memory, compute.managed_memory, compute.nvtx),
        values.monitor.delivery, settings=settings, score_within_s=values.monitor.score_within_s,
        metrics_port=metrics.port, metrics_address=metrics.address, worker=worker, registry=registry,
    )  # fmt: skip
