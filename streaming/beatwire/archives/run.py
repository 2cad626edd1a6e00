"""An archive: find its recordings, give those that are not done to Dask, collect their rows.

In:    :class:`Found` and :class:`Work`
Out:   :class:`Archived`; the tables are written by the workers (``beatwire.archives.work``)
State: none: what is done is what the folder of the tables says
"""

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from beatwire.archives.cluster import connected
from beatwire.archives.find import Found
from beatwire.archives.store import DONE, NotWrittenError, Store, shown
from beatwire.archives.work import Work, archive_recording, write_failed
from beatwire.errors import FatalError, UserError

DIED = (
    "expected a recording that a process can analyze; process after process died of it, by a fault of its reader or "
    "for want of memory"
)
CANCELS_WITHIN_S = 60.0
SAYS_AFTER_S = 1.0


@dataclass(slots=True)
class Archived:
    """What a run has done.

    before  recordings that were done already
    rows    of those of this run, by name
    """

    before: int
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def failed(self) -> dict[str, str]:
        """The reasons of the recordings that have failed, by name."""
        return {name: row["reason"] for name, row in self.rows.items() if row["state"] != DONE}


def archive_all(
    found: Sequence[Found],
    work: Work,
    *,
    scheduler: Any = None,
    processes: int | None = None,
    progress: Callable[[int, int, int], None] = lambda _done, _of, _failed: None,
    notes: Callable[[str], None] = lambda _: None,
) -> Archived:
    """Analyze the recordings that are not done.

    Parameters
    ----------
    found, work
        The recordings, and what is done with each.
    scheduler, processes
        See :func:`beatwire.archives.cluster.connected`.
    progress
        Called with the recordings done in this run, all of this run, and those that have failed; first with 0.
    notes
        Called with each remark, one line.

    Raises
    ------
    UserError
        The folder of the results has recordings of another folder under the same names, or the cluster cannot be used.
    FatalError
        The results cannot be written, or the cluster was lost. What is done stays done.
    """
    store = Store(work.out)
    rows = store.rows()
    todo = [one for one in found if not work.is_done(rows.get(shown(one.name)), one)]
    _check_sources(todo, rows)
    archived = Archived(len(found) - len(todo))
    progress(0, len(todo), 0)
    if not todo:
        return archived
    with connected(scheduler, processes, work.backend, work.out, notes) as client:
        try:
            for one, row in _completed(client, todo, work, notes):
                archived.rows[one.name] = row
                progress(len(archived.rows), len(todo), len(archived.failed))
        except NotWrittenError as error:
            done = archived.before + len(archived.rows) - len(archived.failed)
            raise FatalError(f"{error}; {done:,} of {len(found):,} recordings are done; a new run goes on") from None
    return archived


def _completed(
    client: Any, todo: Sequence[Found], work: Work, notes: Callable[[str], None]
) -> Iterable[tuple[Found, dict[str, Any]]]:
    """Yield each recording with its row, as they are done."""
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    futures = client.map(archive_recording, todo, work=work, pure=False)
    of = dict(zip((future.key for future in futures), todo, strict=True))
    waiting = as_completed(futures)
    del futures  # so that a row is released when it has arrived, and not made again when its worker dies
    try:
        for future in waiting:
            one = of[future.key]
            error = future.exception() if future.status == "error" else None
            if future.status == "finished":
                yield one, future.result()
            elif isinstance(error, KilledWorker):
                yield one, write_failed(one, work, f"{one.source}: {DIED}")
            elif isinstance(error, NotWrittenError):
                raise error
            else:
                raise FatalError(f"archive: expected an answer of the workers; got: {error or future.status}")
    except (NotWrittenError, FatalError):
        _cancel(client, waiting, set(of), notes)
        raise


def _cancel(client: Any, waiting: Any, keys: set[str], notes: Callable[[str], None]) -> None:
    """Cancel what has not begun, and wait for what has: whoever takes the error finds files that nobody writes.

    A worker may hang, and a cluster be lost: this takes ``CANCELS_WITHIN_S`` at most.
    """
    if client.status != "running":
        notes("the cluster is lost: its workers may still write")
        return
    with waiting.lock:
        left = list(waiting.futures)
    client.cancel(left)
    begin_s = time.monotonic()
    time.sleep(0.1)  # a task that the scheduler has sent is with its worker
    if _have_ended(client, keys, begin_s + SAYS_AFTER_S):
        return
    notes(f"an error ends the run; waiting, {CANCELS_WITHIN_S:.0f} s at most, for the recordings that are under way")
    if not _have_ended(client, keys, begin_s + CANCELS_WITHIN_S):
        notes(f"some workers have not ended {CANCELS_WITHIN_S:.0f} s after the error, and may still write")


def _have_ended(client: Any, keys: set[str], until_s: float) -> bool:
    """Wait until no worker runs one of some tasks; return False if that is not known at `until_s`."""
    while (left_s := until_s - time.monotonic()) > 0.0:
        with contextlib.suppress(OSError):  # no answer in time, or no connection
            # The limit is that of client.sync, to which client.run gives what it does not know.
            if not any(client.run(_is_running, keys, on_error="ignore", callback_timeout=left_s).values()):
                return True
        time.sleep(min(0.1, left_s))
    return False


def _is_running(keys: set[str], dask_worker: Any) -> bool:
    """Return True if a worker runs one of some tasks, a cancelled one too."""
    return any(task.key in keys for task in dask_worker.state.executing)


def _check_sources(todo: Iterable[Found], rows: dict[str, dict[str, Any]]) -> None:
    """Check that no recording of another folder is replaced."""
    for one in todo:
        row = rows.get(shown(one.name))
        if row is not None and row["source"] != one.source and row["stamp"] != one.stamp:
            raise UserError(
                f"--out: expected a folder of its own for each archive; its {one.name!r} is {row['source']}, and this "
                f"one is {one.source}"
            )


def path_of(folder: str, table: str) -> str:
    """Return the path of a table, as ``dask.dataframe.read_parquet`` takes it."""
    return f"{folder}/{table}" if "://" in folder else str(Path(folder) / table)
