"""``beatwire analyze``: the arguments of the command; ``beatwire.cli.analysis`` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from beatwire.cli.options import (  # fmt: skip
    COMPUTING,
    RECORDING,
    SOURCES,
    BackendKind,
    ColumnName,
    Gain,
    GpuMemory,
    Json,
    ModelPath,
    Rate,
    choose_backend,
    examples,
)
from beatwire.cli.terminal import Line, print_message, print_result, progress_bar

CUTTING = "Processing in chunks"
EXAMPLES = examples(
    "beatwire analyze synthetic:seconds=60",
    "beatwire analyze ecg.csv --fs 250 --out beats.csv",
    "beatwire analyze mitdb/203 --lead all --json",
)
LINES = {
    "source": Line("recording"),
    "leads": Line("leads"),
    "rate_hz": Line("sampling rate", "{:g} Hz"),
    "seconds": Line("length", "{:,.1f} s"),
    "samples": Line("samples", "{:,}"),
    "beats": Line("beats", "{:,}"),
    "median_rate_bpm": Line("heart rate, median", "{:.1f} /min"),
    "mean_rr_ms": Line("RR interval, mean", "{:.1f} ms"),
    "median_rr_ms": Line("RR interval, median", "{:.1f} ms"),
    "sdnn_ms": Line("SDNN (standard deviation of RR)", "{:.1f} ms"),
    "rmssd_ms": Line("RMSSD (beat-to-beat change of RR)", "{:.1f} ms"),
    "pnn50": Line("pNN50 (changes above 50 ms)", "{:.1f} %"),
    "alerts": Line("alerts", "{:,}"),
    "gaps": Line("gaps in the signal", "{:,}"),
    "model": Line("scoring model"),
    "took_s": Line("computing time", "{:,.2f} s"),
    "out": Line("beats written to"),
    "alerts_out": Line("alerts written to"),
}


def analyze(
    source: Annotated[str, typer.Argument(help=f"Recording to analyze: {SOURCES}.")],
    lead: Annotated[
        str,
        typer.Option(
            metavar="LEAD",
            rich_help_panel=RECORDING,
            help="Lead to analyze, of those that are read: first, a name, a number counted from 0, or all (combined).",
        ),
    ] = "first",
    fs: Rate = None,
    column: ColumnName = None,
    gain: Gain = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default="no file",
            help="Write the beats to this file; its ending selects the format: .csv, .csv.gz, .parquet, or .atr "
            "(or other letters) for WFDB annotations. Alerts go to FILE.alerts.jsonl.",
        ),
    ] = None,
    as_json: Json = False,
    model: ModelPath = None,
    backend: Annotated[
        BackendKind,
        typer.Option(
            rich_help_panel=COMPUTING,
            help="Where to compute. auto: on the GPU if there is a usable one. Its kernels compile for half a minute "
            "at the first start, so it is worth it for weeks of signal.",
        ),
    ] = BackendKind.CPU,
    gpu_memory: GpuMemory = None,
    chunk_ms: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="MS",
            rich_help_panel=CUTTING,
            show_default="off",
            help="Process the recording in chunks of this many milliseconds, as a device sends them. "
            "Slower; the result is the same.",
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="INTEGER",
            rich_help_panel=CUTTING,
            show_default="off",
            help="Process the recording in chunks of random length, drawn with this seed: up to twice --chunk-ms, "
            "or 2 s without it. The result is the same.",
        ),
    ] = None,
) -> None:
    """Find beats and alerts in a recording, without Kafka.

    The recording passes through the same graph as a live stream.
    """
    from beatwire.backends.choose import bytes_of
    from beatwire.cli.analysis import run_analysis

    chosen = choose_backend(backend, gpu_memory)
    if backend is not BackendKind.CPU:
        print_message(chosen.reason)
    with progress_bar("analyze", as_json) as bar:
        task = bar.add_task("analyze", total=1.0)
        result = run_analysis(
            source, lead=lead, fs=fs, column=column, gain=gain, chunk_ms=chunk_ms, seed=seed, out=out,
            model=model, backend=chosen,
            memory_bytes=bytes_of(gpu_memory) if gpu_memory and chosen.name == "gpu" else None,
            progress=lambda done: bar.update(task, completed=done),
            notes=print_message,
        )  # fmt: skip
    print_result(result, as_json, LINES)
