"""``beatwire chaos``: disturb monitors on a real Kafka and compare their output with an undisturbed run."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from beatwire.cli.options import SOURCES, Bundle, Json, Seed, examples, option
from beatwire.cli.terminal import print_message

if TYPE_CHECKING:
    from beatwire.bench.chaos.run import Report

EXAMPLES = examples(
    "beatwire chaos --minutes 5",
    "beatwire chaos mitdb/100 mitdb/203 --events kill --every 4 --json",
    "beatwire chaos --kills 100 --broker-restarts 20 --scale-changes 20 --network-faults 20",
    "beatwire chaos --garbage 2 --bundle 8",
    "beatwire chaos --events soak --minutes 30 --every 30 --streams 150 --speed 1 --faults rival=0.002,late=0.01",
)
DISTURBANCES = "Disturbances"


class Events(StrEnum):
    """The sets of ``bench.chaos.plan``."""

    ALL = "all"
    WORKER = "worker"
    KILL = "kill"
    FREEZE = "freeze"
    SCALE = "scale"
    BROKER = "broker"
    NETWORK = "network"
    SOAK = "soak"
    NONE = "none"


def _count(what: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        min=0, metavar="INTEGER", rich_help_panel=DISTURBANCES, help=f"Make exactly so many {what}, in random order."
    )
    return option


def chaos(
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SOURCE",
            show_default="a synthetic ward with planted events",
            help=f"Recordings to play: {SOURCES}.",
        ),
    ] = None,
    minutes: Annotated[float, option("MINUTES", "Duration of the disturbances.", min=0)] = 2.0,
    seconds: Annotated[
        float | None, option("SECONDS", "Signal of each stream, in place of a time.", shown="as the time allows", min=1)
    ] = None,
    streams: Annotated[int, option("INTEGER", "Number of streams.", min=1)] = 40,
    speed: Annotated[float, option("FACTOR", "Multiple of real time.", min=0.1)] = 5.0,
    garbage: Annotated[float, option("SHARE", "Unusable messages between the others, for each of them.", min=0)] = 0.0,
    faults: Annotated[
        str | None, option("NAME=VALUE,...", "Faults of devices and networks, as of: beatwire replay.", shown="none")
    ] = None,
    bundle: Bundle = 1,
    workers: Annotated[int, option("INTEGER", "Workers at the start, 1-4.", min=1, max=4)] = 2,
    events: Annotated[
        Events,
        option(
            "",
            "Which disturbances: kill (SIGKILL), freeze (SIGSTOP for 4-20 s), scale (more, fewer, others), "
            "worker (these three), broker (killed or stopped, and started again), network (connections cut, stalls, "
            "writes refused, answers lost), all, soak (kills, pauses of the feed, a busy machine; probes and memory "
            "are watched), none.",
            DISTURBANCES,
        ),
    ] = Events.ALL,
    every: Annotated[float, option("SECONDS", "Mean time between disturbances.", DISTURBANCES, min=0)] = 5.0,
    kills: Annotated[int, _count("kills of a worker")] = 0,
    freezes: Annotated[int, _count("freezes of a worker")] = 0,
    scale_changes: Annotated[int, _count("changes of the number of workers")] = 0,
    broker_restarts: Annotated[int, _count("restarts of the broker")] = 0,
    network_faults: Annotated[int, _count("faults of the network")] = 0,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Disturb monitors on a real Kafka, and compare what they publish with an undisturbed run.

    Starts a broker and a group of workers, plays recordings, and kills, freezes, stops and adds workers, restarts the
    broker, or disturbs the network between them. The same messages then go through one graph that nobody disturbs. With
    --kills, --freezes, --scale-changes, --broker-restarts or --network-faults exactly these are made, however long it
    takes. --garbage 2 sends two unusable
    messages behind each other one; their dead letters are compared as well. Alerts of the rule 'no data' are
    not compared: they depend on the clock. The exit code is 1 if anything is lost, twice or different.
    """
    from beatwire.bench.chaos.plan import Counts
    from beatwire.bench.chaos.run import Settings, run_chaos

    counts = Counts(kills, freezes, scale_changes, broker_restarts, network_faults)
    settings = Settings(
        tuple(sources or ()), streams=streams, seconds=seconds, speed=speed, bundle=bundle, garbage=garbage,
        faults=faults, workers=workers,
        events=events.value, counts=counts, minutes=minutes, every_s=every, seed=seed,
    )  # fmt: skip
    report = run_chaos(settings, print_message)
    if as_json:
        typer.echo(json.dumps(report.as_dict()))
    else:
        _print(report)
    if not report.equal:
        raise typer.Exit(1)


def _print(report: Report) -> None:
    """Print the answer, then a table of what was published and what was disturbed."""
    total = {name: sum(getattr(c, name) for c in report.output.values()) for name in ("lost", "twice", "different")}
    unexpected = sum(c.unexpected for c in report.output.values())
    typer.echo(
        f"{'equal' if report.equal else 'NOT EQUAL'}: {total['lost']} lost, {total['twice']} twice, "
        f"{total['different']} different, {unexpected} unexpected"
    )
    table = Table(
        "output", "expected", "published", "lost", "twice", "different", "unexpected",
        box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0),
    )  # fmt: skip
    for column in table.columns[1:]:
        column.justify = "right"
    for kind, c in report.output.items():
        counts = (c.expected, c.published, c.lost, c.twice, c.different, c.unexpected)
        table.add_row(kind, *(f"{count:,}" for count in counts))
    Console().print(table)
    made = ", ".join(f"{kind} {count}" for kind, count in sorted(report.events.items())) or "none"
    letters = f", dead letters in {report.letters:,}" if report.letters else ""
    typer.echo(f"disturbances in {report.seconds / 60:.1f} min: {made}; {report.messages:,} messages{letters}")
    grown = ", ".join(
        f"{name} {' then '.join(f'{mb:.0f}' for mb in thirds)} MB" for name, thirds in report.memory_mb.items()
    )
    if grown:
        typer.echo(f"caught up after {report.settled_s:.0f} s; a probe failed for {report.unhealthy_s:.0f} s; {grown}")
    for c in report.output.values():
        for example in c.examples:
            typer.echo(f"  {example}")
    for line in (*report.ended, *report.exceeded):
        typer.echo(f"  {line}")
    if report.unpublished:
        typer.echo(f"  {report.unpublished:,} messages were not published in time")
    if any(report.exit_codes):
        typer.echo(f"  exit codes of the workers that were stopped: {report.exit_codes}")
    if report.logs:
        typer.echo(f"logs of the workers: {report.logs}")
