"""Score: how unlike a normal beat of this person, seen by a model of normal beats of all people.

In:    TickBeats, the beats of a tick, those of a stream in order
Out:   TickBeats, scored
State: none but its settings; what it compares with is remembered by recall

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
10^S looks as strange. A score depends on samples of at most ``HORIZON_S`` before it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from streaming.records import F64, Terms, TickBeats

HORIZON_S = 75.0  # 60 s of beats, each scaled by 10 s of sizes, and an interval of at most 5 s before the first
BY_HISTORY, BY_POPULATION, OVERLOAD, GAP = range(4)
SCORED_BY = ("history", "population", "overload", "gap")
ANOMALOUS = 3.0
MOST_LEVEL, MOST_SCORE = 4.0, 12.0
TERMS = ("population", "history", "prematurity", "haste")


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


class Judged(NamedTuple):
    """Of each beat (xp): its score float32, why it has none or which uint8, whether it is anomalous bool."""

    score: Any
    scored_by: Any
    anomalous: Any


def step(state: Settings, beats: TickBeats) -> tuple[Settings, TickBeats]:
    """Score the beats of a tick."""
    terms = beats.terms
    judged = judge(state, terms, overloaded=beats.overloaded)
    return state, replace(
        beats,
        score=judged.score,
        prematurity=terms.early,
        scored_by=judged.scored_by,
        anomalous=judged.anomalous,
        latent=terms.latent,
        misfit=terms.population,
    )


def judge(state: Settings, terms: Terms, *, overloaded: bool = False, xp: Any = np) -> Judged:
    """Score beats by their terms; ``xp``: the library of the terms, and of the arrays of the calibration."""
    score = combine(state.calibration, terms, xp)
    why = xp.where(xp.isnan(terms.history), xp.uint8(BY_POPULATION), xp.uint8(BY_HISTORY))
    why = xp.where(xp.isnan(score), xp.uint8(OVERLOAD if overloaded else GAP), why)
    return Judged(score, why, score >= state.anomalous)


def combine(calibration: Calibration, terms: Terms, xp: Any = np) -> Any:
    """Return minus log10 of the tail probability of each beat; NaN where there was no window."""
    total = weigh(calibration, terms, xp)
    case = 2 * ~xp.isnan(terms.history) + ~xp.isnan(terms.prematurity)
    score = xp.full(len(total), np.nan, np.float32)
    for k in range(4):
        mine = xp.flatnonzero(case == k)
        if len(mine):
            score[mine] = tail(total[mine], calibration.sums[k], calibration.level, MOST_SCORE, xp)
    return score


def weigh(calibration: Calibration, terms: Terms, xp: Any = np) -> Any:
    """Return the weighted sum of the terms' levels, those not known left out; NaN without a window."""
    total = xp.zeros(len(terms.population))
    for k, name in enumerate(TERMS):
        values = getattr(terms, name).astype(np.float64)
        level = tail(values, calibration.terms[k], calibration.level, MOST_LEVEL, xp)
        total += calibration.weights[k] * (xp.where(xp.isnan(level), 0.0, level) if k else level)
    return total


def tail(values: Any, knots: Any, level: Any, most: float, xp: Any = np) -> Any:
    """Look values up in a table; beyond its end its last slope goes on, up to ``most``."""
    found = xp.interp(values, knots, level)
    slope = (level[-1] - level[-9]) / max(knots[-1] - knots[-9], 1e-6)
    found = xp.where(values > knots[-1], level[-1] + slope * (values - knots[-1]), found)
    return xp.minimum(found, most)
