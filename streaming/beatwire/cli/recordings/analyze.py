"""``beatwire analyze``: the arguments of the command; ``beatwire.cli.recordings.analysis`` does the work."""

import json
from pathlib import Path
from typing import Annotated

import typer

from beatwire.cli.computing import BackendKind, GpuMemory, RecordingBackend, choose_recording_backend
from beatwire.cli.options import SOURCES, ColumnName, Gain, Json, Lead, ModelPath, Rate, ScorerPath, examples, option
from beatwire.cli.terminal import print_message, progress_bar, stderr
from beatwire.errors import UserError

CUTTING = "Processing in chunks"
EXAMPLES = examples(
    "beatwire analyze synthetic:seconds=60",
    "beatwire analyze ecg.csv --fs 250 --out beats.csv",
    "beatwire analyze mitdb/203 --alerts alerts.jsonl",
    "beatwire analyze mitdb/203 --lead first --json",
)


def analyze(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=f"Recording to analyze: {SOURCES}.")],
    lead: Lead = "all",
    fs: Rate = None,
    column: ColumnName = None,
    gain: Gain = None,
    out: Annotated[
        Path | None,
        option(
            "FILE",
            "Write the beats to this file; its ending selects the format: .csv, .csv.gz, .parquet, or .atr "
            "(or other letters) for WFDB annotations. Alerts go to FILE.alerts.jsonl.",
            shown="no file",
        ),
    ] = None,
    alerts: Annotated[
        Path | None,
        option(
            "FILE",
            "Write every begin and end of an alert to this file, one line of JSON each, with the fields of the "
            "topic ecg.alerts; shortest durations and reminders are the monitor's. - is standard output; the summary "
            "then goes to standard error.",
            shown="no file",
        ),
    ] = None,
    as_json: Json = False,
    model: ModelPath = None,
    scorer: ScorerPath = None,
    backend: RecordingBackend = BackendKind.CPU,
    gpu_memory: GpuMemory = None,
    chunk_ms: Annotated[
        float | None,
        option(
            "MS",
            "Process the recording in chunks of this many milliseconds, as a device sends them. "
            "Slower; the result is the same.",
            CUTTING,
            "off",
            min=1,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        option(
            "INTEGER",
            "Process the recording in chunks of random length, drawn with this seed: up to twice --chunk-ms, "
            "or 2 s without it. The result is the same.",
            CUTTING,
            "off",
            min=0,
        ),
    ] = None,
) -> None:
    """Find beats and alerts in a recording, without Kafka.

    The recording passes through the same graph as a live stream.
    """
    from rich.console import Console

    from beatwire.cli.recordings.checks import STANDARD_OUTPUT, check_files
    from beatwire.recordings.opening import check_source

    if as_json and alerts == STANDARD_OUTPUT:
        raise UserError("--alerts -: expected a file beside --json; both would be printed on standard output")
    check_files(source, out, alerts, model)
    check_source(source, fs, column, lead, gain)

    from beatwire.api.summary import print_summary
    from beatwire.cli.recordings.analysis import run_analysis  # what takes time to load

    chosen, memory_bytes = choose_recording_backend(backend, gpu_memory)
    with progress_bar("analyze", as_json) as bar:
        task = bar.add_task("analyze", total=1.0)
        result = run_analysis(
            source, lead=lead, fs=fs, column=column, gain=gain, chunk_ms=chunk_ms, seed=seed, out=out,
            alerts=alerts, model=model, scorer=scorer, backend=chosen, memory_bytes=memory_bytes,
            progress=lambda done: bar.update(task, completed=done), notes=print_message,
        )  # fmt: skip
    if as_json:
        typer.echo(json.dumps(result))
    else:
        print_summary(result, stderr if alerts == STANDARD_OUTPUT else Console())
