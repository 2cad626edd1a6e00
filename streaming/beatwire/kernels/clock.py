"""Device times: bodies that keep the times that chunks state, and that compute the time of a sample.

A chunk states when its first sample was taken. The state keeps the device time of sample 0 that follows from it, an
*anchor*: a clock that runs evenly is one anchor however many chunks come. A sample has the time of the chunk in which
it came, whatever comes later.

State of a slot, int64 ``[ANCHOR_COLUMNS]``: the number of anchors so far, then the last ``MAX_ANCHORS`` of them in a
ring: session, first sample, device time of sample 0 (us). An anchor that gives way to a newer one is an event of the
tick (CLOCK: from which sample on, of sample 0), for beats that are emitted later.
"""

from __future__ import annotations

import math

from beatwire.kernels.align import EVENT_ROWS
from beatwire.kernels.events import write_event
from beatwire.records import F64, I64
from beatwire.records.alignment import AlignRows
from beatwire.records.columns import EVENT_SAMPLE, EVENT_SESSION, EVENT_SLOT, EVENT_VALUE
from beatwire.records.events import CLOCK

MAX_ANCHORS = 16
ANCHOR_COLUMNS = 1 + 3 * MAX_ANCHORS


def anchor(anchors: I64, slot: int, rows: AlignRows, session: int, first: int, zero_us: int) -> None:
    """Keep the device time of sample 0 that a chunk implies, unless it is that of the newest anchor."""
    n = int(anchors[0])
    last = 1 + 3 * ((n - 1) % MAX_ANCHORS)
    if n > 0 and anchors[last] == session and abs(anchors[last + 2] - zero_us) <= 1:
        return
    at = 1 + 3 * (n % MAX_ANCHORS)
    if n >= MAX_ANCHORS:
        row = int(rows.sizes[EVENT_ROWS])
        rows.sizes[EVENT_ROWS] = row + 1
        write_event(rows.event[row], 0, slot, CLOCK, anchors[at + 1], anchors[at + 2], anchors[at])
    anchors[at] = session
    anchors[at + 1] = first
    anchors[at + 2] = zero_us
    anchors[0] = n + 1


def device_time(
    i: int, slot: I64, session: I64, sample: I64, rate_hz: F64, anchors: I64, clocks: I64, time_us: I64
) -> None:
    """Write the device time of sample ``sample[i]``, by the chunk in which it came.

    Parameters
    ----------
    slot, session, sample, rate_hz : [n]
        The samples.
    anchors : int64 [slots, ANCHOR_COLUMNS]
        State of the slots.
    clocks : int64 [c, 6]
        CLOCK events of this tick, by slot, those of a slot from old to new.
    time_us : int64 [n], written
    """
    row = anchors[slot[i]]
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
        if clocks[middle, EVENT_SLOT] <= slot[i]:
            low = middle + 1
        else:
            high = middle
    while not found and low > 0 and clocks[low - 1, EVENT_SLOT] == slot[i]:
        low -= 1
        if clocks[low, EVENT_SESSION] == session[i]:
            zero_us = int(clocks[low, EVENT_VALUE])
            found = clocks[low, EVENT_SAMPLE] <= sample[i]
    time_us[i] = zero_us + int(math.floor(sample[i] * 1e6 / rate_hz[i] + 0.5))
