"""Bodies of the score: how unlike a normal beat of this person a beat is.

In:    the terms of each beat (``records.Terms``), its disturbance, and the tables of a model
Out:   its score, what it was scored by, and whether it is anomalous
State: none

The score is minus log10 of the tail probability of a weighted sum (``stages.score``). For each term and for the sum a
table gives minus log10 of the share of normal beats with a larger value: the *level* of the value.
"""

import math

from beatwire.kernels.scores.drift import borders_below
from beatwire.records import F32, F64, Terms
from beatwire.records.scoring import Calibration, Scores

BY_HISTORY, BY_POPULATION, OVERLOAD, GAP = range(
    4
)  # ``scored_by``: the terms that were known, or why there is no score
POPULATION, HISTORY, PREMATURITY, RATE_TERM = range(4)  # rows of ``Calibration.terms``
MOST_LEVEL, MOST_RATE_LEVEL, MOST_SCORE = 4.0, 3.0, 12.0  # extrapolation of a table ends there
NOISE_WEIGHT, MOST_ERRORS = 0.75, 1.5  # deducted from the sum for each expected error of detection, and of how many
SLOPE_KNOTS = 8  # knots at the end of a table from which its last slope is taken


def level_of(value: float, knots: F64, level: F64, most: float) -> float:
    """Return the level of a value, interpolated between ascending ``knots``; NaN for NaN.

    Below the first knot it is that of the first; beyond the last knot the last slope continues up to ``most``.
    """
    last = knots.shape[0] - 1
    if math.isnan(value):
        return value
    if value > knots[last]:
        slope = (level[last] - level[last - SLOPE_KNOTS]) / max(knots[last] - knots[last - SLOPE_KNOTS], 1e-6)
        return min(float(level[last] + slope * (value - knots[last])), most)
    if value < knots[0]:
        return min(float(level[0]), most)
    low = borders_below(knots, value) - 1  # the last knot that is at most the value
    if low == last or knots[low] == value:
        return min(float(level[low]), most)
    slope = (level[low + 1] - level[low]) / (knots[low + 1] - knots[low])
    return min(float(slope * (value - knots[low]) + level[low]), most)


def weighted_sum(i: int, terms: Terms, disturbance: F32, tables: Calibration) -> float:
    """Return the weighted sum of the levels of beat ``i``, without unknown terms, less what noise may have added.

    NaN if the beat has no window.
    """
    level, weights = tables.level, tables.weights
    history, prematurity, rate_term = float(terms.history[i]), float(terms.prematurity[i]), float(terms.rate_term[i])
    total = float(weights[POPULATION]) * level_of(
        float(terms.population[i]), tables.terms[POPULATION], level, MOST_LEVEL
    )
    if not math.isnan(history):
        total += float(weights[HISTORY]) * level_of(history, tables.terms[HISTORY], level, MOST_LEVEL)
    if not math.isnan(prematurity):
        total += float(weights[PREMATURITY]) * level_of(prematurity, tables.terms[PREMATURITY], level, MOST_LEVEL)
    if not math.isnan(rate_term):
        total += float(weights[RATE_TERM]) * level_of(rate_term, tables.terms[RATE_TERM], level, MOST_RATE_LEVEL)
    errors = float(disturbance[i])
    return total - NOISE_WEIGHT * min(errors, MOST_ERRORS) if errors > 0.0 else total


def sum_levels(i: int, terms: Terms, disturbance: F32, tables: Calibration, sums: F64) -> None:
    """Write the weighted sum of the levels of beat ``i``."""
    sums[i] = weighted_sum(i, terms, disturbance, tables)


def score_beat(
    i: int,
    terms: Terms,
    disturbance: F32,
    tables: Calibration,
    least_anomalous: float,
    overloaded: bool,
    scores: Scores,
) -> None:
    """Score beat ``i``: NaN if it has no window; a beat with ``least_anomalous`` or more is anomalous."""
    by_history = not math.isnan(terms.history[i])
    case = 0
    if by_history:
        case += 2
    if not math.isnan(terms.prematurity[i]):
        case += 1
    score = level_of(weighted_sum(i, terms, disturbance, tables), tables.sums[case], tables.level, MOST_SCORE)
    scores.score[i] = score
    scored_by = BY_HISTORY if by_history else BY_POPULATION
    if math.isnan(score):
        scored_by = OVERLOAD if overloaded else GAP
    scores.scored_by[i] = scored_by
    scores.anomalous[i] = scores.score[i] >= least_anomalous
