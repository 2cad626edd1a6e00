"""``beatwire archive``: the arguments of the command; ``beatwire.api.archive`` does the work."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from beatwire.cli.computing import BackendKind, GpuMemory, RecordingBackend
from beatwire.cli.options import ColumnName, Gain, Json, Lead, ModelPath, Rate, examples, flag, option
from beatwire.cli.terminal import Line, print_message, print_result, stderr
from beatwire.errors import UserError

CLUSTER = "Cluster"
EXAMPLES = examples(
    "beatwire archive mitdb --out tables",
    "beatwire archive 'mitdb/2*' svdb --lead first --report --out tables",
    "beatwire archive s3://bucket/holter --out s3://bucket/tables --scheduler tcp://10.0.0.1:8786",
)
LINES = {
    "out": Line("tables"),
    "recordings": Line("recordings", "{:,}"),
    "done_before": Line("done before", "{:,}"),
    "done": Line("done now", "{:,}"),
    "failed": Line("failed", "{:,}"),
    "beats": Line("beats found now", "{:,}"),
    "alerts": Line("alerts found now", "{:,}"),
    "seconds": Line("time", "{:,.1f} s"),
}
MOST_REASONS = 10  # of recordings that have failed, printed; the table has all
EVERY_S = 30.0  # a line of progress where there is no terminal


def archive(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE",
            help="Folders of recordings, patterns such as 'ward/*.edf', files, or addresses of these (s3://...).",
        ),
    ],
    out: Annotated[
        str,
        option(
            "--out DIR",
            "Folder or address for the tables beats, alerts, quality and recordings: Parquet, partitioned by "
            "recording. What is done there is not done again.",
        ),
    ],
    lead: Lead = "all",
    fs: Rate = None,
    column: ColumnName = None,
    gain: Gain = None,
    report: Annotated[
        bool, flag("--report", "Write the report of each recording too, into the folder DIR/reports.")
    ] = False,
    as_json: Json = False,
    model: ModelPath = None,
    backend: RecordingBackend = BackendKind.CPU,
    gpu_memory: GpuMemory = None,
    processes: Annotated[
        int | None, option("N", "Processes on this machine.", CLUSTER, "one a core; on GPUs one a card", min=1)
    ] = None,
    scheduler: Annotated[
        str | None,
        option(
            "ADDRESS",
            "Scheduler of a Dask cluster, for example tcp://10.0.0.1:8786. Its workers need this version of "
            "beatwire, the recordings, and --out.",
            CLUSTER,
            "processes on this machine",
        ),
    ] = None,
) -> None:
    """Analyze thousands of recordings, into tables.

    A recording that cannot be analyzed has a row with the reason and stops no other. Run the command again to go on
    after an interruption, and when recordings have been added or changed. Needs: pip install 'beatwire[cluster]'.
    """
    from beatwire.archives.cluster import check_installed
    from beatwire.archives.find import check_there
    from beatwire.settings import bytes_of

    if scheduler is not None and processes is not None:
        raise UserError("--processes: expected it without --scheduler, which has workers of its own")
    check_installed()
    check_there(sources)

    from beatwire.api.archive import run_archive  # what takes time to load

    begin_s = time.monotonic()
    with _shown(as_json) as progress:
        made = run_archive(
            [Path(one) if "://" not in one else one for one in sources], out, fs, column=column, lead=lead, gain=gain,
            model=model, backend=backend.value, memory_bytes=None if gpu_memory is None else bytes_of(gpu_memory),
            processes=processes, scheduler=scheduler, report=report, progress=progress, notes=print_message,
        )  # fmt: skip
    failed, rows = made.failed, made.rows.values()
    result: dict[str, Any] = {
        "out": out,
        "recordings": made.before + len(made.rows),
        "done_before": made.before,
        "done": len(made.rows) - len(failed),
        "failed": failed if as_json else len(failed),
        "beats": sum(row["beats"] or 0 for row in rows),
        "alerts": sum(row["alerts"] or 0 for row in rows),
        "seconds": round(time.monotonic() - begin_s, 3),
    }
    print_result(result, as_json, LINES)
    if not as_json:
        for name, reason in list(failed.items())[:MOST_REASONS]:
            print_message(reason if reason.startswith(name) else f"{name}: {reason}", "red")
        if len(failed) > MOST_REASONS:
            print_message(f"{len(failed) - MOST_REASONS:,} more: the column reason of the table recordings", "red")
    if failed:
        raise typer.Exit(1)


@contextmanager
def _shown(hidden: bool) -> Iterator[Callable[[int, int, int], None]]:
    """Yield what shows progress: a bar with the count and the time at which it ends, or now and then a line."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = TextColumn("archive"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[ends]}")
    bar = Progress(*columns, console=stderr, transient=True, disable=hidden or not stderr.is_terminal)
    task = bar.add_task("archive", total=None, ends="")
    begin_s = last_s = time.monotonic()

    def show(done: int, of: int, failed: int) -> None:
        nonlocal begin_s, last_s
        now_s = time.monotonic()
        if done == 0:
            begin_s = last_s = now_s
        ends = end_of(done, of, now_s - begin_s, datetime.now().astimezone())
        text = "; ".join(filter(None, [f"{failed:,} failed" if failed else "", ends]))
        bar.update(task, completed=done, total=of, ends=text)
        if not hidden and not stderr.is_terminal and now_s - last_s >= EVERY_S:
            last_s = now_s
            print_message("; ".join(filter(None, [f"archive: {done:,} of {of:,} recordings", text])))

    with bar:
        yield show


def end_of(done: int, of: int, taken_s: float, now: datetime) -> str:
    """Return when the rest will be done, if it goes on so.

    >>> end_of(10, 40, 60.0, datetime.fromisoformat("2026-11-26T08:59:30+00:00"))
    'ends at 09:02:30'
    """
    if not done or done >= of:
        return ""
    end = now + timedelta(seconds=taken_s / done * (of - done))
    return f"ends at {end:%H:%M:%S}" if end.date() == now.date() else f"ends on {end:%d %b at %H:%M}"
