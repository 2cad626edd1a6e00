"""Beats: which peaks are heartbeats, where exactly their R is, and their intervals.

In: Peaks. Out: Beats. State: for each bank int64 ``lanes[lanes, BEAT_COLUMNS]`` (``kernels.beats``):
the last beat, the last eight intervals, the last eight stretches in which no beat may be.

A peak is a beat when its response exceeds 0.3 of the level (median of the last five 2-s maxima,
at least 0.3 of the 80 % quantile of the last ten) and, for a calibrated stream, ``floor_uv``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streaming.filters import Design, Filter, filter_for, half_up, unit_response
from streaming.kernels import beats as body
from streaming.kernels import cpu
from streaming.records import I32, I64, Bank, Beats, Fresh, Peaks


@dataclass(frozen=True, slots=True)
class Settings:
    """Durations in seconds; ``floor_uv``: size of a Ricker-shaped wave that is still a beat."""

    design: Design
    before_s: float = 0.04
    after_s: float = 0.02
    quiet_margin_s: float = 0.06
    longest_rr_s: float = 30.0
    rate_window_s: float = 40.0
    floor_uv: float = 60.0
    flat_uv: float = 4.0
    flat_units: float = 1.0


@dataclass(slots=True)
class State:
    """lanes, durations, filters: by number of the bank; work: scratch int32 [3, capacity]."""

    settings: Settings
    lanes: dict[int, I64] = field(default_factory=dict)
    durations: dict[int, I64] = field(default_factory=dict)
    filters: dict[int, Filter] = field(default_factory=dict)
    unit: dict[int, float] = field(default_factory=dict)
    work: I32 = field(default_factory=lambda: np.zeros((3, 0), np.int32))


def step(state: State, peaks: Peaks) -> tuple[State, Beats]:
    """Decide the peaks of one pass."""
    fresh, bank = peaks.fresh, peaks.fresh.bank
    if bank.number not in state.filters:
        _open_bank(state, bank)
    lanes = _lanes(state, fresh, len(peaks.f))
    one = state.filters[bank.number]
    n, most = peaks.peaks.shape[:2]
    need = 2 * peaks.x.shape[2]
    if state.work.shape[1] < need:
        state.work = np.zeros((3, need), np.int32)
    floor = np.zeros(n, np.int64)
    calibrated = fresh.uv_per_unit > 0
    floor[calibrated] = np.rint(
        state.settings.floor_uv * state.unit[bank.number] / fresh.uv_per_unit[calibrated]
    ).astype(np.int64)
    count = np.zeros(n, np.int64)
    samples = np.empty((n, most, 2), np.int64)
    floats = np.empty((n, most, 4))
    quiet = fresh.quiet[np.argsort(fresh.quiet[:, 0], kind="stable")]
    run = np.stack([np.searchsorted(quiet[:, 0], fresh.lane, side) for side in ("left", "right")], axis=1)
    cpu.accept(
        n, fresh.lane, fresh.base, peaks.found, peaks.peaks, run, quiet, floor, state.durations[bank.number],
        one.taps, one.shift, peaks.x, lanes, state.work, count, samples, floats,
    )  # fmt: skip
    for lane, start, stop in fresh.quiet.tolist():
        cpu.add_quiet(lanes[lane], start, stop, int(state.durations[bank.number][2]))
    row, column = np.nonzero(np.arange(most) < count[:, None])
    sample, peak = samples[row, column].T
    values = floats[row, column]
    return state, Beats(
        fresh=fresh,
        known=peaks.known - int(state.durations[bank.number][0]),
        flat=_flat_blocks(state, peaks),
        slot=fresh.slot[row],
        session=fresh.session[row],
        sample=sample,
        decided=peak + int((fresh.stop - peaks.known)[0]) if len(peak) else peak,
        rr_s=values[:, 0] / bank.rate_hz,
        median_rr_s=values[:, 1] / bank.rate_hz,
        response=values[:, 2].astype(np.float32),
        quality=values[:, 3].astype(np.float32),
        lane=fresh.lane[row],
        base=fresh.base[row],
        x=peaks.x,
    )


def _flat_blocks(state: State, peaks: Peaks) -> I64:
    """Tell of every block that became complete whether it held a signal: row of its lane, end, flat."""
    row, column = np.nonzero(np.arange(peaks.blocks.shape[1]) < peaks.closed[:, None])
    end, most = peaks.blocks[row, column].T
    s, uv_per_unit = state.settings, peaks.fresh.uv_per_unit
    units = np.full(len(uv_per_unit), s.flat_units)
    np.divide(s.flat_uv, uv_per_unit, out=units, where=uv_per_unit > 0)
    least = state.unit[peaks.fresh.bank.number] * units
    return np.stack([row, end, most < least[row]], axis=1).astype(np.int64)


def _open_bank(state: State, bank: Bank) -> None:
    s = state.settings
    state.filters[bank.number] = filter_for(s.design, bank.rate_hz, bank.leads)
    state.unit[bank.number] = unit_response(state.filters[bank.number])
    durations = (s.before_s, s.after_s, s.quiet_margin_s, s.longest_rr_s, s.rate_window_s)
    state.durations[bank.number] = np.array([half_up(d * bank.rate_hz) for d in durations], np.int64)


def _lanes(state: State, fresh: Fresh, size: int) -> I64:
    """Return the state of the bank's lanes, the restarted ones forgotten."""
    lanes = state.lanes.get(fresh.bank.number)
    if lanes is None or len(lanes) < size:
        grown = np.zeros((size, body.BEAT_COLUMNS), np.int64)
        if lanes is not None:
            grown[: len(lanes)] = lanes
        lanes = state.lanes[fresh.bank.number] = grown
    restarted = fresh.lane[fresh.start == fresh.base]
    lanes[restarted, : body.FIRST_QUIET] = (-1, 0, 0)
    return lanes
