"""Doubt: peaks that the trees are in doubt about, judged again by a network that reads the waveform.

In:    Peaks with ``logits``
Out:   the same, with other ``logits`` where the trees were in doubt
State: for each bank the peaks of ten seconds that were judged again (``kernels.peaks.doubt``; xp)

Without a network, peaks pass unchanged.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.kernels.peaks.doubt import LOG_COLUMNS
from beatwire.kernels.peaks.peak_features import LOOKBACK, PAST_PEAKS, SPAN_S
from beatwire.kernels.peaks.wave_input import AHEAD_S, BEFORE, CHANNELS, FRACTION, GRID_HZ
from beatwire.kernels.peaks.wave_network import LOOKS, TAPS, frames_of, grid_of
from beatwire.kernels.scores.vae import WINDOWS_AT_ONCE
from beatwire.records import F64, Bank, Peaks
from beatwire.records.columns import BLOCK_COLUMNS, BOUND_COLUMNS, JUMP_COLUMNS, PEAK_COLUMNS
from beatwire.records.detection import FreshLanes, PeakTable, Rings
from beatwire.records.waveform import DoubtMemory, WaveGrid, WaveNetwork, WaveScratch
from beatwire.stages.support.filters import half_up


@dataclass(frozen=True, slots=True)
class Settings:
    """The network (None: peaks pass unchanged), and the trees' table of probabilities by logit."""

    network: WaveNetwork | None
    probability: F64


class Judge(NamedTuple):
    """What judges the doubtful peaks of a bank (xp, but for the scratch); ``lookback`` is ten seconds in samples."""

    grid: WaveGrid
    network: WaveNetwork
    probability: F64
    scratch: WaveScratch
    lookback: int


@dataclass(slots=True)
class State:
    """Judges and memory by number of the bank."""

    settings: Settings
    backend: Backend = CPU
    judges: dict[int, Judge] = field(default_factory=dict)
    memory: dict[int, DoubtMemory] = field(default_factory=dict)


def step(state: State, peaks: Peaks) -> tuple[State, Peaks]:
    """Judge the doubtful peaks of one pass again, in place."""
    network, fresh = state.settings.network, peaks.fresh
    if network is None:
        return state, peaks
    if peaks.logits is None:
        raise ValueError("doubt: expected peaks with logits; got peaks that were not classified")
    if fresh.bank.number not in state.judges:
        state.judges[fresh.bank.number] = _judge(state, network, fresh.bank)
    memory = state.memory[fresh.bank.number] = _grown(state, fresh.bank, len(peaks.rings.f))
    judge_again(
        state.backend, state.judges[fresh.bank.number], (len(fresh.lane), peaks.most[0]), fresh.lanes, peaks.table,
        peaks.rings, memory, peaks.logits,
    )  # fmt: skip
    return state, peaks


def judge_again(
    backend: Backend, judge: Judge, most: tuple[int, int], fresh: FreshLanes, peaks: PeakTable, rings: Rings,
    memory: DoubtMemory, logits: F64,
) -> None:  # fmt: skip
    """Judge the doubtful peaks of lanes again: ``most`` are the lanes, and the peaks that they have at most."""
    n, kernels = most[0], backend.kernels
    count = backend.buffer("doubts of lanes", (n,), np.int64)
    kernels.count_doubts(n, fresh, peaks, judge.lookback, logits, count)
    first, total = backend.positions("doubts", n, count, most[1])
    asked = backend.buffer("doubts", (total, 2), np.int64)
    again = backend.buffer("logits of doubts", (total,), np.float64)
    kernels.list_doubts(n, fresh, peaks, judge.lookback, logits, first, asked)
    kernels.judge_doubt(total, asked, fresh, peaks, rings, judge.grid, judge.network, judge.scratch, logits, again)
    kernels.note_doubts(n, fresh, peaks, first, asked, again, judge.probability, memory, judge.lookback, logits)


def rehearse(settings: Settings, backend: Backend = CPU) -> None:
    """Compile the kernels, or load their machine code, before there are samples: judge a lane without peaks."""
    network = settings.network
    if network is None:
        return
    none = np.zeros(1, np.int64)
    peaks, bounds, blocks = (np.zeros((1, 1, n), np.int64) for n in (PEAK_COLUMNS, BOUND_COLUMNS, BLOCK_COLUMNS))
    grid = grid_for(float(GRID_HZ), network.narrow.shape[0])
    judge_again(
        backend, Judge(grid, network, settings.probability, scratch_of(network), 0), (1, 1),
        FreshLanes(none, none, none, none, none), PeakTable(none, peaks, bounds, none, blocks),
        Rings(np.zeros((1, 1, 1), np.int16), np.zeros((1, 1), np.int32), np.zeros((1, JUMP_COLUMNS), np.int64)),
        DoubtMemory(np.zeros((1, LOG_COLUMNS), np.int64), np.zeros((1, PAST_PEAKS))), np.zeros((1, 1, 2)),
    )  # fmt: skip
    backend.fetch([])


def grid_for(rate_hz: float, depth: int) -> WaveGrid:
    """Return where a network of a depth reads the samples around a peak at a sampling rate."""
    points = grid_of(depth) + BEFORE
    ahead_ms, apart_ms, rate_mhz = half_up(1000 * AHEAD_S), 1000 // GRID_HZ, half_up(1000 * rate_hz)
    offset_ms = ahead_ms - apart_ms * np.arange(points - 1, -1, -1, dtype=np.int64)
    return WaveGrid(offset_ms * rate_mhz * FRACTION // 1_000_000, max(1, int(rate_hz) // GRID_HZ))


def scratch_of(network: WaveNetwork) -> WaveScratch:
    """Return the scratch of a network."""
    depth, size, first = network.narrow.shape[0], network.narrow.shape[2], network.first.shape[1]
    frames, grid = frames_of(depth), grid_of(depth)
    halved = 2 * frames + TAPS - 2
    rows = max(LOOKS * size, TAPS * CHANNELS, TAPS * first)
    return WaveScratch(
        np.zeros((4, grid + BEFORE), np.int64),
        np.zeros((2, max(grid * CHANNELS, halved * first, frames * size)), np.float32),
        np.zeros((3, WINDOWS_AT_ONCE, rows), np.float32),
    )


def _judge(state: State, network: WaveNetwork, bank: Bank) -> Judge:
    """Return the judge of a bank; it shares all but the grid with those of other banks."""
    constant = state.backend.constant
    grid, lookback = grid_for(bank.rate_hz, network.narrow.shape[0]), half_up(SPAN_S[LOOKBACK] * bank.rate_hz)
    grid = grid._replace(offset=constant(grid.offset))
    for other in state.judges.values():
        return other._replace(grid=grid, lookback=lookback)
    probability = constant(state.settings.probability)
    return Judge(grid, WaveNetwork(*map(constant, network)), probability, scratch_of(network), lookback)


def _grown(state: State, bank: Bank, lanes: int) -> DoubtMemory:
    """Return the memory of a bank with at least ``lanes`` lanes."""
    old, grown = state.memory.get(bank.number), state.backend.grown
    if old is not None and len(old.log) >= lanes:
        return old
    return DoubtMemory(
        grown(None if old is None else old.log, (lanes, LOG_COLUMNS), np.int64),
        grown(None if old is None else old.risk, (lanes, PAST_PEAKS), np.float64),
    )
