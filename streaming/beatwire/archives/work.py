"""One recording of an archive, in a process of a worker: read, analyze, write its tables and its row.

In:    :class:`Found` and :class:`Work`
Out:   the row of the recording, which is written too
State: the backend of the process, its kernels, and the graphs of each thread

What is wrong with a recording is its row: it has failed, with the reason. A process that dies takes its recording with
it; Dask gives that to another one (``beatwire.archives.run``).
"""

import os
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from beatwire.archives.find import Found
from beatwire.archives.store import DONE, FAILED, RECORDINGS, SCHEMAS, NotWrittenError, Store
from beatwire.backends.base import Backend
from beatwire.backends.choose import choose
from beatwire.errors import LostCardError, UserError, printable
from beatwire.model.checkpoint import load_model
from beatwire.offline.analyze import LONG_PASS_S, Analysis, analyze_with
from beatwire.offline.analyzer import Analyzer
from beatwire.offline.results.exports import alerts_table, beats_table
from beatwire.offline.results.quality import quality_table
from beatwire.offline.results.summary import summarize
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording, as_recording
from beatwire.service.warmup import compile_kernels
from beatwire.tables import host_array, library


@dataclass(frozen=True, slots=True)
class Work:
    """What is done with each recording.

    out        folder or address of the tables
    made_with  version, model and options: a recording made with others is not done
    lead, fs, column, gain, model  as of ``beatwire.analyze``
    backend    ``cpu``, ``gpu`` or ``auto``
    memory_bytes  limit of the GPU memory
    report     write the report of each recording too
    """

    out: str
    made_with: str
    lead: str = "all"
    fs: float | None = None
    column: str | None = None
    gain: float | None = None
    model: str | None = None
    backend: str = "cpu"
    memory_bytes: int | None = None
    report: bool = False

    @property
    def model_path(self) -> Path | None:
        """The file of the model; None: the one in the package."""
        return None if self.model is None else Path(self.model)

    def is_done(self, row: dict[str, Any] | None, found: Found) -> bool:
        """Return True if a row says that this is done, of the files as they are."""
        return (
            row is not None
            and (row["state"], row["stamp"], row["made_with"]) == (DONE, found.stamp, self.made_with)
            and (not self.report or row["report"] is not None)
        )


def archive_recording(found: Found, work: Work) -> dict[str, Any]:
    """Analyze a recording, write its tables, and return its row.

    Raises
    ------
    NotWrittenError
        The results cannot be written.
    """
    store = Store(work.out)
    row = store.row(found.name)
    if row is not None and work.is_done(row, found):  # by a worker that died before it could say so
        return row
    store.remove(found.name)
    begin_s = time.perf_counter()
    try:
        row = _analyzed(found, work, store)
    except NotWrittenError:
        raise
    except LostCardError:
        os._exit(1)  # no other recording can be analyzed in this process; another one begins anew
    except UserError as error:
        return write_failed(found, work, str(error))
    except Exception as error:  # a reader's fault is the recording's row, and stops no other
        where = traceback.extract_tb(error.__traceback__)[-1]
        lines = str(error).strip().splitlines() or [""]
        at = f"{Path(where.filename).name}:{where.lineno}"
        return write_failed(found, work, f"{found.source}: {type(error).__name__} in {at}: {lines[0]}")
    row["took_s"] = round(time.perf_counter() - begin_s, 3)
    return _write_row(store, found, work, row | {"state": DONE})


def write_failed(found: Found, work: Work, reason: str) -> dict[str, Any]:
    """Write and return the row of a recording that has failed; nothing else is left of it."""
    store = Store(work.out)
    store.remove(found.name)
    return _write_row(store, found, work, {"state": FAILED, "reason": printable(reason)})


def _analyzed(found: Found, work: Work, store: Store) -> dict[str, Any]:
    """Write the tables of a recording, and its report; return what its row says of it."""
    backend = _backend(work.backend, work.memory_bytes)
    recording = as_recording(
        found.source, work.fs, column=work.column, lead=work.lead, gain=work.gain, xp=library(backend)
    )
    analysis = _KEPT.analyze(recording, work, backend)
    quality = quality_table(recording, analysis.beats)
    store.write("beats", found.name, beats_table(analysis.beats, recording.rate_hz))
    store.write("alerts", found.name, alerts_table(analysis.alerts, recording.rate_hz))
    store.write("quality", found.name, pd.DataFrame(quality))
    notes = list(recording.notes)
    report = None
    if work.report:
        report = store.report(found.name)
        _write_report(found.source, recording, analysis, work, report, store, notes.append)
    summary = summarize(recording, analysis, quality)
    row = {name: summary[name] for name in SCHEMAS[RECORDINGS] if name in summary}
    most_hum = (summary["hum"] or [{"mv": None, "share": None if summary["hum"] is None else 0.0}])[0]
    return row | {
        "leads": ", ".join(recording.leads),
        "with_signal": summary["quality"]["with_signal"],
        "good_signal": summary["quality"]["good"],
        "hum_mv": most_hum["mv"],
        "hum_share": most_hum["share"],
        "notes": "; ".join(notes) or None,
        "report": report,
    }


def _write_report(
    source: str, recording: Recording, analysis: Analysis, work: Work, path: str, store: Store,
    notes: Callable[[str], None],
) -> None:  # fmt: skip
    from beatwire.report.annotations import annotations_of
    from beatwire.report.document import report_html
    from beatwire.report.study import study_of

    on_host = replace(recording, samples=host_array(recording.samples))
    study = study_of(on_host, analysis, load_model(work.model_path), annotations_of(source, recording, notes))
    store.put(path, report_html(study).encode())


def _write_row(store: Store, found: Found, work: Work, row: dict[str, Any]) -> dict[str, Any]:
    row = dict.fromkeys(SCHEMAS[RECORDINGS]) | row
    row |= {"source": found.source, "stamp": found.stamp, "made_with": work.made_with}
    store.write(RECORDINGS, found.name, {name: [value] for name, value in row.items()})
    return row


@cache
def _backend(kind: str, memory_bytes: int | None) -> Backend:
    """Return the backend of this process, its kernels compiled."""
    backend = choose(kind, limit_bytes=memory_bytes)
    compile_kernels(lambda _: None, backend)
    return backend


class _Kept(threading.local):
    """The graphs of a thread of a worker, and what they were made of: the next recording uses them, too."""

    made_of: tuple[Any, ...] | None = None
    analyzer: Analyzer | None = None

    def analyze(self, recording: Recording, work: Work, backend: Backend) -> Analysis:
        """Analyze a recording."""
        threads = _threads()
        made_of = (work.made_with, work.model, work.backend, work.memory_bytes, threads)
        analyzer, self.analyzer = self.analyzer, None  # what an error left in them no other recording meets
        if analyzer is None or made_of != self.made_of:
            settings = replace(Settings(model=work.model_path), pass_s=LONG_PASS_S)
            analyzer = Analyzer(settings, backend=backend, memory_bytes=work.memory_bytes, most_graphs=threads)
        analysis = analyze_with(analyzer, recording)
        self.made_of, self.analyzer = made_of, analyzer
        return analysis


_KEPT = _Kept()


def _threads() -> int:
    """Return the threads that this task may use: its share of those of the worker."""
    from distributed import get_worker

    try:
        return max(1, int(get_worker().state.nthreads))
    except ValueError:  # not on a worker
        return 1
