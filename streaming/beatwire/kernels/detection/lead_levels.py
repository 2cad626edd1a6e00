"""The levels of several leads, and of the peaks of their common response.

The level of a peak is the sum of the leads' levels and not a level of the bounded sum (``kernels.detection.fusion``):
no window looks back through an older one. Blocks and maxima are those of ``kernels.detection.level``, a row of
``maxima[lane]`` [leads, LEAD_COLUMNS] for each lead.

The level of a lead that is *absent*, that has no value, has no part in that of a peak there. A block in which it is
absent is none of its blocks: it begins anew, so nothing is left of what was before.

``levels[lane, b % rows, lead]``, int64 ``[LEVEL_COLUMNS]``, is what is known of a lead when block ``b`` begins::

    LEVEL_NUMBER                 b, UNKNOWN: nothing
    LEVEL_MEDIAN, LEVEL_QUANTILE the median and the quantile
    LEVEL_MOST, LEVEL_LEAST      the largest and the least of the last five maxima, without those of disturbed blocks
    LEVEL_DISTURBED              b if the lead has had disturbed blocks alone
    LEVEL_MUTED                  b if it is *muted*: so it was, and another lead has beats

Nothing of a muted lead counts: it has no part in the response, in the level, and in the features of peaks. Where a lead
is disturbed and no other one has beats, the level is that of the response of all.
"""

from beatwire.kernels.detection.level import (
    LEVEL_BLOCKS,
    MAXIMA_COLUMNS,
    MAXIMA_COMPLETE,
    MAXIMA_CUT,
    MAXIMA_KNOWN,
    MAXIMA_MEDIAN,
    MAXIMA_QUANTILE,
    NO_CUT,
    count_undisturbed,
    rank,
)
from beatwire.kernels.intake.holes import has_absent
from beatwire.kernels.team import member, wait
from beatwire.records import I64
from beatwire.records.columns import (
    BOUND_LEADS,
    BOUND_LEAST,
    BOUND_MOST,
    BOUND_MUTED,
    PEAK_CEILING,
    PEAK_MEDIAN,
    PEAK_QUANTILE,
    PEAK_SAMPLE,
)
from beatwire.records.detection import FreshLanes, LeadLevels, PeakSearch, PeakTable, Rings

LEVEL_NUMBER, LEVEL_MEDIAN, LEVEL_QUANTILE, LEVEL_MOST, LEVEL_LEAST, LEVEL_DISTURBED, LEVEL_MUTED = range(7)
LEVEL_COLUMNS = 7
MAXIMA_ABSENT = MAXIMA_COLUMNS  # a further column of ``maxima``: 1 if the lead is absent in the block that has begun
LEAD_COLUMNS = MAXIMA_COLUMNS + 1
BOUND = 3  # halves of the level of a lead
NO_LIMIT = 1 << 31  # above every response, which is int32
MUTED = -1  # in place of a limit
UNKNOWN = -1


def count_active(maxima: I64) -> int:
    """Return how many leads are active: their levels are known from blocks, so that they are those of a whole block."""
    active = 0
    for lead in range(maxima.shape[0]):
        active += maxima[lead, MAXIMA_KNOWN] > 0 and maxima[lead, MAXIMA_MEDIAN] > 0
    return active


def has_beats(maxima: I64, low: int) -> bool:
    """Return True if the level of a lead is known from blocks, and beats may be as low: ``low`` is their least."""
    found = False
    for lead in range(maxima.shape[0]):
        found = found or (maxima[lead, MAXIMA_KNOWN] > 0 and maxima[lead, MAXIMA_MEDIAN] >= low)
    return found


def limit_of(row: I64, active: int, beats: bool) -> int:
    """Return the response of a lead above which it is bounded, ``MUTED`` of a muted one."""
    if row[MAXIMA_KNOWN] == 0:
        return MUTED if beats and is_disturbed(row) else NO_LIMIT
    return limit_at(int(row[MAXIMA_MEDIAN]), active)


def is_disturbed(row: I64) -> bool:
    """Return True if a lead has had disturbed blocks alone."""
    return bool(row[MAXIMA_KNOWN] == 0 and row[MAXIMA_COMPLETE] > 0)


def limit_at(median: int, active: int) -> int:
    """Return the response above which a lead of this level is bounded if so many leads are active."""
    return NO_LIMIT if active < 2 else BOUND * median // 2


def bounded(value: int, limit: int) -> int:
    """Return a response after bounding: an eighth counts of what exceeds the limit."""
    over = max(0, value - limit)
    return value - over + (over >> 3)


def write_levels(maxima: I64, number: int, low: int, levels: I64) -> None:
    """Write the levels with which block ``number`` begins; ``low`` as of ``has_beats``."""
    beats = has_beats(maxima, low)
    for lead in range(maxima.shape[0]):
        own, row = maxima[lead], levels[number % levels.shape[0], lead]
        recent, cut = min(LEVEL_BLOCKS, int(own[MAXIMA_COMPLETE])), int(own[MAXIMA_CUT])
        row[LEVEL_NUMBER] = UNKNOWN
        row[LEVEL_DISTURBED] = number if is_disturbed(own) else UNKNOWN
        row[LEVEL_MUTED] = row[LEVEL_DISTURBED] if beats else UNKNOWN
        if own[MAXIMA_KNOWN] > 0:
            undisturbed = count_undisturbed(own, number - 1, recent, cut)
            row[LEVEL_NUMBER] = number
            row[LEVEL_MEDIAN] = row[LEVEL_MOST] = row[LEVEL_LEAST] = own[MAXIMA_MEDIAN]
            row[LEVEL_QUANTILE] = own[MAXIMA_QUANTILE]
            if undisturbed > 0:
                row[LEVEL_MOST] = rank(own, number - 1, recent, 1, cut)
                row[LEVEL_LEAST] = rank(own, number - 1, recent, undisturbed, cut)


def leads_that(are: int, levels: I64, number: int) -> int:
    """Return a bit for each lead that is disturbed, or muted, in block ``number``; ``are`` is that column."""
    found = 0
    for lead in range(levels.shape[1]):
        if levels[number % levels.shape[0], lead, are] == number:
            found |= 1 << lead
    return found


def level_peaks(
    i: int, fresh: FreshLanes, search: PeakSearch, rings: Rings, leads: LeadLevels, table: PeakTable
) -> None:
    """Replace the levels that ``kernels.detection.nms.suppress`` wrote by those of several leads.

    They are those of the blocks that are complete when a peak is decided, ``right`` samples after it, of the leads that
    have values around it. Where other leads are muted by then, they are those with which the peak's block began. Of a
    disturbed lead no level is known, so where one is not muted they stay as they are.

    Parameters
    ----------
    table
        ``bounds``, and of ``peaks`` the median, the quantile and the ceiling, are written.
    """
    own, x = leads.levels[fresh.lane[i]], rings.x[fresh.lane[i]]
    lowest, reach = int(fresh.base[i]), 2 * search.delay + 1
    for k in range(table.found[i]):
        peak, bounds = table.peaks[i, k], table.bounds[i, k]
        first = int(peak[PEAK_SAMPLE]) - search.delay
        number = (int(peak[PEAK_SAMPLE]) + search.right + 1) // search.block
        begun = int(peak[PEAK_SAMPLE]) // search.block
        muted, disturbed = leads_that(LEVEL_MUTED, own, begun), leads_that(LEVEL_DISTURBED, own, begun)
        if leads_that(LEVEL_MUTED, own, number) != muted:
            number = begun  # the level is that of the leads that are in the response
        rows = own[number % own.shape[0]]
        known = active = present = 0
        for lead in range(x.shape[0]):
            if rows[lead, LEVEL_NUMBER] == number and not has_absent(x[lead], lowest, first, reach):
                present |= 1 << lead
                known += 1
                active += rows[lead, LEVEL_MEDIAN] > 0
        if disturbed != muted:
            known = 0
        median = quantile = most = least = ceiling = 0
        high = int(peak[PEAK_CEILING])  # of the sum, if no lead were bounded
        for lead in range(x.shape[0]):
            if (present >> lead) & 1:
                row = rows[lead]
                median += int(row[LEVEL_MEDIAN])
                quantile += int(row[LEVEL_QUANTILE])
                most += bounded(int(row[LEVEL_MOST]), limit_at(int(row[LEVEL_MEDIAN]), active))
                least += int(row[LEVEL_LEAST])
                ceiling += bounded(high // x.shape[0], limit_at(int(row[LEVEL_MEDIAN]), active))
        wait()
        if member() == 0:
            bounds[BOUND_MOST] = most if known > 0 else UNKNOWN
            bounds[BOUND_LEAST] = least if known > 0 else UNKNOWN
            bounds[BOUND_LEADS] = active
            bounds[BOUND_MUTED] = muted
            if known > 0:
                peak[PEAK_MEDIAN] = median
                peak[PEAK_QUANTILE] = quantile
                if high < NO_CUT:
                    peak[PEAK_CEILING] = ceiling
