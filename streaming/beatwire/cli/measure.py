"""``beatwire evaluate`` and ``beatwire bench``: accuracy on annotated records, and speed on this machine."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from beatwire.cli.options import (  # fmt: skip
    BackendKind,
    Backends,
    GpuMemory,
    Json,
    ModelPath,
    Seed,
    check_folder,
    choose_backend,
    examples,
)
from beatwire.cli.terminal import print_message, stderr
from beatwire.errors import UserError

NOISE = "Added noise"
EVALUATE_EXAMPLES = examples(
    "beatwire evaluate mitdb",
    "beatwire evaluate mitdb --lead all --html report.html",
    "beatwire evaluate mitdb --noise nstdb/em --noise electrode-motion --snr 12,6",
)


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            show_default="all", help="Benchmarks: detection, graph, memory, archive, accuracy, gpu, preloaded, live."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure speed, memory and accuracy against their limits.

    Each figure is measured in the same run as the package or the limit that it is compared with.
    """
    from beatwire.bench import run_benchmarks

    results = run_benchmarks(names or [], log=print_message)
    if as_json:
        typer.echo(json.dumps({"rows": [result.as_dict() for result in results]}))
        return
    table = Table("measurement", "value", "compared with", "ratio", "target", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for result in results:
        table.add_row(*result.cells)
    Console().print(table)


def evaluate(
    folder: Annotated[Path, typer.Argument(help="Folder of WFDB records with beat annotations (.atr).")],
    lead: Annotated[
        str,
        typer.Option(
            metavar="first|best|all",
            help="Leads to evaluate: the first, the best of each record, or all together.",
        ),
    ] = "first",
    rivals: Annotated[
        bool,
        typer.Option("--rivals", metavar="", help="Run SleepECG, NeuroKit2 and WFDB's XQRS on the same records."),
    ] = False,
    seed: Seed = 0,
    noise: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NOISE",
            rich_help_panel=NOISE,
            show_default="none",
            help="Repeat the run with added noise: a WFDB record, several joined by +, or electrode-motion "
            "(simulated). Can be given several times.",
        ),
    ] = None,
    snr: Annotated[
        str,
        typer.Option(
            metavar="DB,...", rich_help_panel=NOISE, help="Signal-to-noise ratios in dB, separated by commas."
        ),
    ] = "12,6,0",
    model: ModelPath = None,
    backend: Backends = BackendKind.AUTO,
    gpu_memory: GpuMemory = None,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", show_default="no file", help="Write the report as an HTML page."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure the accuracy of beats, scores and alarms on annotated records.

    Each record passes through the graph as a live stream, in chunks of random length. The exit code is 1 if a record
    cannot be read or processed.
    """
    from beatwire.evaluation import as_html, as_text, full_report
    from beatwire.evaluation.streamed import Streamed
    from beatwire.service.warmup import compile_kernels

    chosen = choose_backend(backend, gpu_memory)
    print_message(chosen.reason)
    try:
        ratios = [float(part) for part in snr.split(",")]
    except ValueError:
        raise UserError(f"--snr: expected numbers separated by commas; got {snr!r}") from None
    if html is not None:
        check_folder("--html", html)
    graph = Streamed(model, backend=chosen)
    compile_kernels(print_message, chosen)
    report = {"model": graph.name}
    with stderr.status("evaluate") if stderr.is_terminal else nullcontext() as status:
        report |= full_report(
            folder, graph, lead=lead, seed=seed, noise=noise or [], snr_db=ratios, with_rivals=rivals,
            held_out=graph.held_out(), progress=lambda name: status.update(f"evaluate {name}") if status else None,
        )  # fmt: skip
    if html is not None:
        html.write_text(as_html(report, title=f"beatwire on {folder.name}"), encoding="utf-8")
    typer.echo(json.dumps(report) if as_json else as_text(report))
    if report["failed"]:
        raise typer.Exit(1)
