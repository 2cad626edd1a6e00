"""Ring: write the samples of a pass into the rings of their bank, fill in holes, bridge gaps, and take out mains hum.

In:    Placement
Out:   Ringed
State: by bank, int16 ``x[lanes, leads, R]`` (xp); sample ``a`` of a lane is in column ``a % R``. ``R`` leaves room for
       the windows behind a pass and for chunks that came before their turn. And its hum (xp)
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.kernels.intake.ring import FILL
from beatwire.records import I64, Bank, Bool, Placement, Ringed
from beatwire.records.columns import PLACE_AT, PLACE_COUNT, PLACE_LANE
from beatwire.records.hum import Hum, HumFilter
from beatwire.stages.support.holes import longest_hole
from beatwire.stages.support.mains import hum_filter_for, shapes_of_hum
from beatwire.stages.support.room import columns_for, grown_of


@dataclass(frozen=True, slots=True)
class Settings:
    """Parameters of the rings.

    ring_s    seconds of samples kept of each lane
    bridge_s  longest hole of all leads that is bridged
    """

    ring_s: float
    bridge_s: float


@dataclass(slots=True)
class State:
    """By number of the bank.

    rings       int16 [lanes, leads, R] (xp)
    filters     of hum (xp)
    amplitudes, sines, filled  of hum: ``Hum`` (xp)
    """

    settings: Settings
    backend: Backend = CPU
    rings: dict[int, Any] = field(default_factory=dict)
    filters: dict[int, HumFilter] = field(default_factory=dict)
    amplitudes: dict[int, Any] = field(default_factory=dict)
    sines: dict[int, Any] = field(default_factory=dict)
    filled: dict[int, Any] = field(default_factory=dict)


def step(state: State, placement: Placement) -> tuple[State, Ringed]:
    """Write one placement."""
    fresh, bank, backend = placement.fresh, placement.fresh.bank, state.backend
    backend.next_pass()
    shape = placement.lanes, bank.leads, columns_for(state.settings.ring_s, bank.rate_hz, np.int16)
    x = grown_of(state.rings, bank.number, backend, shape, np.int16)
    hum = None if fresh.is_clean else _hum_of(state, bank, placement.lanes)
    if hum is not None:
        backend.kernels.put_back_hum(len(fresh.lane), fresh.lanes, *hum, x)
    begun = np.flatnonzero(fresh.start == fresh.base)
    if len(begun):
        backend.kernels.begin_lane(len(begun), fresh.lane[begun], fresh.base[begun], x)
    place = np.ascontiguousarray(placement.place)  # one layout, so one compilation
    alone, in_turn = (place, None) if backend.in_order else _apart(place)
    backend.kernels.write_samples(len(alone), alone, placement.payload, x)
    if in_turn is not None:
        run, rest = in_turn
        backend.kernels.write_in_turn(len(run) - 1, run, rest, placement.payload, x)
    if hum is not None:
        marked = _marked(fresh.lane, place)
        backend.kernels.take_out_hum(len(fresh.lane), fresh.lanes, marked, fresh.quiet, fresh.uv_per_unit, *hum, x)
    return state, Ringed(fresh, x)


def _marked(lanes: I64, place: I64) -> Bool:
    """Return in which lanes samples without a value became final."""
    filling = place[:, PLACE_AT] == FILL
    return np.isin(lanes, place[filling, PLACE_LANE]) if filling.any() else np.zeros(len(lanes), np.bool_)


def _hum_of(state: State, bank: Bank, lanes: int) -> tuple[HumFilter, Hum]:
    """Return the filter of a bank, and its hum, grown to so many lanes."""
    backend, number = state.backend, bank.number
    if number not in state.filters:
        made = hum_filter_for(bank.rate_hz, longest_hole(bank.rate_hz, state.settings.bridge_s))
        tables, sums, turns, offsets = (backend.constant(array) for array in made[:4])
        state.filters[number] = made._replace(tables=tables, sums=sums, turns=turns, offsets=offsets)
    hum_filter = state.filters[number]
    of_spans, of_sines, of_filled = shapes_of_hum(lanes, bank.leads, hum_filter)
    return hum_filter, Hum(
        grown_of(state.amplitudes, number, backend, of_spans, np.int32),
        grown_of(state.sines, number, backend, of_sines, np.int32),
        grown_of(state.filled, number, backend, of_filled, np.uint8),
    )


def _apart(place: I64) -> tuple[I64, tuple[I64, I64] | None]:
    """Separate placements that copy samples, in any order, from those that read the ring, by lane and in turn.

    Returns the former; and of the latter, if there are any, the first row of each lane, and the rows.
    """
    reads = (place[:, PLACE_COUNT] < 0) | (place[:, PLACE_AT] < 0)
    if not reads.any():
        return place, None
    rest = place[reads]
    rest = rest[np.argsort(rest[:, PLACE_LANE], kind="stable")]
    run = np.concatenate([np.flatnonzero(np.diff(rest[:, PLACE_LANE], prepend=-1)), [len(rest)]])
    return place[~reads], (run, rest)
