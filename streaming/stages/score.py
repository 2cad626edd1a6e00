"""Score: how unlike a normal beat of this person, seen by a model of normal beats of all people.

In:    TickBeats, the beats of a tick, those of a stream in order
Out:   TickBeats, scored
State: per slot the last 16 sizes (10 s) and the last 96 beats (60 s): time, RR, 8 latents; 5 kB

Four terms, each a number that grows with strangeness, each turned into minus log10 of its tail
probability among normal beats (at most 4) and then added by weights; the sum is turned into the same
once more:

population   misfit of the VAE: squared residual over twice its variance, plus half the squared latent
history      distance, in the 8 latents, to the mean of the stream's own reference beats, over the square
             root of their own spread: a restless heart may wander further before it is strange
prematurity  1 - RR over the 80 % quantile of the RRs of the last 60 s, over how irregular those are
haste        minus RR: how fast, for a person

What is missing (a new stream, the first beat after a gap) is left out, and there is a last table
for each such case, so that a score means the same in all of them: S says that one normal beat in
10^S looks as strange. A score depends on samples of at most ``HORIZON_S`` before it. The network runs
on full tiles, so that how many beats a tick has changes a beat's numbers by rounding only.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from streaming.kernels import cpu_score
from streaming.kernels.history import BEATS, LATENTS, SIZES
from streaming.kernels.windows import WINDOW
from streaming.records import F32, F64, I64, Bool, TickBeats

HORIZON_S = 75.0  # 60 s of beats, each scaled by 10 s of sizes, and an interval of at most 5 s before the first
TILE = 256
LONGEST_RR_S = 5.0
BY_HISTORY, BY_POPULATION, OVERLOAD, GAP = range(4)
SCORED_BY = ("history", "population", "overload", "gap")
ANOMALOUS = 3.0
MOST_LEVEL, MOST_SCORE = 4.0, 12.0
NEAR, TIGHT = 0.05, 0.1  # distances and spreads of latents that are as good as none
OWN = 0.5  # how much of a stream's own spread is forgiven: 0 none, 1 all
STEADY = 0.2  # irregularity at which prematurity counts half of what it does in a clockwork
TERMS = ("population", "history", "prematurity", "haste")


@dataclass(frozen=True, slots=True)
class Network:
    """The weights of a VAE, float32, ``x @ into + bias`` each; rectifiers after ``hidden`` layers."""

    encode: F32  # [256, hidden]
    encode_bias: F32  # [hidden]
    latent: F32  # [hidden, 8]
    latent_bias: F32  # [8]
    decode: F32  # [8, hidden]
    decode_bias: F32  # [hidden]
    output: F32  # [hidden, 256]
    output_bias: F32  # [256]
    map: F32  # [8, 2] a picture of the latents for people, no part of the score
    variance: float  # of a window's points, in units of the usual size squared


@dataclass(frozen=True, slots=True)
class Calibration:
    """Tables from a term, and from the weighted sum, to minus log10 of the tail probability.

    ``level[k]`` belongs to ``terms[term, k]`` and ``sums[case, k]``, all ascending; case =
    2 x (history is known) + (prematurity is known). ``terms`` in the order of ``TERMS``.
    """

    level: F64  # [k]
    terms: F64  # [4, k]
    weights: F64  # [4]
    sums: F64  # [4, k]


@dataclass(frozen=True, slots=True)
class Settings:
    """What is scored with, and from which score on a beat is called anomalous."""

    network: Network
    calibration: Calibration
    anomalous: float = ANOMALOUS


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


@dataclass(frozen=True, slots=True)
class Terms:
    """Per beat what the score is made of; NaN where it is not known.

    population, history, prematurity, haste  float32 [b], the terms
    early                                    float32 [b], prematurity as people read it, 1 - RR / usual RR
    latent                                   float32 [b, 8]
    """

    population: F32
    history: F32
    prematurity: F32
    haste: F32
    early: F32
    latent: F32


@dataclass(slots=True)
class Memory:
    """What is remembered of each slot; arrays grow with the highest slot seen."""

    size_time: F64 = field(default_factory=lambda: np.zeros((0, SIZES), np.float64))
    size_rr: F32 = field(default_factory=lambda: np.zeros((0, SIZES), np.float32))
    size: F32 = field(default_factory=lambda: np.zeros((0, SIZES), np.float32))
    time: F64 = field(default_factory=lambda: np.zeros((0, BEATS), np.float64))
    rr: F32 = field(default_factory=lambda: np.zeros((0, BEATS), np.float32))
    latent: F32 = field(default_factory=lambda: np.zeros((0, BEATS, LATENTS), np.float32))
    ordered: F32 = field(default_factory=lambda: np.zeros((0, BEATS), np.float32))
    place: I64 = field(default_factory=lambda: np.zeros((0, 3), np.int64))

    def grow(self, slots: int) -> None:
        """Make room for at least ``slots`` slots."""
        have = self.place.shape[0]
        if slots <= have:
            return
        room = max(slots, have + have // 2, 16)
        for name in self.__slots__:
            old = getattr(self, name)
            new = np.full((room, *old.shape[1:]), np.nan if name == "size" else 0, old.dtype)
            new[:have] = old
            setattr(self, name, new)

    def forget(self, slots: I64) -> None:
        """Forget released slots, so that the next stream there starts anew."""
        self.place[slots] = 0
        self.size[slots] = np.nan


@dataclass(slots=True)
class State:
    """Settings and the memory of the slots."""

    settings: Settings
    memory: Memory = field(default_factory=Memory)


def step(state: State, beats: TickBeats) -> tuple[State, TickBeats]:
    """Score the beats of a tick and remember them."""
    settings = state.settings
    rr_s = np.where(beats.rr_s <= LONGEST_RR_S, beats.rr_s, np.nan)
    time_s = beats.sample / beats.rate_hz
    seen = Seen(beats.slot, time_s, rr_s, beats.restart, beats.windows, beats.amplitude)
    terms = remember(settings.network, state.memory, seen, beats.overloaded)
    score = combine(settings.calibration, terms)
    why = np.where(np.isnan(terms.history), BY_POPULATION, BY_HISTORY).astype(np.uint8)
    why[np.isnan(score)] = OVERLOAD if beats.overloaded else GAP
    return state, replace(
        beats,
        score=score,
        prematurity=terms.early,
        scored_by=why,
        anomalous=score >= settings.anomalous,
        latent=terms.latent,
        misfit=terms.population,
    )


def remember(network: Network, memory: Memory, beats: Seen, overloaded: bool = False) -> Terms:
    """Work out the terms of each beat against the memory, and put the beats into it."""
    b = len(beats.slot)
    if b == 0:
        none = np.zeros(0, np.float32)
        return Terms(none, none, none, none, none, np.zeros((0, LATENTS), np.float32))
    memory.grow(int(beats.slot.max()) + 1)
    runs = in_runs(beats.slot)
    scale = usual_scale(memory, beats, *runs)
    known = ~np.isnan(scale) & (not overloaded)
    if overloaded:
        latent, population = np.full((b, LATENTS), np.nan, np.float32), np.full(b, np.nan, np.float32)
    else:
        latent, population = embed(network, beats.windows, scale)
    distance, spread, early, irregular = (np.empty(b, np.float32) for _ in range(4))
    cpu_score.recall_beats(
        len(runs[0]) - 1, *runs, beats.slot, beats.time_s, beats.rr_s, beats.restart, latent, known,
        memory.time, memory.rr, memory.latent, memory.ordered, memory.place, distance, spread, early, irregular,
    )  # fmt: skip
    distance[~known] = np.nan
    return Terms(
        population=population,
        history=np.log(distance + np.float32(NEAR)) - np.float32(OWN) * np.log(spread + np.float32(TIGHT)),
        prematurity=early / (irregular + np.float32(STEADY)),
        haste=-beats.rr_s.astype(np.float32),
        early=early,
        latent=latent,
    )


def in_runs(slot: I64) -> tuple[I64, I64]:
    """Return where each slot's beats begin and end in the order by slot, and that order."""
    order = np.argsort(slot, kind="stable")
    return np.concatenate(([0], np.flatnonzero(np.diff(slot[order])) + 1, [len(slot)])), order


def usual_scale(memory: Memory, beats: Seen, run: I64, order: I64) -> F32:
    """Return the size of each window in the usual size of its stream; NaN where it has none."""
    usual = np.empty_like(beats.amplitude)
    cpu_score.recall_size(
        len(run) - 1, run, order, beats.slot, beats.time_s, beats.rr_s, beats.restart, beats.amplitude,
        memory.size_time, memory.size_rr, memory.size, usual,
    )  # fmt: skip
    return beats.amplitude / usual


def embed(network: Network, windows: F32, scale: F32) -> tuple[F32, F32]:
    """Return latents [b, 8] and the logarithm of the misfit [b] of windows times their scale.

    A scale of NaN gives NaN.
    """
    b = len(windows)
    latents, misfit = np.empty((b, LATENTS), np.float32), np.empty(b, np.float32)
    x = np.empty((TILE, WINDOW), np.float32)
    y = np.empty((TILE, WINDOW), np.float32)
    hidden = np.empty((TILE, network.encode.shape[1]), np.float32)
    z = np.empty((TILE, LATENTS), np.float32)
    precision = np.float32(0.5 / network.variance)
    for begin in range(0, b, TILE):
        n = min(TILE, b - begin)
        np.multiply(windows[begin : begin + n], scale[begin : begin + n, None], out=x[:n])
        x[n:] = 0.0
        np.matmul(x, network.encode, out=hidden)
        np.maximum(np.add(hidden, network.encode_bias, out=hidden), 0.0, out=hidden)
        np.add(np.matmul(hidden, network.latent, out=z), network.latent_bias, out=z)
        np.add(np.matmul(z, network.decode, out=hidden), network.decode_bias, out=hidden)
        np.matmul(np.maximum(hidden, 0.0, out=hidden), network.output, out=y)
        np.subtract(np.add(y, network.output_bias, out=y), x, out=y)
        latents[begin : begin + n] = z[:n]
        residual, length = np.einsum("ij,ij->i", y, y), np.einsum("ij,ij->i", z, z)
        misfit[begin : begin + n] = np.log(precision * residual + np.float32(0.5) * length)[:n]
    return latents, misfit


def combine(calibration: Calibration, terms: Terms) -> F32:
    """Return minus log10 of the tail probability of each beat; NaN where there was no window."""
    total = weigh(calibration, terms)
    case = 2 * ~np.isnan(terms.history) + ~np.isnan(terms.prematurity)
    score = np.full(len(total), np.nan)
    for k in range(4):
        score[case == k] = tail(total[case == k], calibration.sums[k], calibration.level, MOST_SCORE)
    return score.astype(np.float32)


def weigh(calibration: Calibration, terms: Terms) -> F64:
    """Return the weighted sum of the terms' levels, those not known left out; NaN without a window."""
    total = np.zeros(len(terms.population))
    for k, name in enumerate(TERMS):
        values = getattr(terms, name).astype(np.float64)
        level = tail(values, calibration.terms[k], calibration.level, MOST_LEVEL)
        total += calibration.weights[k] * np.nan_to_num(level, nan=0.0 if k else np.nan)
    return total


def tail(values: F64, knots: F64, level: F64, most: float) -> F64:
    """Look values up in a table; beyond its end its last slope goes on, up to ``most``."""
    found = np.interp(values, knots, level)
    slope = (level[-1] - level[-9]) / max(knots[-1] - knots[-9], 1e-6)
    above = values > knots[-1]
    found[above] = level[-1] + slope * (values[above] - knots[-1])
    return np.minimum(found, most)
