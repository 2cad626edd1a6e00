"""Score: how unlike a normal beat of this person, seen by a model of normal beats of all people.

In:    TickBeats, the beats of a tick, those of a stream in order
Out:   TickBeats, scored
State: none but its settings; what it compares with is remembered by recall

Four terms, each a number that grows with strangeness, each turned into minus log10 of its tail
probability among normal beats (at most 4, rate_term 3) and then added by weights; the sum is turned into the same
once more:

population   reconstruction_error of the VAE: squared residual over twice its variance, plus half the squared latent
history      distance, in the 8 latents, to the mean of the stream's own reference beats, over their own
             spread to the power of 3/4: a restless heart may wander further before it is strange
prematurity  1 - RR over the 80 % quantile of the RRs of the last 60 s, over how irregular those are
rate_term        minus RR: how fast, for a person

What is missing (a new stream, the first beat after a gap) is left out, and there is a last table
for each such case, so that a score means the same in all of them: S says that one normal beat in
10^S looks as strange. A score depends on samples of at most ``HORIZON_S`` before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.scoring import BY_HISTORY, BY_POPULATION, GAP, OVERLOAD
from beatwire.records import F32, F64, U8, Bool, Terms, TickBeats

__all__ = [
    "BY_HISTORY",
    "BY_POPULATION",
    "GAP",
    "OVERLOAD",
    "Calibration",
    "Scores",
    "Settings",
    "combine",
    "step",
    "weigh",
]

HORIZON_S = 75.0  # 60 s of beats, each scaled by 10 s of sizes, and an interval of at most 5 s before the first
SCORED_BY = ("history", "population", "overload", "gap")
ANOMALOUS = 3.0
TERMS = ("population", "history", "prematurity", "rate_term")


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
    """What is scored by, and from which score on a beat is called anomalous."""

    calibration: Calibration
    anomalous: float = ANOMALOUS


class Scores(NamedTuple):
    """Of each beat: its score, by what or why there is none, and whether it is anomalous."""

    score: F32
    scored_by: U8
    anomalous: Bool


def step(state: Settings, beats: TickBeats) -> tuple[Settings, TickBeats]:
    """Score the beats of a tick."""
    terms = beats.terms
    classified = score_beats(state, terms, overloaded=beats.overloaded)
    return state, replace(
        beats,
        score=classified.score,
        prematurity=terms.early,
        scored_by=classified.scored_by,
        anomalous=classified.anomalous,
        latent=terms.latent,
        reconstruction_error=terms.population,
    )


def score_beats(state: Settings, terms: Terms, *, overloaded: bool = False) -> Scores:
    """Score beats by their terms."""
    n, of = len(terms.population), state.calibration
    classified = Scores(np.empty(n, np.float32), np.empty(n, np.uint8), np.empty(n, np.bool_))
    cpu.kernels.score_beat(
        n, terms.population, terms.history, terms.prematurity, terms.rate_term, of.level, of.terms, of.weights, of.sums,
        state.anomalous, overloaded, *classified,
    )  # fmt: skip
    return classified


def combine(calibration: Calibration, terms: Terms) -> F32:
    """Return minus log10 of the tail probability of each beat; NaN where there was no window."""
    return score_beats(Settings(calibration), terms).score


def weigh(calibration: Calibration, terms: Terms) -> F64:
    """Return the weighted sum of the terms' levels, those not known left out; NaN without a window."""
    n, of = len(terms.population), calibration
    total = np.empty(n)
    cpu.kernels.weigh_beat(
        n, terms.population, terms.history, terms.prematurity, terms.rate_term, of.level, of.terms, of.weights, total
    )
    return total
