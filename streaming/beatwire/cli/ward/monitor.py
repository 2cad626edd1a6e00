"""The command that processes live streams on an existing Kafka: monitor."""

from __future__ import annotations

import sys
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
    with_cards,
)
from beatwire.cli.configured import load_with_options
from beatwire.cli.options import (
    Bootstrap,
    ConfigFile,
    ModelPath,
    Properties,
    RegistryUrl,
    ScorerPath,
    TopicPrefix,
    examples,
    option,
)
from beatwire.signals import TERMINATED, stop_with_parent

if TYPE_CHECKING:
    from beatwire.configuration.keys import Configuration

SERVICE = "Service"

EXAMPLES = examples(
    "beatwire monitor --bootstrap-servers localhost:9092",
    "beatwire monitor --bootstrap-servers localhost:9092 --workers 4 --metrics-port 9100",
)


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


def monitor(
    bootstrap: Bootstrap = None,
    group: Annotated[
        str | None, option("NAME", "Consumer group. The monitors of one group share the streams.", shown="beatwire")
    ] = None,
    delivery: Annotated[
        Delivery | None,
        option(
            "",
            "Delivery guarantee. exactly-once: in transactions; at-least-once: a crash can repeat messages.",
            SERVICE,
            "exactly-once",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        option(
            "INTEGER",
            "Number of processes that share the partitions; at most one per partition has work.",
            SERVICE,
            "1",
            min=1,
        ),
    ] = None,
    threads: Threads = None,
    metrics_port: Annotated[
        int | None,
        option(
            "PORT",
            "Serve /metrics, /healthz and /readyz of all workers on this TCP port; 0 selects a free one.",
            SERVICE,
            "nothing is served",
        ),
    ] = None,
    metrics_address: Annotated[
        str | None,
        option(
            "ADDRESS",
            "Address to listen on for metrics and health; 0.0.0.0 listens to other machines too.",
            SERVICE,
            "127.0.0.1",
        ),
    ] = None,
    log_format: Annotated[
        LogFormat | None, option("", "Lines on standard error. json: one object a line.", SERVICE, "console")
    ] = None,
    log_level: Annotated[LogLevel | None, option("", "The lowest level that is written.", SERVICE, "info")] = None,
    model: ModelPath = None,
    scorer: ScorerPath = None,
    score_within: Annotated[
        float | None,
        option(
            "SECONDS",
            "Stop scoring beats while the monitor is further behind the broker than this; 0: always score.",
            shown="30",
            min=0,
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
    sharing: Annotated[int, typer.Option("--sharing", hidden=True)] = 1,
) -> None:
    """Run the monitor: read sample chunks from Kafka, publish beats and alerts.

    Messages that cannot be used are published to a dead-letter topic with the reason. The monitor runs until Ctrl-C
    or SIGTERM, then publishes what it has read.
    """
    from beatwire.service.observing.logs import configure
    from beatwire.service.process_tuning import keep_freed_memory

    keep_freed_memory()  # before any thread
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
            monitors=True,
        ).values  # fmt: skip
    else:
        values = parent_configuration()
    configure(values.log.format, values.log.level, worker=as_worker)
    run_configured(values, as_worker, sharing)


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


def run_configured(values: Configuration, worker: int | None, sharing: int = 1) -> None:
    """Run the monitor of a configuration: its workers, or one process, of which so many share its card."""
    from beatwire.configuration.effect import cluster_of, registry_of
    from beatwire.configuration.settings import settings_of

    cluster, settings, registry = cluster_of(values), settings_of(values), registry_of(values)
    if values.monitor.workers > 1 and worker is None:
        from beatwire.service.workers import run_workers

        # By a pipe: other users can read a command line, and secrets are in it.
        run_workers(
            values.monitor.workers, values.model_dump_json(), values.metrics.port, values.metrics.address,
            with_cards=with_cards(BackendKind(values.compute.backend)),
        )  # fmt: skip
        return
    from beatwire.jit.threads import share_of_cores, use
    from beatwire.service.run import run_monitor

    compute, metrics = values.compute, values.metrics
    use(values.monitor.threads or share_of_cores(values.monitor.workers))
    run_monitor(
        cluster, values.monitor.group,
        choose_backend(
            BackendKind(compute.backend), compute.gpu_memory, compute.managed_memory, compute.nvtx, sharing
        ),
        values.monitor.delivery, settings=settings, score_within_s=values.monitor.score_within_s,
        metrics_port=metrics.port, metrics_address=metrics.address, worker=worker, registry=registry,
    )  # fmt: skip
