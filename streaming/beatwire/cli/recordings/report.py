"""``beatwire report``: the arguments of the command; ``beatwire.cli.recordings.reporting`` does the work."""

from pathlib import Path
from typing import Annotated

import typer

from beatwire.cli.computing import BackendKind, GpuMemory, RecordingBackend, choose_recording_backend
from beatwire.cli.options import SOURCES, ColumnName, Gain, Json, Lead, ModelPath, Rate, examples, option
from beatwire.cli.terminal import Line, print_message, print_result, progress_bar

EXAMPLES = examples(
    "beatwire report mitdb/203 --out report.html",
    "beatwire report ecg.csv --fs 250",
    "beatwire report mitdb/203 mitdb/208 --out reports",
)
LINES = {
    "path": Line("report"),
    "bytes": Line("size", "{:,} bytes"),
    "beats": Line("beats", "{:,}"),
    "reports": Line("reports", "{:,}"),
    "index": Line("index"),
    "seconds": Line("time", "{:,.1f} s"),
}


def report(
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE", help=f"Recordings to report: {SOURCES}.")],
    out: Annotated[
        Path | None,
        option(
            "FILE",
            "Write the report to this HTML file; for several recordings, to this folder with an index.",
            shown="NAME.html here, if there is none",
        ),
    ] = None,
    lead: Lead = "all",
    fs: Rate = None,
    column: ColumnName = None,
    gain: Gain = None,
    annotations: Annotated[
        str | None,
        option(
            "ENDING",
            "Ending of the annotation files of WFDB records, which are shown beside the beats: atr, qrs, ...",
            shown="atr, where there is one",
        ),
    ] = None,
    as_json: Json = False,
    model: ModelPath = None,
    backend: RecordingBackend = BackendKind.CPU,
    gpu_memory: GpuMemory = None,
) -> None:
    """Write the report of a recording: one HTML file that needs no network and can be printed.

    Summary, alerts, strips on ECG paper, hourly table, rate, intervals, beats, latent plane, signal quality, and the
    whole recording to zoom into. Of several recordings one that cannot be read stops no other; the exit code is then 1.
    """
    from beatwire.model.storage import check_model, model_files
    from beatwire.recordings.opening import check_options, check_source
    from beatwire.report.files import report_files

    if model is not None:
        check_model(model)
    report_files(sources, out, model_files(model))
    check_options(fs, column, gain)
    if len(sources) == 1:  # of several one that cannot be read stops no other
        check_source(sources[0], fs, column, lead, gain)

    from beatwire.cli.recordings.reporting import report_sources  # what takes time to load

    chosen, memory_bytes = choose_recording_backend(backend, gpu_memory)
    with progress_bar("report", as_json) as bar:
        task = bar.add_task("report", total=1.0)
        result = report_sources(
            sources, out, lead=lead, fs=fs, column=column, gain=gain, annotations=annotations, model=model,
            backend=chosen, memory_bytes=memory_bytes,
            progress=lambda done: bar.update(task, completed=done), notes=print_message,
        )  # fmt: skip
    failed = result["failed"]
    if not as_json:
        several = {"index": result["index"], "reports": len(result["reports"])}
        one = result["reports"][0] if len(sources) == 1 else several
        result = {name: value for name, value in one.items() if name != "source"} | {"seconds": result["seconds"]}
    print_result(result, as_json, LINES)
    for source, reason in failed.items():
        print_message(f"{source}: {reason}", "red")
    if failed:
        raise typer.Exit(1)
