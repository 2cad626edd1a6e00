"""The benefit of the VAE by subgroup: kinds of abnormal beats, the first minute of a stream, noise, inverted leads.

In:  held-out subjects, and columns of scores: with the VAE, with PCA in its place, without either
Out: AUROC of a subgroup of abnormal beats against normal beats, pooled over a database; AUROC of the reconstruction
     error, noise against normal beats; share of the minutes in which drift is reported
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from beatwire.backends.network import Network, embed
from beatwire.evaluation.anomaly import auroc
from beatwire.evaluation.beats.noise import electrode_motion
from beatwire.kernels.scores.drift import DRIFT_BLOCKS
from beatwire.records import F32, F64, Bool
from beatwire.stages.judging.drift import BLOCK_S, Reference
from beatwire.training.metrics import rounded
from beatwire.training.vae.dataset import FUSION, NORMAL, VENTRICULAR, Subject, cut_beats, r_peaks
from beatwire.training.vae.drift import distances_of_all
from beatwire.training.vae.figures import HeldOutSubject

RUN_BEATS = 3
PREMATURE = 0.05  # 1 - RR / usual RR; below it a beat is not premature
FIRST_S = DRIFT_BLOCKS * BLOCK_S  # a minute: the history of a new stream is not complete
NOISE_S, NOISE_HZ = 600.0, 360.0  # of simulated electrode motion
NOISE_SPACING_S = 1 / 1.5  # between windows of noise


def in_runs_of_three(label: Any) -> Bool:
    """Return which beats, uint8 [b] by AAMI class, are in a run of at least three ventricular beats: bool [b]."""
    ventricular = np.concatenate([[False], label == VENTRICULAR, [False]])
    edges = np.flatnonzero(np.diff(ventricular.astype(np.int8))).reshape(-1, 2)
    in_run = np.zeros(len(label), np.bool_)
    for first, end in edges.tolist():
        in_run[first:end] = end - first >= RUN_BEATS
    return in_run


def _not_premature(s: HeldOutSubject) -> Bool:
    rows: Bool = (s.subject.label == VENTRICULAR) & (s.terms.early < PREMATURE)
    return rows


def _in_first_minute(s: HeldOutSubject) -> Bool:
    rows: Bool = s.subject.beats.time_s < FIRST_S
    return rows


# Of each subgroup the abnormal beats and the normal beats that they are compared with.
SUBGROUPS: Mapping[str, Callable[[HeldOutSubject], tuple[Bool, Bool]]] = {
    "V, not premature": lambda s: (_not_premature(s), s.subject.label == NORMAL),
    "V in runs of three or more": lambda s: (in_runs_of_three(s.subject.label), s.subject.label == NORMAL),
    "fusion beats": lambda s: (s.subject.label == FUSION, s.subject.label == NORMAL),
    "V in the first minute of a stream": lambda s: (
        _in_first_minute(s) & (s.subject.label == VENTRICULAR), _in_first_minute(s) & (s.subject.label == NORMAL),
    ),
}  # fmt: skip


def subgroups(subjects: Sequence[HeldOutSubject], columns: Mapping[str, Sequence[F64]]) -> dict[str, Any]:
    """Return for each database and subgroup the number of abnormal beats and the AUROC of each column of scores."""
    figures: dict[str, Any] = {}
    for database in dict.fromkeys(s.subject.database for s in subjects):
        members = [k for k, s in enumerate(subjects) if s.subject.database == database]
        figures[database] = {}
        for name, select in SUBGROUPS.items():
            sides = [select(subjects[k]) for k in members]
            areas = {title: _auroc([column[k] for k in members], sides) for title, column in columns.items()}
            figures[database][name] = {"beats": int(sum(abnormal.sum() for abnormal, _ in sides)), **areas}
    return dict(rounded(figures))


def _auroc(scores: Sequence[F64], sides: Sequence[tuple[Bool, Bool]]) -> float:
    use = [(abnormal | normal) & ~np.isnan(s) for s, (abnormal, normal) in zip(scores, sides, strict=True)]
    score = np.concatenate([s[rows] for s, rows in zip(scores, use, strict=True)])
    return auroc(score, np.concatenate([abnormal[rows] for (abnormal, _), rows in zip(sides, use, strict=True)]))


def noise_windows() -> F32:
    """Return windows [n, 256] of simulated electrode motion, cut at the largest Ricker response near each 0.67 s."""
    rng = np.random.default_rng(0)
    motion = electrode_motion(round(NOISE_S * NOISE_HZ), 1, NOISE_HZ, rng)[0]
    signal = np.clip(np.rint(300.0 * motion / motion.std()), -32767, 32767).astype(np.int16)
    at = np.arange(2 * NOISE_HZ, len(signal) - 2 * NOISE_HZ, NOISE_HZ * NOISE_SPACING_S).astype(np.int64)
    beats = cut_beats(signal, np.unique(r_peaks(signal, at, NOISE_HZ, rng)), NOISE_HZ)
    windows: F32 = beats.windows[~np.isnan(beats.amplitude)]
    return windows


def noise_auroc(network: Network, noise: F32, subjects: Sequence[HeldOutSubject]) -> float:
    """Return the AUROC of the reconstruction error of windows of noise [n, 256] against that of normal beats."""
    of_noise = embed(network, noise, np.ones(len(noise), np.float32))[1].astype(np.float64)
    normal = np.concatenate([s.terms.reconstruction_error[s.subject.label == NORMAL] for s in subjects]).astype(
        np.float64
    )
    error = np.concatenate([of_noise, normal[~np.isnan(normal)]])
    return auroc(error, np.arange(len(error)) < len(of_noise))


def inverted(subject: Subject) -> Subject:
    """Return the subject with its lead inverted."""
    return replace(subject, beats=replace(subject.beats, windows=-subject.beats.windows))


def drift_share(reference: Reference, subjects: Sequence[HeldOutSubject]) -> float:
    """Return the share of minutes in which drift is reported; NaN if no minute has enough beats."""
    every = distances_of_all(reference, subjects)
    return float(np.mean(every[every >= 0] > reference.limit)) if (every >= 0).any() else float("nan")
