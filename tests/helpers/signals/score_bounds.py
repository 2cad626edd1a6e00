"""By how much the score of a beat may differ between two backends: what the precision of stored latents allows.

Latents of past beats are stored in ``1 / LATENT_PARTS``, the closeness of their reconstruction in ``1 /
CLOSENESS_PARTS``. Two backends add floats in another order, so one that lies on a border may be stored as its
neighbour. The mean, the spread and the usual error of the beats that a score is compared with then differ, by no more
than follows from the number of these beats, and the score by the steepest part of the tables of the model. Where
nothing that is stored of the minute before differs, the score does not either.
"""

from functools import cache

import numpy as np
from beatwire.kernels.scores.history import (
    BEATS_S,
    DISTANCE_OFFSET,
    FEWEST_REFERENCES,
    LATENTS,
    SPREAD_EXPONENT,
    SPREAD_OFFSET,
    STORED,
    USUAL_SHARE,
)
from beatwire.kernels.scores.scoring import HISTORY, POPULATION
from beatwire.kernels.scores.stored_beat import CLOSENESS_PARTS, LATENT_PARTS
from beatwire.pipeline.parts import Models
from beatwire.pipeline.settings import Settings
from beatwire.records import F64

ORDER = 1e-4  # of floats that are added in another order
MOST = 0.01  # as law 1 states


@cache
def steepest(term: int) -> float:
    """Return by how much a score differs at most where a term differs by 1."""
    tables = Models.of(Settings()).scoring.calibration
    level, sums = np.diff(tables.level), tables.sums[2:]  # the sums of beats whose history is known
    of_sum = (level / np.diff(sums, axis=1)).max()
    return float(tables.weights[term] * (level / np.diff(tables.terms[term])).max() * of_sum)


def score_bounds(one: F64, other: F64, latents: int, error: int, rr: int, time_us: int, score: int) -> F64:
    """Return the largest difference that is right for each score of a stream, float64 [b].

    Parameters
    ----------
    one, other : float64 [b, columns]
        The beats of both runs.
    latents, error, rr, time_us, score
        Columns: the first of the latents, the reconstruction error, the interval, the time, the score.
    """
    parts = [np.floor(LATENT_PARTS * run[:, latents : latents + LATENTS][:, -STORED:] + 0.5) for run in (one, other)]
    both = np.isfinite(parts[0]) & np.isfinite(parts[1])
    stored = np.where(both, np.abs(parts[0] - parts[1]), 0.0).sum(axis=1)
    near = [np.clip(np.floor(CLOSENESS_PARTS * np.exp(-run[:, error] / 2) + 0.5), 1, 255) for run in (one, other)]
    changed = np.nan_to_num(2 * np.abs(near[0] - near[1]) / np.minimum(*near))  # of the usual error, by one reference
    bounds = ORDER * (1 + np.abs(np.nan_to_num(other[:, score])))
    for b in range(len(one)):
        past = np.arange(np.searchsorted(other[:b, time_us], other[b, time_us] - 1e6 * BEATS_S - 2), b)
        moved, usual = stored[past].sum(), changed[past].sum()
        if moved or usual:
            lane = past[past >= max(np.flatnonzero(np.isnan(other[: b + 1, rr])), default=0)]  # it may have restarted
            references = max(FEWEST_REFERENCES, int(np.isfinite(other[lane, rr]).sum()) // 2)  # those of long intervals
            distance = moved / (LATENT_PARTS * references) / DISTANCE_OFFSET
            spread = moved / (LATENT_PARTS * np.sqrt(references)) / SPREAD_OFFSET
            by_history = steepest(HISTORY) * (distance + SPREAD_EXPONENT * spread)
            bounds[b] += min(MOST, by_history + USUAL_SHARE * steepest(POPULATION) * usual)
    return bounds
