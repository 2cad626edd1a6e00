"""Figures of a score on people it has not seen: AUROC, false-positive rate, and the ablation.

Every figure is given pooled over beats and as the mean over subjects that have at least five beats
of either kind. Beats without a score are left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from beatwire.records import F64, U8, Bool
from beatwire.training.dataset import FUSION, NORMAL, SUPRAVENTRICULAR, VENTRICULAR

TARGETS = {
    "V": (VENTRICULAR,),
    "S": (SUPRAVENTRICULAR,),
    "any": (SUPRAVENTRICULAR, VENTRICULAR, FUSION),
}
FEWEST = 5


def auroc(score: F64, positive: Bool) -> float:
    """Return the probability that a positive scores above a negative, ties half; NaN without both."""
    n, p = len(score), int(positive.sum())
    if p in (0, n):
        return float("nan")
    return float((rankdata(score)[positive].sum() - p * (p + 1) / 2) / (p * (n - p)))


def aurocs(scores: Sequence[F64], labels: Sequence[U8]) -> dict[str, dict[str, float]]:
    """Return for V, S and any abnormal against N the pooled AUROC and its mean over subjects."""
    out = {}
    for name, classes in TARGETS.items():
        chosen = [np.isin(y, (NORMAL, *classes)) & ~np.isnan(s) for s, y in zip(scores, labels, strict=True)]
        parts = [(s[m], y[m] != NORMAL) for s, y, m in zip(scores, labels, chosen, strict=True)]
        single = [auroc(s, y) for s, y in parts if FEWEST <= y.sum() <= len(y) - FEWEST]
        pooled = auroc(np.concatenate([s for s, _ in parts]), np.concatenate([y for _, y in parts]))
        out[name] = {"pooled": pooled, "mean": float(np.mean(single)) if single else float("nan")}
    return out


def at_promise(scores: Sequence[F64], labels: Sequence[U8], promised: float) -> dict[str, float]:
    """Return what part of the beats of each kind a threshold of a promised false-positive rate marks."""
    score, label = np.concatenate(scores), np.concatenate(labels)
    marked = score >= -np.log10(promised)
    out = {"normal": float(marked[(label == NORMAL) & ~np.isnan(score)].mean())}
    for name, classes in TARGETS.items():
        rows = np.isin(label, classes) & ~np.isnan(score)
        out[name] = float(marked[rows].mean()) if rows.any() else float("nan")
    return out


def summary(scores: Sequence[F64], labels: Sequence[U8]) -> dict[str, Any]:
    """Return the figures of one score over some subjects, in numbers of four digits."""
    found: dict[str, Any] = {
        "subjects": len(scores),
        "beats": int(sum(len(s) for s in scores)),
        "not_scored": int(sum(np.isnan(s).sum() for s in scores)),
        "auroc": aurocs(scores, labels),
        "marked_at_1_percent": at_promise(scores, labels, 0.01),
        "marked_at_0.1_percent": at_promise(scores, labels, 0.001),
    }
    short: dict[str, Any] = rounded(found)
    return short


def rounded(value: Any) -> Any:
    """Round every float inside to four digits; NaN becomes None, as JSON wants it."""
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, float):
        return None if np.isnan(value) else round(value, 4)
    return value
