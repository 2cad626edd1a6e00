"""Beats: which peaks are heartbeats, where exactly their R is, and their intervals.

In: Peaks. Out: Beats. State: for each bank (xp) int64 ``lanes[lanes, BEAT_COLUMNS]`` (``kernels.beats``):
the last beat, the last eight intervals, the last eight stretches in which no beat may be.

A peak is a beat when the trees say so (their logit is above 0) and its response exceeds 0.09 of the
80 % quantile of the last ten 2-s maxima and, for a calibrated stream, ``floor_uv``. Without trees:
when its response exceeds 0.3 of the level (median of the last five maxima, at least 0.3 of that
quantile) and the floor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.backends.base import Backend, Table
from beatwire.backends.cpu import CPU
from beatwire.kernels import beats
from beatwire.kernels.flutter import POINTS
from beatwire.kernels.r_peak import EIGHT
from beatwire.records import F64, I32, Bank, Beats, Peaks
from beatwire.stages.support.filters import Design, filter_for, half_up, unit_response

LINE = 16  # of scratch begins with a line of the CPU's memory
LISTED = (np.int64, np.int64, np.int64, np.float64, np.float64, np.float32, np.float32, np.float32, np.bool_)


@dataclass(frozen=True, slots=True)
class Settings:
    """Durations in seconds; ``floor_uv``: size of a Ricker-shaped wave that is still a beat.

    probability: of a beat by the logit of its peak, see ``kernels.classify.chance``; a single one: the rule decides
    narrow, wide: R is marked by these wavelets, of one length, see ``kernels.r_peak``
    before_s, after_s, near_s: where it may lie about a peak, and how far the wide one may move it
    """

    design: Design
    probability: F64 = field(default_factory=lambda: np.zeros(1))
    narrow: Design = field(default_factory=lambda: Design(0.018, 0.050))
    wide: Design = field(default_factory=lambda: Design(0.030, 0.050))
    before_s: float = 0.04
    after_s: float = 0.02
    near_s: float = 0.008
    quiet_margin_s: float = 0.06
    longest_rr_s: float = 30.0
    rate_window_s: float = 40.0
    floor_uv: float = 60.0
    flat_uv: float = 4.0
    flat_units: float = 1.0
    block_s: float = 2.0


@dataclass(slots=True)
class State:
    """By number of the bank, lanes and constants (chances, durations, marking, taps) xp; work, points: scratch."""

    settings: Settings
    backend: Backend = CPU
    lanes: dict[int, Any] = field(default_factory=dict)
    before: dict[int, int] = field(default_factory=dict)
    room: dict[int, int] = field(default_factory=dict)
    constants: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    unit: dict[int, float] = field(default_factory=dict)
    work: I32 = field(default_factory=lambda: np.zeros((3, 0), np.int32))
    points: I32 = field(default_factory=lambda: np.zeros((1, POINTS), np.int32))


def step(state: State, peaks: Peaks) -> tuple[State, Beats]:
    """Decide the peaks of one pass."""
    fresh, bank, backend = peaks.fresh, peaks.fresh.bank, state.backend
    if bank.number not in state.unit:
        _open_bank(state, bank)
    lanes = state.lanes.get(bank.number)
    if lanes is None or len(lanes) < len(peaks.rings.f):
        lanes = state.lanes[bank.number] = backend.grown(lanes, (len(peaks.rings.f), beats.BEAT_COLUMNS), np.int64)
    if len(state.settings.probability) > 1 and peaks.logits is None:
        raise ValueError("beats: expected peaks with logits; got peaks that were not classified")
    s = state.settings
    if state.work.shape[1] < state.room[bank.number]:
        state.work = np.zeros((3, state.room[bank.number]), np.int32)
    quiet = fresh.quiet[np.argsort(fresh.quiet[:, 0], kind="stable")]
    n, most = len(fresh.lane), peaks.table.peaks.shape[1]
    count = backend.buffer("count", (n,), np.int64)
    samples = backend.buffer("samples", (n, most, 3), np.int64)
    floats = backend.buffer("floats", (n, most, 5), np.float64)
    logits = backend.buffer("no logits", (n, 1, 2), np.float64) if peaks.logits is None else peaks.logits
    backend.kernels.select_beats(  # type: ignore[call-arg]
        n, fresh.lane, fresh.start, fresh.base, peaks.table.found, peaks.table.peaks, quiet, fresh.uv_per_unit,
        s.floor_uv * state.unit[bank.number], logits, *state.constants[bank.number], peaks.rings.x, lanes, state.work,
        count, samples, floats,
    )  # fmt: skip
    if len(quiet):
        backend.kernels.remember_quiet(len(quiet), quiet, half_up(s.quiet_margin_s * bank.rate_hz), lanes)
    first, total = backend.positions("beats", n, count, peaks.most[0])
    inner = backend.table("lanes of beats", total, (np.int64, np.int64, np.int64))
    listed = backend.table("beats", total, LISTED)
    waited = int((fresh.stop - peaks.watermark)[0]) if n else 0
    backend.kernels.list_beats(
        n, first, count, fresh.lane, fresh.slot, fresh.base, samples, floats, bank.rate_hz, waited,
        *inner.columns, *listed.columns,
    )  # fmt: skip
    watermark = peaks.watermark - state.before[bank.number]
    return state, Beats(
        fresh, watermark, total, first, peaks.rings.x, listed, _blocks(state, peaks), *(*inner.columns, *listed.columns)
    )


def _blocks(state: State, peaks: Peaks) -> Table:
    """Tell of every block that became complete what it held: row of its lane, end, and ``kernels.flutter``'s bits."""
    fresh, backend, s = peaks.fresh, state.backend, state.settings
    n = len(fresh.lane)
    first, total = backend.positions("blocks", n, peaks.table.closed, peaks.most[1])
    table = backend.table("blocks", total, (np.int64, np.int64, np.int64))
    backend.kernels.list_blocks(
        n, first, peaks.table.closed, peaks.table.blocks, fresh.uv_per_unit, state.unit[fresh.bank.number], s.flat_uv,
        s.flat_units, *table.columns,
    )  # fmt: skip
    row, end, flat = table.columns
    length = half_up(s.block_s * fresh.bank.rate_hz)
    backend.kernels.find_waves(total, row, end, fresh.lane, fresh.base, length, peaks.rings.x, state.points, flat)
    return table


def _open_bank(state: State, bank: Bank) -> None:
    s = state.settings
    detection = filter_for(s.design, bank.rate_hz, bank.leads)
    in_samples = [half_up(d * bank.rate_hz) for d in (s.before_s, s.after_s, s.near_s)]
    marking = np.array([*in_samples, 2 * detection.box + 1, detection.shift], np.int64)
    lasting = (s.quiet_margin_s, s.longest_rr_s, s.rate_window_s)
    durations = np.array([half_up(d * bank.rate_hz) for d in lasting], np.int64)
    taps = np.stack([filter_for(d, bank.rate_hz, 1).taps for d in (s.narrow, s.wide)])
    state.unit[bank.number] = unit_response(detection)
    state.before[bank.number] = in_samples[0]
    wanted = sum(in_samples[:2]) + 1 + 2 * taps.shape[1] + EIGHT + 2  # filters write a little beyond
    state.room[bank.number] = -(-wanted // LINE) * LINE
    state.constants[bank.number] = tuple(map(state.backend.constant, (s.probability, durations, marking, taps)))
