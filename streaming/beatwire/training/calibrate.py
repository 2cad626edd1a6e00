"""From the terms of normal beats to a score with a meaning: tables of their tail probability.

Each subject counts the same, however many beats it has. The table of a term is the mean of the
subjects' own tables, so that one strange heart does not decide what is strange. The table of the
sum, which makes the promise, is of all their beats together, and for three tenths the mean of their
own as well: else the beats of calm hearts would have to look stranger than they ever do, for the
sake of a restless one. The terms must come from networks that did not see the subject.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from beatwire.records import F32, F64, Terms
from beatwire.stages.score import TERMS, Calibration, sum_levels

LEVEL: F64 = np.round(np.concatenate([np.arange(0, 1, 0.05), np.arange(1, 3.01, 0.1)]), 3)
WEIGHTS = (0.7, 0.7, 1.0, 0.15)  # population, history, prematurity, rate_term
AVERAGE = 0.3  # how much of the table of the sum is the average person's
FEWEST = 100  # beats of a subject that a table is made of


def calibrate(normal: Sequence[Terms], weights: Sequence[float] = WEIGHTS) -> Calibration:
    """Build the tables from the terms of normal beats, one element a subject."""
    tables = [mean_quantiles([getattr(t, name) for t in normal], LEVEL) for name in TERMS]
    flat = np.zeros((4, len(LEVEL)))
    first = Calibration(LEVEL, np.stack(tables), np.asarray(weights, np.float64), flat)
    sums = []
    for case in range(4):
        known = [only(t, case) for t in normal]
        sums.append(promise([sum_levels(first, t) for t in known], LEVEL))
    return first._replace(sums=np.stack(sums))


def only(terms: Terms, case: int) -> Terms:
    """Return the beats that have the terms of a case, without the terms that the case has not."""
    has_history, has_prematurity = bool(case & 2), bool(case & 1)
    rows = ~np.isnan(terms.population)
    rows &= ~np.isnan(terms.history) if has_history else True
    rows &= ~np.isnan(terms.prematurity) if has_prematurity else True
    some = Terms(*(column[rows] for column in terms))
    none = np.full(int(rows.sum()), np.nan, np.float32)
    if not has_history:
        some = some._replace(history=none)
    if not has_prematurity:
        some = some._replace(prematurity=none)
    return some


def promise(values: Sequence[F64], level: F64) -> F64:
    """Return the table of the sum: of all beats together, and ``AVERAGE`` of it that of the average person."""
    return (1 - AVERAGE) * quantiles(values, level) + AVERAGE * mean_quantiles(values, level)


def mean_quantiles(values: Sequence[F32] | Sequence[F64], level: F64) -> F64:
    """Return the mean over arrays of their values with a tail probability of 10^-level, NaN left out."""
    kept = [v[~np.isnan(v)].astype(np.float64) for v in values]
    many = [v for v in kept if len(v) >= FEWEST] or [np.concatenate(kept)]
    knots = np.mean([np.quantile(v, 1 - 10.0**-level) for v in many], axis=0)
    return np.maximum.accumulate(knots + 1e-6 * np.arange(len(level)))


def quantiles(values: Sequence[F64], level: F64) -> F64:
    """Return the values with a tail probability of 10^-level, NaN left out, every array of the same weight."""
    kept = [v[~np.isnan(v)].astype(np.float64) for v in values]
    kept = [v for v in kept if len(v)]
    joined = np.concatenate(kept)
    weight = np.concatenate([np.full(len(v), 1 / len(v)) for v in kept])
    order = np.argsort(joined, kind="stable")
    below = (np.cumsum(weight[order]) - 0.5 * weight[order]) / weight.sum()
    knots = np.interp(1 - 10.0**-level, below, joined[order])
    return np.maximum.accumulate(knots + 1e-6 * np.arange(len(level)))
