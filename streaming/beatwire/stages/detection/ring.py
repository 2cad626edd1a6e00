"""Ring: write the samples of a pass into the rings of their bank, and fill in their short holes.

In:    Placement
Out:   Ringed
State: by bank, int16 ``x[lanes, leads, R]`` (xp); sample ``a`` of a lane is in column ``a % R``. ``R`` leaves room for
       the windows behind a pass and for chunks that came before their turn
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.backends.base import Backend
from beatwire.backends.cpu import CPU
from beatwire.records import I64, Placement, Ringed
from beatwire.records.columns import PLACE_AT, PLACE_COUNT, PLACE_LANE
from beatwire.stages.support.room import columns_for, grown_of


@dataclass(frozen=True, slots=True)
class Settings:
    """ring_s: seconds of samples kept of each lane."""

    ring_s: float


@dataclass(slots=True)
class State:
    """rings: int16 [lanes, leads, R] (xp), by number of the bank."""

    settings: Settings
    backend: Backend = CPU
    rings: dict[int, Any] = field(default_factory=dict)


def step(state: State, placement: Placement) -> tuple[State, Ringed]:
    """Write one placement."""
    fresh, bank, backend = placement.fresh, placement.fresh.bank, state.backend
    backend.next_pass()
    shape = placement.lanes, bank.leads, columns_for(state.settings.ring_s, bank.rate_hz, np.int16)
    x = grown_of(state.rings, bank.number, backend, shape, np.int16)
    begun = np.flatnonzero(fresh.start == fresh.base)
    if len(begun):
        backend.kernels.begin_lane(len(begun), fresh.lane[begun], fresh.base[begun], x)
    place = np.ascontiguousarray(placement.place)  # one layout, so one compilation
    alone, in_turn = (place, None) if backend.in_order else _apart(place)
    backend.kernels.write_samples(len(alone), alone, placement.payload, x)
    if in_turn is not None:
        run, rest = in_turn
        backend.kernels.write_in_turn(len(run) - 1, run, rest, placement.payload, x)
    return state, Ringed(fresh, x)


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
