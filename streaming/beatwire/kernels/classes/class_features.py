"""Features of a beat from which trees determine its class: its intervals, its shape, and the normal beat of its stream.

In:    a beat, the last beats of its stream and its normal beat (``kernels.classes.normal_beat``)
Out:   float32 [FEATURES], named by ``NAMES``
State: none

Times are in seconds or points of 10 ms, sizes relative to the beat itself or to the normal beat, so that a device's
gain changes nothing. A ratio that is unknown is 1. ``NAMES`` is part of a model: trees are used only with the features
that they were trained on.
"""

import math

from numpy import float64

from beatwire.kernels.classes.beat_shape import (
    FURTHEST,
    P_BEGIN,
    P_END,
    POINTS,
    QRS_BEGIN,
    QRS_END,
    T_BEGIN,
    T_END,
    TINY,
    apart,
    correlation,
    deflection,
    difference,
    duration,
    extent,
    level_apart,
    slope_spread,
    steepest,
    widen,
)
from beatwire.kernels.classes.class_rhythm import EARLY, LIKENESS, RHYTHM, write_likeness, write_rhythm
from beatwire.kernels.classes.normal_beat import COUNT, REACH, SHARE, SPREAD, STEADINESS, USUAL_RR, place_of
from beatwire.records import F32, F64
from beatwire.records.beat_classes import ClassBeats, ClassHistory, ClassScratch

INTERVALS = (
    "rr over median", "rr over last", "rr over usual", "rr over median of 30 s", "rr", "median rr",
    "last over usual", "last over median", "last but one over median", "share of early", "range of 8",
    "rr over least of 8",
)  # fmt: skip
CONTEXT = (
    "strangeness", "quality", "errors", "share of normal", "spread", "last match", "last but one match",
)  # fmt: skip
OF_A_BEAT = (
    "duration", "slope spread", "sharpness", "p size", "t size", "normal duration", "normal p size", "t towards qrs",
    "steadiness of p",
)  # fmt: skip
TO_NORMAL = (
    "match", "whole", "p match", "p apart", "t apart", "qrs apart", "fit", "size", "duration ratio", "spread ratio",
    "slope ratio", "sharpness ratio", "deflection", "area", "p lost",
)  # fmt: skip
OF_A_LEAD = (*OF_A_BEAT, *TO_NORMAL)
NAMES = (
    *INTERVALS, *CONTEXT, *RHYTHM, *LIKENESS, *OF_A_LEAD, *(f"least {name}" for name in OF_A_LEAD),
    *(f"largest {name}" for name in OF_A_LEAD),
)  # fmt: skip
FEATURES = len(NAMES)
MEASURES = len(OF_A_LEAD)  # of each lead
FIRST_CONTEXT = len(INTERVALS)
FIRST_RHYTHM = FIRST_CONTEXT + len(CONTEXT)
FIRST_LIKENESS = FIRST_RHYTHM + len(RHYTHM)
FIRST_OF_A_BEAT = FIRST_LIKENESS + len(LIKENESS)
RATIO_MEDIAN, RATIO_LAST, RATIO_USUAL = range(3)
LAST_USUAL = 6
USUAL_SECONDS = 0.8  # an interval where none is known
INTERVALS_BACK = 8


def ratio(a: float, b: float) -> float:
    """Return ``a / b``; 1 if one of them is unknown, NaN or not above 0."""
    return a / b if a > 0.0 and b > 0.0 else 1.0


def write_timing(b: int, slot: int, beats: ClassBeats, history: ClassHistory, out: F32) -> None:
    """Write those of ``INTERVALS`` that show whether beat ``b`` comes in time."""
    ring, rr, count = history.ring[slot], float64(beats.rr_s[b]), int(history.ring[slot, COUNT])
    last = place_of(ring, 0)
    out[RATIO_MEDIAN] = ratio(rr, float64(beats.median_rr_s[b]))
    out[RATIO_LAST] = ratio(rr, float64(history.rr_s[slot, last])) if count > 0 else 1.0
    out[RATIO_USUAL] = 1.0 - float64(beats.prematurity[b]) if not math.isnan(beats.prematurity[b]) else 1.0
    out[LAST_USUAL] = history.usual[slot] if count > 0 else 1.0


def write_intervals(b: int, slot: int, beats: ClassBeats, history: ClassHistory, out: F32) -> None:
    """Write the other features of ``INTERVALS`` of beat ``b``."""
    ring, past_rr = history.ring[slot], history.rr_s[slot]
    rr, median_rr, count = float64(beats.rr_s[b]), float64(beats.median_rr_s[b]), int(ring[COUNT])
    last, last_but_one = place_of(ring, 0), place_of(ring, 1)
    usual_rr = float64(history.known[slot, USUAL_RR]) if history.known[slot, SHARE] > 0.0 else 0.0
    out[3] = ratio(rr, usual_rr)
    out[4] = rr if rr > 0.0 else USUAL_SECONDS
    out[5] = median_rr if median_rr > 0.0 else USUAL_SECONDS
    out[7] = history.ratio[slot, last] if count > 0 else 1.0
    out[8] = history.ratio[slot, last_but_one] if count > 1 else 1.0
    early = 0
    for back in range(count):
        early += bool(float64(history.ratio[slot, place_of(ring, back)]) < EARLY)
    out[9] = early / max(1, count)
    least, most = math.inf, 0.0
    for back in range(min(count, INTERVALS_BACK)):
        one = float64(past_rr[place_of(ring, back)])
        if one > 0.0:
            least, most = min(least, one), max(most, one)
    out[10] = (most - least) / float64(out[5]) if most > 0.0 else 0.0
    out[11] = ratio(rr, least) if most > 0.0 else 1.0


def write_context(
    b: int, slot: int, leads: int, beats: ClassBeats, history: ClassHistory, work: ClassScratch, features: F32
) -> None:
    """Write the features of ``CONTEXT``, ``RHYTHM`` and ``LIKENESS`` of beat ``b``."""
    out, ring = features[FIRST_CONTEXT:], history.ring[slot]
    count = int(ring[COUNT])
    out[0] = 0.0
    if history.known[slot, SHARE] > 0.0:
        away = apart(beats.shape[b], history.normal[slot], leads)
        out[0] = math.log((away + TINY) / (float64(history.known[slot, REACH]) + TINY))
    out[1] = beats.quality[b]
    out[2] = 1.0 if math.isnan(beats.expected_errors[b]) else beats.expected_errors[b]
    out[3], out[4] = history.known[slot, SHARE], history.known[slot, SPREAD]
    out[5] = history.match[slot, place_of(ring, 0)] if count > 0 else 1.0
    out[6] = history.match[slot, place_of(ring, 1)] if count > 1 else 1.0
    write_rhythm(b, slot, beats, history, work, features[FIRST_RHYTHM:])
    write_likeness(slot, leads, history, beats.shape[b], work, features[FIRST_LIKENESS:])


def measure_lead(shape: F32, normal: F32, steadiness: float, is_known: bool, out: F64) -> None:
    """Write the measures of one lead: those of ``OF_A_BEAT``, then those of ``TO_NORMAL``.

    ``steadiness`` is that of the P waves of the normal beats, see ``kernels.classes.normal_beat``.
    """
    size, slope = extent(shape, QRS_BEGIN, QRS_END) + TINY, steepest(shape)
    out[0] = duration(shape, slope)
    out[1] = slope_spread(shape)
    out[2] = slope / size
    out[3] = extent(shape, P_BEGIN, P_END) / size
    out[4] = extent(shape, T_BEGIN, T_END) / size
    out[5], out[6] = out[0], out[3]
    out[7] = towards_qrs(shape) / size
    out[8] = steadiness
    for k in range(len(OF_A_BEAT), MEASURES):
        out[k] = 1.0
    if not is_known:
        out[12] = out[13] = out[14] = out[23] = 0.0
        return
    usual, usual_slope = extent(normal, QRS_BEGIN, QRS_END) + TINY, steepest(normal) + TINY
    out[5] = duration(normal, usual_slope)
    out[6] = extent(normal, P_BEGIN, P_END) / usual
    shift, out[9] = best_shift(shape, normal)
    out[10] = correlation(shape, normal, FURTHEST, POINTS - FURTHEST, 0)
    out[11] = correlation(shape, normal, P_BEGIN, P_END, 0)
    level = level_apart(shape, normal, P_BEGIN, P_END)
    out[12] = math.sqrt(max(0.0, difference(shape, normal, P_BEGIN, P_END, 0) ** 2 - level * level)) / usual
    out[13] = difference(shape, normal, T_BEGIN, T_END, 0) / usual
    out[14] = difference(shape, normal, QRS_BEGIN, QRS_END, shift) / usual
    both = energy = area = usual_area = 0.0
    for k in range(POINTS):
        both += float64(shape[k]) * float64(normal[k])
        energy += float64(normal[k]) * float64(normal[k])
        if QRS_BEGIN <= k < QRS_END:
            area += abs(float64(shape[k]))
            usual_area += abs(float64(normal[k]))
    out[15] = both / (energy + TINY)
    out[16] = size / usual
    out[17] = out[0] / out[5]
    out[18] = out[1] / (slope_spread(normal) + TINY)
    out[19] = slope / usual_slope
    out[20] = out[2] * usual / usual_slope
    towards = deflection(normal)
    out[21] = deflection(shape) / (towards if abs(towards) > TINY else 1.0)
    out[22] = area / (usual_area + TINY)
    out[23] = steadiness - out[11]


def towards_qrs(shape: F32) -> float:
    """Return the mean level after the QRS complex over that before it; positive towards the largest deflection."""
    level = total = 0.0
    for k in range(QRS_BEGIN - 4, QRS_BEGIN):
        level += 0.25 * float64(shape[k])
    for k in range(T_BEGIN, T_END):
        total += float64(shape[k])
    apart_by = total / (T_END - T_BEGIN) - level
    return apart_by if deflection(shape) > 0.0 else -apart_by


def best_shift(shape: F32, normal: F32) -> tuple[int, float]:
    """Return by how many points a QRS complex comes later than the normal one, and their correlation then."""
    best, most = 0, correlation(shape, normal, QRS_BEGIN, QRS_END, 0)
    for shift in range(-FURTHEST, FURTHEST + 1):
        found = correlation(shape, normal, QRS_BEGIN, QRS_END, shift)
        if found > most:
            best, most = shift, found
    return best, most


def write_shape(
    b: int, slot: int, leads: int, beats: ClassBeats, history: ClassHistory, work: ClassScratch, features: F32
) -> None:
    """Write the features of the shape of beat ``b``: of each measure the mean, least and largest of the leads."""
    out, measures = features[FIRST_OF_A_BEAT:], work.measures
    is_known = history.known[slot, SHARE] > 0.0
    for lead in range(leads):
        steadiness = float64(history.known[slot, STEADINESS + lead]) if is_known else 0.0
        widen(beats.shape[b, lead], work.shape)
        widen(history.normal[slot, lead], work.normal)
        measure_lead(work.shape, work.normal, steadiness, is_known, measures[lead])
    for k in range(MEASURES):
        total, least, most = 0.0, math.inf, -math.inf
        for lead in range(leads):
            total += measures[lead, k]
            least, most = min(least, measures[lead, k]), max(most, measures[lead, k])
        out[k], out[k + MEASURES], out[k + 2 * MEASURES] = total / leads, least, most
