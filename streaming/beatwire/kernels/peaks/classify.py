"""Bodies of the classification of peaks: the logit that a peak of the response is a heartbeat.

In:    the peaks of the lanes of a pass, with their levels (``kernels.detection``: ``nms``, ``lead_levels``)
Out:   the logit of each peak, and the errors expected in the ten seconds up to it
State: the past peaks of each lane (``kernels.peaks.peak_features``)

A typical peak (``is_typical``) is a beat, and its logit is ``TYPICAL_LOGIT``. So is one beside a disturbance that
resembles the last beat; another one there is no candidate. The pulse of a pacemaker that no QRS complex follows
(``kernels.peaks.pacing``) is none, and its logit is ``-LOGIT_RANGE``. A wave within which a lane begins is no
candidate: its R is before the first sample, as a rule. Of any other peak the logit is the sum of the leaves of
gradient-boosted trees, trained by LightGBM (``training``) on the features of ``kernels.peaks.peak_shape``.
Waves of another size that have the shape of beats are marked (``large_waves``, ``small_waves``).

Invariant: no classification is fed back into the features, so a logit is a function of the samples of the last
``stages.detection.classify.REACH_S`` seconds. Arithmetic is on integers, float64 and stored float32, in a fixed order.
"""

from __future__ import annotations

import math

from beatwire.kernels.peaks.block_maxima import store_block_maxima, with_block_maxima
from beatwire.kernels.peaks.large_waves import behind_row, mark_resembling
from beatwire.kernels.peaks.lead_agreement import compare_leads, write_neutral
from beatwire.kernels.peaks.pacing import (
    FEWEST_WINDOWS,
    follows_pulse,
    is_like_pulse,
    is_no_beat,
    may_be_pulse,
    write_window_maxima,
)
from beatwire.kernels.peaks.peak_features import (
    AFTER_60,
    AFTER_120,
    AFTER_PULSE,
    BEFORE_120,
    BEFORE_400,
    BLOCK_COUNT,
    DOUBT,
    HALF,
    HEIGHT,
    IRREGULAR,
    MEDIAN_SIZE,
    MS120,
    MS220,
    MS400,
    NOISE,
    PEAK_COUNT,
    PHASE,
    W8_OF_LAST,
    W22_OF_LAST,
    W32_OF_LAST,
)
from beatwire.kernels.peaks.peak_history import forget_peaks, is_disturbance, lower_median, store_peak
from beatwire.kernels.peaks.peak_shape import is_cut_off, write_basic_features, write_further_features
from beatwire.kernels.peaks.risk import LOGIT_RANGE, expected_errors, store_risk
from beatwire.kernels.peaks.small_waves import is_overdue, mark_shrunk
from beatwire.kernels.team import WIDTH, added, member, wait
from beatwire.records import F32, F64, I16, I32, I64
from beatwire.records.classification import Candidate, FeatureSettings, PeakMemory, PeakScratch, Trees
from beatwire.records.columns import (
    BLOCK_END,
    BOUND_LEADS,
    BOUND_LEAST,
    BOUND_MOST,
    BOUND_MUTED,
    PEAK_BESIDE,
    PEAK_CEILING,
    PEAK_DISTURBANCE,
    PEAK_ERRORS,
    PEAK_LOGIT,
    PEAK_MEDIAN,
    PEAK_OF_TREES,
    PEAK_RESPONSE,
    PEAK_SAMPLE,
)
from beatwire.records.detection import FreshLanes, PeakTable, Rings

LEVELS_PER_CANDIDATE = 10  # a peak of a tenth of the level or less is no candidate: trees never accept one
NOT_A_CANDIDATE = -99.0  # logit of such a peak
TYPICAL_LOGIT = 8.0  # the end of the range, see ``LOGIT_RANGE``
FIRST_LOGIT = 0.25  # at most, within 0.4 s of a lane's first sample: what was before them is not known
MOST_NODES, MOST_FEATURES = 1023, 255  # of a tree; all bits are set, so they also serve as masks of indices
SIDE_BY_SIDE = 16  # trees are stored in multiples of it: vector instructions take so many together
LEAF_UNIT = 1 << 20  # leaves are integers, this many a logit: their sum is the same in any order


def is_typical(features: F32) -> bool:
    """Return True if a peak stands alone, resembles the last beat, and comes at the expected time."""
    alone: bool = (
        features[BEFORE_120] < 0.3
        and features[AFTER_60] < 0.5
        and features[AFTER_120] < 0.3
        and features[BEFORE_400] < 0.3
        and features[DOUBT] < 0.15
        and features[NOISE] < 0.15
    )
    in_time: bool = features[PHASE] > 0.85 and features[PHASE] < 1.15 and features[IRREGULAR] < 0.1
    alike: bool = features[W32_OF_LAST] > 0.8 and features[W32_OF_LAST] < 1.25
    return alone and in_time and alike and is_like_last(features, float(features[HEIGHT]))


def is_like_last(features: F32, height: float) -> bool:
    """Return True if a peak resembles the last high peak in what a disturbance near it does not change.

    ``height`` is that of the peak over the level; where none is known, over that of the last high peak.
    """
    return bool(
        features[HALF] > 0.0
        and height > 0.6
        and height < 1.6
        and features[W8_OF_LAST] > 0.8
        and features[W8_OF_LAST] < 1.25
        and features[W22_OF_LAST] > 0.85
        and features[W22_OF_LAST] < 1.18
    )


def evaluate_trees(feature: I16, threshold: F32, leaf: I32, features: F32) -> float:
    """Return the sum of the leaves of all trees for a peak, a logit.

    The trees are complete: from node ``n`` the path leads to ``2 n + 1`` if the feature is at most the threshold, else
    to ``2 n + 2``; behind the last node are the leaves. So every tree takes the same number of steps, and the trees are
    independent of each other: the same node of all trees is a row.

    Parameters
    ----------
    feature, threshold : int16, float32 [nodes, trees]
    leaf : int32 [nodes + 1, trees]
        In ``LEAF_UNIT``.
    features : float32 [FEATURES]
    """
    nodes = feature.shape[0]
    total = 0
    for t in range(member(), feature.shape[1], WIDTH):
        node = 0
        while node < nodes:
            at = node & MOST_NODES  # the mask proves that no index is negative, which saves a test
            node = 2 * node + 1 + (features[int(feature[at, t]) & MOST_FEATURES] > threshold[at, t])
        total += int(leaf[node - nodes, t])
    return added(total) / LEAF_UNIT


def describe_peak(
    peak: Candidate, base: int, all_features: bool, settings: FeatureSettings, x: I16, f: I32, jumps: I64,
    memory: PeakMemory, work: PeakScratch,
) -> bool:  # fmt: skip
    """Write the features of a candidate peak and return True if it is typical.

    Of a typical peak only the basic features are written, unless ``all_features`` is set or it may be the pulse of a
    pacemaker. The other parameters are those of ``peak_shape.write_basic_features``; block maxima below zero stand for
    those in the lane's memory. The peak is not stored there.
    """
    write_basic_features(peak, base, settings, x, f, jumps, memory, work)
    typical = is_typical(work.features)
    if all_features or not typical or may_be_pulse(work.features):
        write_further_features(with_block_maxima(peak, memory.log), base, settings, x, jumps, memory, work)
        if member() == 0:
            if x.shape[0] > 1:
                compare_leads(
                    peak.sample, float(peak.height), float(peak.level), settings.spans, memory, work.numbers,
                    work.features,
                )  # fmt: skip
            else:
                write_neutral(work.features)
    wait()
    return typical


def beside_pulses(peak: Candidate, spans: I64, memory: PeakMemory, numbers: F64) -> Candidate:
    """Return a candidate with the level of the past peaks, if there were pulses before it and enough of others."""
    if not follows_pulse(peak.sample, spans, memory.log):
        return peak
    if member() == 0:
        numbers[MEDIAN_SIZE] = write_window_maxima(peak.sample, spans, memory, numbers)
    wait()
    n, beside = int(numbers[MEDIAN_SIZE]), peak
    if n >= FEWEST_WINDOWS:
        largest = smallest = int(numbers[0])
        for k in range(1, n):
            largest, smallest = max(largest, int(numbers[k])), min(smallest, int(numbers[k]))
        level = int(lower_median(numbers, n))
        beside = Candidate(peak.sample, peak.height, level, largest, max(1, smallest), peak.muted)
    wait()
    return beside


def classify_peaks(
    i: int, fresh: FreshLanes, peaks: PeakTable, settings: FeatureSettings, rings: Rings, trees: Trees,
    memory: PeakMemory, stretch: I32, numbers: F64, features: F32, logits: F64,
) -> None:  # fmt: skip
    """Classify the peaks of lane ``fresh.lane[i]``.

    Parameters
    ----------
    memory
        The past peaks of the lanes; read and written.
    stretch, numbers, features : int32 [1, capacity], float64 [1, PAST_PEAKS], float32 [1, FEATURES]
        Scratch, see ``PeakScratch``.
    logits : float64 [n, most, LOGIT_COLUMNS], written
        The logit of each peak, ``NOT_A_CANDIDATE`` if it is none. Then the errors expected in the ten seconds up to it,
        NaN if it is none: peaks that are falsely taken for beats, or falsely not.
    """
    lane, base = int(fresh.lane[i]), int(fresh.base[i])
    x, f = rings.x[lane], rings.f[lane]
    past = PeakMemory(memory.log[lane], memory.sample[lane], memory.past[lane])
    work = PeakScratch(stretch[0], numbers[0], features[0])
    if fresh.start[i] == fresh.base[i]:
        if member() == 0:
            past.log[PEAK_COUNT] = 0
            past.log[AFTER_PULSE] = 0
            past.log[BLOCK_COUNT] = 0
        wait()
    blocks, closed, stored = peaks.blocks[i], int(peaks.closed[i]), 0
    for k in range(int(peaks.found[i])):
        peak = peaks.peaks[i, k]
        c, height, median = int(peak[PEAK_SAMPLE]), int(peak[PEAK_RESPONSE]), int(peak[PEAK_MEDIAN])
        stored = store_block_maxima(past.log, blocks, stored, closed, c + int(settings.spans[MS220]) + 1)
        logit, errors = NOT_A_CANDIDATE, math.nan
        largest, smallest, several, muted = -1, -1, 0, 0
        if x.shape[0] > 1:
            bounds = peaks.bounds[i, k]
            largest, smallest, several = int(bounds[BOUND_MOST]), int(bounds[BOUND_LEAST]), int(bounds[BOUND_LEADS] > 1)
            muted = int(bounds[BOUND_MUTED])
        if member() == 0:
            forget_peaks(c, settings.spans, past.log)
        wait()
        overdue = is_overdue(c, height, median, settings.spans, past)
        if LEVELS_PER_CANDIDATE * height > median:
            candidate = Candidate(c, height, median, largest, smallest, muted)
            if median <= 0:  # no level is known yet
                candidate = Candidate(c, height, height, height, height, muted)
            candidate = beside_pulses(candidate, settings.spans, past, work.numbers)
            candidate = behind_row(candidate, peak, settings.spans, past)
            typical = describe_peak(candidate, base, False, settings, x, f, rings.jumps[lane], past, work)
            logit = TYPICAL_LOGIT
            beside = peak[PEAK_BESIDE] > 0
            pulse = not beside and is_like_pulse(work.features)
            before = float(work.features[BEFORE_400]) * height
            if beside or (0 < peak[PEAK_CEILING] < before and is_disturbance(before, height, candidate.level)):
                relative = float(work.features[HEIGHT])
                if median <= 0 and work.features[HALF] > 0.0:
                    relative = 1.0 / float(work.features[HALF])
                typical = is_like_last(work.features, relative)
            if beside and not typical:
                logit = NOT_A_CANDIDATE
            elif pulse and is_no_beat(c, work.features, settings.spans, past):
                logit = -LOGIT_RANGE
            elif not typical:
                logit = evaluate_trees(
                    trees.feature[several], trees.threshold[several], trees.leaf[several], work.features
                )
            if c - base < settings.spans[MS400]:
                logit = min(logit, FIRST_LOGIT)
            if c - base <= settings.spans[MS120] and is_cut_off(
                x, rings.jumps[lane], base, c, muted, settings.spans, work.stretch
            ):
                logit = NOT_A_CANDIDATE
            wait()
            if member() == 0:
                if pulse:
                    past.log[AFTER_PULSE] = c + 1
                elif logit > NOT_A_CANDIDATE:
                    store_peak(c, height, past, work.numbers, work.features)
                    store_risk(logit, trees.probability, past)
                if logit > NOT_A_CANDIDATE:
                    mark_resembling(peak, work.features, settings.spans, past)
                    errors = expected_errors(c, settings.spans, past)
                overdue = overdue and not pulse
            wait()
        elif overdue:
            candidate = Candidate(c, height, median, largest, smallest, muted)
            write_basic_features(candidate, base, settings, x, f, rings.jumps[lane], past, work)
        if overdue and member() == 0:
            mark_shrunk(peak, median, work.features, settings.spans, past)
        wait()
        if member() == 0:
            logits[i, k, PEAK_LOGIT] = logits[i, k, PEAK_OF_TREES] = logit
            logits[i, k, PEAK_DISTURBANCE] = logits[i, k, PEAK_ERRORS] = errors
    if closed > stored:
        store_block_maxima(past.log, blocks, stored, closed, int(blocks[closed - 1, BLOCK_END]))
