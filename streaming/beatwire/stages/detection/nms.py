"""Non-maximum suppression: find the peaks of the response, and the level around each.

In:    Response
Out:   Peaks
State: by bank, int64 ``maxima[lanes, MAXIMA_COLUMNS]`` (xp): maxima of 2-s blocks of the response
(``kernels.detection.level``)

A peak is the largest response of ``left_s`` before it and ``right_s`` after it, which does not depend on chunks or
ticks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.kernels.detection.level import MAXIMA_COLUMNS
from beatwire.records import EACH_LEAD, I32, Peaks, Response
from beatwire.records.columns import BLOCK_COLUMNS, BOUND_COLUMNS, PEAK_COLUMNS
from beatwire.records.detection import LevelLimits, PeakSearch, PeakTable
from beatwire.stages.support.filters import half_up
from beatwire.stages.support.room import grown_of

PER_STRETCH = 3  # of ``right + 1`` samples: a disturbance, and a peak on each side of it


@dataclass(frozen=True, slots=True)
class Settings:
    """Durations in seconds.

    left_s, right_s  before and after a peak no other response is larger
    block_s          length of a block of the level
    """

    left_s: float = 0.25
    right_s: float = 0.22
    block_s: float = 2.0


@dataclass(slots=True)
class State:
    """Block maxima.

    maxima  int64 [lanes, MAXIMA_COLUMNS] (xp), by number of the bank
    work    scratch of the host, int32 [1, capacity]
    key     ending of the names of its buffers
    each    the state of leads alone, as of streams of one; None: there were none
    """

    settings: Settings
    backend: Backend = CPU
    maxima: dict[int, Any] = field(default_factory=dict)
    work: I32 = field(default_factory=lambda: np.zeros((1, 0), np.int32))
    key: str = ""
    each: State | None = None


def step(state: State, response: Response) -> tuple[State, Peaks]:
    """Find the peaks that the new responses decide."""
    fresh, s, backend = response.fresh, state.settings, state.backend
    bank = fresh.bank
    left, right, block = (half_up(d * bank.rate_hz) for d in (s.left_s, s.right_s, s.block_s))
    maxima = grown_of(state.maxima, bank.number, backend, (len(response.rings.f), MAXIMA_COLUMNS), np.int64)
    n = len(fresh.lane)
    longest = fresh.longest
    reach = left + right + response.delay
    if state.work.shape[1] < longest + reach:
        state.work = np.zeros((1, longest + reach), np.int32)
    most_peaks = PER_STRETCH * max(1, (longest + right) // (right + 1))
    several = response.leads is not None
    table = PeakTable(
        found=backend.buffer(f"found{state.key}", (n,), np.int64),
        peaks=backend.buffer(f"peaks{state.key}", (n, most_peaks, PEAK_COLUMNS), np.int64),
        bounds=backend.buffer(f"bounds{state.key}", (n, most_peaks if several else 1, BOUND_COLUMNS), np.int64),
        closed=backend.buffer(f"closed{state.key}", (n,), np.int64),
        blocks=backend.buffer(f"blocks{state.key}", (n, longest // block + 2, BLOCK_COLUMNS), np.int64),
    )
    search = PeakSearch(response.delay, left, right, block)
    limits = _limits_of(response)
    backend.kernels.suppress(n, fresh.lanes, search, limits, response.rings.f, maxima, state.work, table)
    if response.leads is not None:
        backend.kernels.level_peaks(n, fresh.lanes, search, response.rings, response.leads, table)
    watermark = fresh.stop - response.delay - right
    most = PER_STRETCH * fresh.most_in(right + 1), fresh.most_in(block)
    return state, Peaks(fresh, response.rings, table, watermark, most, alone=_of_each_lead(state, response))


def _of_each_lead(state: State, response: Response) -> Peaks | None:
    """Return the peaks of leads alone; None: there are none."""
    if response.alone is None:
        return None
    if state.each is None:
        state.each = State(state.settings, state.backend, key=EACH_LEAD)
    return step(state.each, response.alone)[1]


def _limits_of(response: Response) -> LevelLimits:
    """Return the limits of the sum of the leads."""
    if response.limits is None:
        return LevelLimits(np.zeros(len(response.fresh.lane)), 0.0, 0.0, 0.0, 0.0, 0.0)
    return response.limits._replace(most=response.limits.most * response.fresh.bank.leads)
