"""What drift is measured against: how normal beats look of people that the network has not seen.

Latents of two networks cannot be compared. Borders and shares of the latents are of the network that
ships, on the beats that it has learned; radius and reconstruction_error are those that a network of a fold gave people
that it had not seen, the radius in the units of the beats that it had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from beatwire.backends.network import Network, embed
from beatwire.kernels import drift
from beatwire.kernels.history import LATENTS
from beatwire.records import F32, F64, Bool
from beatwire.stages.drift import BLOCK_S, Reference
from beatwire.training.calibrate import quantiles
from beatwire.training.dataset import NORMAL
from beatwire.training.report import Judged

SCORE: F64 = np.array([0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0])
LATENT_SHARES: F64 = np.arange(1, 5) / 5
LEVELS: F64 = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99])
SMALL = 0.1  # deviation of a latent that says nothing
RARE = 0.01  # share of minutes, of people not seen, that lie above the limit
MOST = 20_000


def latents(network: Network, windows: F32) -> F32:
    """Return the latents of windows in usual sizes, of at most ``MOST`` of them."""
    some = windows[:: max(1, len(windows) // MOST)]
    return embed(network, some, np.ones(len(some), np.float32))[0]


def whitening(latent: F32) -> tuple[F64, F64]:
    """Return the centre of latents and what makes their covariance, and a little more, the unit one."""
    centre = latent.mean(0, dtype=np.float64)
    variance, axes = np.linalg.eigh(np.cov(latent, rowvar=False) + SMALL**2 * np.eye(LATENTS))
    return centre, axes / np.sqrt(variance)


def reference(classified: Sequence[Judged], scores: Sequence[F64], learned: F32) -> Reference:
    """Build the reference; ``scores`` are by tables that did not see the subject, ``learned`` the latents [n, 8]."""
    centre, whitener = whitening(learned)
    chosen = [j.subject.label == NORMAL for j in classified]
    borders = [
        quantiles([v[m] for v, m in zip(column, chosen, strict=True)], -np.log10(1 - LEVELS))
        for column in ([j.radius for j in classified], [j.terms.population.astype(np.float64) for j in classified])
    ]
    rough = Reference(
        centre=centre.round(6),
        whitener=whitener.round(6),
        score=SCORE,
        latents=np.quantile(learned.astype(np.float64), LATENT_SHARES, axis=0).T.round(5),
        radius=borders[0].round(5),
        reconstruction_error=borders[1].round(5),
        levels=LEVELS,
        shares=np.zeros(len(SCORE) + 1 + LATENTS * (len(LATENT_SHARES) + 1) + drift.COMPARED * (len(LEVELS) + 1)),
        limit=1.0,
    )
    return _with_limit(_with_shares(rough, scores, chosen), classified)


def _with_shares(rough: Reference, scores: Sequence[F64], chosen: Sequence[Bool]) -> Reference:
    score = [s[m & ~np.isnan(s)] for s, m in zip(scores, chosen, strict=True)]
    own = np.mean([np.histogram(s, [-np.inf, *SCORE, np.inf])[0] / max(1, len(s)) for s in score], axis=0)
    latent = np.diff(LATENT_SHARES, prepend=0.0, append=1.0)
    compared = np.diff(LEVELS, prepend=0.0, append=1.0)
    shares = np.concatenate([own / own.sum(), np.tile(latent, LATENTS), np.tile(compared, drift.COMPARED)])
    return replace(rough, shares=shares.round(6))


def _with_limit(rough: Reference, classified: Sequence[Judged]) -> Reference:
    every = np.concatenate([unlike(rough, j.subject.beats.time_s, j.radius, j.terms.population) for j in classified])
    return replace(
        rough, limit=round(float(np.quantile(every[every >= 0], 1 - RARE)), 4) if (every >= 0).any() else 1.0
    )


def unlike(reference: Reference, time_s: F64, radius: F64, reconstruction_error: F32) -> F64:
    """Return the comparison at the end of each block of 20 s of a recording, -1 with too few beats."""
    seen = ~np.isnan(reconstruction_error)
    block = (time_s[seen] // BLOCK_S).astype(np.int64)
    blocks = int(block.max(initial=0)) + 1
    bins = len(reference.levels) + 1
    counts = np.zeros((blocks, drift.COMPARED * bins), np.uint8)
    np.add.at(counts, (block, np.searchsorted(reference.radius, radius[seen], "right")), 1)
    np.add.at(
        counts, (block, bins + np.searchsorted(reference.reconstruction_error, reconstruction_error[seen], "right")), 1
    )
    ends = range(drift.DRIFT_BLOCKS, blocks + 1)
    return np.array(
        [drift.distance_to_reference(counts[end - drift.DRIFT_BLOCKS : end], reference.levels) for end in ends]
    )
