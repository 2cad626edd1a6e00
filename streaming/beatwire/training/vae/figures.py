"""Figures of the scoring model in cross-validation: AUROC by database, ablation, and by record.

In:  held-out subjects with the terms of their beats, by the VAE and by PCA
Out: the ``databases`` and ``by_record`` of the metrics

Terms are those of the network of the fold in which a subject is held out. Scores use a calibration made from the other
folds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from beatwire.records import F64, Terms
from beatwire.stages.score import score_terms
from beatwire.training.metrics import TARGETS, aurocs, marked_at, rounded, summary
from beatwire.training.vae.calibrate import WEIGHTS, calibrate
from beatwire.training.vae.dataset import NORMAL, Subject

NO_VAE, PCA = "no VAE (prematurity and rate term)", "PCA: all"
RECONSTRUCTION, NO_HISTORY = "reconstruction alone", "no history (a stream that has just started)"
ABLATION = {  # weights of population, history, prematurity, rate term
    "prematurity (RR) alone": (0.0, 0.0, 1.0, 0.0),
    RECONSTRUCTION: (1.0, 0.0, 0.0, 0.0),
    "latent history alone": (0.0, 1.0, 0.0, 0.0),
    NO_VAE: (0.0, 0.0, *WEIGHTS[2:]),
    "no reconstruction": (0.0, *WEIGHTS[1:]),
    NO_HISTORY: (WEIGHTS[0], 0.0, *WEIGHTS[2:]),
    "no rate term": (*WEIGHTS[:3], 0.0),
}


@dataclass(frozen=True, slots=True)
class HeldOutSubject:
    """A subject with the terms of its beats by the network of ``fold``, which was trained without it.

    ``radius`` float64 [b] is the length of the whitened latents, see ``training.vae.drift``.
    """

    subject: Subject
    fold: int
    terms: Terms
    radius: F64 = field(default_factory=lambda: np.zeros(0))


def normal_terms(subject: HeldOutSubject) -> Terms:
    """Return the terms of a subject's normal beats."""
    rows = subject.subject.label == NORMAL
    return Terms(*(column[rows] for column in subject.terms))


def without_history(subjects: Sequence[HeldOutSubject]) -> list[HeldOutSubject]:
    """Return the subjects with the term ``population`` of a stream that has just started."""
    return [replace(s, terms=s.terms._replace(population=s.terms.reconstruction_error)) for s in subjects]


def held_out_scores(subjects: Sequence[HeldOutSubject], weights: Sequence[float] = WEIGHTS) -> list[F64]:
    """Return the scores of each subject, float64 [b], by a calibration without its fold."""
    calibrations = {}
    for fold in sorted({s.fold for s in subjects}):
        calibrations[fold] = calibrate([normal_terms(s) for s in subjects if s.fold != fold], weights)
    return [score_terms(calibrations[s.fold], s.terms).score.astype(np.float64) for s in subjects]


def score_columns(subjects: Sequence[HeldOutSubject], linear: Sequence[HeldOutSubject]) -> dict[str, list[F64]]:
    """Return the score and what it is compared with, by name; ``linear`` are the subjects with the terms of PCA."""
    columns, begun = {"score": held_out_scores(subjects)}, (RECONSTRUCTION, NO_HISTORY)
    for name, weights in ABLATION.items():
        columns[name] = held_out_scores(without_history(subjects) if name in begun else subjects, weights)
    columns[f"PCA: {RECONSTRUCTION}"] = held_out_scores(without_history(linear), ABLATION[RECONSTRUCTION])
    columns["PCA: history alone"] = held_out_scores(linear, ABLATION["latent history alone"])
    columns["PCA: no history"] = held_out_scores(without_history(linear), ABLATION[NO_HISTORY])
    columns[PCA] = held_out_scores(linear)
    return columns


def figures(subjects: Sequence[HeldOutSubject], columns: Mapping[str, Sequence[F64]]) -> dict[str, Any]:
    """Return ``databases`` and ``by_record`` of the metrics."""
    databases: dict[str, Any] = {}
    for database in dict.fromkeys(s.subject.database for s in subjects):
        members = [k for k, s in enumerate(subjects) if s.subject.database == database]
        labels = [subjects[k].subject.label for k in members]
        databases[database] = {
            "normal_beats": int(sum((y == NORMAL).sum() for y in labels)),
            **summary([columns["score"][k] for k in members], labels),
            "ablation": {
                name: rounded(aurocs([column[k] for k in members], labels)) for name, column in columns.items()
            },
        }
    return {"databases": databases, "by_record": by_record(subjects, columns["score"])}


def by_record(subjects: Sequence[HeldOutSubject], scores: Sequence[F64]) -> dict[str, Any]:
    """Return for each record its AUROCs, and the share of normal beats marked at a nominal rate of 1 %."""
    records = {}
    for s, score in zip(subjects, scores, strict=True):
        areas = aurocs([score], [s.subject.label])
        records[f"{s.subject.database}/{s.subject.name}"] = rounded(
            {
                **{name: areas[name]["mean"] for name in TARGETS},
                "normal_marked_at_1_percent": marked_at([score], [s.subject.label], 0.01)["normal"],
            }
        )
    return records
