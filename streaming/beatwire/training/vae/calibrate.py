"""Calibration of the score: tables of the tail probability of the terms, and of their sum, among normal beats.

In:  the terms of normal beats of each subject, from networks that were not trained on the subject
Out: ``stages.score.Calibration``

Each subject has the same weight, however many beats it has. The table of a term is the mean of the subjects' own
tables, so that one unusual subject does not dominate. The table of the weighted sum sets the false-positive rate. It is
a mixture: 70 % the table of all beats pooled, 30 % the mean of the subjects' tables. With pooled beats alone, one
subject with very variable beats would raise the threshold above any score of the others.
"""

from collections.abc import Sequence

import numpy as np

from beatwire.errors import UserError
from beatwire.records import F32, F64, Terms
from beatwire.stages.score import TERMS, Calibration, sum_levels

LEVEL: F64 = np.round(np.concatenate([np.arange(0, 1, 0.05), np.arange(1, 3.01, 0.1)]), 3)  # -log10 of the tail
WEIGHTS = (0.7, 0.7, 1.0, 0.15)  # population, history, prematurity, rate_term
MEAN_SHARE = 0.3  # weight of the mean of the subjects' tables in the table of the sum
MIN_BEATS = 100  # of a subject with a table of its own: fewer have no 99 % quantile


def calibrate(normal: Sequence[Terms], weights: Sequence[float] = WEIGHTS) -> Calibration:
    """Return the tables of the terms of normal beats, one element of ``normal`` per subject."""
    tables = [mean_of_quantiles([getattr(t, name) for t in normal], LEVEL) for name in TERMS]
    errors = mean_of_quantiles([t.reconstruction_error for t in normal], LEVEL)
    without_sums = Calibration(
        LEVEL, np.stack(tables), np.asarray(weights, np.float64), np.zeros((4, len(LEVEL))), errors
    )
    sums = []
    for case in range(4):
        of_case = [terms_of_case(t, case) for t in normal]
        sums.append(mixed_quantiles([sum_levels(without_sums, t) for t in of_case], LEVEL))
    return without_sums._replace(sums=np.stack(sums))


def terms_of_case(terms: Terms, case: int) -> Terms:
    """Return the beats that have the terms of a case, with the other terms set to NaN.

    ``case`` is 2 x (history is known) + (prematurity is known), as in ``stages.score.Calibration``.
    """
    has_history, has_prematurity = bool(case & 2), bool(case & 1)
    rows = ~np.isnan(terms.population)
    rows &= ~np.isnan(terms.history) if has_history else True
    rows &= ~np.isnan(terms.prematurity) if has_prematurity else True
    chosen = Terms(*(column[rows] for column in terms))
    unknown = np.full(int(rows.sum()), np.nan, np.float32)
    if not has_history:
        chosen = chosen._replace(history=unknown, population=chosen.reconstruction_error)
    if not has_prematurity:
        chosen = chosen._replace(prematurity=unknown)
    return chosen


def mixed_quantiles(values: Sequence[F64], level: F64) -> F64:
    """Return the mixture of pooled quantiles and, with weight ``MEAN_SHARE``, the mean of the subjects' quantiles."""
    return (1 - MEAN_SHARE) * pooled_quantiles(values, level) + MEAN_SHARE * mean_of_quantiles(values, level)


def mean_of_quantiles(values: Sequence[F32] | Sequence[F64], level: F64) -> F64:
    """Return the mean over subjects of the value with a tail probability of 10^-level: float64 [k], ascending.

    Parameters
    ----------
    values
        One array per subject; NaN is ignored. Subjects with fewer than ``MIN_BEATS`` values are left out, unless all
        have fewer: then their values are pooled.
    level
        float64 [k].
    """
    finite = _finite(values)
    large = [v for v in finite if len(v) >= MIN_BEATS] or [np.concatenate(finite)]
    knots = np.mean([np.quantile(v, 1 - 10.0**-level) for v in large], axis=0)
    return np.maximum.accumulate(knots + 1e-6 * np.arange(len(level)))


def pooled_quantiles(values: Sequence[F64], level: F64) -> F64:
    """Return the value with a tail probability of 10^-level, all subjects pooled with the same weight: float64 [k]."""
    finite = [v for v in _finite(values) if len(v)]
    joined = np.concatenate(finite)
    weight = np.concatenate([np.full(len(v), 1 / len(v)) for v in finite])
    order = np.argsort(joined, kind="stable")
    below = (np.cumsum(weight[order]) - 0.5 * weight[order]) / weight.sum()
    knots = np.interp(1 - 10.0**-level, below, joined[order])
    return np.maximum.accumulate(knots + 1e-6 * np.arange(len(level)))


def _finite(values: Sequence[F32] | Sequence[F64]) -> list[F64]:
    """Return the values of each subject that are numbers; raise ``UserError`` if there are none at all."""
    finite = [v[~np.isnan(v)].astype(np.float64) for v in values]
    if not any(len(v) for v in finite):
        raise UserError("records: expected normal beats with enough beats before them to calibrate scores; got none")
    return finite
