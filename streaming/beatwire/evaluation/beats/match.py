"""Pairing of detected with annotated beats, one to one, as ANSI/AAMI EC57 counts them.

In:  two ascending lists of sample indices and a tolerance, all in samples.
Out: for each detection the index of its annotation, or -1

No annotation and no detection is used twice. Among the pairings within the tolerance, those with the most pairs are
best, and among these the one with the smallest sum of distances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from beatwire.records import F64, I64, Bool


@dataclass(frozen=True)
class Counts:
    """True positives, false negatives and false positives; percentages are NaN without beats."""

    tp: int = 0
    fn: int = 0
    fp: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.tp + other.tp, self.fn + other.fn, self.fp + other.fp)

    @property
    def beats(self) -> int:
        """Number of annotated beats."""
        return self.tp + self.fn

    @property
    def se(self) -> float:
        """Sensitivity in per cent."""
        return 100.0 * self.tp / self.beats if self.beats else float("nan")

    @property
    def ppv(self) -> float:
        """Positive predictivity in per cent."""
        return 100.0 * self.tp / (self.tp + self.fp) if self.tp + self.fp else float("nan")

    @property
    def f1(self) -> float:
        """Harmonic mean of sensitivity and positive predictivity in per cent."""
        total = 2 * self.tp + self.fn + self.fp
        return 200.0 * self.tp / total if total else float("nan")


def pair(annotated: I64, detected: I64, tolerance: int) -> I64:
    """Pair detections with annotations at most ``tolerance`` samples away.

    Parameters
    ----------
    annotated, detected
        int64 [n], int64 [m], ascending sample indices.
    tolerance
        Largest distance of a pair, in samples.

    Returns
    -------
    int64 [m]
        Index into ``annotated`` of each detection's partner, or -1.

    Examples
    --------
    >>> import numpy as np
    >>> pair(np.array([100, 200]), np.array([98, 103, 260]), 10).tolist()
    [0, -1, -1]
    """
    partner = np.full(len(detected), -1, np.int64)
    sample = np.concatenate([annotated, detected])
    kind = np.concatenate([np.zeros(len(annotated), np.int64), np.ones(len(detected), np.int64)])
    index = np.concatenate([np.arange(len(annotated)), np.arange(len(detected))])
    order = np.argsort(sample, kind="stable")
    sample, kind, index = sample[order], kind[order], index[order]
    edges = np.flatnonzero(np.diff(sample) > tolerance) + 1  # no pair crosses such an edge: groups are independent
    for a, b in zip([0, *edges], [*edges, len(sample)], strict=True):
        refs = index[a:b][kind[a:b] == 0]
        dets = index[a:b][kind[a:b] == 1]
        if len(refs) == 1 and len(dets) == 1:
            partner[dets[0]] = refs[0]
        elif len(refs) and len(dets):
            for r, d in _best_pairs(annotated[refs].tolist(), detected[dets].tolist(), tolerance):
                partner[dets[d]] = refs[r]
    return partner


def _best_pairs(refs: list[int], dets: list[int], tolerance: int) -> list[tuple[int, int]]:
    """Return the best order-preserving pairing of a group, by dynamic programming over prefixes."""
    best = [[(0, 0)] * (len(dets) + 1) for _ in range(len(refs) + 1)]  # (minus the pairs, distance) by prefix lengths
    for r, ref in enumerate(refs, 1):
        for d, det in enumerate(dets, 1):
            value = min(best[r - 1][d], best[r][d - 1])
            if abs(ref - det) <= tolerance:
                pairs, distance = best[r - 1][d - 1]
                value = min(value, (pairs - 1, distance + abs(ref - det)))
            best[r][d] = value
    pairs_of = []
    r, d = len(refs), len(dets)
    while r and d:
        if best[r][d] == best[r - 1][d]:
            r -= 1
        elif best[r][d] == best[r][d - 1]:
            d -= 1
        else:
            r, d = r - 1, d - 1
            pairs_of.append((r, d))
    return pairs_of


def inside(sample: I64, spans: I64) -> Bool:
    """Return which sample indices [n] lie in one of the spans, int64 [k, 2], both ends included."""
    found = np.zeros(len(sample), bool)
    for first, last in spans:
        found |= (sample >= first) & (sample <= last)
    return found


def count(annotated: I64, detected: I64, partner: I64, excluded: I64) -> Counts:
    """Count a pairing outside the excluded spans, int64 [k, 2].

    Beats are paired before spans are excluded. A pair across the border of a span is counted where its annotation
    is, so it is never an error.
    """
    paired = partner >= 0
    is_found = np.zeros(len(annotated), bool)
    is_found[partner[paired]] = True
    counted = ~inside(annotated, excluded)
    unpaired = ~paired & ~inside(detected, excluded)
    return Counts(int((is_found & counted).sum()), int((~is_found & counted).sum()), int(unpaired.sum()))


def timing_ms(annotated: I64, detected: I64, partner: I64, rate_hz: float) -> F64:
    """Return the detected minus the annotated time of every pair, float64 in milliseconds."""
    paired = partner >= 0
    difference: F64 = (detected[paired] - annotated[partner[paired]]).astype(np.float64) * (1e3 / rate_hz)
    return difference
