"""``beatwire bench`` and ``beatwire evaluate``: how fast it is, and how good."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from beatwire.cli.terminal import BackendKind, Backends, GpuMemory, Json, ModelPath, Seed, chosen, errors, note
from beatwire.errors import UserError


def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Of detection, graph, memory, archive, accuracy, gpu, preloaded, live; all by default."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure the bars, each beside its rival in the same run."""
    from beatwire.bench import run_benchmarks

    rows = run_benchmarks(names or [], say=note)
    if as_json:
        typer.echo(json.dumps({"rows": [row.as_dict() for row in rows]}))
        return
    table = Table("what", "value", "against", "ratio", "bar", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for row in rows:
        table.add_row(*row.cells)
    Console().print(table)


def evaluate(
    folder: Annotated[Path, typer.Argument(help="Folder of annotated WFDB records.")],
    lead: Annotated[str, typer.Option(help="first, best or all.")] = "first",
    noise: Annotated[
        list[str] | None, typer.Option(help="A noise record, several joined by +, or electrode-motion.")
    ] = None,
    snr: Annotated[str, typer.Option(help="Signal-to-noise ratios in dB, with commas between.")] = "12,6,0",
    rivals: Annotated[bool, typer.Option("--rivals", help="SleepECG, NeuroKit2 and XQRS in the same run.")] = False,
    model: ModelPath = None,
    backend: Backends = BackendKind.AUTO,
    gpu_memory: GpuMemory = None,
    seed: Seed = 0,
    html: Annotated[Path | None, typer.Option(help="Write a page as well.")] = None,
    as_json: Json = False,
) -> None:
    """Judge the streamed graph on annotated records, cut at random."""
    from beatwire.evaluation import as_html, as_text, full_report
    from beatwire.evaluation.streamed import Streamed
    from beatwire.service.warmup import compile_kernels

    there = chosen(backend, gpu_memory)
    note(there.reason)
    try:
        ratios = [float(part) for part in snr.split(",")]
    except ValueError:
        raise UserError(f"--snr: expected numbers with commas between; got {snr!r}") from None
    graph = Streamed(model, backend=there)
    compile_kernels(note, there)
    report = {"model": graph.name}
    with errors.status("evaluate") if errors.is_terminal else nullcontext() as status:
        report |= full_report(
            folder, graph, lead=lead, seed=seed, noise=noise or [], snr_db=ratios, with_rivals=rivals,
            instead=graph.instead(), progress=lambda name: status.update(f"evaluate {name}") if status else None,
        )  # fmt: skip
    if html is not None:
        html.write_text(as_html(report, title=f"beatwire on {folder.name}"), encoding="utf-8")
    typer.echo(json.dumps(report) if as_json else as_text(report))
    if report["failed"]:
        raise typer.Exit(1)
