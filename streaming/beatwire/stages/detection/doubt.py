"""Doubt: peaks that the trees are in doubt about, judged again by a network that reads the waveform.

In:    Peaks with ``logits``
Out:   the same, with other ``logits`` where the trees were in doubt
State: the network, where it reads the samples of each bank, the past of its lanes, and their changed risks (xp)

Without a network, peaks pass unchanged.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.kernels.peaks.doubt import CHANGE_COLUMNS, HIDDEN_S, PAST_CHANGES
from beatwire.kernels.peaks.past_samples import BLOCK_BYTES, RECENT_S, STORED_HZ, VALUES
from beatwire.kernels.peaks.peak_features import LOOKBACK, SPAN_S
from beatwire.kernels.peaks.risk import LOGIT_RANGE
from beatwire.kernels.peaks.wave_input import AHEAD_S, BEFORE, CHANNELS, FRACTION, GRID_HZ
from beatwire.kernels.peaks.wave_network import LOOKS, MOST_FRAMES, TAPS, frames_of, grid_of
from beatwire.records import F64, I32, U8, Bank, Peaks
from beatwire.records.detection import FreshLanes, PeakTable, Rings
from beatwire.records.waveform import LogitTables, RiskChanges, WaveGrid, WaveNetwork, WaveScratch
from beatwire.stages.support.filters import Design, filter_for, half_up
from beatwire.stages.support.room import ROUNDED, grown_of

KNOTS = 129  # of ``scale_of``


@dataclass(frozen=True, slots=True)
class Settings:
    """The network (None: peaks pass unchanged), the trees' table of probabilities by logit, and the seconds read.

    ``design`` and ``right_s`` of the filter and of ``stages.detection.nms`` decide when a peak is known.
    """

    network: WaveNetwork | None
    probability: F64
    past_s: float
    design: Design
    right_s: float

    def known_after(self, rate_hz: float) -> int:
        """Return how many samples after a peak there are when it is judged."""
        return filter_for(self.design, rate_hz, 1).delay + half_up(self.right_s * rate_hz)


class Judge(NamedTuple):
    """What judges the doubtful peaks of a bank (xp, but for the scratch).

    lookback  samples in which errors are expected
    codes     scratch, int32 [1, VALUES]
    """

    grid: WaveGrid
    network: WaveNetwork
    tables: LogitTables
    scratch: WaveScratch
    lookback: int
    codes: I32


@dataclass(slots=True)
class State:
    """Judges, pasts (uint8 [lanes, leads, blocks, BLOCK_BYTES], xp), and changed risks (xp), by number of the bank."""

    settings: Settings
    backend: Backend = CPU
    judges: dict[int, Judge] = field(default_factory=dict)
    pasts: dict[int, Any] = field(default_factory=dict)
    changes: dict[int, RiskChanges] = field(default_factory=dict)


def step(state: State, peaks: Peaks) -> tuple[State, Peaks]:
    """Judge the doubtful peaks of one pass again."""
    network, fresh = state.settings.network, peaks.fresh
    if network is None:
        return state, peaks
    if peaks.logits is None:
        raise ValueError("doubt: expected peaks with logits; got peaks that were not classified")
    judge = state.judges.get(fresh.bank.number)
    if judge is None:
        judge = state.judges[fresh.bank.number] = _judge(state, network, fresh.bank)
    lanes, n = len(peaks.rings.f), len(fresh.lane)
    most, changes = (n, peaks.most[0]), _grown(state, fresh.bank, lanes)
    past = _past(state, fresh.bank, lanes)
    judged = state.backend.buffer("judged logits", peaks.logits.shape, np.float64)
    state.backend.kernels.copy_logits(n, peaks.table, peaks.logits, judged)
    judge_again(state.backend, judge, most, fresh.lanes, peaks.table, peaks.rings, past, changes, judged)
    return state, replace(peaks, logits=judged)


def judge_again(
    backend: Backend,
    judge: Judge,
    most: tuple[int, int],
    fresh: FreshLanes,
    peaks: PeakTable,
    rings: Rings,
    past: U8,
    changes: RiskChanges,
    logits: F64,
) -> None:
    """Store the past, and judge doubtful peaks again, in place.

    ``most`` are the lanes, and the peaks that they have at most.
    """
    n, kernels = most[0], backend.kernels
    kernels.store_past(n, fresh, judge.grid, rings.x, past, judge.codes)
    count = backend.buffer("doubts of lanes", (n,), np.int64)
    kernels.count_doubts(n, peaks, logits, count)
    first, total = backend.positions("doubts", n, count, most[1])
    asked = backend.buffer("doubts", (total, 2), np.int64)
    kernels.list_doubts(n, peaks, logits, first, asked)
    change = backend.buffer("changed risks", (total,), np.int64)
    kernels.judge_doubt(
        total, asked, fresh, peaks, rings, past, judge.grid, judge.network, judge.tables, judge.scratch, logits, change
    )
    kernels.correct_errors(n, fresh, peaks, asked, first, change, judge.lookback, changes, logits)


def grid_for(rate_hz: float, depth: int, known: int | None = None) -> WaveGrid:
    """Return where a network of a depth reads the samples around a peak at a sampling rate.

    ``known`` samples after the peak are there: at some rates fewer than the last points would lie between. None: all.
    """
    points = grid_of(depth) + BEFORE
    ahead_ms, apart_ms, rate_mhz = half_up(1000 * AHEAD_S), 1000 // GRID_HZ, half_up(1000 * rate_hz)
    offset_ms = ahead_ms - apart_ms * np.arange(points - 1, -1, -1, dtype=np.int64)
    offset, apart = offset_ms * rate_mhz * FRACTION // 1_000_000, max(1, int(rate_hz) // GRID_HZ)
    return WaveGrid(
        offset if known is None else np.minimum(offset, (known - apart + 1) * FRACTION), apart,
        half_up(RECENT_S * rate_hz), halvings_of(rate_hz),
        *(half_up(s * rate_hz) for s in HIDDEN_S),
    )  # fmt: skip


def halvings_of(rate_hz: float) -> int:
    """Return how often a sampling rate can be halved before it is below that of the past.

    >>> [halvings_of(rate_hz) for rate_hz in (100.0, 249.0, 250.0, 360.0, 500.0, 1000.0)]
    [0, 0, 1, 1, 2, 3]
    """
    return max(0, (int(rate_hz) // STORED_HZ).bit_length() - 1)


def blocks_of(past_s: float, rate_hz: float) -> int:
    """Return the blocks of the past of a lead, of which so many seconds are read."""
    samples = (past_s - RECENT_S) * rate_hz + ROUNDED
    return int(np.ceil(samples / (VALUES << halvings_of(rate_hz)))) + 1  # one is read in part


def scratch_of(network: WaveNetwork) -> WaveScratch:
    """Return the scratch of a network."""
    depth, size, first = network.narrow.shape[0], network.narrow.shape[2], network.first.shape[1]
    frames, grid = frames_of(depth), grid_of(depth)
    halved = 2 * frames + TAPS - 2
    rows = max(LOOKS * size, TAPS * CHANNELS, TAPS * first)
    longest = max(grid * CHANNELS, halved * first, frames * size)
    return WaveScratch(
        np.zeros((4, grid + BEFORE), np.int64),
        np.zeros((2, longest + -longest % 4), np.float32),  # a card reads four at a time
        np.zeros((3, MOST_FRAMES, rows), np.float32),
    )


def _judge(state: State, network: WaveNetwork, bank: Bank) -> Judge:
    """Return the judge of a bank; it shares all but grid and times with those of other banks."""
    constant = state.backend.constant
    lookback = half_up(SPAN_S[LOOKBACK] * bank.rate_hz)
    grid = grid_for(bank.rate_hz, network.narrow.shape[0], state.settings.known_after(bank.rate_hz))
    grid = grid._replace(offset=constant(grid.offset))
    for other in state.judges.values():
        return other._replace(grid=grid, lookback=lookback)
    codes = np.zeros((1, VALUES), np.int32)
    tables = LogitTables(*map(constant, tables_of(state.settings.probability)))
    return Judge(grid, WaveNetwork(*map(constant, network)), tables, scratch_of(network), lookback, codes)


def _past(state: State, bank: Bank, lanes: int) -> Any:
    """Return the past of a bank with at least ``lanes`` lanes."""
    shape = lanes, bank.leads, blocks_of(state.settings.past_s, bank.rate_hz), BLOCK_BYTES
    return grown_of(state.pasts, bank.number, state.backend, shape, np.uint8)


def _grown(state: State, bank: Bank, lanes: int) -> RiskChanges:
    """Return the changed risks of a bank with at least ``lanes`` lanes."""
    old, grown = state.changes.get(bank.number), state.backend.grown
    if old is None or len(old.log) < lanes:
        old = state.changes[bank.number] = RiskChanges(
            grown(None if old is None else old.log, (lanes, CHANGE_COLUMNS), np.int64),
            grown(None if old is None else old.sample, (lanes, PAST_CHANGES), np.int16),
            grown(None if old is None else old.past, (lanes, PAST_CHANGES), np.int16),
        )
    return old


def tables_of(probability: F64) -> LogitTables:
    """Return the tables for a network and trees with a table of probabilities."""
    return LogitTables(scale_of(probability), probability)


def scale_of(probability: F64) -> F64:
    """Return for combined logits the trees' logits of the same probability, where these have the same sign, else 0.

    A combined logit is the logarithm of the odds. Those of the trees are larger: at 0 one peak in four is a beat.
    """
    combined = np.linspace(-LOGIT_RANGE, LOGIT_RANGE, KNOTS)
    logit = np.interp(
        1 / (1 + np.exp(-combined)), probability, np.linspace(-LOGIT_RANGE, LOGIT_RANGE, len(probability))
    )
    same_sign: F64 = np.where(logit * combined > 0, logit, 0.0)
    return same_sign.round(6)
