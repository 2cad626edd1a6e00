"""Where an archive is analyzed: processes of this machine, a worker for each of its cards, or a cluster of Dask.

In:    the address of a scheduler, or the number of processes
Out:   a client of Dask, whose workers can import this version
State: the processes, until the end of the block

Dask schedules: it gives a recording to a worker that is free, starts a worker again that has died, and gives its
recording to another one. One that has killed ``MOST_DEATHS`` workers is not given to any more.
"""

import contextlib
import logging
import os
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from beatwire.errors import UserError
from beatwire.recordings.places import is_address

MOST_DEATHS = 3
CONNECTS_WITHIN_S = 15.0
PACKAGES = ("dask", "distributed")
_SETTINGS = {
    "distributed.scheduler.worker-saturation": 1.0,  # a worker that dies takes one recording with it, none that waits
    "distributed.scheduler.allowed-failures": MOST_DEATHS - 1,
    "distributed.deploy.lost-worker-timeout": "1 hour",  # a worker that starts again takes long on a busy machine
    "distributed.admin.large-graph-warning-threshold": "1 GiB",
    # Dask looks at the stacks of its threads each 10 ms. Python 3.11 may then wait for itself for ever.
    "distributed.worker.profile.enabled": False,
}


def check_installed() -> None:
    """Raise UserError if the extra ``cluster`` is not installed."""
    for package in PACKAGES:
        if find_spec(package) is None:
            raise UserError(f"archive: expected {package}; it is not installed (pip install 'beatwire[cluster]')")


@contextlib.contextmanager
def connected(
    scheduler: Any, processes: int | None, backend: str, out: str, notes: Callable[[str], None]
) -> Iterator[Any]:
    """Yield a ``distributed.Client``.

    Parameters
    ----------
    scheduler
        Address of a scheduler, or a client; None: workers on this machine.
    processes
        Workers on this machine; None: one a core, on a GPU one a card.
    backend
        ``cpu``, ``gpu`` or ``auto``.
    out
        Folder that the workers must see.
    notes
        Called with each remark, one line.

    Raises
    ------
    UserError
        There is no scheduler, or its workers have another version or another folder.
    """
    import dask.config
    from distributed import Client

    with contextlib.ExitStack() as opened:
        opened.enter_context(dask.config.set(_SETTINGS))
        if scheduler is None:
            cluster = opened.enter_context(ending(_local(processes, backend, notes), notes))
            client = opened.enter_context(Client(cluster))
        elif isinstance(scheduler, str):
            client = opened.enter_context(_client(scheduler))
        else:
            client = scheduler
        if scheduler is not None:
            _check_workers(client, out, notes)
        yield client


@contextlib.contextmanager
def ending(cluster: Any, notes: Callable[[str], None]) -> Iterator[Any]:
    """End a cluster after a block; that Dask does not end in time, on a busy machine, is no failure of the work."""
    try:
        yield cluster
    finally:
        try:
            cluster.close()
        except TimeoutError as error:
            notes(f"the work is done, but the processes of Dask did not end in time: {error}")


def _local(processes: int | None, backend: str, notes: Callable[[str], None]) -> Any:
    """Return a cluster on this machine: a process a core, or a card."""
    from distributed import LocalCluster

    from beatwire.backends.cards import driver_of

    options = {"dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}
    if backend == "gpu" or (backend == "auto" and driver_of() is not None):
        if find_spec("dask_cuda") is not None:
            from dask_cuda import LocalCUDACluster

            return LocalCUDACluster(n_workers=processes, threads_per_worker=1, **options)
        notes("one GPU is used; for a worker on each: pip install dask-cuda")
        return LocalCluster(n_workers=1, threads_per_worker=1, **options)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return LocalCluster(n_workers=processes or cores, threads_per_worker=1, **options)


def _client(address: str) -> Any:
    from distributed import Client

    try:
        return Client(address, timeout=CONNECTS_WITHIN_S)
    except (OSError, ValueError, TypeError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise UserError(f"--scheduler: expected a scheduler of Dask at {address!r}; got: {lines[0]}") from None


def _check_workers(client: Any, out: str, notes: Callable[[str], None]) -> None:
    """Check that the workers of a cluster have this version and see the folder of the results."""
    ours = version("beatwire")
    try:
        theirs = client.run(version, "beatwire")
    except Exception as error:  # whatever a worker raises
        raise UserError(f"--scheduler: expected beatwire {ours} on every worker; got: {error}") from None
    for worker, found in theirs.items():
        if found != ours:
            raise UserError(f"--scheduler: expected beatwire {ours} on every worker; {worker} has {found}")
    if not theirs:
        notes("the scheduler has no workers yet; waiting for them")
    if not is_address(out):
        for worker, sees in client.run(os.path.isdir, str(Path(out))).items():
            if not sees:
                raise UserError(f"--out: expected a folder that every worker sees; {worker} has no {out!r}")
