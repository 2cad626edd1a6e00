"""Bodies of the response of several leads: each is bounded by its own level before they are added.

An artefact on one lead can be many times the beats of that lead; added as it is, it outshouts the beats that the
others see at the same time. So of what exceeds ``BOUND`` times a lead's level, the median of its last five block
maxima, only an eighth counts. A lead all of whose neighbours are silent is not bounded: that is one lead.

The level of a peak is then the sum of the leads' levels and not what the bounded sum was in earlier blocks, so that no
window is looked at through an older one. Blocks and maxima are those of ``kernels.nms``, a row of ``past[lane]``
[leads, MAXIMA_COLUMNS] for each lead. ``levels[lane, b % rows]``, int64 ``[LEVEL_COLUMNS]``, is what is known when
block ``b`` begins: ``b`` itself (-1: nothing), the sums of medians and quantiles, of the largest and least of the last
five maxima, and how many leads are not silent.
"""

from __future__ import annotations

from beatwire.kernels.nms import BEGUN, COMPLETE, MEDIAN, RECENT, largest, rank, take_block
from beatwire.kernels.nms import FIRST as FIRST_MAXIMUM
from beatwire.kernels.nms import QUANTILE as QUANTILE_OF_MAXIMA
from beatwire.kernels.ricker import box_sums
from beatwire.kernels.ring import store
from beatwire.kernels.team import WIDTH, member, wait
from beatwire.records import I32, I64
from beatwire.records.columns import BOUND_LEADS, BOUND_LEAST, BOUND_MOST, PEAK_MEDIAN, PEAK_QUANTILE, PEAK_SAMPLE
from beatwire.records.detection import FreshLanes, LeadLevels, PeakSearch, PeakTable, ResponseFilter, Rings

NUMBER, LEVEL, QUANTILE, MOST, LEAST, SPEAKING = range(6)
LEVEL_COLUMNS = 6
BOUND = 3  # halves of the level
NO_LIMIT = 1 << 31
NOTHING = -1


def count_speaking(past: I64) -> int:
    """Return how many leads have a level."""
    speaking = 0
    for lead in range(past.shape[0]):
        speaking += past[lead, MEDIAN] > 0
    return speaking


def limit_of(row: I64, speaking: int) -> int:
    """Return from where on the response of a lead is bounded."""
    if speaking < 2 or row[COMPLETE] == 0:
        return NO_LIMIT
    return BOUND * int(row[MEDIAN]) // 2


def bounded(value: int, limit: int) -> int:
    """Return what a response counts."""
    over = max(0, value - limit)
    return value - over + (over >> 3)


def note_levels(past: I64, number: int, levels: I64) -> None:
    """Write what is known when block ``number`` begins."""
    row = levels[number % levels.shape[0]]
    speaking = count_speaking(past)
    for column in range(LEVEL_COLUMNS):
        row[column] = 0
    row[NUMBER] = number if past[0, COMPLETE] > 0 else NOTHING
    row[SPEAKING] = speaking
    for lead in range(past.shape[0]):
        own = past[lead]
        recent = min(RECENT, int(own[COMPLETE]))
        if recent == 0:
            continue
        row[LEVEL] += own[MEDIAN]
        row[QUANTILE] += own[QUANTILE_OF_MAXIMA]
        row[MOST] += bounded(rank(own, number - 1, recent, 1), limit_of(own, speaking))
        row[LEAST] += rank(own, number - 1, recent, recent)


def respond_leads(
    i: int, fresh: FreshLanes, response_filter: ResponseFilter, block: int, rings: Rings, leads: LeadLevels, work: I32
) -> None:
    """Do for several leads what ``kernels.ricker.respond`` does for one.

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
                levels[b, NUMBER] = NOTHING
        wait()
    at = max(lowest, int(fresh.start[i]) - delay)
    end = int(fresh.stop[i]) - delay
    total, most = work[3], work.shape[1] - 4 * delay
    while at < end:
        number = at // block
        n = min(most, end - at, (number + 1) * block - at)
        ends = at + n == (number + 1) * block
        speaking = count_speaking(own)
        for j in range(member(), n, WIDTH):
            total[j] = 0
        for lead in range(own.shape[0]):
            box_sums(rings.x[lane, lead : lead + 1], lowest, at, n, response_filter, work)
            sums, limit = work[1], limit_of(own[lead], speaking)
            for j in range(member(), n, WIDTH):
                total[j] += bounded(int(sums[j]), limit)
            highest = largest(sums, n)
            if member() == 0:
                own[lead, BEGUN] = max(int(own[lead, BEGUN]), highest)
                take_block(own[lead], number, ends, ends and number * block >= lowest)
            wait()
        if ends and member() == 0:
            note_levels(own, number + 1, levels)
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
        bounds[BOUND_MOST] = bounds[BOUND_LEAST] = NOTHING
        bounds[BOUND_LEADS] = 0
        if row[NUMBER] == number:
            peak[PEAK_MEDIAN] = row[LEVEL]
            peak[PEAK_QUANTILE] = row[QUANTILE]
            bounds[BOUND_MOST] = row[MOST]
            bounds[BOUND_LEAST] = row[LEAST]
            bounds[BOUND_LEADS] = row[SPEAKING]
