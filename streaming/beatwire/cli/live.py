"""The commands for live streams on an existing Kafka: replay, monitor, tail."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Annotated

import typer

from beatwire.cli.options import (  # fmt: skip
    SOURCES,
    BackendKind,
    Backends,
    Bootstrap,
    ColumnName,
    Gain,
    GpuMemory,
    Json,
    ManagedMemory,
    ModelPath,
    Nvtx,
    Rate,
    choose_backend,
    examples,
)
from beatwire.cli.terminal import Line, print_message, print_result, progress_bar

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
TAIL_EXAMPLES = examples(
    "beatwire tail alerts --bootstrap-servers localhost:9092",
    "beatwire tail beats --json --from-beginning --bootstrap-servers localhost:9092",
)

REPLAY_LINES = {
    "streams": Line("streams", "{:,}"),
    "chunks": Line("messages sent", "{:,}"),
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


class Topic(StrEnum):
    """A topic that ``beatwire tail`` prints."""

    BEATS = "beats"
    ALERTS = "alerts"


def replay(
    sources: Annotated[list[str], typer.Argument(help=f"Recordings to play: {SOURCES}.")],
    bootstrap: Bootstrap,
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
            "lead_off, malformed. Sizes: window (chunks), late_s, jump_s, off_s (seconds). "
            "Example: dropped=0.01,late=0.001,late_s=5.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, metavar="INTEGER", rich_help_panel=PACE, help="Random seed of the faults.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Send recordings to Kafka as live streams."""
    from beatwire_producers.replay import replay as play

    from beatwire.tables import library

    with progress_bar("replay", as_json) as bar:
        task = bar.add_task("replay", total=1.0)
        summary = play(
            sources, bootstrap, speed=speed, streams=streams, fs=fs, column=column, gain=gain, chunk_ms=chunk_ms,
            faults=faults, seed=seed, seconds=seconds, group=group, xp=library(choose_backend(backend)),
            progress=lambda done, total: bar.update(task, completed=done, total=total),
            notes=print_message,
        )  # fmt: skip
    print_result(summary.as_dict(), as_json, REPLAY_LINES)


def monitor(
    bootstrap: Bootstrap,
    group: Annotated[
        str, typer.Option(metavar="NAME", help="Consumer group. The monitors of one group share the streams.")
    ] = "beatwire",
    delivery: Annotated[
        Delivery,
        typer.Option(
            rich_help_panel=SERVICE,
            help="Delivery guarantee. exactly-once: in transactions; at-least-once: a crash can repeat messages.",
        ),
    ] = Delivery.EXACTLY_ONCE,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="INTEGER",
            rich_help_panel=SERVICE,
            help="Number of processes that share the partitions; at most one per partition has work.",
        ),
    ] = 1,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            rich_help_panel=SERVICE,
            show_default="no metrics",
            help="Serve Prometheus metrics on this TCP port; each further worker uses the next port.",
        ),
    ] = None,
    model: ModelPath = None,
    score_within: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Stop scoring beats while the monitor is further behind the broker than this; 0: always score.",
        ),
    ] = 30.0,
    backend: Backends = BackendKind.AUTO,
    gpu_memory: GpuMemory = None,
    managed_memory: ManagedMemory = False,
    nvtx: Nvtx = False,
    as_worker: Annotated[bool, typer.Option("--as-worker", hidden=True)] = False,
) -> None:
    """Run the monitor: read sample chunks from Kafka, publish beats and alerts.

    Messages that cannot be used are published to a dead-letter topic with the reason. The monitor runs until Ctrl-C
    or SIGTERM, then publishes what it has read.
    """
    from beatwire.service.run import run_monitor

    if workers > 1:
        from beatwire.service.workers import run_workers

        common = [
            "monitor", "--as-worker", "--bootstrap-servers", bootstrap, "--group", group, "--backend", backend.value,
            "--delivery", delivery.value, "--score-within", str(score_within),
            *(("--model", str(model)) if model is not None else ()),
            *(("--gpu-memory", gpu_memory) if gpu_memory is not None else ()),
            *(("--managed-memory",) if managed_memory else ()),
            *(("--nvtx",) if nvtx else ()),
        ]  # fmt: skip
        ports = [[] if metrics_port is None else ["--metrics-port", str(metrics_port + k)] for k in range(workers)]
        run_workers([[*common, *port] for port in ports], print_message)
        return
    run_monitor(
        bootstrap, group, choose_backend(backend, gpu_memory, managed_memory, nvtx), delivery.value, model=model,
        score_within_s=score_within, metrics_port=metrics_port, as_worker=as_worker, say=print_message,
    )  # fmt: skip


def tail(
    kind: Annotated[Topic, typer.Argument(help="What to print.")],
    bootstrap: Bootstrap,
    earliest: Annotated[
        bool,
        typer.Option(
            "--from-beginning", metavar="", help="Start with the oldest message in place of the next new one."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", metavar="", help="Print one JSON object per line.")] = False,
) -> None:
    """Print beats or alerts as they are published, until Ctrl-C."""
    from beatwire.kafka.readers import line_of
    from beatwire.kafka.readers import tail as follow
    from beatwire.signals import stop_on_signals

    with stop_on_signals() as stop:
        for record in follow(kind.value, bootstrap, stop=stop, earliest=earliest, notes=print_message):
            typer.echo(json.dumps(record, default=str) if as_json else line_of(kind.value, record))
