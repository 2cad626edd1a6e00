"""Window: cut what the model looks at out of the rings, before they move on.

In: Beats. Out: Windows. State: scratch. A window is a fixed duration in 256 points whatever the rate
(``kernels.windows``), from the first lead.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streaming.kernels import cpu_score
from streaming.kernels.windows import EARLIEST_S, LATEST_S, WINDOW
from streaming.records import I32, Beats, Windows


@dataclass(slots=True)
class State:
    """work: scratch int32 [1, capacity]."""

    work: I32 = field(default_factory=lambda: np.zeros((1, 0), np.int32))


def step(state: State, beats: Beats) -> tuple[State, Windows]:
    """Cut the windows of one pass."""
    rate_hz = beats.fresh.bank.rate_hz
    need = int((EARLIEST_S + LATEST_S) * rate_hz) + 16
    if state.work.shape[1] < need:
        state.work = np.zeros((1, need), np.int32)
    b = len(beats.slot)
    windows, amplitude = np.empty((b, WINDOW), np.float32), np.empty(b, np.float32)
    cpu_score.cut_window(b, beats.lane, beats.sample, beats.base, 0, rate_hz, beats.x, state.work, windows, amplitude)
    return state, Windows(beats, windows, amplitude)
