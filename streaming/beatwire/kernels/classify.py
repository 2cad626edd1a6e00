"""Bodies of learned acceptance: how sure it is that a peak of the response is a heartbeat.

A peak that is ordinary in every way is a beat without further thought. Of any other peak a boosted
ensemble of trees makes a logit from its description (``kernels.peak_shape``). Nothing that was decided is
fed back, so the answer follows from the last ``REACH_S`` seconds of samples.

Arithmetic is on integers, float64 and stored float32, in a fixed order.
"""

from __future__ import annotations

import math

from beatwire.kernels.lead_agreement import look_across, neutral
from beatwire.kernels.peak_features import (
    AFTER_60,
    AFTER_120,
    BACK,
    BEFORE_120,
    BEFORE_400,
    BLOCKS,
    BY_8_OF_LAST,
    BY_22_OF_LAST,
    BY_32_OF_LAST,
    DOUBT,
    FIRST,
    IRREGULAR,
    KEPT,
    MAXIMA,
    MS400,
    NOISE,
    PHASE,
    RIGHT,
    RISK,
    TAKEN,
    TALL,
)
from beatwire.kernels.peak_history import remember
from beatwire.kernels.peak_shape import detail, outline
from beatwire.kernels.team import WIDTH, added, member, wait
from beatwire.records import F32, F64, I16, I32, I64

LEAST = 10  # a peak below the level over LEAST is not looked at
ORDINARY = 8.0  # the logit of a peak that is ordinary in every way
EARLY = 0.25  # what a lane begins with within 0.4 s may be cut off: half of these beats are none
WIDEST = 8.0  # logits beyond it are as good as this one
NEVER = -99.0
MOST_NODES, MOST_FEATURES = 1023, 255  # of a tree; all bits
UNIT = 1 << 20  # of a leaf: leaves are integers, so that their sum is the same in any order


def ordinary(out: F32) -> bool:
    """Tell whether a peak stands alone, is as high and wide as the one before, and comes when it should."""
    alone: bool = (
        out[BEFORE_120] < 0.3
        and out[AFTER_60] < 0.5
        and out[AFTER_120] < 0.3
        and out[BEFORE_400] < 0.3
        and out[DOUBT] < 0.15
        and out[NOISE] < 0.15
    )
    in_time: bool = out[PHASE] > 0.85 and out[PHASE] < 1.15 and out[IRREGULAR] < 0.1
    alike: bool = (
        out[TALL] > 0.6
        and out[TALL] < 1.6
        and out[BY_8_OF_LAST] > 0.8
        and out[BY_8_OF_LAST] < 1.25
        and out[BY_22_OF_LAST] > 0.85
        and out[BY_22_OF_LAST] < 1.18
        and out[BY_32_OF_LAST] > 0.8
        and out[BY_32_OF_LAST] < 1.25
    )
    return alone and in_time and alike


def climb(feature: I16, threshold: F32, leaf: I32, out: F32) -> float:
    """Return the sum of the leaves that the trees have for features ``out``, a logit.

    Trees are complete: node ``n`` of a tree sends a peak to ``2 n + 1`` when its feature is at most the
    threshold, else to ``2 n + 2``; what lies behind the last node is a leaf. So every tree takes the same
    number of steps, and those of one need not wait for those of another.

    Parameters
    ----------
    feature, threshold : int16, float32 [trees, nodes]
    leaf : int32 [trees, nodes + 1]
        In ``UNIT``.
    """
    nodes = feature.shape[1]
    total = 0
    for t in range(member(), feature.shape[0], WIDTH):
        of_tree, at_most = feature[t], threshold[t]
        node = 0
        while node < nodes:
            place = node & MOST_NODES  # seen to be no negative index, which would cost a test
            node = 2 * node + 1 + (out[int(of_tree[place]) & MOST_FEATURES] > at_most[place])
        total += int(leaf[t, node - nodes])
    return added(total) / UNIT


def study(
    c: int, value: int, median: int, most: int, least: int, whole: bool, base: int, box: int, scale: float, span: I64,
    taps: I32, half: I64, x: I16, f: I32, seen: I64, facts: F32, line: I32, scratch: F64, out: F32,
) -> bool:  # fmt: skip
    """Describe the peak at sample ``c`` by the rings of its lane and what is known of its blocks, and remember it.

    ``most`` and ``least`` of the last five block maxima; below zero: those of the lane's memory.
    Returns whether it is ordinary: then it is described as far as that takes, unless the ``whole`` is wanted.
    """
    middling = median if median > 0 else value
    outline(c, value, middling, base, scale, box, span, taps, half, x, f, seen, facts, line, scratch, out)
    plain = ordinary(out)
    if whole or not plain:
        most_of = least_of = middling
        if most >= 0 and median > 0:
            most_of, least_of = max(most_of, most), min(least_of, least)
        elif median > 0:
            for j in range(min(BLOCKS, int(seen[TAKEN]))):
                most_of = max(most_of, int(seen[MAXIMA + j]))
                least_of = min(least_of, int(seen[MAXIMA + j]))
        detail(
            c, value, middling, most_of, max(1, least_of), base, scale, span, x, seen, facts, line, scratch, out
        )  # fmt: skip
        if member() == 0:
            if x.shape[0] > 1:
                look_across(c, float(middling), span, seen, facts, scratch, out)
            else:
                neutral(out)
    if member() == 0:
        remember(c, value, seen, facts, scratch, out)
    wait()
    return plain


def classify_peaks(
    i: int, lanes: I64, start: I64, base: I64, found: I64, peaks: I64, bounds: I64, closed: I64, blocks: I64,
    box: int, scale: float, span: I64, taps: I32, half: I64, x: I16, f: I32, feature: I16, threshold: F32, leaf: I32,
    probability: F64, seen: I64, facts: F32, line: I32, scratch: F64, out: F32, logits: F64,
) -> None:  # fmt: skip
    """Write how sure each peak of lane ``lanes[i]`` is, a logit; ``NEVER`` where it is too low to look at.

    Beside it stands how many errors are expected in the ten seconds up to the peak: beats that are none, and peaks
    that were beats.

    Parameters
    ----------
    start, base
        As in ``kernels.ricker.respond``: where they are equal the lane begins.
    found, peaks, closed, blocks
        As ``kernels.nms.suppress`` writes them.
    bounds
        Of several leads, as ``kernels.fusion.level_peaks`` writes them.
    feature, threshold, leaf : [2, ...]
        The trees, see ``climb``, for one lead that speaks and for several.
    probability : float64 [knots]
        See ``chance``.
    seen, facts : int64 [lanes, SEEN], float32 [lanes, KEPT, FACTS]
        The memory of the lanes, see ``kernels.peak_features``.
    line, scratch, out : int32 [1, capacity], float64 [1, KEPT], float32 [1, FEATURES]
    logits : float64 [n, most, 2], written
    """
    lane = int(lanes[i])
    memory = seen[lane]
    if start[i] == base[i]:
        if member() == 0:
            memory[0] = 0
            memory[TAKEN] = 0
        wait()
    taken = 0
    for k in range(int(found[i])):
        c, value, median = int(peaks[i, k, 0]), int(peaks[i, k, 1]), int(peaks[i, k, 2])
        taken = take_blocks(memory, blocks[i], taken, int(closed[i]), c + int(span[RIGHT]) + 1)
        logit, errors = NEVER, math.nan
        most, least, several = -1, -1, 0
        if x.shape[1] > 1:
            most, least, several = int(bounds[i, k, 0]), int(bounds[i, k, 1]), int(bounds[i, k, 2] > 1)
        if LEAST * value > median:
            plain = study(
                c, value, median, most, least, False, int(base[i]), box, scale, span, taps, half, x[lane], f[lane],
                memory, facts[lane], line[0], scratch[0], out[0],
            )  # fmt: skip
            logit = ORDINARY
            if not plain:
                logit = climb(feature[several], threshold[several], leaf[several], out[0])
            if c - int(base[i]) < span[MS400]:
                logit = min(logit, EARLY)
            wait()
            if member() == 0:
                errors = expected_errors(c, logit, probability, span, memory, facts[lane])
        if member() == 0:
            logits[i, k, 0] = logit
            logits[i, k, 1] = errors
    if closed[i] > taken:
        take_blocks(memory, blocks[i], taken, int(closed[i]), int(blocks[i, int(closed[i]) - 1, 0]))


def take_blocks(memory: I64, blocks: I64, taken: int, closed: int, to: int) -> int:
    """Remember the maxima of the blocks from row ``taken`` on that end by sample ``to``; return the row after them."""
    first = taken
    while taken < closed and blocks[taken, 0] <= to:
        taken += 1
    if taken > first:
        if member() == 0:
            for k in range(first, taken):
                memory[MAXIMA + int(memory[TAKEN]) % BLOCKS] = blocks[k, 1]
                memory[TAKEN] += 1
        wait()
    return taken


def expected_errors(c: int, logit: float, probability: F64, span: I64, seen: I64, facts: F32) -> float:
    """Remember the risk of the last peak, at ``c``, and return the sum of those of the ten seconds up to it."""
    last = int(seen[0]) - 1
    sure = chance(logit, probability)
    facts[last % KEPT, RISK] = 1.0 - sure if logit > 0.0 else sure
    total = 0.0
    at = last % KEPT
    for _ in range(min(KEPT, last + 1)):
        if c - int(seen[FIRST + at]) > span[BACK]:
            break
        total += float(facts[at, RISK])
        at = KEPT - 1 if at == 0 else at - 1
    return total


def chance(logit: float, probability: F64) -> float:
    """Return the probability of a beat: between the knots of a table from ``-WIDEST`` to ``WIDEST``."""
    last = probability.shape[0] - 1
    at = (min(WIDEST, max(-WIDEST, logit)) + WIDEST) * last / (2.0 * WIDEST)
    knot = min(last - 1, int(at))
    return float(probability[knot] + (at - knot) * (probability[knot + 1] - probability[knot]))
