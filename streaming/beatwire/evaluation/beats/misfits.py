"""Annotations that do not fit their signal: shifted, of another sampling rate, or of a part of it.

In:  annotated and detected beats of a record, and what of them agrees
Out: sentences; none where the annotations fit

Figures of such a record say nothing about a detector, and look like the figures of a bad one.
"""

from __future__ import annotations

import numpy as np

from beatwire.evaluation.beats.match import count, inside, pair
from beatwire.records import I64

_GOOD, _BETTER = 90.0, 10.0  # F1 of moved annotations, per cent, and how much it exceeds that of the unmoved ones
_FEWEST = 20  # beats that show it
_SPAN_S, _FEWEST_IN_SPAN = 10.0, 10  # without an annotated beat; detections in it
_REACH_S, _BIN_S = 2.0, 0.02  # of a shift
_NEAR_COUNT = 0.1  # annotations of another rate are as many as the detections, about
_NEAR, _LARGEST_HZ = 0.03, 5000.0  # of a rate, to what the intervals say; of whole Hz


def misfits(
    annotated: I64, detected: I64, excluded: I64, rate_hz: float, tolerance_s: float, unmoved_f1: float
) -> tuple[str, ...]:
    """Return what is wrong with annotated beats, given what a detector found.

    Parameters
    ----------
    annotated, detected
        int64 [n], int64 [m], ascending sample indices.
    excluded
        int64 [k, 2], first and last sample of each span that is not judged.
    rate_hz, tolerance_s
        Of the recording; of a match.
    unmoved_f1
        F1 of the detections within this tolerance, per cent.
    """
    tolerance = round(tolerance_s * rate_hz)

    def f1(moved: I64) -> float:
        return count(moved, detected, pair(moved, detected, tolerance), excluded).f1

    if min(len(annotated), len(detected)) < _FEWEST:
        return ()
    least = max(_GOOD, unmoved_f1 + _BETTER)
    if least <= 100.0:
        shift = _likely_shift(annotated, detected, rate_hz)
        if f1(annotated + shift) >= least:
            side = "after" if shift < 0 else "before"
            return (f"its annotations lie {abs(shift) / rate_hz:.2f} s {side} the beats",)
        guess_hz = rate_hz * float(np.median(np.diff(annotated))) / float(np.median(np.diff(detected)))
        if abs(len(annotated) / len(detected) - 1.0) < _NEAR_COUNT and 0 < guess_hz < _LARGEST_HZ:
            near = range(int(guess_hz * (1.0 - _NEAR)), int(guess_hz * (1.0 + _NEAR)) + 2)
            fits = {hz: f1((annotated * (rate_hz / hz)).astype(np.int64)) for hz in near if hz not in (0, rate_hz)}
            best = max(fits, key=lambda hz: fits[hz])
            if fits[best] >= least:
                return (f"its annotations fit a signal of {best} Hz, not of {rate_hz:g} Hz",)
    return _unannotated(annotated, detected, excluded, rate_hz)


def _likely_shift(annotated: I64, detected: I64, rate_hz: float) -> int:
    """Return by how many samples annotations are to be moved: the commonest distance to detections nearby."""
    reach, width = round(_REACH_S * rate_hz), max(1, round(_BIN_S * rate_hz))
    first, stop = np.searchsorted(detected, annotated - reach), np.searchsorted(detected, annotated + reach)
    distances = np.concatenate([detected[a:b] - at for at, a, b in zip(annotated, first, stop, strict=True)])
    if not len(distances):
        return 0
    bins = (distances + reach) // width
    commonest = int(np.bincount(bins).argmax())
    return int(np.median(distances[np.abs(bins - commonest) <= 1]))


def _unannotated(annotated: I64, detected: I64, excluded: I64, rate_hz: float) -> tuple[str, ...]:
    """Return a sentence on the spans in which beats are found and none is annotated."""
    found = detected[~inside(detected, excluded)]
    edges = np.concatenate([[min(0, annotated[0])], annotated, [max(annotated[-1], detected[-1]) + 1]])
    is_long = np.diff(edges) > _SPAN_S * rate_hz
    inside_of = np.diff(np.searchsorted(found, edges))
    spans = np.flatnonzero(is_long & (inside_of >= _FEWEST_IN_SPAN))
    if not len(spans):
        return ()
    seconds, beats = float(np.diff(edges)[spans].sum()) / rate_hz, int(inside_of[spans].sum())
    first_s = edges[spans[0]] / rate_hz
    return (f"no beat is annotated for {seconds:.0f} s, first from {first_s:.0f} s on: {beats} detections are false",)
