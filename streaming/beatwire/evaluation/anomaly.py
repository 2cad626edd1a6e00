"""AUROC and average precision of a score, abnormal against normal beats, with confidence intervals by subject.

In:  for each matched beat its record, AAMI class and score (higher is more abnormal)
Out: area under the ROC curve and average precision of V, S, F and of the three together against N: pooled over
     beats, mean over records, and the 95 % interval of the pooled figure by resampling subjects

Beats without a score and beats of class Q are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beatwire.records import F64, Bool

GROUPS = {"V": "V", "S": "S", "F": "F", "any": "SVF"}
MIN_BEATS = 5  # of both kinds, for a figure of a single record
_BINS = 1000  # of the histograms that are resampled; the interval needs no finer score


@dataclass(frozen=True)
class Estimate:
    """A figure pooled over beats, its mean over ``records``, and the 95 % confidence interval of the pooled one.

    ``records`` counts those with at least ``MIN_BEATS`` of both kinds; ``beats`` counts abnormal beats.
    """

    pooled: float
    mean: float
    low: float
    high: float
    records: int
    beats: int

    def as_json(self) -> dict[str, float | int | None]:
        """Return rounded figures, None in place of NaN."""
        figures = {"pooled": self.pooled, "mean": self.mean, "low": self.low, "high": self.high}
        return {**{k: None if np.isnan(v) else round(v, 5) for k, v in figures.items()},
                "records": self.records, "beats": self.beats}  # fmt: skip


def auroc(score: F64, abnormal: Bool) -> float:
    """Return the area under the ROC curve, ties counted half; NaN without beats of both kinds.

    Parameters
    ----------
    score
        float64 [b], without NaN.
    abnormal
        bool [b].

    Examples
    --------
    >>> auroc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    0.75
    """
    p, n = int(abnormal.sum()), int((~abnormal).sum())
    if p == 0 or n == 0:
        return float("nan")
    _, place, ties = np.unique(score, return_inverse=True, return_counts=True)
    rank = np.cumsum(ties) - (ties - 1) / 2.0
    return float((rank[place][abnormal].sum() - p * (p + 1) / 2.0) / (p * n))


def average_precision(score: F64, abnormal: Bool) -> float:
    """Return the mean precision over steps of recall, tied scores as one step; NaN without beats of both kinds."""
    p = int(abnormal.sum())
    if p == 0 or p == len(abnormal):
        return float("nan")
    order = np.argsort(-score, kind="stable")
    last_of_tie = np.append(np.flatnonzero(np.diff(score[order])), len(order) - 1)
    hits = np.cumsum(abnormal[order])[last_of_tie]
    return float(np.sum(np.diff(hits, prepend=0) / p * hits / (last_of_tie + 1)))


def estimate_by_group(
    record: Sequence[str],
    beat_class: Sequence[str],
    score: F64,
    subject_of: dict[str, str],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[dict[str, Estimate], dict[str, Estimate]]:
    """Measure each of ``GROUPS`` against N.

    Parameters
    ----------
    record, beat_class
        str [b], of each matched beat.
    score
        float64 [b], NaN where a beat was not scored.
    subject_of
        Subject of each record; a record that is not listed is its own subject.
    resamples, seed
        Number of bootstrap samples of the subjects, and their random seed. With 0 the interval is NaN.

    Returns
    -------
    auroc, average_precision
        Each ``{"V": ..., "S": ..., "F": ..., "any": ...}``.
    """
    records, classes = np.asarray(record, str), np.asarray(beat_class, str)
    scored = ~np.isnan(score)
    areas, precisions = {}, {}
    for group, letters in GROUPS.items():
        abnormal = np.isin(classes, list(letters))
        use = scored & (abnormal | (classes == "N"))
        rows = (records[use], abnormal[use], score[use])
        areas[group], precisions[group] = _estimate(*rows, subject_of, resamples, seed)
    return areas, precisions


def _estimate(
    record: NDArray[np.str_], abnormal: Bool, score: F64, subject_of: dict[str, str], resamples: int, seed: int
) -> tuple[Estimate, Estimate]:
    by_record: list[tuple[float, float]] = []
    for name in np.unique(record):
        of_record = record == name
        y, s = abnormal[of_record], score[of_record]
        if min(int(y.sum()), int((~y).sum())) >= MIN_BEATS:
            by_record.append((auroc(s, y), average_precision(s, y)))
    intervals = _intervals(record, abnormal, score, subject_of, resamples, seed)
    pooled = (auroc(score, abnormal), average_precision(score, abnormal))
    area, precision = (
        Estimate(
            pooled[k],
            float(np.mean([figures[k] for figures in by_record])) if by_record else float("nan"),
            *intervals[k],
            records=len(by_record),
            beats=int(abnormal.sum()),
        )
        for k in (0, 1)
    )
    return area, precision


def _intervals(
    record: NDArray[np.str_], abnormal: Bool, score: F64, subject_of: dict[str, str], resamples: int, seed: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the intervals of AUROC and average precision: bootstrap over each subject's histogram of scores."""
    if not abnormal.any() or abnormal.all() or resamples < 1:
        nothing = (float("nan"), float("nan"))
        return nothing, nothing
    subjects = np.array([subject_of.get(str(r), str(r)) for r in record])
    names, subject = np.unique(subjects, return_inverse=True)
    edges = np.unique(np.quantile(score, np.linspace(0, 1, _BINS + 1)[1:-1]))
    bins = np.searchsorted(edges, score, side="right")
    shape = (len(names), len(edges) + 1)
    positives, negatives = np.zeros(shape), np.zeros(shape)
    np.add.at(positives, (subject[abnormal], bins[abnormal]), 1)
    np.add.at(negatives, (subject[~abnormal], bins[~abnormal]), 1)
    weight = np.random.default_rng(seed).multinomial(len(names), np.full(len(names), 1 / len(names)), resamples)
    areas, precisions = _areas_of_histograms(weight @ positives, weight @ negatives)
    return _interval_95(areas), _interval_95(precisions)


def _areas_of_histograms(positives: F64, negatives: F64) -> tuple[F64, F64]:
    """Return AUROC and average precision of histograms [resamples, bins], bins in ascending order of the score."""
    p, n = positives.sum(1), negatives.sum(1)
    below = np.cumsum(negatives, 1) - negatives / 2
    hits, marked = np.cumsum(positives[:, ::-1], 1), np.cumsum((positives + negatives)[:, ::-1], 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        areas = (positives * below).sum(1) / (p * n)
        precisions = (positives[:, ::-1] * np.where(marked > 0, hits / np.maximum(marked, 1), 0)).sum(1) / p
    return areas, precisions


def _interval_95(values: F64) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(finite, [0.025, 0.975])
    return float(low), float(high)
