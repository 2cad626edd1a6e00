"""Figures of a score on held-out subjects: AUROC, and the share of beats marked at a nominal false-positive rate.

AUROC is given pooled over beats and as the mean over subjects with at least five beats of either kind. Beats without a
score are left out and counted.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from beatwire.evaluation.anomaly import MIN_BEATS, auroc
from beatwire.records import F64, U8
from beatwire.training.vae.dataset import FUSION, NORMAL, SUPRAVENTRICULAR, VENTRICULAR

TARGETS = {"V": (VENTRICULAR,), "S": (SUPRAVENTRICULAR,), "any": (SUPRAVENTRICULAR, VENTRICULAR, FUSION)}


def aurocs(scores: Sequence[F64], labels: Sequence[U8]) -> dict[str, dict[str, float]]:
    """Return the AUROC of V, S and any abnormal beats against N, pooled and as the mean over subjects.

    Parameters
    ----------
    scores, labels
        Per subject float64 [b], NaN where not scored, and uint8 [b], the AAMI class.
    """
    figures = {}
    for name, classes in TARGETS.items():
        chosen = [np.isin(y, (NORMAL, *classes)) & ~np.isnan(s) for s, y in zip(scores, labels, strict=True)]
        parts = [(s[m], y[m] != NORMAL) for s, y, m in zip(scores, labels, chosen, strict=True)]
        single = [auroc(s, y) for s, y in parts if MIN_BEATS <= y.sum() <= len(y) - MIN_BEATS]
        pooled = auroc(np.concatenate([s for s, _ in parts]), np.concatenate([y for _, y in parts]))
        figures[name] = {"pooled": pooled, "mean": float(np.mean(single)) if single else float("nan")}
    return figures


def marked_at(scores: Sequence[F64], labels: Sequence[U8], nominal_rate: float) -> dict[str, float]:
    """Return the share of scored beats of each class marked at the threshold of a nominal false-positive rate."""
    score, label = np.concatenate(scores), np.concatenate(labels)
    marked = score >= -np.log10(nominal_rate)
    shares = {"normal": float(marked[(label == NORMAL) & ~np.isnan(score)].mean())}
    for name, classes in TARGETS.items():
        rows = np.isin(label, classes) & ~np.isnan(score)
        shares[name] = float(marked[rows].mean()) if rows.any() else float("nan")
    return shares


def summary(scores: Sequence[F64], labels: Sequence[U8]) -> dict[str, Any]:
    """Return the figures of a score over subjects, rounded to four decimals."""
    figures: dict[str, Any] = {
        "subjects": len(scores),
        "beats": int(sum(len(s) for s in scores)),
        "not_scored": int(sum(np.isnan(s).sum() for s in scores)),
        "auroc": aurocs(scores, labels),
        "marked_at_1_percent": marked_at(scores, labels, 0.01),
        "marked_at_0.1_percent": marked_at(scores, labels, 0.001),
    }
    short: dict[str, Any] = rounded(figures)
    return short


def rounded(value: Any) -> Any:
    """Return the value with every float in it rounded to four decimals, None in place of NaN."""
    if isinstance(value, dict):
        return {k: rounded(v) for k, v in value.items()}
    if isinstance(value, float):
        return None if np.isnan(value) else round(value, 4)
    return value
