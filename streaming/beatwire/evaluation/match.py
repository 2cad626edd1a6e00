"""Pairing of detected with annotated beats, one to one, as ANSI/AAMI EC57 counts them.

In:  two ascending lists of sample indices and a tolerance, all in samples.
Out: for each detection the annotation it is paired with, or -1.
No annotation and no detection is used twice. Of all pairings within the tolerance the one with
the most pairs is taken, and among these the one with the smallest sum of distances.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from beatwire.records import F64, I64, Bool


@dataclass(frozen=True)
class Counts:
    """Beats found, missed and invented; percentages are NaN where there is nothing to count."""

    tp: int = 0
    fn: int = 0
    fp: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.tp + other.tp, self.fn + other.fn, self.fp + other.fp)

    @property
    def beats(self) -> int:
        """Annotated beats."""
        return self.tp + self.fn

    @property
    def se(self) -> float:
        """Sensitivity, per cent."""
        return 100.0 * self.tp / self.beats if self.beats else float("nan")

    @property
    def ppv(self) -> float:
        """Positive predictivity, per cent."""
        return 100.0 * self.tp / (self.tp + self.fp) if self.tp + self.fp else float("nan")

    @property
    def f1(self) -> float:
        """Harmonic mean of the two, per cent."""
        whole = 2 * self.tp + self.fn + self.fp
        return 200.0 * self.tp / whole if whole else float("nan")


def pair(annotated: I64, detected: I64, tolerance: int) -> I64:
    """Pair detections with annotations at most ``tolerance`` samples away.

    Parameters
    ----------
    annotated, detected
        int64 [n], [m], ascending sample indices.
    tolerance
        largest distance of a pair, samples.

    Returns
    -------
    int64 [m]
        index into ``annotated`` of each detection's partner, or -1.

    Examples
    --------
    >>> import numpy as np
    >>> pair(np.array([100, 200]), np.array([98, 103, 260]), 10).tolist()
    [0, -1, -1]
    """
    partner = np.full(len(detected), -1, np.int64)
    where = np.concatenate([annotated, detected])
    kind = np.concatenate([np.zeros(len(annotated), np.int64), np.ones(len(detected), np.int64)])
    index = np.concatenate([np.arange(len(annotated)), np.arange(len(detected))])
    order = np.argsort(where, kind="stable")
    where, kind, index = where[order], kind[order], index[order]
    edges = np.flatnonzero(np.diff(where) > tolerance) + 1
    for a, b in zip([0, *edges], [*edges, len(where)], strict=True):
        refs = index[a:b][kind[a:b] == 0]
        dets = index[a:b][kind[a:b] == 1]
        if len(refs) == 1 and len(dets) == 1:
            partner[dets[0]] = refs[0]
        elif len(refs) and len(dets):
            for r, d in _best_pairs(annotated[refs].tolist(), detected[dets].tolist(), tolerance):
                partner[dets[d]] = refs[r]
    return partner


def _best_pairs(refs: list[int], dets: list[int], tolerance: int) -> list[tuple[int, int]]:
    """Order-preserving pairing of a group: most pairs first, then the smallest sum of distances."""
    best = [[(0, 0)] * (len(dets) + 1) for _ in range(len(refs) + 1)]  # (minus pairs, distance) of the prefixes
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


def inside(where: I64, stretches: I64) -> Bool:
    """Tell which sample indices lie in one of the stretches, int64 [k, 2], both ends included."""
    found = np.zeros(len(where), bool)
    for first, last in stretches:
        found |= (where >= first) & (where <= last)
    return found


def count(annotated: I64, detected: I64, partner: I64, excluded: I64) -> Counts:
    """Count a pairing, leaving out what lies in the excluded stretches.

    Beats are paired before anything is left out, so that a pair across the border of a stretch
    costs nothing: of such a pair the annotation decides whether it counts.
    """
    paired = partner >= 0
    is_found = np.zeros(len(annotated), bool)
    is_found[partner[paired]] = True
    counted = ~inside(annotated, excluded)
    lonely = ~paired & ~inside(detected, excluded)
    return Counts(int((is_found & counted).sum()), int((~is_found & counted).sum()), int(lonely.sum()))


def timing_ms(annotated: I64, detected: I64, partner: I64, rate_hz: float) -> F64:
    """Return detected minus annotated time of every pair, milliseconds."""
    paired = partner >= 0
    difference: F64 = (detected[paired] - annotated[partner[paired]]).astype(np.float64) * (1e3 / rate_hz)
    return difference
