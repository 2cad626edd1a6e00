"""Runs: the events of a tick by stream, and the rows that a kernel writes of each run."""

import mmap
from typing import Any

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


def room_for_few(*shape: int, dtype: Any = np.int64) -> np.ndarray[Any, Any]:
    """Return an array of which a kernel writes few rows, far apart: memory is taken for pages of 4 kB that are written.

    NumPy asks for pages of 2 MB, and the system fills each that is touched with zeros: a millisecond for one row.
    """
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    pages = mmap.mmap(-1, max(1, size))
    if hasattr(mmap, "MADV_NOHUGEPAGE"):  # Linux
        pages.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(pages, dtype, size // np.dtype(dtype).itemsize).reshape(shape)
