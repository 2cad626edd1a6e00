"""Candidate peaks of a whole recording with the features that the detector computes for them.

In:  int16 [leads, n]
Out: :class:`Candidates`, p peaks

The kernels are those of the stages. A recording is one lane whose ring holds all of it.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from beatwire.jit import cpu
from beatwire.kernels import team
from beatwire.kernels.detection import lead_levels, level
from beatwire.kernels.peaks import block_maxima, classify, lead_agreement, peak_features, peak_history
from beatwire.records import F32, I32, I64, Bool
from beatwire.records.classification import Candidate, PeakMemory, PeakScratch
from beatwire.records.columns import BLOCK_COLUMNS, BOUND_COLUMNS, JUMP_COLUMNS, PEAK_COLUMNS
from beatwire.records.detection import (
    FreshLanes,
    LeadLevels,
    LeadResponses,
    LevelLimits,
    PeakSearch,
    PeakTable,
    ResponseFilter,
    Rings,
)
from beatwire.stages.detection.classify import feature_settings, stretch_length
from beatwire.stages.detection.nms import Settings as NmsSettings
from beatwire.stages.support.filters import Design, Filter, filter_for, half_up

_LANE, _NO_JUMPS = np.zeros(1, np.int64), np.zeros((1, JUMP_COLUMNS), np.int64)
_NO_LIMITS = LevelLimits(np.zeros(1), 0.0, 0.0, 0.0, np.inf, np.inf)  # records are not always calibrated


@dataclass(frozen=True)
class Candidates:
    """The candidate peaks of one recording.

    at        int64 [p], sample index
    value     int64 [p], response at the peak
    median    int64 [p], median of the last five block maxima of the response
    quantile  int64 [p], 80 % quantile of the last ten block maxima
    features  float32 [p, FEATURES]
    several   bool [p], True if more than one lead contributed
    """

    at: I64
    value: I64
    median: I64
    quantile: I64
    features: F32
    several: Bool

    @property
    def typical(self) -> Bool:
        """Which peaks the detector accepts without its trees (``kernels.peaks.classify.is_typical``): bool [p]."""
        typical: Bool = np.zeros(len(self.at), np.bool_)
        _are_typical()(self.features, typical)
        return typical


def find_candidates(samples: Any, rate_hz: float) -> Candidates:
    """Find the peaks of int16 [leads, n] whose response is above a tenth of the level."""
    x = np.ascontiguousarray(samples, np.int16)[None]
    one = filter_for(Design(), rate_hz, x.shape[1])
    return peaks_of(x, *respond(x, rate_hz, one), rate_hz, one)


def respond(x: Any, rate_hz: float, one: Filter) -> tuple[I32, I64]:
    """Return the response int32 [1, n] of int16 [1, leads, n], and the levels of the leads if there are several."""
    n, leads = x.shape[2], x.shape[1]
    f = np.zeros((1, n), np.int32)
    work = np.zeros((4, team.BLOCK + 4 * one.delay), np.int32)
    response_filter = ResponseFilter(one.taps, one.box, one.shift, one.after)
    block = half_up(NmsSettings().block_s * rate_hz)
    levels = np.zeros((1, n // block + 2 if leads > 1 else 1, leads, lead_levels.LEVEL_COLUMNS), np.int64)
    if leads == 1:
        cpu.kernels.respond(1, _all_of(n), response_filter, _NO_LIMITS, Rings(x, f, _NO_JUMPS), work[:3])
        return f, levels
    own = LeadLevels(np.zeros((1, leads, lead_levels.LEAD_COLUMNS), np.int64), levels)
    rings = Rings(x, f, _NO_JUMPS)
    alone = LeadResponses(np.zeros((0, 1), np.int32), np.zeros((0, JUMP_COLUMNS), np.int64), lift=0, leads=0)
    cpu.kernels.respond_leads(1, _all_of(n), response_filter, block, _NO_LIMITS, rings, own, alone, work)
    return f, levels


def _all_of(n: int) -> FreshLanes:
    """Return lane 0 with samples [0, n), all of them new."""
    return FreshLanes(_LANE, _LANE, _LANE, np.array([n], np.int64), _LANE)


def peaks_of(x: Any, f: I32, levels: I64, rate_hz: float, one: Filter) -> Candidates:
    """Find the peaks of a response int32 [1, n] and compute their features."""
    n = f.shape[1]
    times = NmsSettings()
    left, right, block = (half_up(s * rate_hz) for s in (times.left_s, times.right_s, times.block_s))
    most_peaks = n // (right + 1) + 2
    table = PeakTable(
        found=np.zeros(1, np.int64),
        peaks=np.zeros((1, most_peaks, PEAK_COLUMNS), np.int64),
        bounds=np.zeros((1, most_peaks, BOUND_COLUMNS), np.int64),
        closed=np.zeros(1, np.int64),
        blocks=np.zeros((1, n // block + 2, BLOCK_COLUMNS), np.int64),
    )
    maxima = np.zeros((1, level.MAXIMA_COLUMNS), np.int64)
    search = PeakSearch(one.delay, left, right, block)
    cpu.kernels.suppress(1, _all_of(n), search, _NO_LIMITS, f, maxima, np.zeros((1, n), np.int32), table)
    if x.shape[1] > 1:
        own = LeadLevels(np.zeros((1, x.shape[1], lead_levels.LEAD_COLUMNS), np.int64), levels)
        cpu.kernels.level_peaks(1, _all_of(n), search, Rings(x, f, _NO_JUMPS), own, table)
    found, blocks = int(table.found[0]), table.blocks[0, : table.closed[0]]
    rows = table.peaks[0, :found]
    high = classify.LEVELS_PER_CANDIDATE * rows[:, 1] > rows[:, 2]
    at, value, median, quantile = np.ascontiguousarray(rows[high, :4].T)
    most, least, active, muted = np.ascontiguousarray(table.bounds[0, :found][high].T)
    if x.shape[1] == 1:
        most, least = most - 1, least - 1
    settings = feature_settings(rate_hz, one)
    memory = PeakMemory(
        np.zeros(peak_features.LOG_COLUMNS, np.int64),
        np.zeros(peak_features.PAST_PEAKS, np.int16),
        np.zeros((peak_features.PAST_PEAKS, lead_agreement.past_columns(x.shape[1])), np.uint16),
    )
    stretch, numbers = np.zeros(stretch_length(settings), np.int32), np.zeros(peak_features.PAST_PEAKS)
    features = np.zeros((len(at), peak_features.FEATURES), np.float32)
    candidates = np.stack([at, value, median, most, least, muted if x.shape[1] > 1 else 0 * at], axis=1)
    _describe_all()(candidates, blocks, settings, x[0], f[0], _NO_JUMPS[0], memory, stretch, numbers, features)
    return Candidates(at, value, median, quantile, features, active > 1)


@functools.cache
def _are_typical() -> Callable[..., None]:
    """Compile a function that writes of each peak whether it is typical."""
    is_typical = cpu.compiled(classify.is_typical)

    @numba.njit(nogil=True)  # type: ignore[untyped-decorator]
    def are_typical(features: Any, found: Any) -> None:
        for k in range(len(features)):
            found[k] = is_typical(features[k])

    return are_typical  # type: ignore[no-any-return]


@functools.cache
def _describe_all() -> Callable[..., None]:
    """Compile a function that describes the candidates of a lane in turn, as ``classify_peaks`` does."""
    describe, store_maxima = cpu.compiled(classify.describe_peak), cpu.compiled(block_maxima.store_block_maxima)
    forget, store = cpu.compiled(peak_history.forget_peaks), cpu.compiled(peak_history.store_peak)
    ms220 = peak_features.MS220

    @numba.njit(nogil=True)  # type: ignore[untyped-decorator]
    def describe_all(
        candidates: Any, blocks: Any, settings: Any, x: Any, f: Any, jumps: Any, memory: Any, stretch: Any,
        numbers: Any, features: Any,
    ) -> None:  # fmt: skip
        stored = 0
        for k in range(len(candidates)):
            row = candidates[k]
            stored = store_maxima(memory.log, blocks, stored, len(blocks), row[0] + settings.spans[ms220] + 1)
            peak = Candidate(row[0], row[1], row[2], row[3], row[4], row[5])
            if peak.level <= 0:
                peak = Candidate(row[0], row[1], row[1], row[1], row[1], row[5])
            forget(row[0], settings.spans, memory.log)
            describe(peak, 0, True, settings, x, f, jumps, memory, PeakScratch(stretch, numbers, features[k]))
            store(row[0], row[1], memory, numbers, features[k])

    return describe_all  # type: ignore[no-any-return]
