"""Ricker: filter the new samples of each lane.

In:    Ringed
Out:   Response
State: by bank, responses int32 ``f [lanes, R]`` (xp); of several leads also their levels
       (``kernels.detection.lead_levels``)

The filter is a Ricker wavelet, its magnitude summed over leads and over a short box, by overlap-save and in integers
(``kernels.detection.ricker``): the response of a sample is the same number for every cutting of the stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.kernels.detection.lead_levels import LEAD_COLUMNS, LEVEL_COLUMNS
from beatwire.records import I32, Bank, Fresh, Response, Ringed
from beatwire.records.columns import JUMP_COLUMNS
from beatwire.records.detection import LeadLevels, LeadResponses, LevelLimits, ResponseFilter, Rings
from beatwire.stages.support.filters import FINE_HZ, Design, Filter, filter_for, half_up
from beatwire.stages.support.room import columns_for, grown_of


@dataclass(frozen=True, slots=True)
class Settings:
    """Parameters of the filter.

    ring_s   seconds of responses kept of each lane
    design   the wavelet and the box
    block_s  length of a block of the level, in seconds
    least_uv, most_uv  size of the smallest and of the largest Ricker-shaped wave that beats of a calibrated lead are
                       like: of the 560 records at hand, the lowest level of a lead with beats is 0.13 mV, the highest
                       4.4 mV
    least_units        the same of the smallest of a lead that is not calibrated; smaller ones may be the converter's
    jump_uv, jump_units  a step between two samples, of a calibrated lead or of another one, that may be an electrode's
    sharp_uv_s           the same of a calibrated lead at rates of ``FINE_HZ`` and more, where it may be a pacemaker's,
                         in microvolts a second: steeper than most QRS complexes
    jump_hz              the lowest rate at which jumps are looked for: at a lower one a QRS complex is two samples
    most_alone           leads of several whose responses are kept alone, too
    alone_ring_s         seconds of these
    """

    ring_s: float
    design: Design
    block_s: float = 2.0
    least_uv: float = 100.0
    most_uv: float = 8000.0
    least_units: float = 8.0
    jump_uv: float = 5000.0
    jump_units: float = 200.0
    sharp_uv_s: float = 250_000.0
    jump_hz: float = 100.0
    most_alone: int = 0
    alone_ring_s: float = 0.0

    def jumps_at(self, rate_hz: float) -> tuple[float, float]:
        """Return the limit of jumps of a calibrated lead, in microvolts, and of another one, in units."""
        if rate_hz < self.jump_hz:
            return np.inf, np.inf
        return min(self.jump_uv, self.sharp_uv_s / rate_hz) if rate_hz >= FINE_HZ else self.jump_uv, self.jump_units


@dataclass(slots=True)
class State:
    """Responses, levels and filters, by number of the bank.

    filters    designed on the host
    taps       int32 [half + 1] of the filters (xp)
    responses  int32 [lanes, R] (xp)
    leads      levels of several leads (xp)
    jumps      int64 [lanes, 3]: ``Rings.jumps`` (xp)
    alone      responses of leads alone (xp)
    work       scratch of the host, int32 [4, capacity], by capacity
    """

    settings: Settings
    backend: Backend = CPU
    filters: dict[int, Filter] = field(default_factory=dict)
    taps: dict[int, Any] = field(default_factory=dict)
    responses: dict[int, Any] = field(default_factory=dict)
    leads: dict[int, LeadLevels] = field(default_factory=dict)
    jumps: dict[int, Any] = field(default_factory=dict)
    alone: dict[int, LeadResponses] = field(default_factory=dict)
    work: dict[int, I32] = field(default_factory=dict)


def step(state: State, ringed: Ringed) -> tuple[State, Response]:
    """Extend the responses of the lanes that have new samples."""
    fresh, bank, backend = ringed.fresh, ringed.fresh.bank, state.backend
    n, lanes = len(fresh.lane), len(ringed.x)
    one = state.filters.get(bank.number)
    if one is None:
        one = state.filters[bank.number] = filter_for(state.settings.design, bank.rate_hz, bank.leads)
        state.taps[bank.number] = backend.constant(one.taps)
    response_filter = ResponseFilter(state.taps[bank.number], one.box, one.shift, one.after)
    shape = lanes, columns_for(state.settings.ring_s, bank.rate_hz, np.int32)
    f = grown_of(state.responses, bank.number, backend, shape, np.int32)
    jumps = grown_of(state.jumps, bank.number, backend, (lanes, JUMP_COLUMNS), np.int64)
    rings, work = Rings(ringed.x, f, jumps), _scratch(state, fresh, one)
    s, unit = state.settings, one.unit
    jump_uv, jump_units = s.jumps_at(bank.rate_hz)
    limits = LevelLimits(
        fresh.uv_per_unit, unit * s.least_uv, unit * s.most_uv, unit * s.least_units, jump_uv, jump_units
    )
    if bank.leads == 1:
        backend.kernels.respond(n, fresh.lanes, response_filter, limits, rings, work[:3])
        return state, Response(fresh, rings, one.delay, None, limits)
    leads, block = _leads_of(state, bank, lanes), half_up(state.settings.block_s * bank.rate_hz)
    alone = _alone_of(state, bank, f)
    backend.kernels.respond_leads(n, fresh.lanes, response_filter, block, limits, rings, leads, alone, work)
    each = _of_each_lead(state, ringed, alone, limits, one.delay) if alone.leads > 0 else None
    return state, Response(fresh, rings, one.delay, leads, limits, each)


def _alone_of(state: State, bank: Bank, f: Any) -> LeadResponses:
    """Return the responses of leads alone of a bank, grown to the lanes of ``f``."""
    alone, rows, backend, s = state.alone.get(bank.number), len(f) * bank.leads, state.backend, state.settings
    if alone is None or len(alone.f) < rows:
        old, old_jumps = (None, None) if alone is None else (alone.f, alone.jumps)
        columns = columns_for(s.alone_ring_s, bank.rate_hz, np.int32)
        lift = state.filters[bank.number].shift - filter_for(s.design, bank.rate_hz, 1).shift
        alone = state.alone[bank.number] = LeadResponses(
            backend.grown(old, (rows, columns), np.int32), backend.grown(old_jumps, (rows, JUMP_COLUMNS), np.int64),
            lift, min(bank.leads, s.most_alone),
        )  # fmt: skip
    return alone


def _of_each_lead(state: State, ringed: Ringed, alone: LeadResponses, limits: LevelLimits, delay: int) -> Response:
    """Return the responses of leads alone, as of streams of one lead."""
    fresh, all_leads, s, leads = ringed.fresh, ringed.fresh.bank.leads, state.settings, alone.leads
    unit = filter_for(s.design, fresh.bank.rate_hz, 1).unit
    slot, start, stop, base, session = (
        np.repeat(column, leads) for column in (fresh.slot, fresh.start, fresh.stop, fresh.base, fresh.session)
    )
    uv_per_unit = np.repeat(fresh.uv_per_unit, leads)
    lane = np.repeat(fresh.lane * all_leads, leads) + np.tile(np.arange(leads), len(fresh.lane))
    each = replace(
        fresh, bank=fresh.bank._replace(leads=1), lane=lane, slot=slot, start=start, stop=stop, base=base,
        session=session, uv_per_unit=uv_per_unit,
    )  # fmt: skip
    x = ringed.x.reshape(len(ringed.x) * all_leads, 1, ringed.x.shape[2])
    of_one = limits._replace(
        uv_per_unit=uv_per_unit, least=unit * s.least_uv, most=unit * s.most_uv, least_raw=unit * s.least_units
    )
    return Response(each, Rings(x, alone.f, alone.jumps), delay, None, of_one)


def _scratch(state: State, fresh: Fresh, one: Filter) -> I32:
    """Return scratch for the samples that the backend filters at a time, and for what overlaps them."""
    backend = state.backend
    long = fresh.bank.leads > 1 and fresh.longest > backend.block
    capacity = (backend.long_block if long else backend.block) + 4 * one.delay
    work = state.work.get(capacity)
    if work is None:
        work = state.work[capacity] = np.zeros((4, capacity), np.int32)
    return work


def _leads_of(state: State, bank: Bank, lanes: int) -> LeadLevels:
    """Return the levels of a bank of several leads, grown to so many lanes."""
    leads, s, backend = state.leads.get(bank.number), state.settings, state.backend
    if leads is None or len(leads.maxima) < lanes:
        maxima, levels = (None, None) if leads is None else leads
        rows = int(np.ceil(s.ring_s / s.block_s)) + 2
        leads = state.leads[bank.number] = LeadLevels(
            backend.grown(maxima, (lanes, bank.leads, LEAD_COLUMNS), np.int64),
            backend.grown(levels, (lanes, rows, bank.leads, LEVEL_COLUMNS), np.int64),
        )
    return leads
