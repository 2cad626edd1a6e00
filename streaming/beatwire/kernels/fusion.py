"""Compute the response of several leads: each is bounded by its own level before they are added.

An artefact on one lead can be many times as large as the beats of that lead; in a plain sum it would hide the beats of
the other leads. So of what exceeds ``BOUND`` halves of a lead's level, the median of its last five block maxima, only
an eighth counts. A lead is *active* if its level is above zero; a single active lead is not bounded.

The level of a peak is the sum of the leads' levels and not a level of the bounded sum, so that no window looks back
through an older one. Blocks and maxima are those of ``kernels.nms``, a row of ``maxima[lane]`` [leads, MAXIMA_COLUMNS]
for each lead.

``levels[lane, b % rows]``, int64 ``[LEVEL_COLUMNS]``, is what is known when block ``b`` begins::

    LEVEL_NUMBER                 b, UNKNOWN: nothing
    LEVEL_MEDIAN, LEVEL_QUANTILE sums over leads of the median and the quantile
    LEVEL_MOST, LEVEL_LEAST      sums over leads of the largest (bounded) and the least of the last five maxima
    LEVEL_LEADS                  number of active leads
"""

from __future__ import annotations

from beatwire.kernels.nms import (
    FIRST_MAXIMUM,
    LEVEL_BLOCKS,
    MAXIMA_BEGUN,
    MAXIMA_COMPLETE,
    MAXIMA_MEDIAN,
    MAXIMA_QUANTILE,
    largest,
    rank,
    take_block,
)
from beatwire.kernels.ricker import box_sums
from beatwire.kernels.ring import store
from beatwire.kernels.team import WIDTH, member, wait
from beatwire.records import I32, I64
from beatwire.records.columns import BOUND_LEADS, BOUND_LEAST, BOUND_MOST, PEAK_MEDIAN, PEAK_QUANTILE, PEAK_SAMPLE
from beatwire.records.detection import FreshLanes, LeadLevels, PeakSearch, PeakTable, ResponseFilter, Rings

LEVEL_NUMBER, LEVEL_MEDIAN, LEVEL_QUANTILE, LEVEL_MOST, LEVEL_LEAST, LEVEL_LEADS = range(6)
LEVEL_COLUMNS = 6
BOUND = 3  # halves of the level of a lead
NO_LIMIT = 1 << 31  # above every response, which is int32
UNKNOWN = -1


def count_active(maxima: I64) -> int:
    """Return how many leads are active."""
    active = 0
    for lead in range(maxima.shape[0]):
        active += maxima[lead, MAXIMA_MEDIAN] > 0
    return active


def limit_of(row: I64, active: int) -> int:
    """Return the response of a lead above which it is bounded."""
    if active < 2 or row[MAXIMA_COMPLETE] == 0:
        return NO_LIMIT
    return BOUND * int(row[MAXIMA_MEDIAN]) // 2


def bounded(value: int, limit: int) -> int:
    """Return a response after bounding: an eighth counts of what exceeds the limit."""
    over = max(0, value - limit)
    return value - over + (over >> 3)


def write_levels(maxima: I64, number: int, levels: I64) -> None:
    """Write the levels with which block ``number`` begins."""
    row = levels[number % levels.shape[0]]
    active = count_active(maxima)
    for column in range(LEVEL_COLUMNS):
        row[column] = 0
    row[LEVEL_NUMBER] = number if maxima[0, MAXIMA_COMPLETE] > 0 else UNKNOWN
    row[LEVEL_LEADS] = active
    for lead in range(maxima.shape[0]):
        own = maxima[lead]
        recent = min(LEVEL_BLOCKS, int(own[MAXIMA_COMPLETE]))
        if recent == 0:
            continue
        row[LEVEL_MEDIAN] += own[MAXIMA_MEDIAN]
        row[LEVEL_QUANTILE] += own[MAXIMA_QUANTILE]
        row[LEVEL_MOST] += bounded(rank(own, number - 1, recent, 1), limit_of(own, active))
        row[LEVEL_LEAST] += rank(own, number - 1, recent, recent)


def respond_leads(
    i: int, fresh: FreshLanes, response_filter: ResponseFilter, block: int, rings: Rings, leads: LeadLevels, work: I32
) -> None:
    """Extend the response of lane ``i``, which has several leads, to its new samples.

    Parameters
    ----------
    block
        Samples of a block.
    rings, leads
        ``rings.x`` is read, the others are read and written.
    work : int32 [4, capacity]
        Scratch: ``capacity - 4 (half + box)`` samples are worked on at a time.
    """
    lane = int(fresh.lane[i])
    delay = response_filter.taps.shape[0] - 1 + response_filter.box
    lowest = int(fresh.base[i])
    own, levels = leads.maxima[lane], leads.levels[lane]
    if fresh.start[i] == lowest:
        if member() == 0:
            for lead in range(own.shape[0]):
                for column in range(FIRST_MAXIMUM):
                    own[lead, column] = 0
            for b in range(levels.shape[0]):
                levels[b, LEVEL_NUMBER] = UNKNOWN
        wait()
    at = max(lowest, int(fresh.start[i]) - delay)
    end = int(fresh.stop[i]) - delay
    total, most = work[3], work.shape[1] - 4 * delay
    while at < end:
        number = at // block
        n = min(most, end - at, (number + 1) * block - at)
        ends = at + n == (number + 1) * block
        active = count_active(own)
        for j in range(member(), n, WIDTH):
            total[j] = 0
        for lead in range(own.shape[0]):
            box_sums(rings.x[lane, lead : lead + 1], lowest, at, n, response_filter, work)
            sums, limit = work[1], limit_of(own[lead], active)
            for j in range(member(), n, WIDTH):
                total[j] += bounded(int(sums[j]), limit)
            highest = largest(sums, n)
            if member() == 0:
                own[lead, MAXIMA_BEGUN] = max(int(own[lead, MAXIMA_BEGUN]), highest)
                take_block(own[lead], number, ends, ends and number * block >= lowest)
            wait()
        if ends and member() == 0:
            write_levels(own, number + 1, levels)
        store(total, n, rings.f[lane], at)
        at += n


def level_peaks(i: int, fresh: FreshLanes, search: PeakSearch, leads: LeadLevels, table: PeakTable) -> None:
    """Replace the levels that ``kernels.nms.suppress`` wrote by those of several leads.

    They are those of the blocks that are complete when a peak is decided, ``right`` samples after it.

    Parameters
    ----------
    table
        ``bounds``, and of ``peaks`` the median and the quantile, are written.
    """
    own = leads.levels[fresh.lane[i]]
    for k in range(table.found[i]):
        peak, bounds = table.peaks[i, k], table.bounds[i, k]
        number = (int(peak[PEAK_SAMPLE]) + search.right + 1) // search.block
        row = own[number % own.shape[0]]
        bounds[BOUND_MOST] = bounds[BOUND_LEAST] = UNKNOWN
        bounds[BOUND_LEADS] = 0
        if row[LEVEL_NUMBER] == number:
            peak[PEAK_MEDIAN] = row[LEVEL_MEDIAN]
            peak[PEAK_QUANTILE] = row[LEVEL_QUANTILE]
            bounds[BOUND_MOST] = row[LEVEL_MOST]
            bounds[BOUND_LEAST] = row[LEVEL_LEAST]
            bounds[BOUND_LEADS] = row[LEVEL_LEADS]
