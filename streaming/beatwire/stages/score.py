"""Score: how unlike a normal beat of this person, by a model of the normal beats of all people.

In:    TickBeats, the beats of a tick, those of a stream in order, with their terms
Out:   TickBeats, scored
State: nothing but its settings; what beats are compared with is the state of the history stage

Four terms are computed of each beat (``stages.detection.history``), each larger the stranger the beat:

population   logarithm of the VAE's reconstruction error (squared residual over twice its variance, plus half the
             squared length of the latents), less 60 % of how far the stream's reference beats are above usual: a person
             whose every beat is unlike those of others is not strange with each
history      distance, in the 8 latents, to the mean of the stream's reference beats, over their spread to the power of
             3/4: in a stream that varies much, a beat must lie farther away to be strange
prematurity  1 - RR over the 80 % quantile of the RRs of the last 60 s, over the irregularity of these
rate_term    minus RR: how fast the heart beats, for a person

The level of a term is minus log10 of its tail probability among normal beats (at most 4, of the rate term 3). The
levels are added by weights. ``NOISE_WEIGHT`` is deducted for each error of detection that the trees expect in the ten
seconds up to the beat, its disturbance: in noise normal beats look strange, too. The score is minus log10 of the tail
probability of that sum: a score of S means that one normal beat in 10^S looks at least as strange. Unknown terms (of a
new stream, of the first beat after a gap) are left out; for each such case there is a table of the sum, so that scores
are comparable.

Invariant: a score depends on the samples of at most ``SCORE_HORIZON_S`` before the beat.
"""

from dataclasses import dataclass, replace

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.scores.scoring import BY_HISTORY, BY_POPULATION, GAP, OVERLOAD
from beatwire.records import F32, F64, Terms, TickBeats
from beatwire.records.scoring import Calibration, Scores

__all__ = [
    "BY_HISTORY",
    "BY_POPULATION",
    "GAP",
    "OVERLOAD",
    "Calibration",
    "Scores",
    "Settings",
    "State",
    "score_terms",
    "step",
    "sum_levels",
]

SCORE_HORIZON_S = 75.0  # 60 s of beats, each scaled by 10 s of sizes, and an interval of at most 5 s before the first
SCORED_BY = ("history", "population", "overload", "gap")  # by number: ``BY_HISTORY``, ...
ANOMALOUS = 3.0  # one normal beat in a thousand
TERMS = ("population", "history", "prematurity", "rate_term")  # rows of ``Calibration.terms``


@dataclass(frozen=True, slots=True)
class Settings:
    """The tables of the model, and the score from which on a beat is anomalous."""

    calibration: Calibration
    anomalous: float = ANOMALOUS


@dataclass(slots=True)
class State:
    """Nothing but the settings."""

    settings: Settings


def step(state: State, beats: TickBeats) -> tuple[State, TickBeats]:
    """Score the beats of a tick."""
    terms, s = beats.terms, state.settings
    scores = score_terms(s.calibration, terms, beats.disturbance, anomalous=s.anomalous, overloaded=beats.overloaded)
    return state, replace(
        beats,
        score=scores.score,
        prematurity=terms.early,
        scored_by=scores.scored_by,
        anomalous=scores.anomalous,
        latent=terms.latent,
        reconstruction_error=terms.reconstruction_error,
    )


def score_terms(
    calibration: Calibration,
    terms: Terms,
    disturbance: F32 | None = None,
    *,
    anomalous: float = ANOMALOUS,
    overloaded: bool = False,
) -> Scores:
    """Score beats by their terms and their disturbance, float32 [b]; where it is NaN or None, nothing is deducted."""
    n = len(terms.population)
    if disturbance is None:
        disturbance = np.zeros(n, np.float32)
    scores = Scores(np.empty(n, np.float32), np.empty(n, np.uint8), np.empty(n, np.bool_))
    cpu.kernels.score_beat(n, terms, disturbance, calibration, anomalous, overloaded, scores)
    return scores


def sum_levels(calibration: Calibration, terms: Terms) -> F64:
    """Return the weighted sum of the levels of each beat's known terms, as without noise; NaN if it has no window."""
    sums = np.empty(len(terms.population))
    cpu.kernels.sum_levels(len(sums), terms, np.zeros(len(sums), np.float32), calibration, sums)
    return sums
