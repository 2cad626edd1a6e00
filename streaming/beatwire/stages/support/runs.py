"""Runs: the events of a tick, a stream at a time, and what a kernel tells of each run."""

from __future__ import annotations

import numpy as np

from beatwire.jit import cpu
from beatwire.records import I64


def runs_of(events: I64) -> tuple[int, I64]:
    """Return how many streams events [e, any] by slot are of, and where those of each begin and the last one's end."""
    run = np.empty(len(events) + 1, np.int64)
    return cpu.kernels.find_runs(events, run), run


def rows_told(count: I64, run: I64, room: int) -> I64:
    """Return which rows a kernel has written: ``count[i]`` of run ``i``, from ``room * run[i]`` on."""
    told = [np.arange(count[i]) + room * run[i] for i in np.flatnonzero(count)]
    return np.concatenate(told) if told else np.zeros(0, np.int64)
