"""Figures of drift for metrics: the stability of each quantity, over all streams and of each."""

from dataclasses import dataclass

import numpy as np

from beatwire.records import F64, I64, Bool
from beatwire.stages.judging.drift import QUANTITIES, Reference, State

LEAST_SHARE = 1e-3  # of a bin, in the stability index: it is a logarithm of shares


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of all streams, each by its last three blocks.

    overall   the stability index of each quantity over all streams' beats, by name; NaN without beats
    stream    slots that have beats
    score     their stability indices of the score
    distance  their distances of radius and reconstruction error from the reference, -1 with too few beats
    above     whether those are above the limit
    """

    overall: dict[str, float]
    stream: I64
    score: F64
    distance: F64
    above: Bool


def figures(state: State) -> Figures:
    """Compute the current figures."""
    streams = state.streams  # replaced as a whole when another thread makes room
    counts = streams.counts.sum(axis=1, dtype=np.int64)
    stream = np.flatnonzero(counts.any(axis=1))
    counts = counts[stream]
    overall = stability(state.reference, counts.sum(axis=0, keepdims=True))[0]
    return Figures(
        overall=dict(zip(QUANTITIES, overall.tolist(), strict=True)),
        stream=stream,
        score=stability(state.reference, counts)[:, 0],
        distance=streams.distance[stream],
        above=streams.above[stream],
    )


def stability(reference: Reference, counts: I64) -> F64:
    """Return the population stability index of each quantity, [n, 11], of counts [n, bins]; NaN without beats.

    The index is the sum over the bins of ``(share - expected) log(share / expected)``.
    """
    indices = []
    for group in reference.groups:
        group_counts, group_shares = counts[:, group].astype(np.float64), reference.shares[group]
        with np.errstate(invalid="ignore"):
            share = np.maximum(group_counts / group_counts.sum(1, keepdims=True), LEAST_SHARE)
        expected = np.maximum(group_shares, LEAST_SHARE)
        indices.append(((share - expected) * np.log(share / expected)).sum(1))
    return np.stack(indices, axis=1)
