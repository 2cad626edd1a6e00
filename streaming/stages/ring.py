"""Ring: write the samples of a pass into the rings of their bank.

In: Placement. Out: Ringed. State: for each bank int16 ``x[lanes, leads, R]``; sample ``a`` of a lane
stands at column ``a % R``. ``R`` leaves room for the windows behind a pass and for chunks that
came before their turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streaming.kernels import cpu
from streaming.records import I16, Placement, Ringed


@dataclass(frozen=True, slots=True)
class Settings:
    """ring_s: seconds of samples kept for each lane."""

    ring_s: float


@dataclass(slots=True)
class State:
    """rings: by number of the bank."""

    settings: Settings
    rings: dict[int, I16] = field(default_factory=dict)


def step(state: State, placement: Placement) -> tuple[State, Ringed]:
    """Write one placement; lanes that the bank gained start as zeros."""
    bank = placement.fresh.bank
    x = state.rings.get(bank.number)
    if x is None or len(x) < placement.lanes:
        size = ring_samples(state.settings.ring_s, bank.rate_hz)
        grown = np.zeros((placement.lanes, bank.leads, size), np.int16)
        if x is not None:
            grown[: len(x)] = x
        x = state.rings[bank.number] = grown
    restarted = placement.fresh.start == placement.fresh.base
    before = (placement.fresh.base[restarted] - 1) % x.shape[2]
    x[placement.fresh.lane[restarted], :, before] = 0  # what a lead that is off from the start on holds
    cpu.write_samples(len(placement.place), placement.place, placement.payload, x)
    return state, Ringed(placement.fresh, x)


def ring_samples(ring_s: float, rate_hz: float) -> int:
    """Return the columns of a ring: whole cache lines of int16."""
    return int(np.ceil(ring_s * rate_hz / 32)) * 32
