"""What is measured of a training run: figures by database, the ablation, records by name.

Everything here is from terms by networks that did not see the subject; scores of a fold use tables
of the calibration that were built from the other folds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from beatwire.records import F64, Terms
from beatwire.stages.score import score_terms
from beatwire.training.calibrate import WEIGHTS, calibrate
from beatwire.training.dataset import NORMAL, Subject
from beatwire.training.measure import TARGETS, at_promise, aurocs, rounded, summary

NO_VAE, PCA = "no VAE (prematurity and rate_term)", "PCA: all"
ABLATION = {
    "prematurity (RR) alone": (0.0, 0.0, 1.0, 0.0),
    "reconstruction alone": (1.0, 0.0, 0.0, 0.0),
    "latent history alone": (0.0, 1.0, 0.0, 0.0),
    NO_VAE: (0.0, 0.0, *WEIGHTS[2:]),
    "no reconstruction": (0.0, *WEIGHTS[1:]),
    "no history (a stream that has just started)": (WEIGHTS[0], 0.0, *WEIGHTS[2:]),
    "no rate_term": (*WEIGHTS[:3], 0.0),
}


@dataclass(frozen=True, slots=True)
class Judged:
    """One subject with the terms that a network that never saw it gave its beats; their radius, see ``drift``."""

    subject: Subject
    fold: int
    terms: Terms
    radius: F64 = field(default_factory=lambda: np.zeros(0))


def normal(classified: Judged) -> Terms:
    """Return the terms of a subject's normal beats."""
    return rows(classified.terms, classified.subject.label == NORMAL)


def rows(terms: Terms, chosen: Any) -> Terms:
    """Return the terms of some beats."""
    return Terms(*(column[chosen] for column in terms))


def scores(classified: Sequence[Judged], weights: Sequence[float] | None = None) -> list[F64]:
    """Return each subject's scores, by a calibration that did not see its fold."""
    tables = {}
    for fold in sorted({j.fold for j in classified}):
        others = [normal(j) for j in classified if j.fold != fold]
        tables[fold] = calibrate(others, weights) if weights is not None else calibrate(others)
    return [score_terms(tables[j.fold], j.terms).score.astype(np.float64) for j in classified]


def columns_of(classified: Sequence[Judged], linear: Sequence[Judged]) -> dict[str, list[F64]]:
    """Return the score and everything that it is compared with; ``linear`` is PCA in the VAE's place."""
    columns = {"score": scores(classified)}
    for name, weights in ABLATION.items():
        columns[name] = scores(classified, weights)
    columns["PCA: reconstruction alone"] = scores(linear, ABLATION["reconstruction alone"])
    columns["PCA: history alone"] = scores(linear, ABLATION["latent history alone"])
    columns["PCA: no history"] = scores(linear, ABLATION["no history (a stream that has just started)"])
    columns[PCA] = scores(linear)
    return columns


def report(classified: Sequence[Judged], columns: Mapping[str, Sequence[F64]]) -> dict[str, Any]:
    """Return the metrics of a run: ``databases``, ``by_record``."""
    databases: dict[str, Any] = {}
    for database in dict.fromkeys(j.subject.database for j in classified):
        mine = [k for k, j in enumerate(classified) if j.subject.database == database]
        labels = [classified[k].subject.label for k in mine]
        databases[database] = {
            "normal_beats": int(sum((y == NORMAL).sum() for y in labels)),
            **summary([columns["score"][k] for k in mine], labels),
            "ablation": {name: rounded(aurocs([column[k] for k in mine], labels)) for name, column in columns.items()},
        }
    return {"databases": databases, "by_record": by_record(classified, columns["score"])}


def by_record(classified: Sequence[Judged], score: Sequence[F64]) -> dict[str, Any]:
    """Return for each record its AUROCs, where it has five beats of a kind, and its marked beats at 1 %."""
    found = {}
    for j, s in zip(classified, score, strict=True):
        one = aurocs([s], [j.subject.label])
        found[f"{j.subject.database}/{j.subject.name}"] = rounded(
            {
                **{name: one[name]["mean"] for name in TARGETS},
                "normal_marked_at_1_percent": at_promise([s], [j.subject.label], 0.01)["normal"],
            }
        )
    return found
