"""When a sample was taken, by its device's clock: bodies that remember what chunks say, and that tell it.

A chunk says when its first sample was taken. That is kept as the device time of sample 0, so that a clock that goes
on evenly is one row however many chunks come, and a sample has the time of the chunk that it came in, whatever comes
later. In ``slots`` from ANCHORS on: how many device times were remembered, then the last MAX_ANCHORS of them in turn:
session, first sample, device time of sample 0 that the chunk implied. One that has to give way to a newer one
is an event of the tick (CLOCK), for beats that are still to be told of.
"""

from __future__ import annotations

import math

from beatwire.kernels.align import ANCHORS, EVENT_ROWS, MAX_ANCHORS
from beatwire.kernels.events import write_event
from beatwire.records import F64, I64
from beatwire.records.events import CLOCK


def anchor(slots: I64, slot: int, event: I64, sizes: I64, session: int, first: int, zero_us: int) -> None:
    """Remember the device time of sample 0 that a chunk implies."""
    anchors = slots[slot, ANCHORS:]
    n = int(anchors[0])
    last = 1 + 3 * ((n - 1) % MAX_ANCHORS)
    if n > 0 and anchors[last] == session and abs(anchors[last + 2] - zero_us) <= 1:
        return
    at = 1 + 3 * (n % MAX_ANCHORS)
    if n >= MAX_ANCHORS:
        row = int(sizes[EVENT_ROWS])
        sizes[EVENT_ROWS] = row + 1
        write_event(event, row, 0, slot, CLOCK, anchors[at + 1], anchors[at + 2], anchors[at])
    anchors[at] = session
    anchors[at + 1] = first
    anchors[at + 2] = zero_us
    anchors[0] = n + 1


def device_time(
    i: int, slot: I64, session: I64, sample: I64, rate_hz: F64, slots: I64, clocks: I64, time_us: I64
) -> None:
    """Write the device time of sample ``sample[i]``: by the chunk that it came in.

    ``clocks`` int64 [c, 6] are the rows of CLOCK of this tick, by slot, those of a slot from old to new.
    """
    row = slots[slot[i], ANCHORS:]
    newest = int(row[0])
    zero_us = 0
    found = False
    for n in range(newest - 1, max(-1, newest - 1 - MAX_ANCHORS), -1):
        at = 1 + 3 * (n % MAX_ANCHORS)
        if row[at] == session[i]:
            zero_us = int(row[at + 2])
            found = row[at + 1] <= sample[i]
        if found:
            break
    low, high = 0, clocks.shape[0]
    while low < high:
        middle = (low + high) // 2
        if clocks[middle, 1] <= slot[i]:
            low = middle + 1
        else:
            high = middle
    while not found and low > 0 and clocks[low - 1, 1] == slot[i]:
        low -= 1
        if clocks[low, 5] == session[i]:
            zero_us = int(clocks[low, 4])
            found = clocks[low, 3] <= sample[i]
    time_us[i] = zero_us + int(math.floor(sample[i] * 1e6 / rate_hz[i] + 0.5))
