"""Compute the response of several leads: each is bounded by its own level before they are added.

An artefact on one lead can be many times as large as the beats of that lead; in a plain sum it would hide the beats of
the other leads. So of what exceeds ``BOUND`` halves of a lead's level, the median of its last five block maxima, only
an eighth counts. A lead is *active* if its level is above zero; a single active lead is not bounded.

A lead is *absent* where it has no value (``kernels.intake.holes``): its response is zero where the filter would read
such a sample. Nothing of a muted lead counts. Both, and the levels: ``kernels.detection.lead_levels``.
"""

from beatwire.kernels.detection.jumps import limit_of_jumps
from beatwire.kernels.detection.lead_levels import (
    LEVEL_DISTURBED,
    LEVEL_MUTED,
    LEVEL_NUMBER,
    MAXIMA_ABSENT,
    MUTED,
    UNKNOWN,
    bounded,
    count_active,
    has_beats,
    limit_of,
    write_levels,
)
from beatwire.kernels.detection.level import (
    MAXIMA_QUARTER,
    begin_level,
    end_of,
    forget_blocks,
    least_of,
    most_of,
    take_part,
)
from beatwire.kernels.detection.nms import largest
from beatwire.kernels.detection.ricker import box_sums
from beatwire.kernels.intake.holes import NO_VALUE, has_absent
from beatwire.kernels.intake.ring import store
from beatwire.kernels.team import WIDTH, member, wait
from beatwire.records import I16, I32
from beatwire.records.columns import JUMP_STOP
from beatwire.records.detection import FreshLanes, LeadLevels, LeadResponses, LevelLimits, ResponseFilter, Rings


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
