"""Windows: cut the window and the shape of each beat out of the rings.

In:    Beats
Out:   Windows
State: scratch, and the boxes of shapes by number of the bank (xp)

A window is a fixed duration in 256 points at every sampling rate (``kernels.detection.windows``), of the first lead. It
is cut before the rings are written again, and so is the shape of the beat in its first two leads
(``kernels.classes.beat_shape``). Both are cut from samples that the decision of the beat depends on: so the end of a
pass changes nothing.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.kernels.classes.beat_shape import BEFORE_R, COLUMNS, INVERSE_BITS, POINT_S, POINTS, SHAPE_LEADS
from beatwire.kernels.detection.windows import EARLIEST_S, LATEST_S, WINDOW
from beatwire.records import I32, I64, Beats, Windows

SHAPE_TYPES = (np.dtype((np.int16, (SHAPE_LEADS, COLUMNS))),)


@dataclass(slots=True)
class State:
    """work: scratch int32 [2, capacity]; edges: int64 [2, POINTS + 1] by number of the bank (xp)."""

    backend: Backend = CPU
    work: I32 = field(default_factory=lambda: np.zeros((2, 0), np.int32))
    edges: dict[int, Any] = field(default_factory=dict)


def step(state: State, beats: Beats) -> tuple[State, Windows]:
    """Cut the windows of one pass."""
    rate_hz, backend = beats.fresh.bank.rate_hz, state.backend
    needed = max(int((EARLIEST_S + LATEST_S) * rate_hz) + 16, POINTS)
    if state.work.shape[1] < needed:
        state.work = np.zeros((2, needed), np.int32)
    windows = backend.buffer("windows", (beats.total, WINDOW), np.float32)
    (amplitude,) = backend.table("amplitude", beats.total, (np.float32,)).columns
    backend.kernels.cut_window(
        beats.total,
        beats.lane,
        beats.sample,
        beats.decided,
        beats.base,
        rate_hz,
        beats.x,
        state.work[:1],
        windows,
        amplitude,
    )
    number = beats.fresh.bank.number
    if number not in state.edges:
        state.edges[number] = backend.constant(shape_edges(rate_hz))
    shapes = backend.table("shapes", beats.total, SHAPE_TYPES)
    backend.kernels.measure_shape(
        beats.total, beats.lane, beats.sample, beats.decided, beats.base, state.edges[number], beats.x,
        state.work, shapes.columns[0],
    )  # fmt: skip
    return state, Windows(beats, windows, amplitude, shapes)


def shape_edges(rate_hz: float) -> I64:
    """Return where the boxes of a shape begin and end, in samples after R, and the inverse of their samples."""
    edges = np.floor((np.arange(POINTS + 1) - BEFORE_R) * POINT_S * rate_hz + 1e-6).astype(np.int64)
    inverse = np.rint((1 << INVERSE_BITS) / np.maximum(1, np.diff(edges, append=edges[-1]))).astype(np.int64)
    return np.stack([edges, inverse])
