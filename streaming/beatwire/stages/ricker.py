"""Ricker: the response of a lane to its new samples, by overlap-save, in integers.

In: Ringed. Out: Response. State: for each bank int32 ``f[lanes, R]`` and the taps for its rate; of
several leads their levels (``kernels.fusion``).
The response is exact, so direct form and FFT give the same numbers; short kernels take the
direct form, kernels of ``fft_from_taps`` taps and more the FFT (one lead, on the CPU).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.kernels.fusion import LEVEL_COLUMNS
from beatwire.kernels.nms import MAXIMA_COLUMNS
from beatwire.records import I32, Fresh, Response, Ringed
from beatwire.records.detection import LeadLevels, ResponseFilter, Rings
from beatwire.stages.support.filters import Design, Filter, filter_fft, filter_for, half_up


@dataclass(frozen=True, slots=True)
class Settings:
    """ring_s: seconds of responses kept; fft_from_taps: measured on one core, see README; block_s: of a level."""

    ring_s: float
    design: Design
    fft_from_taps: int = 1024
    block_s: float = 2.0


@dataclass(slots=True)
class State:
    """By number of the bank (all but filters xp); but work: scratch int32 [4, capacity], by capacity."""

    settings: Settings
    backend: Backend = CPU
    filters: dict[int, Filter] = field(default_factory=dict)
    taps: dict[int, Any] = field(default_factory=dict)
    responses: dict[int, Any] = field(default_factory=dict)
    leads: dict[int, LeadLevels] = field(default_factory=dict)
    work: dict[int, I32] = field(default_factory=dict)


def step(state: State, ringed: Ringed) -> tuple[State, Response]:
    """Extend the responses of the lanes with new samples."""
    fresh, bank, backend = ringed.fresh, ringed.fresh.bank, state.backend
    one = state.filters.get(bank.number)
    if one is None:
        one = state.filters[bank.number] = filter_for(state.settings.design, bank.rate_hz, bank.leads)
        state.taps[bank.number] = backend.constant(one.taps)
    f = state.responses.get(bank.number)
    if f is None or len(f) < len(ringed.x):
        columns = int(np.ceil(state.settings.ring_s * bank.rate_hz / 16)) * 16
        f = state.responses[bank.number] = backend.grown(f, (len(ringed.x), columns), np.int32)
    n, rings = len(fresh.lane), Rings(ringed.x, f)
    long = bank.leads > 1 and int((fresh.stop - fresh.start).max(initial=0)) > backend.block
    need = (backend.long_block if long else backend.block) + 4 * one.delay
    work = state.work.get(need)
    if work is None:
        work = state.work[need] = np.zeros((4, need), np.int32)
    if bank.leads > 1:
        return state, _respond_leads(state, fresh, rings, one, work)
    if 2 * len(one.taps) - 1 < state.settings.fft_from_taps or not backend.in_order:
        response_filter = ResponseFilter(state.taps[bank.number], one.box, one.shift)
        backend.kernels.respond(n, fresh.lanes, response_filter, rings, work[:3])
    else:
        _respond_fft(ringed, one, f)
    return state, Response(fresh, rings, one.delay)


def _respond_leads(state: State, fresh: Fresh, rings: Rings, one: Filter, work: I32) -> Response:
    """Extend the responses of several leads."""
    s, backend, bank, lanes = state.settings, state.backend, fresh.bank, len(rings.x)
    leads = state.leads.get(bank.number)
    if leads is None or len(leads.maxima) < lanes:
        maxima, levels = (None, None) if leads is None else leads
        rows = int(np.ceil(s.ring_s / s.block_s)) + 2
        leads = state.leads[bank.number] = LeadLevels(
            backend.grown(maxima, (lanes, bank.leads, MAXIMA_COLUMNS), np.int64),
            backend.grown(levels, (lanes, rows, LEVEL_COLUMNS), np.int64),
        )
    response_filter = ResponseFilter(state.taps[bank.number], one.box, one.shift)
    block = half_up(s.block_s * bank.rate_hz)
    backend.kernels.respond_leads(len(fresh.lane), fresh.lanes, response_filter, block, rings, leads, work)
    return Response(fresh, rings, one.delay, leads)


def _respond_fft(ringed: Ringed, one: Filter, f: I32) -> None:
    """Do what ``kernels.ricker.respond`` does, by FFT, lane by lane."""
    fresh = ringed.fresh
    half, box = len(one.taps) - 1, one.box
    for lane, start, stop, base in zip(
        fresh.lane.tolist(), fresh.start.tolist(), fresh.stop.tolist(), fresh.base.tolist(), strict=True
    ):
        first = max(base, start - half - box)
        n = stop - half - box - first
        if n <= 0:
            continue
        early = max(0, base - (first - box))
        wanted = np.arange(first - box + early - half, stop)
        x = ringed.x[lane][:, np.maximum(wanted, base) % ringed.x.shape[2]]
        a = (np.abs(filter_fft(x, one.taps)) >> one.shift).sum(0)
        summed = np.concatenate([np.zeros(early + 1, np.int64), np.cumsum(a)])
        summed[:early] = 0
        f[lane, np.arange(first, first + n) % f.shape[1]] = summed[2 * box + 1 :] - summed[: -(2 * box + 1)]
