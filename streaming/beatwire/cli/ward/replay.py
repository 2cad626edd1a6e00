"""The command that sends recordings as live streams: replay."""

from contextlib import nullcontext
from typing import Annotated

import typer

from beatwire.cli.computing import BackendKind, choose_backend
from beatwire.cli.configured import cluster_and_registry
from beatwire.cli.options import (
    SOURCES,
    Bootstrap,
    Bundle,
    ColumnName,
    ConfigFile,
    Gain,
    Json,
    Properties,
    Rate,
    RegistryUrl,
    TopicPrefix,
    examples,
    option,
)
from beatwire.cli.terminal import Line, print_message, print_result, progress_bar
from beatwire.signals import INTERRUPTED, code_if_ended

PACE = "Pace and faults"
EXAMPLES = examples(
    "beatwire replay synthetic --streams 8 --bootstrap-servers localhost:9092",
    "beatwire replay ecg.csv --fs 250 --speed 10 --bootstrap-servers localhost:9092",
    "beatwire replay mitdb/203 --faults dropped=0.01,late=0.001 --bootstrap-servers localhost:9092",
)
LINES = {
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


def replay(
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE", help=f"Recordings to play: {SOURCES}.")],
    bootstrap: Bootstrap = None,
    streams: Annotated[
        int | None,
        option(
            "INTEGER",
            "Number of streams, at least that of sources. Fewer sources repeat, each from another position.",
            shown="one per source",
            min=1,
        ),
    ] = None,
    seconds: Annotated[float | None, option("SECONDS", "Signal to send of each stream.", shown="all of it")] = None,
    chunk_ms: Annotated[float, option("MS", "Signal in each message (chunk), in milliseconds.", min=1)] = 200,
    bundle: Bundle = 1,
    fs: Rate = None,
    column: ColumnName = None,
    gain: Gain = None,
    backend: Annotated[
        BackendKind, option("", "Where CSV files are parsed. auto: on the GPU if there is a usable one.")
    ] = BackendKind.CPU,
    speed: Annotated[
        str, option("FACTOR|max", "Multiple of real time; max: as fast as the consumer group of --group reads.", PACE)
    ] = "1",
    group: Annotated[
        str | None,
        option(
            "NAME",
            "Faster than real time: the consumer group whose unread messages are limited.",
            PACE,
            "no limit; beatwire on the mock broker",
        ),
    ] = None,
    faults: Annotated[
        str | None,
        option(
            "NAME=VALUE,...",
            "Faults to inject. Fractions (0-1) of the chunks: dropped, duplicated, reordered, late, clock_jump, "
            "lead_off, malformed; no_value, sessions (one for each chunk), rival (a second sender with the same id), "
            "stuck (the index of the first sample). Sizes: window (chunks), late_s, jump_s, off_s (seconds). "
            "Example: dropped=0.01,late=0.001,late_s=5.",
            PACE,
            "none",
        ),
    ] = None,
    seed: Annotated[int, option("INTEGER", "Random seed of the faults.", PACE, min=0)] = 0,
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
    print_result(summary.as_dict(), as_json, LINES)
    if summary.stopped:
        raise typer.Exit(code_if_ended() or INTERRUPTED)
