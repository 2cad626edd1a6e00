"""How well a score separates abnormal from normal beats, with an interval by subject.

In:  for each matched beat its record, AAMI class and score (higher is more abnormal).
Out: area under the ROC curve and average precision of V, S, F and any of the three against N:
     pooled, mean over records, and the interval of the pooled one under resampling of subjects.
Beats without a score and beats of class Q take no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from beatwire.records import F64, Bool

GROUPS = {"V": "V", "S": "S", "F": "F", "any": "SVF"}
FEWEST = 5  # beats of either side, below which a record has no figure of its own
_BINS = 1000


@dataclass(frozen=True)
class Separation:
    """One figure: pooled, mean over the records that have one, 95 % interval of the pooled one."""

    pooled: float
    mean: float
    low: float
    high: float
    records: int
    beats: int

    def as_json(self) -> dict[str, float | int | None]:
        """Round, and put None in the place of NaN."""
        figures = {"pooled": self.pooled, "mean": self.mean, "low": self.low, "high": self.high}
        return {**{k: None if np.isnan(v) else round(v, 5) for k, v in figures.items()},
                "records": self.records, "beats": self.beats}  # fmt: skip


def auroc(score: F64, abnormal: Bool) -> float:
    """Area under the ROC curve, ties counted half; NaN when a side is empty.

    Examples
    --------
    >>> auroc(np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]))
    0.75
    """
    p, n = int(abnormal.sum()), int((~abnormal).sum())
    if p == 0 or n == 0:
        return float("nan")
    _, place, times = np.unique(score, return_inverse=True, return_counts=True)
    rank = np.cumsum(times) - (times - 1) / 2.0
    return float((rank[place][abnormal].sum() - p * (p + 1) / 2.0) / (p * n))


def average_precision(score: F64, abnormal: Bool) -> float:
    """Precision averaged over the recall steps, tied scores taken together; NaN when a side is empty."""
    p = int(abnormal.sum())
    if p == 0 or p == len(abnormal):
        return float("nan")
    order = np.argsort(-score, kind="stable")
    last_of_tie = np.append(np.flatnonzero(np.diff(score[order])), len(order) - 1)
    hits = np.cumsum(abnormal[order])[last_of_tie]
    return float(np.sum(np.diff(hits, prepend=0) / p * hits / (last_of_tie + 1)))


def separate(
    record: Sequence[str],
    beat_class: Sequence[str],
    score: F64,
    subject_of: dict[str, str],
    *,
    draws: int = 1000,
    seed: int = 0,
) -> tuple[dict[str, Separation], dict[str, Separation]]:
    """Measure every group against N.

    Parameters
    ----------
    record, beat_class
        str [b], of each matched beat.
    score
        float64 [b], NaN where a beat was not scored.
    subject_of
        record -> person; the people are drawn with replacement for the interval.
    draws, seed
        of the resampling.

    Returns
    -------
    auroc, average_precision
        each ``{"V": ..., "S": ..., "F": ..., "any": ...}``.
    """
    records, classes = np.asarray(record, str), np.asarray(beat_class, str)
    scored = ~np.isnan(score)
    areas, precisions = {}, {}
    for group, letters in GROUPS.items():
        abnormal = np.isin(classes, list(letters))
        use = scored & (abnormal | (classes == "N"))
        rows = (records[use], abnormal[use], score[use])
        areas[group], precisions[group] = _measure(*rows, subject_of, draws, seed)
    return areas, precisions


def _measure(
    record: NDArray[np.str_], abnormal: Bool, score: F64, subject_of: dict[str, str], draws: int, seed: int
) -> tuple[Separation, Separation]:
    names = np.unique(record)
    own: list[tuple[float, float]] = []
    for name in names:
        of_record = record == name
        y, s = abnormal[of_record], score[of_record]
        if min(int(y.sum()), int((~y).sum())) >= FEWEST:
            own.append((auroc(s, y), average_precision(s, y)))
    intervals = _intervals(record, abnormal, score, subject_of, draws, seed)
    pooled = (auroc(score, abnormal), average_precision(score, abnormal))
    area, precision = (
        Separation(
            pooled[k],
            float(np.mean([f[k] for f in own])) if own else float("nan"),
            *intervals[k],
            records=len(own),
            beats=int(abnormal.sum()),
        )
        for k in (0, 1)
    )
    return area, precision


def _intervals(
    record: NDArray[np.str_], abnormal: Bool, score: F64, subject_of: dict[str, str], draws: int, seed: int
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Interval over subjects, from histograms of each subject's scores (1000 bins of equal size)."""
    none = (float("nan"), float("nan"))
    if not abnormal.any() or abnormal.all() or draws < 1:
        return none, none
    subjects = np.array([subject_of.get(str(r), str(r)) for r in record])
    people, person = np.unique(subjects, return_inverse=True)
    edges = np.unique(np.quantile(score, np.linspace(0, 1, _BINS + 1)[1:-1]))
    bins = np.searchsorted(edges, score, side="right")
    shape = (len(people), len(edges) + 1)
    bad, good = np.zeros(shape), np.zeros(shape)
    np.add.at(bad, (person[abnormal], bins[abnormal]), 1)
    np.add.at(good, (person[~abnormal], bins[~abnormal]), 1)
    weight = np.random.default_rng(seed).multinomial(len(people), np.full(len(people), 1 / len(people)), draws)
    areas, precisions = _binned(weight @ bad, weight @ good)
    return _middle(areas), _middle(precisions)


def _binned(bad: F64, good: F64) -> tuple[F64, F64]:
    """AUROC and average precision of histograms [draws, bins], ascending in score; NaN where a side is empty."""
    p, n = bad.sum(1), good.sum(1)
    below = np.cumsum(good, 1) - good / 2
    hits, taken = np.cumsum(bad[:, ::-1], 1), np.cumsum((bad + good)[:, ::-1], 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        areas = (bad * below).sum(1) / (p * n)
        precisions = (bad[:, ::-1] * np.where(taken > 0, hits / np.maximum(taken, 1), 0)).sum(1) / p
    return areas, precisions


def _middle(values: F64) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if len(finite) == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(finite, [0.025, 0.975])
    return float(low), float(high)
