"""Bodies of the score, and of the beats that a piece of a recording answers for.

The score is minus log10 of the tail probability of a weighted sum of levels (``stages.score``): of each term, and of
the sum, a table says how rare a value is.
"""

from __future__ import annotations

import math

from beatwire.kernels.drift import below
from beatwire.records import F32, F64, I64, U8, Bool

BY_HISTORY, BY_POPULATION, OVERLOAD, GAP = range(4)
MOST_LEVEL, MOST_RATE_TERM, MOST_SCORE = 4.0, 3.0, 12.0
SLOPE = 8  # knots at the end of a table from which its last slope is taken


def tail(value: float, knots: F64, level: F64, most: float) -> float:
    """Look a value up in a table of ascending ``knots``; beyond its end its last slope goes on, up to ``most``."""
    last = knots.shape[0] - 1
    if math.isnan(value):
        return value
    if value > knots[last]:
        slope = (level[last] - level[last - SLOPE]) / max(knots[last] - knots[last - SLOPE], 1e-6)
        return min(float(level[last] + slope * (value - knots[last])), most)
    if value < knots[0]:
        return min(float(level[0]), most)
    low = below(knots, value) - 1  # the last knot that is not above the value
    if low == last or knots[low] == value:
        return min(float(level[low]), most)
    slope = (level[low + 1] - level[low]) / (knots[low + 1] - knots[low])
    return min(float(slope * (value - knots[low]) + level[low]), most)


def weighed(
    population: float, history: float, prematurity: float, rate_term: float, level: F64, terms: F64, weights: F64
) -> float:
    """Return the weighted sum of the levels of a beat's terms, those not known left out; NaN without a window."""
    total = float(weights[0]) * tail(population, terms[0], level, MOST_LEVEL)
    if not math.isnan(history):
        total += float(weights[1]) * tail(history, terms[1], level, MOST_LEVEL)
    if not math.isnan(prematurity):
        total += float(weights[2]) * tail(prematurity, terms[2], level, MOST_LEVEL)
    if not math.isnan(rate_term):
        total += float(weights[3]) * tail(rate_term, terms[3], level, MOST_RATE_TERM)
    return total


def weigh_beat(
    i: int,
    population: F32,
    history: F32,
    prematurity: F32,
    rate_term: F32,
    level: F64,
    terms: F64,
    weights: F64,
    total: F64,
) -> None:
    """Write what the levels of beat ``i`` weigh together."""
    total[i] = weighed(
        float(population[i]), float(history[i]), float(prematurity[i]), float(rate_term[i]), level, terms, weights
    )


def score_beat(
    i: int, population: F32, history: F32, prematurity: F32, rate_term: F32, level: F64, terms: F64, weights: F64,
    sums: F64, least: float, overloaded: bool, score: F32, scored_by: U8, anomalous: Bool,
) -> None:  # fmt: skip
    """Score beat ``i`` by its terms: NaN where there was no window; ``least``: of what is called anomalous.

    Parameters
    ----------
    level, terms, weights, sums
        See ``stages.score.Calibration``.
    scored_by
        ``BY_HISTORY``, ``BY_POPULATION``, or why there is no score.
    """
    total = weighed(
        float(population[i]), float(history[i]), float(prematurity[i]), float(rate_term[i]), level, terms, weights
    )
    by_history = not math.isnan(history[i])
    case = 0
    if by_history:
        case += 2
    if not math.isnan(prematurity[i]):
        case += 1
    score[i] = tail(total, sums[case], level, MOST_SCORE)
    why = BY_HISTORY if by_history else BY_POPULATION
    if math.isnan(score[i]):
        why = OVERLOAD if overloaded else GAP
    scored_by[i] = why
    anomalous[i] = score[i] >= least


def is_answered(i: int, row: I64, sample: I64, begin: I64, end: I64, count: I64) -> None:
    """Count beat ``i`` when the piece of its row answers for it: one of samples ``[begin, end)``."""
    count[i] = begin[row[i]] <= sample[i] < end[row[i]]


def tell_beat(
    i: int, count: I64, first: I64, sample: I64, decided: I64, rr_s: F64, median_rr_s: F64, response: F32, quality: F32,
    expected_errors: F32, score: F32, early: F32, scored_by: U8, anomalous: Bool, latent: F32, population: F32,
    to_sample: I64, to_decided: I64, to_rr_s: F64, to_median_rr_s: F64, to_response: F32, to_quality: F32,
    to_expected_errors: F32, to_score: F32, to_early: F32, to_scored_by: U8, to_anomalous: Bool, to_latent: F32,
    to_population: F32,
) -> None:  # fmt: skip
    """Copy beat ``i`` to place ``first[i]`` of columns without holes, if it counts."""
    if count[i] == 0:
        return
    b = first[i]
    to_sample[b] = sample[i]
    to_decided[b] = decided[i]
    to_rr_s[b] = rr_s[i]
    to_median_rr_s[b] = median_rr_s[i]
    to_response[b] = response[i]
    to_quality[b] = quality[i]
    to_expected_errors[b] = expected_errors[i]
    to_score[b] = score[i]
    to_early[b] = early[i]
    to_scored_by[b] = scored_by[i]
    to_anomalous[b] = anomalous[i]
    to_population[b] = population[i]
    for j in range(latent.shape[1]):
        to_latent[b, j] = latent[i, j]
