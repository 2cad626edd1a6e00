"""Drift: whether a stream's beats of the last minute look like those that the model learned from.

In:    TickBeats, scored
Out:   TickBeats, with an event where a stream begins and where it ceases to be unlike them
State: per slot the beats of the last three blocks of 20 s in bins of score, latents, radius and reconstruction_error;
       the last comparison

Radius is the length of the latents in the reference's own units, reconstruction_error the population term of the
score. Only these two are compared for the event: they depend on 15 s before a beat and not on the
minute before it as the score does, so that a minute of them and the block after it stay inside the
horizon. Distributions of scores and of each latent, per stream and over all streams, are there for
metrics; over all streams nothing may become an alert, since streams do not depend on one another.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.drift import BLOCKS, COMPARED, LOST
from beatwire.kernels.history import LATENTS
from beatwire.records import F32, F64, I64, U8, Bool, TickBeats
from beatwire.stages.support.runs import rows_written, runs_of

BLOCK_S = 20.0
QUANTITIES = ("score", *(f"latent {k}" for k in range(LATENTS)), "radius", "reconstruction_error")
LEAST_SHARE = 1e-3  # of a bin, in the stability index


@dataclass(frozen=True, slots=True)
class Reference:
    """How beats look of people that the model has not learned from.

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
    limit: float

    @property
    def groups(self) -> list[slice]:
        """Where the bins of each quantity stand."""
        sizes = [len(self.score) + 1] + LATENTS * [self.latents.shape[1] + 1] + COMPARED * [len(self.levels) + 1]
        edges = np.concatenate([[0], np.cumsum(sizes)]).tolist()
        return [slice(a, b) for a, b in pairwise(edges)]


@dataclass(slots=True)
class State:
    """counts [slots, blocks, bins], block [slots], unlike [slots] (-1: not known), over [slots]."""

    reference: Reference
    counts: U8 = field(init=False)
    block: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    unlike: F64 = field(default_factory=lambda: np.zeros(0))
    over: Bool = field(default_factory=lambda: np.zeros(0, np.bool_))

    def __post_init__(self) -> None:
        """Make the table of no slot."""
        self.counts = np.zeros((0, BLOCKS, len(self.reference.shares)), np.uint8)


def step(state: State, beats: TickBeats) -> tuple[State, TickBeats]:
    """Count the beats of a tick and put in events where a stream's comparison crosses the limit."""
    events = beats.events
    forgotten = beats.aligned.evicted[beats.aligned.evicted < len(state.block)]
    if len(forgotten):
        state.counts[forgotten], state.unlike[forgotten], state.over[forgotten] = 0, -1.0, False
    if len(events) == 0:
        return state, beats
    _make_room(state, len(beats.aligned.anchors))
    bins, seen = _bins(state.reference, beats)
    n, run = runs_of(events)
    length = np.array([round(BLOCK_S * bank.rate_hz) for bank in beats.aligned.banks])
    count, room = np.zeros(n, np.int64), LOST * len(events)
    where, told = np.empty(room, np.int64), np.empty((room, 5), np.int64)
    cpu.kernels.watch(
        n, run, events, bins, seen, beats.aligned.slots.bank, length, state.reference.levels, state.reference.limit,
        state.counts, state.block, state.unlike, state.over, count, where, told,
    )  # fmt: skip
    if not count.any():
        return state, beats
    rows = rows_written(count, run, LOST)
    return state, replace(beats, events=np.insert(events, where[rows], told[rows], axis=0))


def radius(centre: F64, whitener: F64, latent: F32) -> F64:
    """Return how far latents [b, 8] lie from the reference's centre, in units of its spread."""
    away = (latent - centre) @ whitener
    length: F64 = np.sqrt(np.einsum("ij,ij->i", away, away))
    return length


def bins_of(reference: Reference, score: F32, latent: F32, reconstruction_error: F32) -> tuple[U8, F32]:
    """Return for each beat and quantity the number of its bin, uint8 [b, 11], and the radius [b].

    ``score`` and ``reconstruction_error`` float32 [b], ``latent`` float32 [b, 8], as in ``TickBeats``.
    """
    b, r = len(score), reference
    bins, far = np.empty((b, len(QUANTITIES)), np.uint8), np.empty(b, np.float32)
    cpu.kernels.find_bins(
        b, score, latent, reconstruction_error, r.centre, r.whitener, r.score, r.latents, r.radius,
        r.reconstruction_error, bins, far
    )  # fmt: skip
    return bins, far


def stability(reference: Reference, counts: I64) -> F64:
    """Return the population stability index of each quantity, [n, 11], of counts [n, bins]; NaN without beats."""
    out = []
    for group in reference.groups:
        here, there = counts[:, group].astype(np.float64), reference.shares[group]
        with np.errstate(invalid="ignore"):
            share = np.maximum(here / here.sum(1, keepdims=True), LEAST_SHARE)
        due = np.maximum(there, LEAST_SHARE)
        out.append(((share - due) * np.log(share / due)).sum(1))
    return np.stack(out, axis=1)


@dataclass(frozen=True, slots=True)
class Figures:
    """What there is to say of all streams, each by its last three blocks.

    overall     the stability index of each quantity over all streams' beats, by name; NaN without beats
    stream      slots that have beats
    score       their stability indices of the score
    unlike      their comparisons of radius and reconstruction_error, -1 with too few beats
    over        whether those are above the limit
    """

    overall: dict[str, float]
    stream: I64
    score: F64
    unlike: F64
    over: Bool


def figures(state: State) -> Figures:
    """Return the figures of the moment; costs nothing until it is called."""
    known = min(len(state.counts), len(state.unlike), len(state.over))  # another thread may be making room
    counts = state.counts[:known].sum(axis=1, dtype=np.int64)
    stream = np.flatnonzero(counts.any(axis=1))
    counts = counts[stream]
    every = stability(state.reference, counts.sum(axis=0, keepdims=True))[0]
    return Figures(
        overall=dict(zip(QUANTITIES, every.tolist(), strict=True)),
        stream=stream,
        score=stability(state.reference, counts)[:, 0],
        unlike=state.unlike[stream],
        over=state.over[stream],
    )


def _bins(reference: Reference, beats: TickBeats) -> tuple[U8, Bool]:
    assert beats.score is not None
    assert beats.latent is not None
    assert beats.reconstruction_error is not None
    seen = ~np.isnan(beats.score) & ~np.isnan(beats.reconstruction_error)
    return bins_of(reference, beats.score, beats.latent, beats.reconstruction_error)[0], seen


def _make_room(state: State, slots: int) -> None:
    have = len(state.block)
    if slots <= have:
        return
    room = max(slots, have + have // 2)
    for name in ("counts", "block", "unlike", "over"):
        old = getattr(state, name)
        new = np.zeros((room, *old.shape[1:]), old.dtype)
        new[:have] = old
        setattr(state, name, new)
    state.unlike[have:] = -1.0
