"""``beatwire evaluate`` and ``beatwire bench``: accuracy on annotated records, and speed on this machine."""

from __future__ import annotations

import json
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from beatwire.cli.computing import BackendKind, Backends, GpuMemory, choose_backend
from beatwire.cli.options import (
    AnnotationEnding,
    DetectorKind,
    Detectors,
    Json,
    ModelPath,
    Seed,
    examples,
    flag,
    option,
)
from beatwire.cli.terminal import print_message, stderr
from beatwire.errors import UserError
from beatwire.outputs import check_output, write_output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NOISE = "Added noise"
LIVE = "Many live streams: bench live"
# What a folder shows -> the options that count for it alone; the others count for all.
BEATS, ALERTS, ACTIVITIES = "annotated beats", "judged alerts (--alerts)", "activities"
_USED = {
    BEATS: ("lead", "rivals", "seed", "noise", "snr", "one_lead", "annotations", "html"),
    ALERTS: ("people", "ward_beds", "annotations"),
    ACTIVITIES: ("rivals", "seed"),
}
EVALUATE_EXAMPLES = examples(
    "beatwire evaluate mitdb",
    "beatwire evaluate mitdb --lead all --html report.html",
    "beatwire evaluate mitdb --noise nstdb/em --noise electrode-motion --snr 12,6",
    "beatwire evaluate cinc2015",
    "beatwire evaluate ../shared/ecg --alerts --people development",
)


def bench(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            show_default="all",
            help="Benchmarks: detection, graph, memory, hours, recording, archive, accuracy, gpu, preloaded, garbage, "
            "live, feed, handover, page.",
        ),
    ] = None,
    record: Annotated[
        Path | None, option("FILE", "Append the results to a file, one line of JSON each.", shown="no file")
    ] = None,
    streams: Annotated[
        int | None, option("INTEGER", "Streams, in chunks of one second.", LIVE, "2,000 streams", min=1)
    ] = None,
    bundle: Annotated[int, option("INTEGER", "Streams whose chunks a message has; needs --streams.", LIVE, min=1)] = 1,
    seconds: Annotated[float, option("SECONDS", "Length of the feed; needs --streams.", LIVE, min=20.0)] = 40.0,
    workers: Annotated[int, option("INTEGER", "Processes that read; needs --streams.", LIVE, min=1)] = 2,
    as_json: Json = False,
) -> None:
    """Measure speed, memory and accuracy against their limits.

    Each figure is measured in the same run as the package or the limit that it is compared with.
    """
    for name in ("bundle", "seconds", "workers"):
        if streams is None and _is_given(ctx, name):
            raise UserError(f"--{name}: expected --streams beside it; got none")
    if streams is not None and names != ["live"]:
        raise UserError(f"--streams: expected the benchmark live alone; got {' '.join(names or ['all'])}")

    from beatwire.bench import run_benchmarks
    from beatwire.bench.broker.live_many import Plan
    from beatwire.bench.recorded import append

    plan = None if streams is None else Plan(streams, seconds, bundle, workers)
    results = run_benchmarks(names or [], log=print_message, live_streams=plan)
    if record is not None:
        append(results, record)
    if as_json:
        typer.echo(json.dumps({"rows": [result.as_dict() for result in results]}))
        return
    table = Table("measurement", "value", "compared with", "ratio", "target", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for result in results:
        table.add_row(*result.cells)
    Console().print(table)


def _check_given(ctx: typer.Context, shown: str) -> None:
    """Refuse options that were given and do nothing for a folder.

    Raises
    ------
    UserError
        An option was given that is not in ``_USED`` for a folder of what is ``shown``.
    """
    for name in dict.fromkeys(one for used in _USED.values() for one in used):
        if name not in _USED[shown] and _is_given(ctx, name):
            kinds = " or ".join(kind for kind, used in _USED.items() if name in used)
            raise UserError(f"--{name.replace('_', '-')}: expected a folder of {kinds}; got one of {shown}")


def _is_given(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def evaluate(
    ctx: typer.Context,
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER", help="Folder of annotated WFDB records; with --alerts also a folder of such folders."
        ),
    ],
    lead: Annotated[
        str, option("first|best|all", "Leads to evaluate: the first, the best of each record, or all together.")
    ] = "first",
    rivals: Annotated[bool, flag("--rivals", "Run SleepECG, NeuroKit2 and WFDB's XQRS on the same records.")] = False,
    seed: Seed = 0,
    noise: Annotated[
        list[str] | None,
        option(
            "NOISE",
            "Repeat the run with added noise: a WFDB record, several joined by +, or electrode-motion "
            "(simulated). Can be given several times.",
            NOISE,
            "none",
        ),
    ] = None,
    snr: Annotated[str, option("DB,...", "Signal-to-noise ratios in dB, separated by commas.", NOISE)] = "12,6,0",
    one_lead: Annotated[
        bool,
        flag("--one-lead", "Add the noise to one lead at a time, in bursts; compare all leads with the others.", NOISE),
    ] = False,
    annotations: AnnotationEnding = "atr",
    alerts: Annotated[bool, flag("--alerts", "Judge the alerts alone; recordings without beats always are.")] = False,
    people: Annotated[
        str, option("all|development|held back", "With --alerts: which half of the people, by a hash.")
    ] = "all",
    ward_beds: Annotated[int, option("INTEGER", "With --alerts: beds of the simulated ward.", min=0)] = 200,
    model: ModelPath = None,
    detector: Detectors = DetectorKind.NETWORK,
    backend: Backends = BackendKind.AUTO,
    gpu_memory: GpuMemory = None,
    html: Annotated[Path | None, option("FILE", "Write the report as an HTML page.", shown="no file")] = None,
    as_json: Json = False,
) -> None:
    """Measure the accuracy of beats, scores and alerts on annotated records.

    Recordings whose headers say in a comment what they show (judged bedside alarms, people in atrial fibrillation,
    noise) are judged by their alerts; recordings that name an activity (walk, run, ...) by intervals that contradict a
    smooth heart rate. Each record passes through the graph as a live stream. The exit code is 1 if a
    record cannot be read or processed.
    """
    from beatwire.model.storage import check_model, model_files
    from beatwire.recordings.files import source_files
    from beatwire.recordings.places import check_folder

    check_folder(folder)
    if model is not None:
        check_model(model)
    try:
        ratios = [float(part) for part in snr.split(",")]
    except ValueError:
        raise UserError(f"--snr: expected numbers separated by commas; got {snr!r}") from None
    if html is not None:
        records = [file for names in noise or () for name in names.split("+") for file in source_files(name)]
        check_output("--html", html, sources=[folder, *records, *model_files(model)], endings=(".html", ".htm"))

    from beatwire import evaluation  # what takes time to load
    from beatwire.api import commands as api
    from beatwire.evaluation.beats.movement import is_movement_folder, movement_as_text
    from beatwire.evaluation.beats.one_lead import one_lead_as_text
    from beatwire.evaluation.bedside.folders import is_alarm_folder

    chosen = choose_backend(backend, gpu_memory)
    print_message(chosen.reason)
    by_alerts, in_movement = alerts or is_alarm_folder(folder), is_movement_folder(folder)
    shown = ALERTS if by_alerts else ACTIVITIES if in_movement else BEATS
    _check_given(ctx, shown)
    if not noise and _is_given(ctx, "snr"):
        raise UserError("--snr: expected --noise beside it; got none")
    if one_lead and not (by_alerts or in_movement):
        _check_one_lead(ctx, noise)
    with _progress() as progress:
        how: dict[str, Any] = {
            "model": model, "detector": detector.value, "backend": chosen, "notes": print_message, "progress": progress,
        }  # fmt: skip
        as_text: Callable[[dict[str, Any]], str] = evaluation.as_text
        if by_alerts:
            as_text = evaluation.alerts_as_text
            found = api.evaluate_alerts(folder, people=people, ward_beds=ward_beds, annotations=annotations, **how)
        elif in_movement:
            as_text = movement_as_text
            found = api.evaluate_movement(folder, rivals=rivals, seed=seed, **how)
        elif one_lead:
            as_text = one_lead_as_text
            found = api.evaluate_one_lead(
                folder, noise=noise or (), snr=ratios, seed=seed, annotations=annotations, **how
            )  # fmt: skip
        else:
            found = api.evaluate(
                folder, lead=lead, seed=seed, noise=noise or (), snr=ratios, rivals=rivals, annotations=annotations,
                **how,
            )  # fmt: skip
    if html is not None:
        write_output("--html", html, evaluation.as_html(found, title=f"beatwire on {folder.name}"))
    typer.echo(json.dumps(found) if as_json else as_text(found))
    if evaluation.failures(found):
        raise typer.Exit(1)


def _check_one_lead(ctx: typer.Context, noise: list[str] | None) -> None:
    """Raise UserError unless the options of ``--one-lead`` go together."""
    if not noise:
        raise UserError("--one-lead: expected --noise beside it; got none")
    for name in ("lead", "rivals", "html"):
        if _is_given(ctx, name):
            raise UserError(f"--one-lead: expected no --{name} beside it; got one")


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """Yield what shows the record that is being evaluated: a line on a terminal, else nothing."""
    with stderr.status("evaluate") if stderr.is_terminal else nullcontext() as status:
        yield lambda name: status.update(f"evaluate {name}") if status else None
