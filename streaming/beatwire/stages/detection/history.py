"""History: embed each beat by the network, and compare it with its stream's own last minute.

In:    Windows
Out:   HistoryFeatures: the table of the terms of each beat's score
State: per slot the sizes of the last 16 beats (10 s), and the time, RR, error and four latents of the last 96 beats
       (60 s): 1.6 kB (xp)

A window is scaled by the usual size of its stream's recent beats before the network reads it, so the gain of a device
changes nothing. From here on a pass no longer needs the rings: kernels are the backend's ``later`` ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, SupportsIndex

import numpy as np

from beatwire.backends.base import Backend, Table
from beatwire.backends.cpu import CPU
from beatwire.backends.network import Network
from beatwire.kernels.scores.history import BEATS, LATENTS, RING_COLUMNS, SIZES, STORED
from beatwire.records import F32, F64, I64, Bool, HistoryFeatures, Terms, Windows
from beatwire.records.history import BeatHistory, BeatRuns, Comparison, SizeHistory, TimedBeats
from beatwire.stages.support.room import room_for

LONGEST_RR_S = 5.0  # a longer interval is unknown to the score: it is a pause
TERM_TYPES = (*[np.float32] * 6, np.dtype((np.float32, LATENTS)))


@dataclass(frozen=True, slots=True)
class WindowedBeats:
    """The beats whose terms are computed, ``b`` of them, those of a stream in order.

    slot       int64 [b]
    time_s     float64 [b]       in the stream's session
    rr_s       float64 [b]       NaN: unknown
    restart    bool [b]          remove the stream's history before this beat
    windows    float32 [b, 256]
    amplitude  float32 [b]       NaN: no window
    rate_hz    of the samples: intervals are whole numbers of them
    """

    slot: I64
    time_s: F64
    rr_s: F64
    restart: Bool
    windows: F32
    amplitude: F32
    rate_hz: float

    @property
    def timed(self) -> TimedBeats:
        """The columns that kernels take together."""
        return TimedBeats(self.slot, self.time_s, self.rr_s, self.restart, self.rate_hz)


class Streams(NamedTuple):
    """The streams of a tick: how many, and which beats belong to which."""

    n: SupportsIndex
    runs: BeatRuns


def _no_sizes() -> SizeHistory:
    return SizeHistory(
        last=np.zeros(0, np.int64),
        time=np.zeros((0, SIZES), np.int16),
        rr_s=np.zeros((0, SIZES), np.float32),
        size=np.zeros((0, SIZES), np.float32),
    )


def _no_beats() -> BeatHistory:
    return BeatHistory(
        time=np.zeros((0, BEATS), np.int16),
        rr=np.zeros((0, BEATS), np.int16),
        latent=np.zeros((0, BEATS, STORED), np.int16),
        closeness=np.zeros((0, BEATS), np.uint8),
        ascending=np.zeros((0, BEATS), np.uint8),
        ring=np.zeros((0, RING_COLUMNS), np.int64),
    )


@dataclass(slots=True)
class Memory:
    """The history of each slot; arrays (xp) grow with the highest slot."""

    sizes: SizeHistory = field(default_factory=_no_sizes)
    beats: BeatHistory = field(default_factory=_no_beats)
    backend: Backend = CPU

    def grow(self, slots: int) -> None:
        """Make room for at least ``slots`` slots."""
        before = len(self.beats.ring)
        if slots <= before:
            return
        room = room_for(slots)

        def grown(old: Any) -> Any:
            return self.backend.grown(old if before else None, (room, *old.shape[1:]), old.dtype)

        self.sizes = SizeHistory(*map(grown, self.sizes))
        self.beats = BeatHistory(*map(grown, self.beats))
        self.sizes.size[before:] = np.nan

    def evict(self, slots: I64) -> None:
        """Remove the history of released slots, so that the next stream there begins without one."""
        self.beats.ring[slots] = 0
        self.sizes.size[slots] = np.nan


@dataclass(slots=True)
class State:
    """The network, and the history of the slots."""

    network: Network
    backend: Backend = CPU
    memory: Memory = field(init=False)

    def __post_init__(self) -> None:
        """Begin without history."""
        self.memory = Memory(backend=self.backend)


def step(state: State, cut: Windows) -> tuple[State, HistoryFeatures]:
    """Compute the terms of the beats of one pass, and store the beats."""
    beats, backend = cut.beats, state.backend
    fresh, total = beats.fresh, beats.total
    time_s, rr_s = backend.table("in time", total, (np.float64, np.float64)).columns
    backend.later.time_beat(total, beats.sample, beats.rr_s, fresh.bank.rate_hz, LONGEST_RR_S, time_s, rr_s)
    windowed = WindowedBeats(beats.slot, time_s, rr_s, beats.restart, cut.windows, cut.amplitude, fresh.bank.rate_hz)
    streams = Streams(len(fresh.lane), BeatRuns(beats.first, backend.numbers(total)))
    state.memory.grow(int(fresh.slot.max(initial=-1)) + 1)
    table, scored = _terms(state.network, state.memory, windowed, total, streams, fresh.overloaded)
    return state, HistoryFeatures(beats, table, cut.shapes, overloaded=not scored)


def terms_of(network: Network, memory: Memory, beats: WindowedBeats, overloaded: bool = False) -> Terms:
    """Return the terms of each beat of any streams against the memory, and store the beats in it."""
    memory.grow(int(beats.slot.max(initial=-1)) + 1)
    table, _ = _terms(network, memory, beats, len(beats.slot), streams_of(beats.slot), overloaded)
    return Terms(*table.columns)


def streams_of(slot: I64) -> Streams:
    """Return the streams of beats by their slots."""
    order = np.argsort(slot, kind="stable")
    starts = np.flatnonzero(np.diff(slot[order], prepend=-1))
    return Streams(len(starts), BeatRuns(np.concatenate((starts, [len(slot)])), order))


def usual_scale(memory: Memory, beats: WindowedBeats, total: SupportsIndex, streams: Streams) -> F32:
    """Return the size of each window over the usual size of its stream's beats; NaN where it has none."""
    usual, scale = memory.backend.table("scale", total, (np.float32, np.float32)).columns
    memory.backend.later.find_usual_size(streams.n, streams.runs, beats.timed, beats.amplitude, memory.sizes, usual)
    memory.backend.later.write_scale(total, beats.amplitude, usual, scale)
    return scale  # type: ignore[no-any-return]


def _terms(
    network: Network, memory: Memory, beats: WindowedBeats, total: SupportsIndex, streams: Streams, overloaded: bool
) -> tuple[Table, bool]:
    """Return the table of ``Terms``, and whether the network has embedded the beats."""
    backend, kernels = memory.backend, memory.backend.later
    scale = usual_scale(memory, beats, total, streams)
    (embedded,) = backend.table("embedded", total, (np.bool_,)).columns
    table = backend.table("terms", total, TERM_TYPES)
    terms = Terms(*table.columns)
    scored = not overloaded and backend.embed(
        network, beats.windows, scale, total, terms.latent, terms.reconstruction_error
    )
    kernels.mark_embedded(total, scale, terms.reconstruction_error, scored, embedded)
    distance, spread, irregularity, usual_error = backend.table("compared", total, (np.float32,) * 4).columns
    found = Comparison(distance, spread, terms.early, irregularity, usual_error)
    kernels.compare_with_history(
        streams.n, streams.runs, beats.timed, terms.latent, terms.reconstruction_error, embedded, memory.beats, found
    )
    kernels.write_terms(total, beats.rr_s, embedded, found, terms)
    return table, scored
