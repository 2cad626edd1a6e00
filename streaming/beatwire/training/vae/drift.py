"""The reference distributions of drift: normal beats of subjects that the network was not trained on.

In:  held-out subjects with their terms and scores; the latents of the shipped network on its training beats
Out: ``stages.judging.drift.Reference``

Latents of different networks are not comparable. Borders and shares of the latents are therefore those of the shipped
network on its own training beats. Radius and reconstruction error are those of held-out subjects by the network of
their fold, the radius in units of that network's training beats.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from beatwire.backends.network import Network, embed
from beatwire.kernels.scores import drift
from beatwire.kernels.scores.history import LATENTS
from beatwire.records import F32, F64, Bool
from beatwire.stages.judging.drift import BLOCK_S, Reference
from beatwire.training.vae.calibrate import pooled_quantiles
from beatwire.training.vae.dataset import NORMAL
from beatwire.training.vae.figures import HeldOutSubject

SCORE: F64 = np.array([0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0])
LATENT_SHARES: F64 = np.arange(1, 5) / 5
LEVELS: F64 = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])
MIN_DEVIATION = 0.1  # of a latent, added in quadrature: a latent that is not used must not be magnified
LIMIT_SHARE = 0.01  # of the minutes of held-out subjects lies above the limit
MAX_WINDOWS = 20_000  # enough for quantiles


def latents(network: Network, windows: F32) -> F32:
    """Return the latents of at most about ``MAX_WINDOWS`` of windows [n, 256] in units of the usual size: [m, 8]."""
    chosen = windows[:: max(1, len(windows) // MAX_WINDOWS)]
    return embed(network, chosen, np.ones(len(chosen), np.float32))[0]


def whitening(latent: F32) -> tuple[F64, F64]:
    """Return the centre [8] and the whitener [8, 8] of latents [n, 8]: (latent - centre) @ whitener is white."""
    centre = latent.mean(0, dtype=np.float64)
    variance, axes = np.linalg.eigh(np.cov(latent, rowvar=False) + MIN_DEVIATION**2 * np.eye(LATENTS))
    return centre, axes / np.sqrt(variance)


def build_reference(subjects: Sequence[HeldOutSubject], scores: Sequence[F64], training_latents: F32) -> Reference:
    """Return the reference distributions.

    Parameters
    ----------
    subjects
        With terms and radius by the network of the fold in which each is held out.
    scores
        Of each subject float64 [b], by a calibration without its fold.
    training_latents
        float32 [n, 8], of the shipped network on its training beats.
    """
    centre, whitener = whitening(training_latents)
    is_normal = [s.subject.label == NORMAL for s in subjects]
    borders = [
        pooled_quantiles([v[rows] for v, rows in zip(column, is_normal, strict=True)], -np.log10(1 - LEVELS))
        for column in (
            [s.radius for s in subjects],
            [s.terms.reconstruction_error.astype(np.float64) for s in subjects],
        )
    ]
    reference = Reference(
        centre=centre.round(6),
        whitener=whitener.round(6),
        score=SCORE,
        latents=np.quantile(training_latents.astype(np.float64), LATENT_SHARES, axis=0).T.round(5),
        radius=borders[0].round(5),
        reconstruction_error=borders[1].round(5),
        levels=LEVELS,
        shares=np.zeros(len(SCORE) + 1 + LATENTS * (len(LATENT_SHARES) + 1) + drift.COMPARED * (len(LEVELS) + 1)),
        limit=1.0,
    )
    return _with_limit(_with_shares(reference, scores, is_normal), subjects)


def _with_shares(reference: Reference, scores: Sequence[F64], is_normal: Sequence[Bool]) -> Reference:
    """Return the reference with the share of normal beats in each bin."""
    normal = [s[rows & ~np.isnan(s)] for s, rows in zip(scores, is_normal, strict=True)]
    score = np.mean([np.histogram(s, [-np.inf, *SCORE, np.inf])[0] / max(1, len(s)) for s in normal], axis=0)
    latent = np.diff(LATENT_SHARES, prepend=0.0, append=1.0)
    compared = np.diff(LEVELS, prepend=0.0, append=1.0)
    shares = np.concatenate([score / score.sum(), np.tile(latent, LATENTS), np.tile(compared, drift.COMPARED)])
    return replace(reference, shares=shares.round(6))


def _with_limit(reference: Reference, subjects: Sequence[HeldOutSubject]) -> Reference:
    """Return the reference with the limit that ``LIMIT_SHARE`` of the minutes exceed."""
    every = distances_of_all(reference, subjects)
    known = every[every >= 0]
    return replace(reference, limit=round(float(np.quantile(known, 1 - LIMIT_SHARE)), 4) if len(known) else 1.0)


def distances_of_all(reference: Reference, subjects: Sequence[HeldOutSubject]) -> F64:
    """Return the ``distances`` of all subjects in one array."""
    return np.concatenate(
        [distances(reference, s.subject.beats.time_s, s.radius, s.terms.reconstruction_error) for s in subjects]
    )


def distances(reference: Reference, time_s: F64, radius: F64, reconstruction_error: F32) -> F64:
    """Return the distance of a minute from the reference at the end of each block of 20 s, -1 with too few beats.

    ``time_s``, ``radius`` and ``reconstruction_error`` are those of a recording's beats [b], NaN where not scored.
    """
    scored = ~np.isnan(reconstruction_error)
    block = (time_s[scored] // BLOCK_S).astype(np.int64)
    blocks = int(block.max(initial=0)) + 1
    bins = len(reference.levels) + 1
    counts = np.zeros((blocks, drift.COMPARED * bins), np.uint8)
    np.add.at(counts, (block, np.searchsorted(reference.radius, radius[scored], "right")), 1)
    np.add.at(
        counts,
        (block, bins + np.searchsorted(reference.reconstruction_error, reconstruction_error[scored], "right")),
        1,
    )
    ends = range(drift.DRIFT_BLOCKS, blocks + 1)
    return np.array(
        [drift.distance_to_reference(counts[end - drift.DRIFT_BLOCKS : end], reference.levels) for end in ends]
    )
