"""Body of non-maximum suppression over the response, and of the level around a peak.

A sample is a peak when ``f`` there is positive, greater than everything in the ``left`` samples
before it and at least everything in the ``right`` samples after it. That says nothing of blocks
or cuts, and it is decided as soon as the right side is watermark.

The level of a peak is taken from maxima of ``f`` over blocks of ``block`` samples, aligned to the
absolute sample index, complete when the peak is decided and wholly after the lane's start: the
median of the last five, and the 80 % quantile of the last ten. ``maxima[lane]`` keeps them::

    0 f is absorbed up to this sample   1 maximum of the block begun   2 complete blocks kept
    3 median of the last five           4 80 % quantile of the last ten
    5 + (b % KEPT) maximum of block b

While no block is complete, both are the largest ``f`` so far.
"""

from __future__ import annotations

from beatwire.kernels.ring import unroll
from beatwire.kernels.team import WIDTH, fewest, member, most, narrow, wait
from beatwire.records import I32, I64
from beatwire.records.columns import PEAK_MEDIAN, PEAK_QUANTILE, PEAK_RESPONSE, PEAK_SAMPLE, PEAK_VALLEYS
from beatwire.records.detection import FreshLanes, PeakSearch, PeakTable

KEPT = 10
RECENT = 5
ABSORBED, BEGUN, COMPLETE, MEDIAN, QUANTILE, FIRST = range(6)
MAXIMA_COLUMNS = FIRST + KEPT


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
    """Return where ``value`` first stands in ``values``."""
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
        at = last % KEPT
        for _ in range(n):
            value = int(maxima[FIRST + at])
            at = KEPT - 1 if at == 0 else at - 1
            if value < bound:
                same = 1 if value > found else same + (value == found)
                found = max(found, value)
        k -= same
        bound = found
    return found


def absorb(maxima: I64, f: I32, offset: int, to: int, base: int, block: int, blocks: I64, done: int) -> int:
    """Take ``f`` up to ``to`` into the block maxima; ``f[0]`` is sample ``offset``.

    Blocks that become complete are written to ``blocks`` from row ``done`` on: where each ends and
    its maximum. Returns how many rows there are then.
    """
    at = int(maxima[ABSORBED])
    while at < to:
        number = at // block
        end = min(to, (number + 1) * block)
        value = largest(f[at - offset :], end - at)
        ends = end == (number + 1) * block
        complete = ends and number * block >= base
        if member() == 0:
            maxima[ABSORBED] = end
            maxima[BEGUN] = max(int(maxima[BEGUN]), value)
            if complete:
                blocks[done, 0] = end
                blocks[done, 1] = maxima[BEGUN]
            take_block(maxima, number, ends, complete)
        if complete:
            done += 1
        at = end
    wait()
    return done


def take_block(maxima: I64, number: int, ends: bool, complete: bool) -> None:
    """Work out the level anew: block ``number`` has grown, and at its ``ends`` it is kept if it is ``complete``."""
    if maxima[COMPLETE] == 0:
        maxima[MEDIAN] = max(int(maxima[MEDIAN]), int(maxima[BEGUN]))
        maxima[QUANTILE] = maxima[MEDIAN]
    if complete:
        n = min(KEPT, int(maxima[COMPLETE]) + 1)
        maxima[FIRST + number % KEPT] = maxima[BEGUN]
        maxima[COMPLETE] = n
        maxima[MEDIAN] = rank(maxima, number, min(n, RECENT), min(n, RECENT) // 2 + 1)
        maxima[QUANTILE] = rank(maxima, number, n, n - (4 * (n - 1)) // 5)
    if ends:
        maxima[BEGUN] = 0


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
            for k in range(FIRST):
                level[k] = 0
            level[ABSORBED] = lowest
        wait()
    count = 0
    done = 0
    begin = max(lowest, min(first - search.left, int(level[ABSORBED])))
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
            done = absorb(level, window, begin, min(watermark, c + right + 1), lowest, search.block, blocks, done)
            near = max(lowest, c - right)
            valleys = least(window[near - begin :], c - near + 1) + least(window[c - begin :], right + 1)
            if member() == 0:
                row = table.peaks[i, count]
                row[PEAK_SAMPLE] = c
                row[PEAK_RESPONSE] = value
                row[PEAK_MEDIAN] = level[MEDIAN]
                row[PEAK_QUANTILE] = level[QUANTILE]
                row[PEAK_VALLEYS] = valleys
            count += 1
    table.closed[i] = absorb(level, window, begin, watermark, lowest, search.block, blocks, done)
    table.found[i] = count
