"""``beatwire.archive``: thousands of recordings to Parquet. ``beatwire archive`` calls it too."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from beatwire.api.notes import on_stderr
from beatwire.archives.cluster import check_installed
from beatwire.archives.find import find
from beatwire.archives.run import Archived, archive_all, path_of
from beatwire.archives.store import RECORDINGS, SCHEMAS, Store, as_arrow
from beatwire.archives.work import Work
from beatwire.errors import UserError
from beatwire.model.checkpoint import load_model
from beatwire.recordings.arguments import file_path, lead_name, several, string, whole
from beatwire.recordings.opening import check_options
from beatwire.service.warmup import compile_kernels

BACKENDS = ("cpu", "gpu", "auto")


def archive(
    source: str | Path | Sequence[str | Path],
    out: str | Path,
    fs: float | None = None,
    *,
    table: str = "beats",
    column: str | None = None,
    lead: str | int = "all",
    gain: float | None = None,
    model: str | Path | None = None,
    backend: str = "cpu",
    memory_bytes: int | None = None,
    processes: int | None = None,
    scheduler: Any = None,
    report: bool = False,
    progress: Callable[[int, int, int], None] = lambda _done, _of, _failed: None,
    notes: Callable[[str], None] = on_stderr,
) -> Any:
    """Analyze the recordings of folders, and return a table of them as a Dask DataFrame.

    A recording that is done, with the same options, is not done again. One that cannot be analyzed has a row with the
    reason in the table ``recordings``. Needs the extra ``cluster``. A script that calls this has ``if __name__ ==
    "__main__":``, because processes import it.

    Parameters
    ----------
    source
        A folder, a pattern, a file, an address of fsspec such as ``s3://bucket/folder``, or several of these.
    out
        Folder or address of the tables ``beats``, ``alerts``, ``quality`` and ``recordings``, Parquet, partitioned by
        recording.
    fs, column, lead, gain, model, backend, memory_bytes
        As for :func:`beatwire.analyze`.
    table
        The table to return.
    processes
        Processes on this machine; None: one a core, on GPUs one a card.
    scheduler
        Address of a scheduler of Dask, or a ``distributed.Client``; None: processes on this machine.
    report
        Write the report of each recording too, into the folder ``reports``.
    progress
        Called with the recordings done, all that are to be done, and those that have failed.
    notes
        Called with each remark, one line.

    Returns
    -------
    dask.dataframe.DataFrame
        One partition a recording; the column ``recording`` is its name.

    Raises
    ------
    UserError
        The source, an option or the cluster cannot be used.
    FatalError
        The tables cannot be written, or the cluster was lost. What is done stays done.
    """
    check_installed()
    string("table", table, f"{', '.join(SCHEMAS)}")
    if table not in SCHEMAS:
        raise UserError(f"table: expected one of {', '.join(SCHEMAS)}; got {table!r}")
    done = run_archive(
        source, out, fs, column=column, lead=lead, gain=gain, model=model, backend=backend, memory_bytes=memory_bytes,
        processes=processes, scheduler=scheduler, report=report, progress=progress, notes=notes,
    )  # fmt: skip
    for name, reason in done.failed.items():
        notes(f"{name}: {reason}")
    return read_table(out, table)


def read_table(out: str | Path, table: str = RECORDINGS) -> Any:
    """Return a table of an archive as a Dask DataFrame, one partition a recording; without a recording it is empty."""
    import dask.dataframe

    store = Store(out)
    if not store.has(table):
        empty = as_arrow(table, {}).to_pandas().assign(recording=pd.Categorical([]))
        return dask.dataframe.from_pandas(empty, npartitions=1)
    return dask.dataframe.read_parquet(path_of(store.out, table))


def run_archive(
    source: str | Path | Sequence[str | Path],
    out: str | Path,
    fs: float | None = None,
    *,
    column: str | None = None,
    lead: str | int = "all",
    gain: float | None = None,
    model: str | Path | None = None,
    backend: str = "cpu",
    memory_bytes: int | None = None,
    processes: int | None = None,
    scheduler: Any = None,
    report: bool = False,
    progress: Callable[[int, int, int], None] = lambda _done, _of, _failed: None,
    notes: Callable[[str], None] = on_stderr,
) -> Archived:
    """Do what ``archive`` does, and return what was done; parameters and errors as there."""
    check_installed()
    if report and find_spec("bokeh") is None:
        raise UserError("report: expected bokeh; it is not installed (pip install 'beatwire[report]')")
    sources = [source] if isinstance(source, str | Path) else several("source", source, "names of folders")
    if processes is not None:
        processes = whole("processes", processes, "a whole number of at least 1", 1)
    if memory_bytes is not None:
        memory_bytes = whole("memory_bytes", memory_bytes, "a whole number of bytes, at least 1", 1)
    fs, column, gain = check_options(fs, column, gain)
    lead = lead_name(lead)
    path = None if model is None else file_path("model", model).absolute()
    if string("backend", backend, ", ".join(BACKENDS)) not in BACKENDS:
        raise UserError(f"backend: expected {', '.join(BACKENDS)}; got {backend!r}")
    store = Store(out)
    scored_with = load_model(path).name
    made_with = f"beatwire {version('beatwire')} {scored_with} lead={lead} fs={fs} column={column} gain={gain}"
    work = Work(
        store.out, made_with, str(lead), fs, column, gain, None if path is None else str(path), backend, memory_bytes,
        report,
    )  # fmt: skip
    found, remarks = find(sources, without=store.out)
    for remark in remarks:
        notes(remark)
    store.prepare()
    compile_kernels(notes)
    return archive_all(found, work, scheduler=scheduler, processes=processes, progress=progress, notes=notes)
