"""Compute the response of several leads: each is bounded by its own level before they are added.

An artefact on one lead can be many times as large as the beats of that lead; in a plain sum it would hide the beats of
the other leads. So of what exceeds ``BOUND`` halves of a lead's level, the median of its last five block maxima, only
an eighth counts. A lead is *active* if its level is above zero; a single active lead is not bounded.

The level of a peak is the sum of the leads' levels and not a level of the bounded sum, so that no window looks back
through an older one. Blocks and maxima are those of ``kernels.detection.level``, a row of ``maxima[lane]`` [leads,
LEAD_COLUMNS] for each lead.

A lead is *absent* where it has no value (``kernels.intake.holes``). Its response is zero where the filter would read
such a sample, and its level has no part in that of a peak there. A block in which it is absent is none of its blocks:
it begins anew, so nothing is left of what was before.

``levels[lane, b % rows, lead]``, int64 ``[LEVEL_COLUMNS]``, is what is known of a lead when block ``b`` begins::

    LEVEL_NUMBER                 b, UNKNOWN: nothing
    LEVEL_MEDIAN, LEVEL_QUANTILE the median and the quantile
    LEVEL_MOST, LEVEL_LEAST      the largest and the least of the last five maxima, without those of disturbed blocks
    LEVEL_DISTURBED              b if the lead has had disturbed blocks alone
    LEVEL_MUTED                  b if it is *muted*: so it was, and another lead has beats

Nothing of a muted lead counts: it has no part in the response, in the level, and in the features of peaks. Where a lead
is disturbed and no other one has beats, the level is that of the response of all.
"""

from beatwire.kernels.detection.jumps import limit_of_jumps
from beatwire.kernels.detection.level import (
    LEVEL_BLOCKS,
    MAXIMA_COLUMNS,
    MAXIMA_COMPLETE,
    MAXIMA_CUT,
    MAXIMA_KNOWN,
    MAXIMA_MEDIAN,
    MAXIMA_QUANTILE,
    MAXIMA_QUARTER,
    NO_CUT,
    begin_level,
    count_undisturbed,
    end_of,
    forget_blocks,
    least_of,
    most_of,
    rank,
    take_part,
)
from beatwire.kernels.detection.nms import largest
from beatwire.kernels.detection.ricker import box_sums
from beatwire.kernels.intake.holes import NO_VALUE, has_absent
from beatwire.kernels.intake.ring import store
from beatwire.kernels.team import WIDTH, member, wait
from beatwire.records import I16, I32, I64
from beatwire.records.columns import (
    BOUND_LEADS,
    BOUND_LEAST,
    BOUND_MOST,
    BOUND_MUTED,
    JUMP_STOP,
    PEAK_CEILING,
    PEAK_MEDIAN,
    PEAK_QUANTILE,
    PEAK_SAMPLE,
)
from beatwire.records.detection import (
    FreshLanes,
    LeadLevels,
    LeadResponses,
    LevelLimits,
    PeakSearch,
    PeakTable,
    ResponseFilter,
    Rings,
)

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


def mute(ring: I16, base: int, at: int, n: int, delay: int, sums: I32) -> None:
    """Set the responses of a lead at samples ``[at, at + n)`` to zero that depend on a sample without a value."""
    begin, end, size = at + n * member() // WIDTH, at + n * (member() + 1) // WIDTH, ring.shape[0]
    last = base - 1 - 2 * delay  # sample without a value
    for a in range(max(base, begin - delay), begin + delay):
        if ring[a % size] == NO_VALUE:
            last = a
    for a in range(begin, end):
        if ring[(a + delay) % size] == NO_VALUE:
            last = a + delay
        if last >= a - delay:
            sums[a - at] = 0
    wait()


def respond_leads(
    i: int, fresh: FreshLanes, response_filter: ResponseFilter, block: int, limits: LevelLimits, rings: Rings,
    leads: LeadLevels, alone: LeadResponses, work: I32,
) -> None:  # fmt: skip
    """Extend the response of lane ``i``, which has several leads, to its new samples.

    Parameters
    ----------
    block
        Samples of a block.
    rings, leads
        ``rings.x`` is read, the others are read and written.
    alone
        Written.
    work : int32 [4, capacity]
        Scratch: ``capacity - 4 (half + box)`` samples are worked on at a time.
    """
    lane = int(fresh.lane[i])
    delay = response_filter.taps.shape[0] - 1 + response_filter.box
    lowest = int(fresh.base[i])
    own, levels, low, high = leads.maxima[lane], leads.levels[lane], least_of(i, limits), most_of(i, limits)
    if fresh.start[i] == lowest:
        if member() == 0:
            for lead in range(own.shape[0]):
                begin_level(own[lead], lowest, block)
                own[lead, MAXIMA_ABSENT] = 0
                for b in range(levels.shape[0]):
                    levels[b, lead, LEVEL_NUMBER] = UNKNOWN
                    levels[b, lead, LEVEL_DISTURBED] = levels[b, lead, LEVEL_MUTED] = UNKNOWN
        wait()
    at = max(lowest, int(fresh.start[i]) - delay)
    end = int(fresh.stop[i]) - delay
    jumps = rings.jumps[lane]
    limit = limit_of_jumps(i, limits, response_filter.after, jumps)
    total, most = work[3], work.shape[1] - 4 * delay
    while at < end:
        number = at // block
        n = min(most, end - at, (number + 1) * block - at)
        ends = at + n == (number + 1) * block
        active, beats = count_active(own), has_beats(own, low)
        for j in range(member(), n, WIDTH):
            total[j] = 0
        for lead in range(own.shape[0]):
            if box_sums(rings.x[lane, lead : lead + 1], lowest, at, n, response_filter, limit, work) and member() == 0:
                jumps[JUMP_STOP] = fresh.stop[i]
            sums, bound = work[1], limit_of(own[lead], active, beats)
            absent = has_absent(rings.x[lane, lead], lowest, at - delay, n + 2 * delay)
            if absent:
                mute(rings.x[lane, lead], lowest, at, n, delay, sums)
                absent = has_absent(rings.x[lane, lead], lowest, at, n)
            for j in range(member(), n if bound != MUTED else 0, WIDTH):
                total[j] += bounded(int(sums[j]), bound)
            if lead < alone.leads:
                lifted = work[0]  # its samples are no longer needed
                for j in range(member(), n, WIDTH):
                    lifted[j] = int(sums[j]) << alone.lift
                wait()
                store(lifted, n, alone.f[lane * own.shape[0] + lead], at)
            if member() == 0:
                own[lead, MAXIMA_ABSENT] |= absent
            wait()
            whole = number * block >= lowest and own[lead, MAXIMA_ABSENT] == 0
            part, quarter = at, int(own[lead, MAXIMA_QUARTER])
            while part < at + n:
                end_of_quarter = end_of(quarter, block)
                stop = min(at + n, end_of_quarter)
                highest = largest(sums[part - at :], stop - part)
                if member() == 0:
                    take_part(own[lead], highest, stop, block, whole, low, high)
                quarter += stop == end_of_quarter
                part = stop
            if ends and member() == 0:
                if not whole:
                    forget_blocks(own[lead])
                own[lead, MAXIMA_ABSENT] = 0
            wait()
        if ends and member() == 0:
            write_levels(own, number + 1, low, levels)
        store(total, n, rings.f[lane], at)
        at += n
    if member() == 0:
        for lead in range(alone.leads):
            for column in range(jumps.shape[0]):
                alone.jumps[lane * own.shape[0] + lead, column] = jumps[column]


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
