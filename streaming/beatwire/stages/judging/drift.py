"""Drift: whether a stream's beats of the last minute are distributed as those that the model was trained on.

In:    TickBeats, scored
Out:   TickBeats, with an event where the distance of a stream crosses the limit, up or down
State: per slot the beats of the last three blocks of 20 s in bins of score, latents, radius and reconstruction error,
       and the last comparison

The radius is the length of the latents in units of the reference's spread; the reconstruction error is the population
term of the score. Only these two are compared for the event: they depend on 15 s before a beat, where the score depends
on a minute, so a minute of them and the block after it lie within the horizon. The distributions of scores and latents
are for metrics (``service.observing.drift_figures``). Over all streams there are metrics only and no alert: streams do
not depend on each other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.scores.drift import BLOCKS_TO_EMPTY, COMPARED, DRIFT_BLOCKS
from beatwire.kernels.scores.history import LATENTS
from beatwire.records import F32, F64, U8, Bool, TickBeats
from beatwire.records.alerting import Borders, Crossings, DriftState
from beatwire.records.columns import ORDERED_COLUMNS
from beatwire.stages.support.room import room_for
from beatwire.stages.support.runs import rows_written, runs_of

BLOCK_S = 20.0  # three blocks are the minute of the horizon
QUANTITIES = ("score", *(f"latent {k}" for k in range(LATENTS)), "radius", "reconstruction_error")


@dataclass(frozen=True, slots=True)
class Reference:
    """How beats are distributed of people that the model was not trained on.

    The quantities of a beat are its score, its 8 latents, its radius and its reconstruction error; a quantity has
    one bin more than borders.
    """

    centre: F64  # [8] of the latents
    whitener: F64  # [8, 8]: (latent - centre) @ whitener has unit covariance
    score: F64  # [s] borders
    latents: F64  # [8, l] borders
    radius: F64  # [q] borders
    reconstruction_error: F64  # [q] borders
    levels: F64  # [q] shares of radius, and of reconstruction_error, below the borders
    shares: F64  # [(s + 1) + 8 (l + 1) + 2 (q + 1)] shares of all the bins, in this order
    limit: float  # of the distance

    @property
    def borders(self) -> Borders:
        """The borders as kernels take them."""
        return Borders(self.centre, self.whitener, self.score, self.latents, self.radius, self.reconstruction_error)

    @property
    def groups(self) -> list[slice]:
        """The bins of each quantity."""
        sizes = [len(self.score) + 1] + LATENTS * [self.latents.shape[1] + 1] + COMPARED * [len(self.levels) + 1]
        edges = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        return [slice(a, b) for a, b in pairwise(edges)]


@dataclass(slots=True)
class State:
    """The reference, and the state of the slots (``kernels.scores.drift.DriftState``)."""

    reference: Reference
    streams: DriftState = field(init=False)

    def __post_init__(self) -> None:
        """Begin without slots."""
        bins = len(self.reference.shares)
        self.streams = DriftState(
            counts=np.zeros((0, DRIFT_BLOCKS, bins), np.uint8),
            block=np.zeros(0, np.int64),
            distance=np.zeros(0),
            above=np.zeros(0, np.bool_),
        )


def step(state: State, beats: TickBeats) -> tuple[State, TickBeats]:
    """Count the beats of a tick and insert events where a stream's distance crosses the limit."""
    events, reference = beats.events, state.reference
    evicted = beats.aligned.evicted[beats.aligned.evicted < len(state.streams.block)]
    if len(evicted):
        state.streams.counts[evicted], state.streams.distance[evicted] = 0, -1.0
        state.streams.above[evicted] = False
    if len(events) == 0:
        return state, beats
    grow(state, len(beats.aligned.anchors))
    assert beats.score is not None
    assert beats.latent is not None
    assert beats.reconstruction_error is not None
    scored = ~np.isnan(beats.score) & ~np.isnan(beats.reconstruction_error)
    bins, _ = bins_of(reference, beats.score, beats.latent, beats.reconstruction_error)
    n, run = runs_of(events, beats.run)
    block_samples = np.array([round(BLOCK_S * bank.rate_hz) for bank in beats.aligned.banks])
    room = BLOCKS_TO_EMPTY * len(events)
    crossings = Crossings(np.zeros(n, np.int64), np.empty(room, np.int64), np.empty((room, ORDERED_COLUMNS), np.int64))
    cpu.kernels.track_drift(
        n, run, events, bins, scored, block_samples, reference.levels, reference.limit,
        state.streams, crossings,
    )  # fmt: skip
    if not crossings.counts.any():
        return state, beats
    rows = rows_written(crossings.counts, run, BLOCKS_TO_EMPTY)
    events = np.insert(events, crossings.place[rows], crossings.rows[rows], axis=0)
    return state, replace(beats, events=events, run=None)


def adopt(state: State, above: Bool) -> None:
    """Take over of each slot whether its distance is above the limit, until the next comparison."""
    grow(state, len(above))
    state.streams.above[: len(above)] = above


def radius(centre: F64, whitener: F64, latent: F32) -> F64:
    """Return how far latents [b, 8] lie from the reference's centre, in units of its spread."""
    away = (latent - centre) @ whitener
    length: F64 = np.sqrt(np.einsum("ij,ij->i", away, away))
    return length


def bins_of(reference: Reference, score: F32, latent: F32, reconstruction_error: F32) -> tuple[U8, F32]:
    """Return for each beat and quantity the number of its bin, uint8 [b, 11], and the radius [b].

    ``score`` and ``reconstruction_error`` float32 [b], ``latent`` float32 [b, 8], as in ``TickBeats``.
    """
    b = len(score)
    bins, far = np.empty((b, len(QUANTITIES)), np.uint8), np.empty(b, np.float32)
    cpu.kernels.find_bins(b, score, latent, reconstruction_error, reference.borders, bins, far)
    return bins, far


def grow(state: State, slots: int) -> None:
    """Make room for at least ``slots`` slots."""
    before = len(state.streams.block)
    if slots <= before:
        return
    room = room_for(slots)
    grown = []
    for old in state.streams:
        new = np.zeros((room, *old.shape[1:]), old.dtype)
        new[:before] = old
        grown.append(new)
    streams = DriftState(*grown)
    streams.distance[before:] = -1.0
    state.streams = streams  # at once: the thread of the metrics reads it
