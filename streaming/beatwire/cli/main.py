"""The commands: arguments become settings, then something runs. No logic of its own.

A user's error is one line on standard error and exit code 2; ours is one line and exit code 1.
With ``--json`` standard output holds one JSON object and nothing else.
"""

from __future__ import annotations

import json
import os
import sys
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from beatwire.cli.measure import bench, evaluate
from beatwire.cli.terminal import (  # fmt: skip
    BackendKind,
    Backends,
    Bootstrap,
    GpuMemory,
    Json,
    ManagedMemory,
    ModelPath,
    Seed,
    chosen,
    errors,
    note,
    progress_bar,
    say,
)
from beatwire.cli.train import train
from beatwire.errors import FatalError, LostCardError, UserError

# The network's matrices are small: threads of the linear algebra library only get in the way of the others.
for _limit in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(_limit, "1")

app = typer.Typer(
    help="A streaming ECG monitor. Not a medical device.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(train, name="train")


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"beatwire {version('beatwire')}")
        raise typer.Exit


@app.callback()
def _beatwire(
    _version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_tell_version, help="Say which this is.")
    ] = False,
) -> None:
    pass


class BrokerKind(StrEnum):
    """Which broker the demo brings."""

    AUTO = "auto"
    KAFKA = "kafka"
    MOCK = "mock"


class Delivery(StrEnum):
    """What a crash may cost: nothing, or messages that come twice."""

    EXACTLY_ONCE = "exactly-once"
    AT_LEAST_ONCE = "at-least-once"


class Kind(StrEnum):
    """What to listen to."""

    BEATS = "beats"
    ALERTS = "alerts"


@app.command()
def demo(
    streams: Annotated[int, typer.Option(min=1, help="Beds in the ward.")] = 8,
    seconds: Annotated[float, typer.Option(min=10, help="Length of the show.")] = 30,
    broker: Annotated[BrokerKind, typer.Option(help="Real, librdkafka's mock, or what is there.")] = BrokerKind.AUTO,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Show the whole monitor: a broker of its own, a synthetic ward, alerts as they happen."""
    from beatwire.service.demo import run_demo

    result = run_demo(streams, seconds, broker.value, seed, quiet=as_json)
    say(result, as_json, "beatwire demo")
    if result["missed"]:
        raise typer.Exit(1)


@app.command()
def broker(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where it listens; 0: any free one.")] = 9092,
    directory: Annotated[Path | None, typer.Option("--dir", help="For its log; a temporary one by default.")] = None,
    jars: Annotated[Path | None, typer.Option(help="Folder with Kafka's jars, for a machine without network.")] = None,
) -> None:
    """Run a real Apache Kafka on this machine, without Docker."""
    from beatwire.kafka.local.broker import main_broker

    main_broker(port, directory, jars)


@app.command()
def topics(
    bootstrap: Bootstrap,
    partitions: Annotated[int, typer.Option(min=1, help="Of each topic: as many workers can share the streams.")] = 4,
    replication: Annotated[
        int | None, typer.Option(min=1, help="Brokers that keep each message; the broker's own default by default.")
    ] = None,
) -> None:
    """Create the topics of the monitor where they are missing, on a Kafka of your own."""
    from beatwire.kafka.topics import TOPICS, check_broker, create_topics

    check_broker(bootstrap)
    created = create_topics(bootstrap, partitions=partitions, replication=replication or -1)
    for name in TOPICS:
        typer.echo(f"{name}: {'created' if name in created else 'was there'}")


@app.command()
def replay(
    sources: Annotated[list[str], typer.Argument(help="CSV files, WFDB records, or synthetic[:key=value,...].")],
    bootstrap: Bootstrap,
    speed: Annotated[str, typer.Option(help="Times real time, or max.")] = "1",
    streams: Annotated[int | None, typer.Option(min=1, help="How many; the sources repeat.")] = None,
    fs: Annotated[float | None, typer.Option(help="Hz, where the source does not say.")] = None,
    column: Annotated[str | None, typer.Option(help="The column or lead to read.")] = None,
    gain: Annotated[float | None, typer.Option(help="Units per millivolt of a CSV's numbers.")] = None,
    chunk_ms: Annotated[float, typer.Option(min=1, help="Length of a chunk.")] = 200,
    faults: Annotated[str | None, typer.Option(help="For instance dropped=0.01,duplicated=0.01.")] = None,
    seed: Seed = 0,
    seconds: Annotated[float | None, typer.Option(help="Seconds of signal of each stream; all by default.")] = None,
    group: Annotated[str | None, typer.Option(help="At full speed: the group that must not be outrun.")] = None,
    backend: Annotated[BackendKind, typer.Option(help="Of a GPU: it parses CSVs.")] = BackendKind.CPU,
    as_json: Json = False,
) -> None:
    """Play recordings as live streams."""
    from beatwire_producers.replay import replay as play

    from beatwire.tables import library

    with progress_bar("replay", as_json) as bar:
        task = bar.add_task("replay", total=1.0)
        summary = play(
            sources, bootstrap, speed=speed, streams=streams, fs=fs, column=column, gain=gain, chunk_ms=chunk_ms,
            faults=faults, seed=seed, seconds=seconds, group=group, xp=library(chosen(backend, None)),
            progress=lambda done, total: bar.update(task, completed=done, total=total),
            notes=note,
        )  # fmt: skip
    say(summary.as_dict(), as_json, "replayed")


@app.command()
def monitor(
    bootstrap: Bootstrap,
    group: Annotated[str, typer.Option(help="Consumer group; its members share the streams.")] = "beatwire",
    backend: Backends = BackendKind.AUTO,
    delivery: Annotated[Delivery, typer.Option(help="What a crash may cost: nothing, or messages twice.")] = (
        Delivery.EXACTLY_ONCE
    ),
    model: ModelPath = None,
    score_within: Annotated[
        float, typer.Option(min=0, help="Seconds behind from which on beats are no longer scored; 0: always score.")
    ] = 30.0,
    metrics_port: Annotated[int | None, typer.Option(help="Serve Prometheus metrics there.")] = None,
    gpu_memory: GpuMemory = None,
    managed_memory: ManagedMemory = False,
    nvtx: Annotated[bool, typer.Option("--nvtx", help="Name what runs on the GPU for a profiler.")] = False,
    workers: Annotated[
        int, typer.Option(min=1, help="Processes that share the group's partitions; metrics from --metrics-port on.")
    ] = 1,
    as_worker: Annotated[bool, typer.Option("--as-worker", hidden=True)] = False,
) -> None:
    """Run the service: sample chunks in; beats, alerts and dead letters out."""
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
        run_workers([[*common, *port] for port in ports], note)
        return
    run_monitor(
        bootstrap, group, chosen(backend, gpu_memory, managed_memory, nvtx), delivery.value, model=model,
        score_within_s=score_within, metrics_port=metrics_port, as_worker=as_worker, say=note,
    )  # fmt: skip


@app.command()
def analyze(
    source: Annotated[str, typer.Argument(help="A CSV file, a WFDB record, or synthetic[:key=value,...].")],
    lead: Annotated[str, typer.Option(help="first, all, a name, or a number counted from 0.")] = "first",
    fs: Annotated[float | None, typer.Option(help="Hz, where the source does not say.")] = None,
    column: Annotated[str | None, typer.Option(help="The column or lead to read.")] = None,
    gain: Annotated[float | None, typer.Option(help="Units per millivolt of a CSV's numbers.")] = None,
    chunk_ms: Annotated[
        float | None, typer.Option(min=1, help="Go through it in chunks of this length, as a device sends them.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Cut chunks and ticks at random instead.")] = None,
    out: Annotated[Path | None, typer.Option(help="Beats to .csv, .parquet or a WFDB annotation file.")] = None,
    model: ModelPath = None,
    backend: Annotated[
        BackendKind, typer.Option(help="A GPU's kernels take half a minute to compile, once: for weeks of signal.")
    ] = BackendKind.CPU,
    gpu_memory: GpuMemory = None,
    as_json: Json = False,
) -> None:
    """Take a recording through the same graph, without a broker."""
    from beatwire.backends.choose import bytes_of
    from beatwire.cli.analyze import run_analysis

    there = chosen(backend, gpu_memory)
    if backend is not BackendKind.CPU:
        note(there.reason)
    with progress_bar("analyze", as_json) as bar:
        task = bar.add_task("analyze", total=1.0)
        result = run_analysis(
            source, lead=lead, fs=fs, column=column, gain=gain, chunk_ms=chunk_ms, seed=seed, out=out,
            model=model, backend=there,
            memory_bytes=bytes_of(gpu_memory) if gpu_memory and there.name == "gpu" else None,
            progress=lambda done: bar.update(task, completed=done),
            notes=note,
        )  # fmt: skip
    say(result, as_json, "analyzed")


@app.command()
def tail(
    kind: Annotated[Kind, typer.Argument(help="What to listen to.")],
    bootstrap: Bootstrap,
    earliest: Annotated[bool, typer.Option("--from-beginning", help="All that is there, then what comes.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Print beats or alerts as they come."""
    from beatwire.kafka.readers import line_of
    from beatwire.kafka.readers import tail as follow
    from beatwire.signals import stop_on_signals

    with stop_on_signals() as stop:
        for record in follow(kind.value, bootstrap, stop=stop, earliest=earliest, notes=note):
            typer.echo(json.dumps(record, default=str) if as_json else line_of(kind.value, record))


app.command()(bench)
app.command()(evaluate)


def main() -> None:
    """Run the command line; errors become one line and an exit code."""
    try:
        app(prog_name="beatwire")
    except UserError as error:
        errors.print(f"beatwire: {error}", style="red", highlight=False, soft_wrap=True, markup=False)
        sys.exit(2)
    except FatalError as error:
        errors.print(f"beatwire: {error}", style="bold red", highlight=False, soft_wrap=True, markup=False)
        if isinstance(error, LostCardError):
            sys.stdout.flush()
            os._exit(1)  # the libraries of a lost card complain, or hang, when they are taken down
        sys.exit(1)
