"""Runs: the events of a tick by stream, and the rows that a kernel writes of each run."""

import numpy as np

from beatwire.jit import cpu
from beatwire.records import I64


def runs_of(events: I64, run: I64 | None = None) -> tuple[int, I64]:
    """Return the number of streams of events [e, any] by slot, and the first row of each and the end: int64 [n + 1].

    ``run`` is the latter where it is known.
    """
    if run is not None:
        if run[-1] != len(events):
            raise ValueError(f"runs: expected those of {len(events)} events; got those of {run[-1]}")
        return len(run) - 1, run
    run = np.empty(len(events) + 1, np.int64)
    return cpu.kernels.find_runs(events, run), run


def rows_written(count: I64, run: I64, room: int) -> I64:
    """Return the rows that a kernel has written: ``count[i]`` of run ``i``, from ``room * run[i]`` on."""
    rows = [np.arange(count[i]) + room * run[i] for i in np.flatnonzero(count)]
    return np.concatenate(rows) if rows else np.zeros(0, np.int64)
