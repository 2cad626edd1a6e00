"""Find the peaks of the response by non-maximum suppression, and the level of the response around each.

A sample is a peak if ``f`` there is positive, greater than ``f`` in the ``left`` samples before it and at least ``f``
in the ``right`` samples after it. That does not depend on blocks or cuts, and it is decided as soon as ``f`` is known
``right`` samples on.

Beside a disturbance, which is larger than any beat of a calibrated stream, what is larger than a peak may be the
disturbance alone (``kernels.detection.beside``). There each sample is looked at.

The level of a peak is that of the blocks that are complete when the peak is decided (``kernels.detection.level``). As
long as none is known from blocks, the largest peak since the last block has none (0): what is known is its own height.
"""

from __future__ import annotations

from beatwire.kernels.detection.beside import overlooks
from beatwire.kernels.detection.level import (
    MAXIMA_ABSORBED,
    MAXIMA_BEGUN,
    MAXIMA_KNOWN,
    MAXIMA_MEDIAN,
    MAXIMA_QUANTILE,
    MAXIMA_QUARTER,
    QUARTERS,
    begin_level,
    ceiling,
    end_of,
    least_of,
    most_of,
    take_part,
)
from beatwire.kernels.intake.ring import unroll
from beatwire.kernels.team import WIDTH, fewest, member, most, narrow, wait
from beatwire.records import I32, I64
from beatwire.records.columns import (
    BLOCK_END,
    BLOCK_MAXIMUM,
    PEAK_BESIDE,
    PEAK_CEILING,
    PEAK_MEDIAN,
    PEAK_QUANTILE,
    PEAK_RESPONSE,
    PEAK_SAMPLE,
    PEAK_SOURCE,
    PEAK_VALLEYS,
)
from beatwire.records.detection import FreshLanes, LevelLimits, PeakSearch, PeakTable


def largest(values: I32, n: int) -> int:
    """Return the largest of ``values[:n]``; ``n`` is at least 1."""
    found = values[0]
    part = values[:n]
    for j in range(member(), n, WIDTH):
        found = max(found, part[j])
    return most(int(found))


def least(values: I32, n: int) -> int:
    """Return the least of ``values[:n]``; ``n`` is at least 1."""
    found = values[0]
    part = values[:n]
    for j in range(member(), n, WIDTH):
        found = min(found, part[j])
    return fewest(int(found))


def place_of(value: int, values: I32) -> int:
    """Return the first index of ``value`` in ``values``, or their number."""
    n = values.shape[0]
    sought, found = narrow(value), narrow(n)
    for j in range(member(), n, WIDTH):
        found = min(found, narrow(j) if values[j] == sought else narrow(n))
    return fewest(int(found))


def add_to_blocks(
    maxima: I64, f: I32, offset: int, to: int, base: int, block: int, low: int, high: int, blocks: I64, done: int
) -> int:
    """Take ``f`` up to sample ``to`` into the block maxima; ``f[0]`` is sample ``offset``.

    Blocks that become complete are written to ``blocks`` from row ``done`` on. Returns the number of rows written.
    """
    at, quarter = int(maxima[MAXIMA_ABSORBED]), int(maxima[MAXIMA_QUARTER])
    while at < to:
        stop = end_of(quarter, block)
        end = min(to, stop)
        value = largest(f[at - offset :], end - at)
        number = quarter // QUARTERS
        whole = number * block >= base
        complete = whole and end == (number + 1) * block
        if member() == 0:
            if complete:
                blocks[done, BLOCK_END] = end
                blocks[done, BLOCK_MAXIMUM] = max(int(maxima[MAXIMA_BEGUN]), value)
            take_part(maxima, value, end, block, whole, low, high)
        if complete:
            done += 1
        quarter += end == stop
        at = end
    wait()
    return done


def suppress(
    i: int, fresh: FreshLanes, search: PeakSearch, limits: LevelLimits, f: I32, maxima: I64, work: I32,
    table: PeakTable,
) -> None:  # fmt: skip
    """Find the peaks of lane ``i`` that its new samples decide.

    In any stretch of ``right + 1`` samples only the first of its largest can be a peak, so one candidate of each
    stretch is compared with its surroundings; the result does not depend on where stretches begin.

    Parameters
    ----------
    f : int32 [lanes, R]
        Responses, known up to ``stop - delay``.
    maxima : int64 [lanes, MAXIMA_COLUMNS], read and written
    work : int32 [1, capacity]
        Scratch.
    table
        Written, but for ``bounds``.
    """
    lane, right = fresh.lane[i], search.right
    lowest = int(fresh.base[i])
    watermark = int(fresh.stop[i]) - search.delay
    first = max(lowest, int(fresh.start[i]) - search.delay - right)
    last = watermark - right
    level, blocks, low, high = maxima[lane], table.blocks[i], least_of(i, limits), most_of(i, limits)
    if fresh.start[i] == lowest:
        if member() == 0:
            begin_level(level, lowest, search.block)
        wait()
    count = 0
    done = 0
    reach = search.left + search.delay  # what hides a peak may be the skirt of a disturbance that is as far away
    begin = max(lowest, min(first - reach, int(level[MAXIMA_ABSORBED])))
    unroll(f[lane], begin, watermark - begin, work[0])
    window = work[0]
    stretch = first
    disturbed = last > first and largest(window, watermark - begin) > high
    while stretch < last:
        touched = False
        if disturbed:  # is there anything that large around any sample of the stretch?
            around = max(lowest, stretch - reach)
            touched = largest(window[around - begin :], min(watermark, stretch + 2 * right + 1) - around) > high
        n = 1 if touched else min(right + 1, last - stretch)
        here = window[stretch - begin :]
        value = largest(here, n)
        at = place_of(value, here[:n])
        c = stretch + at
        behind = max(lowest, c - search.left)
        peak, beside = value > 0, 0
        if peak and touched:
            stop = c - begin + right + 1
            done = add_to_blocks(level, window, begin, c + right + 1, lowest, search.block, low, high, blocks, done)
            highest = ceiling(int(level[MAXIMA_MEDIAN]), high)
            sides = overlooks(window, c - begin, 1, stop, stop, highest)
            sides *= overlooks(window, c - begin, -1, behind - begin - 1, max(lowest, c - reach) - begin - 1, highest)
            beside = int(sides == 2 and value <= highest)  # a larger one is of the disturbance
            peak = sides == 1 or beside > 0  # 4: it stands between two disturbances
        elif peak:
            if at + right >= n:
                peak = value >= largest(here[n:], at + right + 1 - n)
            if peak and behind < stretch:
                peak = value > largest(window[behind - begin :], stretch - behind)
        stretch += n
        if peak:
            to = min(watermark, c + right + 1)
            done = add_to_blocks(level, window, begin, to, lowest, search.block, low, high, blocks, done)
            near = max(lowest, c - right)
            valleys = least(window[near - begin :], c - near + 1) + least(window[c - begin :], right + 1)
            if member() == 0:
                row = table.peaks[i, count]
                row[PEAK_SAMPLE] = c
                row[PEAK_RESPONSE] = value
                known = level[MAXIMA_KNOWN] > 0 or value < level[MAXIMA_MEDIAN]
                row[PEAK_MEDIAN] = level[MAXIMA_MEDIAN] if known else 0
                row[PEAK_QUANTILE] = level[MAXIMA_QUANTILE] if known else 0
                row[PEAK_VALLEYS] = valleys
                row[PEAK_CEILING] = high
                row[PEAK_BESIDE] = beside
                row[PEAK_SOURCE] = 0
            count += 1
    table.closed[i] = add_to_blocks(level, window, begin, watermark, lowest, search.block, low, high, blocks, done)
    table.found[i] = count
