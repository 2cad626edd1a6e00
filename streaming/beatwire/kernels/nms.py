"""Find the peaks of the response by non-maximum suppression, and the level of the response around each.

A sample is a peak if ``f`` there is positive, greater than ``f`` in the ``left`` samples before it and at least ``f``
in the ``right`` samples after it. That does not depend on blocks or cuts, and it is decided as soon as ``f`` is known
``right`` samples on.

The level of a peak is computed from maxima of ``f`` over blocks of ``block`` samples. Blocks are aligned to the
absolute sample index; those count that are complete when the peak is decided and that begin at or after the lane's
first sample. The level is the median of the last ``LEVEL_BLOCKS`` maxima and the 80 % quantile of the last
``KEPT_BLOCKS``. While no block is complete both are the largest ``f`` so far.

State of a lane, int64 ``maxima[lane, column]``::

    MAXIMA_ABSORBED  f before this sample is in the maxima
    MAXIMA_BEGUN     maximum of the block that has begun
    MAXIMA_COMPLETE  number of complete blocks kept
    MAXIMA_MEDIAN, MAXIMA_QUANTILE  the level
    FIRST_MAXIMUM + (b % KEPT_BLOCKS)  maximum of block b
"""

from __future__ import annotations

from beatwire.kernels.ring import unroll
from beatwire.kernels.team import WIDTH, fewest, member, most, narrow, wait
from beatwire.records import I32, I64
from beatwire.records.columns import (
    BLOCK_END,
    BLOCK_MAXIMUM,
    PEAK_MEDIAN,
    PEAK_QUANTILE,
    PEAK_RESPONSE,
    PEAK_SAMPLE,
    PEAK_VALLEYS,
)
from beatwire.records.detection import FreshLanes, PeakSearch, PeakTable

KEPT_BLOCKS = 10  # block maxima of a lane: 20 s, of which the quantile is taken
LEVEL_BLOCKS = 5  # of these for the median: 10 s
MAXIMA_ABSORBED, MAXIMA_BEGUN, MAXIMA_COMPLETE, MAXIMA_MEDIAN, MAXIMA_QUANTILE, FIRST_MAXIMUM = range(6)
MAXIMA_COLUMNS = FIRST_MAXIMUM + KEPT_BLOCKS


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


def rank(maxima: I64, last: int, n: int, k: int) -> int:
    """Return the ``k``-th largest (from 1) of the ``n`` block maxima that end with block ``last``."""
    found = -1
    bound = 1 << 62
    while k > 0:
        found = -1
        same = 0
        at = last % KEPT_BLOCKS
        for _ in range(n):
            value = int(maxima[FIRST_MAXIMUM + at])
            at = KEPT_BLOCKS - 1 if at == 0 else at - 1
            if value < bound:
                same = 1 if value > found else same + (value == found)
                found = max(found, value)
        k -= same
        bound = found
    return found


def add_to_blocks(maxima: I64, f: I32, offset: int, to: int, base: int, block: int, blocks: I64, done: int) -> int:
    """Take ``f`` up to sample ``to`` into the block maxima; ``f[0]`` is sample ``offset``.

    Blocks that become complete are written to ``blocks`` from row ``done`` on. Returns the number of rows written.
    """
    at = int(maxima[MAXIMA_ABSORBED])
    while at < to:
        number = at // block
        end = min(to, (number + 1) * block)
        value = largest(f[at - offset :], end - at)
        ends = end == (number + 1) * block
        complete = ends and number * block >= base
        if member() == 0:
            maxima[MAXIMA_ABSORBED] = end
            maxima[MAXIMA_BEGUN] = max(int(maxima[MAXIMA_BEGUN]), value)
            if complete:
                blocks[done, BLOCK_END] = end
                blocks[done, BLOCK_MAXIMUM] = maxima[MAXIMA_BEGUN]
            take_block(maxima, number, ends, complete)
        if complete:
            done += 1
        at = end
    wait()
    return done


def take_block(maxima: I64, number: int, ends: bool, complete: bool) -> None:
    """Compute the level after block ``number`` has grown; if it ``ends`` and is ``complete`` its maximum is kept."""
    if maxima[MAXIMA_COMPLETE] == 0:
        maxima[MAXIMA_MEDIAN] = max(int(maxima[MAXIMA_MEDIAN]), int(maxima[MAXIMA_BEGUN]))
        maxima[MAXIMA_QUANTILE] = maxima[MAXIMA_MEDIAN]
    if complete:
        n = min(KEPT_BLOCKS, int(maxima[MAXIMA_COMPLETE]) + 1)
        maxima[FIRST_MAXIMUM + number % KEPT_BLOCKS] = maxima[MAXIMA_BEGUN]
        maxima[MAXIMA_COMPLETE] = n
        maxima[MAXIMA_MEDIAN] = rank(maxima, number, min(n, LEVEL_BLOCKS), min(n, LEVEL_BLOCKS) // 2 + 1)
        maxima[MAXIMA_QUANTILE] = rank(maxima, number, n, n - (4 * (n - 1)) // 5)
    if ends:
        maxima[MAXIMA_BEGUN] = 0


def suppress(i: int, fresh: FreshLanes, search: PeakSearch, f: I32, maxima: I64, work: I32, table: PeakTable) -> None:
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
    level, blocks = maxima[lane], table.blocks[i]
    if fresh.start[i] == lowest:
        if member() == 0:
            for k in range(FIRST_MAXIMUM):
                level[k] = 0
            level[MAXIMA_ABSORBED] = lowest
        wait()
    count = 0
    done = 0
    begin = max(lowest, min(first - search.left, int(level[MAXIMA_ABSORBED])))
    unroll(f[lane], begin, watermark - begin, work[0])
    window = work[0]
    stretch = first
    while stretch < last:
        n = min(right + 1, last - stretch)
        here = window[stretch - begin :]
        value = largest(here, n)
        at = place_of(value, here[:n])
        c = stretch + at
        behind = max(lowest, c - search.left)
        peak = value > 0
        if peak and at + right >= n:
            peak = value >= largest(here[n:], at + right + 1 - n)
        if peak and behind < stretch:
            peak = value > largest(window[behind - begin :], stretch - behind)
        stretch += n
        if peak:
            done = add_to_blocks(
                level, window, begin, min(watermark, c + right + 1), lowest, search.block, blocks, done
            )
            near = max(lowest, c - right)
            valleys = least(window[near - begin :], c - near + 1) + least(window[c - begin :], right + 1)
            if member() == 0:
                row = table.peaks[i, count]
                row[PEAK_SAMPLE] = c
                row[PEAK_RESPONSE] = value
                row[PEAK_MEDIAN] = level[MAXIMA_MEDIAN]
                row[PEAK_QUANTILE] = level[MAXIMA_QUANTILE]
                row[PEAK_VALLEYS] = valleys
            count += 1
    table.closed[i] = add_to_blocks(level, window, begin, watermark, lowest, search.block, blocks, done)
    table.found[i] = count
