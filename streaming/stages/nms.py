"""Non-maximum suppression: the local maxima of the response, and the level around each.

In: Response. Out: Peaks. State: for each bank int64 ``maxima[lanes, MAXIMA_COLUMNS]``, maxima of
2-second blocks of the response (``kernels.nms``). A peak is the largest of ``left_s`` before it and
``right_s`` after it, which says nothing of chunks or ticks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streaming.kernels import cpu
from streaming.kernels import nms as body
from streaming.records import I32, I64, Peaks, Response


@dataclass(frozen=True, slots=True)
class Settings:
    """How far a peak reigns on both sides, and the length of the blocks of the level."""

    left_s: float = 0.25
    right_s: float = 0.22
    block_s: float = 2.0


@dataclass(slots=True)
class State:
    """maxima: by number of the bank; work: scratch int32 [1, capacity]."""

    settings: Settings
    maxima: dict[int, I64] = field(default_factory=dict)
    work: I32 = field(default_factory=lambda: np.zeros((1, 0), np.int32))


def step(state: State, response: Response) -> tuple[State, Peaks]:
    """Find the peaks that the new responses decide."""
    fresh, s = response.fresh, state.settings
    bank = fresh.bank
    left, right, block = (int(np.floor(d * bank.rate_hz + 0.5)) for d in (s.left_s, s.right_s, s.block_s))
    maxima = state.maxima.get(bank.number)
    if maxima is None or len(maxima) < len(response.f):
        grown = np.zeros((len(response.f), body.MAXIMA_COLUMNS), np.int64)
        if maxima is not None:
            grown[: len(maxima)] = maxima
        maxima = state.maxima[bank.number] = grown
    if state.work.shape[1] < response.f.shape[1]:
        state.work = np.zeros((1, response.f.shape[1]), np.int32)
    n = len(fresh.lane)
    longest = int((fresh.stop - fresh.start).max()) if n else 0
    found = np.zeros(n, np.int64)
    peaks = np.empty((n, (longest + right) // (right + 1) + 2, 5), np.int64)
    closed = np.zeros(n, np.int64)
    blocks = np.empty((n, longest // block + 2, 2), np.int64)
    cpu.suppress(
        n, fresh.lane, fresh.start, fresh.stop, fresh.base, response.delay, left, right, block,
        response.f, maxima, state.work, found, peaks, closed, blocks,
    )  # fmt: skip
    known = fresh.stop - response.delay - right
    return state, Peaks(fresh, response.x, response.f, found, peaks, closed, blocks, known)
