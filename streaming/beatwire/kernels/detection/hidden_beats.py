"""Bodies that follow a fast rhythm: which peaks belong to it, and the beats between them that are no peaks.

In:    the peaks of a lane in order, and the rings of its responses and samples
Out:   beats of ``LaneBeats``
State: the columns ``FAST_...`` of a lane (``kernels.detection.fast_rhythm``)
"""

from __future__ import annotations

import math

from beatwire.kernels.detection.fast_rhythm import (
    APART,
    FAST_AT,
    FAST_LAST,
    FAST_LEVEL,
    FAST_UNTIL,
    LEAST_QUALITY,
    LONGEST,
    MOST_ERRORS,
    continues,
    links_to,
    next_link,
    store_links,
)
from beatwire.kernels.detection.intervals import FIRST_FAST, is_quiet, is_too_near, write_beat
from beatwire.kernels.detection.r_peak import mark_r
from beatwire.kernels.team import member, wait
from beatwire.records import F64, I32, I64
from beatwire.records.columns import QUIET_MARGIN
from beatwire.records.detection import Rings
from beatwire.records.selection import BeatSettings


def follow_peak(
    c: int, height: int, level: int, rhythm: I64, rings: Rings, lane: int, base: int, settings: BeatSettings, work: I32
) -> bool:
    """Store the peak ``c``, and return True if it is a beat of a fast rhythm.

    ``rhythm`` are the columns ``FAST_...`` of the lane; the other parameters are those of ``fast_rhythm.links_to``.
    """
    links = links_to(int(rhythm[FAST_LAST]) - 1, c, height, rings, lane, base, settings, work)
    linked = links > 0 or continues(c, height, rhythm, rings, lane, base, settings, work)
    wait()
    if member() == 0:
        store_links(rhythm, c, links, settings.links)
        rhythm[FAST_LEVEL] = level
    wait()
    linked = linked and rhythm[FAST_UNTIL] > 0
    wait()
    if linked and member() == 0:
        rhythm[FAST_AT] = c
    wait()
    return linked


def add_hidden(
    n: int, stop: int, row: I64, quiet: I64, begin: int, end: int, rings: Rings, lane: int, base: int,
    settings: BeatSettings, work: I32, ints: I64, floats: F64,
) -> int:  # fmt: skip
    """Write the beats of a fast rhythm before ``stop`` that are no peaks; return the beats of the pass so far."""
    rhythm = row[FIRST_FAST:]
    while True:
        last = int(rhythm[FAST_AT])
        c = next_link(last + 1, stop, last, rings, lane, base, settings, work)
        ended = c >= stop or c > rhythm[FAST_UNTIL]
        late = stop > last + settings.links[LONGEST]
        wait()
        if ended:
            if member() == 0 and (late or c < stop):
                rhythm[FAST_UNTIL] = 0
            wait()
            return n
        height = int(rings.f[lane, c % rings.f.shape[1]])
        r = mark_r(rings.x[lane], rings.jumps[lane], base, c, height, settings.marking, settings.taps, work)
        if member() == 0:
            rhythm[FAST_AT] = c
            near = is_too_near(row, r, int(settings.links[APART]))
            if not near and not is_quiet(row, quiet, begin, end, r, int(settings.durations[QUIET_MARGIN])):
                errors = MOST_ERRORS if settings.probability.shape[0] > 1 else math.nan
                write_beat(
                    r,
                    c,
                    10.0 * height / rhythm[FAST_LEVEL],
                    LEAST_QUALITY,
                    errors,
                    errors,
                    row,
                    quiet,
                    begin,
                    end,
                    settings,
                    work,
                    ints[n],
                    floats[n],
                )
                n += 1
        wait()
