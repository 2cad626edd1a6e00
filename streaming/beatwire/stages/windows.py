"""Windows: cut the window of each beat out of the rings.

In:    Beats
Out:   Windows
State: scratch

A window is a fixed duration in 256 points at every sampling rate (``kernels.windows``), of the first lead. It is cut
before the rings are written again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.kernels.windows import EARLIEST_S, LATEST_S, WINDOW
from beatwire.records import I32, Beats, Windows


@dataclass(slots=True)
class State:
    """work: scratch int32 [1, capacity]."""

    backend: Backend = CPU
    work: I32 = field(default_factory=lambda: np.zeros((1, 0), np.int32))


def step(state: State, beats: Beats) -> tuple[State, Windows]:
    """Cut the windows of one pass."""
    rate_hz, backend = beats.fresh.bank.rate_hz, state.backend
    needed = int((EARLIEST_S + LATEST_S) * rate_hz) + 16
    if state.work.shape[1] < needed:
        state.work = np.zeros((1, needed), np.int32)
    windows = backend.buffer("windows", (beats.total, WINDOW), np.float32)
    (amplitude,) = backend.table("amplitude", beats.total, (np.float32,)).columns
    backend.kernels.cut_window(
        beats.total, beats.lane, beats.sample, beats.base, 0, rate_hz, beats.x, state.work, windows, amplitude
    )
    return state, Windows(beats, windows, amplitude)
