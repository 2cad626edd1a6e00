"""Doubt: peaks that the trees are in doubt about, judged again by a network that reads the waveform.

In:    Peaks with ``logits``
Out:   the same, with other ``logits`` where the trees were in doubt
State: for each bank the peaks of ten seconds that were judged again (``kernels.peaks.doubt``)

Runs on the host. Without a network, peaks pass unchanged.
"""

from dataclasses import dataclass, field

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.jit import cpu
from beatwire.kernels.peaks.doubt import LOG_COLUMNS
from beatwire.kernels.peaks.peak_features import LOOKBACK, PAST_PEAKS, SPAN_S
from beatwire.kernels.peaks.wave_input import AHEAD_S, BEFORE, CHANNELS, FRACTION, GRID_HZ
from beatwire.kernels.peaks.wave_network import LOOKS, TAPS, frames_of, grid_of
from beatwire.kernels.scores.vae import WINDOWS_AT_ONCE
from beatwire.records import F64, Peaks
from beatwire.records.columns import BLOCK_COLUMNS, BOUND_COLUMNS, JUMP_COLUMNS, PEAK_COLUMNS
from beatwire.records.detection import FreshLanes, PeakTable, Rings
from beatwire.records.waveform import DoubtMemory, WaveGrid, WaveNetwork, WaveScratch
from beatwire.stages.support.filters import half_up


@dataclass(frozen=True, slots=True)
class Settings:
    """The network (None: peaks pass unchanged), and the trees' table of probabilities by logit."""

    network: WaveNetwork | None
    probability: F64


@dataclass(slots=True)
class State:
    """Grids and memory by number of the bank, and scratch."""

    settings: Settings
    backend: Backend = CPU
    grids: dict[int, WaveGrid] = field(default_factory=dict)
    memory: dict[int, DoubtMemory] = field(default_factory=dict)
    scratch: WaveScratch | None = None


def step(state: State, peaks: Peaks) -> tuple[State, Peaks]:
    """Judge the doubtful peaks of one pass again, in place."""
    network, bank = state.settings.network, peaks.fresh.bank
    if network is None:
        return state, peaks
    if peaks.logits is None:
        raise ValueError("doubt: expected peaks with logits; got peaks that were not classified")
    depth = network.narrow.shape[0]
    if state.scratch is None:
        state.scratch = scratch_of(network)
    if bank.number not in state.grids:
        state.grids[bank.number] = grid_for(bank.rate_hz, depth)
    memory = state.memory.get(bank.number)
    lanes = len(peaks.rings.f)
    if memory is None or len(memory.log) < lanes:
        grown = state.backend.grown
        memory = state.memory[bank.number] = DoubtMemory(
            grown(None if memory is None else memory.log, (lanes, LOG_COLUMNS), np.int64),
            grown(None if memory is None else memory.risk, (lanes, PAST_PEAKS), np.float64),
        )
    cpu.kernels.judge_again(
        len(peaks.fresh.lane), peaks.fresh.lanes, peaks.table, peaks.rings, state.grids[bank.number], network,
        state.settings.probability, memory, state.scratch, half_up(SPAN_S[LOOKBACK] * bank.rate_hz), peaks.logits,
    )  # fmt: skip
    return state, peaks


def rehearse(settings: Settings) -> None:
    """Compile the kernel, or load its machine code, before there are samples."""
    if settings.network is None:
        return
    none = np.zeros(0, np.int64)
    peaks, bounds, blocks = (np.zeros((0, 0, n), np.int64) for n in (PEAK_COLUMNS, BOUND_COLUMNS, BLOCK_COLUMNS))
    table = PeakTable(none, peaks, bounds, none, blocks)
    cpu.kernels.judge_again(
        0, FreshLanes(none, none, none, none, none), table,
        Rings(np.zeros((0, 1, 1), np.int16), np.zeros((0, 1), np.int32), np.zeros((0, JUMP_COLUMNS), np.int64)),
        grid_for(float(GRID_HZ), settings.network.narrow.shape[0]), settings.network, settings.probability,
        DoubtMemory(np.zeros((0, LOG_COLUMNS), np.int64), np.zeros((0, PAST_PEAKS))), scratch_of(settings.network), 0,
        np.zeros((0, 0, 2)),
    )  # fmt: skip


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
