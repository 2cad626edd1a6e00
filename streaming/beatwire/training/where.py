"""Where the VAE earns its place: kinds of beats, the first minute of a stream, leads it has never seen.

Areas under the ROC curve of chosen abnormal beats against normal ones, pooled over a database, of the
score, of the same with PCA of 8 components in the VAE's place, and of what is left without either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from beatwire.backends.network import Network, embed
from beatwire.evaluation.noise import electrode_motion
from beatwire.kernels.drift import DRIFT_BLOCKS
from beatwire.records import F32, F64, Bool
from beatwire.stages.drift import BLOCK_S, Reference
from beatwire.training.dataset import FUSION, NORMAL, VENTRICULAR, Subject, cut_beats, detector_marks
from beatwire.training.drift import unlike
from beatwire.training.measure import auroc, rounded
from beatwire.training.report import Judged

RUN = 3
NOT_EARLY = 0.05
FIRST_S = DRIFT_BLOCKS * BLOCK_S
NOISE_S, NOISE_HZ = 600.0, 360.0


def in_runs_of_three(label: Any) -> Bool:
    """Tell which beats are ventricular and one of at least three in a row."""
    ventricular = np.concatenate([[False], label == VENTRICULAR, [False]])
    edges = np.flatnonzero(np.diff(ventricular.astype(np.int8))).reshape(-1, 2)
    found = np.zeros(len(label), np.bool_)
    for first, end in edges.tolist():
        found[first:end] = end - first >= RUN
    return found


def _late(j: Judged) -> Bool:
    chosen: Bool = (j.subject.label == VENTRICULAR) & (j.terms.early < NOT_EARLY)
    return chosen


def _new(j: Judged) -> Bool:
    chosen: Bool = j.subject.beats.time_s < FIRST_S
    return chosen


KINDS: Mapping[str, Callable[[Judged], tuple[Bool, Bool]]] = {
    "V that is not early": lambda j: (_late(j), j.subject.label == NORMAL),
    "V in runs of three and more": lambda j: (in_runs_of_three(j.subject.label), j.subject.label == NORMAL),
    "fusion beats": lambda j: (j.subject.label == FUSION, j.subject.label == NORMAL),
    "V in the first minute of a stream": lambda j: (
        _new(j) & (j.subject.label == VENTRICULAR), _new(j) & (j.subject.label == NORMAL),
    ),
}  # fmt: skip


def where(classified: Sequence[Judged], columns: Mapping[str, Sequence[F64]]) -> dict[str, Any]:
    """Return for each database and kind of beat the number of beats and the area of each column of scores."""
    out: dict[str, Any] = {}
    for database in dict.fromkeys(j.subject.database for j in classified):
        mine = [k for k, j in enumerate(classified) if j.subject.database == database]
        out[database] = {}
        for kind, choose in KINDS.items():
            sides = [choose(classified[k]) for k in mine]
            areas = {name: _area([column[k] for k in mine], sides) for name, column in columns.items()}
            out[database][kind] = {"beats": int(sum(odd.sum() for odd, _ in sides)), **areas}
    return dict(rounded(out))


def _area(scores: Sequence[F64], sides: Sequence[tuple[Bool, Bool]]) -> float:
    use = [(odd | usual) & ~np.isnan(s) for s, (odd, usual) in zip(scores, sides, strict=True)]
    score = np.concatenate([s[m] for s, m in zip(scores, use, strict=True)])
    return auroc(score, np.concatenate([odd[m] for (odd, _), m in zip(sides, use, strict=True)]))


def noise_windows() -> F32:
    """Return windows [n, 256] cut where simulated electrode motion looks most like a beat, three every two seconds."""
    rng = np.random.default_rng(0)
    motion = electrode_motion(round(NOISE_S * NOISE_HZ), 1, NOISE_HZ, rng)[0]
    signal = np.clip(np.rint(300.0 * motion / motion.std()), -32767, 32767).astype(np.int16)
    at = np.arange(2 * NOISE_HZ, len(signal) - 2 * NOISE_HZ, NOISE_HZ / 1.5).astype(np.int64)
    beats = cut_beats(signal, np.unique(detector_marks(signal, at, NOISE_HZ, rng)), NOISE_HZ)
    windows: F32 = beats.windows[~np.isnan(beats.amplitude)]
    return windows


def noise_area(network: Network, noise: F32, classified: Sequence[Judged]) -> float:
    """Return the AUROC of the reconstruction error of such windows, of the usual size, against normal beats."""
    strange = embed(network, noise, np.ones(len(noise), np.float32))[1].astype(np.float64)
    usual = np.concatenate([j.terms.population[j.subject.label == NORMAL] for j in classified]).astype(np.float64)
    usual = usual[~np.isnan(usual)]
    both = np.concatenate([strange, usual])
    return auroc(both, np.arange(len(both)) < len(strange))


def turned(subject: Subject) -> Subject:
    """Return the subject with its lead upside down."""
    return replace(subject, beats=replace(subject.beats, windows=-subject.beats.windows))


def told(reference: Reference, classified: Sequence[Judged]) -> float:
    """Return the share of minutes that drift tells of."""
    every = np.concatenate(
        [unlike(reference, j.subject.beats.time_s, j.radius, j.terms.population) for j in classified]
    )
    return float(np.mean(every[every >= 0] > reference.limit)) if (every >= 0).any() else float("nan")
