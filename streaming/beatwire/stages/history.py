"""Recall: what the model makes of each beat, and how that compares with the stream's own last minute.

In: Windows. Out: HistoryFeatures, with the terms that the score is made of. State: per slot the last 16 sizes (10 s)
and the last 96 beats (60 s): time, RR, 8 latents; 5 kB (xp).

A beat is scaled by its stream's own recent beats before the network looks at it, so that the gain says nothing. This
is where a tick is through with the rings: kernels here are the backend's ``later`` ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, SupportsIndex

import numpy as np

from beatwire.backends.base import Backend, Table
from beatwire.backends.cpu import CPU
from beatwire.backends.network import Network
from beatwire.kernels.history import BEATS, LATENTS, SIZES
from beatwire.records import F32, F64, I64, Bool, HistoryFeatures, Terms, Windows

LONGEST_RR_S = 5.0
TERMS = (np.float32, np.float32, np.float32, np.float32, np.float32, np.dtype((np.float32, LATENTS)))


@dataclass(frozen=True, slots=True)
class Seen:
    """What the score needs of ``b`` beats, those of a stream in order: columns of TickBeats.

    slot int64 [b], time_s float64 [b] in the stream's session, rr_s float64 [b] or NaN,
    restart bool [b] (forget the stream's past before this beat), windows float32 [b, 256],
    amplitude float32 [b], NaN where there is no window
    """

    slot: I64
    time_s: F64
    rr_s: F64
    restart: Bool
    windows: F32
    amplitude: F32


@dataclass(slots=True)
class Memory:
    """What is remembered of each slot; arrays (xp) grow with the highest slot seen."""

    size_time: F64 = field(default_factory=lambda: np.zeros((0, SIZES), np.float64))
    size_rr: F32 = field(default_factory=lambda: np.zeros((0, SIZES), np.float32))
    size: F32 = field(default_factory=lambda: np.zeros((0, SIZES), np.float32))
    time: F64 = field(default_factory=lambda: np.zeros((0, BEATS), np.float64))
    rr: F32 = field(default_factory=lambda: np.zeros((0, BEATS), np.float32))
    latent: F32 = field(default_factory=lambda: np.zeros((0, BEATS, LATENTS), np.float32))
    ordered: F32 = field(default_factory=lambda: np.zeros((0, BEATS), np.float32))
    place: I64 = field(default_factory=lambda: np.zeros((0, 3), np.int64))

    backend: Backend = CPU

    def grow(self, slots: int) -> None:
        """Make room for at least ``slots`` slots."""
        have = self.place.shape[0]
        if slots <= have:
            return
        room = max(slots, have + have // 2, 16)
        for name in ("size_time", "size_rr", "size", "time", "rr", "latent", "ordered", "place"):
            old = getattr(self, name)
            new = self.backend.grown(old if have else None, (room, *old.shape[1:]), old.dtype)
            if name == "size":
                new[have:] = np.nan
            setattr(self, name, new)

    def evict(self, slots: I64) -> None:
        """Forget released slots, so that the next stream there starts anew."""
        self.place[slots] = 0
        self.size[slots] = np.nan


@dataclass(slots=True)
class State:
    """The network, and the memory of the slots."""

    network: Network
    backend: Backend = CPU
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        """Remember nothing yet."""
        self.memory = Memory(backend=self.backend)


def step(state: State, cut: Windows) -> tuple[State, HistoryFeatures]:
    """Recall the beats of one pass."""
    beats, backend = cut.beats, state.backend
    fresh, total = beats.fresh, beats.total
    time_s, rr_s = backend.table("in time", total, (np.float64, np.float64)).columns
    backend.later.place_in_time(total, beats.sample, beats.rr_s, fresh.bank.rate_hz, LONGEST_RR_S, time_s, rr_s)
    seen = Seen(beats.slot, time_s, rr_s, beats.restart, cut.windows, cut.amplitude)
    runs = len(fresh.lane), beats.first, backend.numbers(total)
    state.memory.grow(int(fresh.slot.max(initial=-1)) + 1)
    return state, HistoryFeatures(beats, _recall(state.network, state.memory, seen, total, runs, fresh.overloaded))


def remember(network: Network, memory: Memory, beats: Seen, overloaded: bool = False) -> Terms:
    """Work out the terms of each beat of any streams against the memory, and put the beats into it."""
    memory.grow(int(beats.slot.max(initial=-1)) + 1)
    run, order = in_runs(beats.slot)
    table = _recall(network, memory, beats, len(beats.slot), (len(run) - 1, run, order), overloaded)
    return Terms(*table.columns)


def _recall(
    network: Network, memory: Memory, beats: Seen, total: SupportsIndex, runs: tuple[int, Any, Any], overloaded: bool
) -> Table:
    """Return the table of ``Terms``; ``runs``: how many streams, where each begins in an order, and this order."""
    backend, kernels, (n, run, order) = memory.backend, memory.backend.later, runs
    scale = usual_scale(memory, beats, total, runs)
    (known,) = backend.table("known", total, (np.bool_,)).columns
    kernels.is_known(total, scale, not overloaded, known)
    table = backend.table("terms", total, TERMS)
    population, history, prematurity, rate_term, early, latent = table.columns
    if not overloaded:
        backend.embed(network, beats.windows, scale, total, latent, population)
    distance, spread, irregular = backend.table("compared", total, (np.float32, np.float32, np.float32)).columns
    kernels.compare_with_history(
        n, run, order, beats.slot, beats.time_s, beats.rr_s, beats.restart, latent, known,
        memory.time, memory.rr, memory.latent, memory.ordered, memory.place, distance, spread, early, irregular,
    )  # fmt: skip
    kernels.in_terms(
        total,
        beats.rr_s,
        known,
        distance,
        spread,
        early,
        irregular,
        population,
        history,
        prematurity,
        rate_term,
        latent,
    )
    return table


def in_runs(slot: I64) -> tuple[I64, I64]:
    """Return where each slot's beats begin and end in the order by slot, and that order."""
    order = np.argsort(slot, kind="stable")
    starts = np.flatnonzero(np.diff(slot[order], prepend=-1))
    return np.concatenate((starts, [len(slot)])), order


def usual_scale(memory: Memory, beats: Seen, total: SupportsIndex, runs: tuple[int, Any, Any]) -> F32:
    """Return the size of each window in the usual size of its stream; NaN where it has none."""
    usual, scale = memory.backend.table("scale", total, (np.float32, np.float32)).columns
    n, run, order = runs
    memory.backend.later.find_usual_size(
        n, run, order, beats.slot, beats.time_s, beats.rr_s, beats.restart, beats.amplitude,
        memory.size_time, memory.size_rr, memory.size, usual,
    )  # fmt: skip
    memory.backend.later.in_usual_size(total, beats.amplitude, usual, scale)
    return scale  # type: ignore[no-any-return]
