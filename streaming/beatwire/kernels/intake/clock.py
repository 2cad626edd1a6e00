"""Device times: bodies that keep the times that chunks state, and that compute the time of a sample.

A chunk states when its first sample was taken. The state keeps the device time of sample 0 that follows from it, an
*anchor*: a clock that runs evenly is one anchor however many chunks come. Time is divided into cells of ``CELL_S``; of
the chunks that begin in the same cell only the first is asked for the time. A sample has the time of the last anchor at
or before it, whatever comes later.

A stream that begins anew begins a *stretch*, of which only its own anchors count: a device may go back, and use the
number of a session again, with another clock.

State of a slot, int64 ``[ANCHOR_COLUMNS]``: ``COUNT``, the number of anchors so far; ``CELL``, that of the last chunk
asked; ``STRETCH``, the number of stretches so far; from ``FIRST_ANCHOR`` on the last ``MAX_ANCHORS`` anchors in a ring:
first sample and, above it, the lower bits of the stretch; device time of sample 0 (us). Each stretch has an anchor, so
those of the ring are of the last ``MAX_ANCHORS`` stretches, and their lower bits are enough. An anchor that gives way
to a newer one is an event of the tick (CLOCK: from which sample on, of sample 0, stretch in the column of the bank),
for beats that are emitted later.

Invariant: a time does not depend on where ticks end. It follows from the last ``LOOKBACK`` anchors up to the sample at
which its output is decided; the ring holds these and the anchors of ``MORE_S`` behind that sample.
"""

import math

from beatwire.kernels.intake.events import write_event
from beatwire.records import F64, I64
from beatwire.records.alignment import AlignRows
from beatwire.records.columns import EVENT_BANK, EVENT_SAMPLE, EVENT_SLOT, EVENT_VALUE
from beatwire.records.events import CLOCK
from beatwire.records.slot_columns import EVENT_ROWS

CELL_S = 0.1
MORE_S = 0.8  # what may have come when an output is decided: 0.34 s, and 0.4 s of samples before their turn
LOOKBACK = 8
MAX_ANCHORS = LOOKBACK + 8  # 8: MORE_S / CELL_S
COUNT, CELL, STRETCH, FIRST_ANCHOR = range(4)
OF_ANCHOR = 2
ANCHOR_COLUMNS = FIRST_ANCHOR + OF_ANCHOR * MAX_ANCHORS
FIRST_BITS = 54  # of a first sample, which is at most ``avro.MAX_INDEX``
STRETCH_BITS = 63 - FIRST_BITS


def place_of(number: int) -> int:
    """Return the first column of anchor ``number`` of a slot."""
    return FIRST_ANCHOR + OF_ANCHOR * (number % MAX_ANCHORS)


def packed(stretch: int, first: int) -> int:
    """Return the first column of an anchor."""
    return ((stretch & ((1 << STRETCH_BITS) - 1)) << FIRST_BITS) | first


def first_of(anchor: int) -> int:
    """Return the first sample of an anchor, by its first column."""
    return anchor & ((1 << FIRST_BITS) - 1)


def stretch_of(anchor: int, newest: int) -> int:
    """Return the stretch of an anchor, by its first column; ``newest`` is the present stretch of its slot."""
    return newest - ((newest - (anchor >> FIRST_BITS)) & ((1 << STRETCH_BITS) - 1))


def anchor(
    anchors: I64, slot: int, rows: AlignRows, session: int, first: int, zero_us: int, rate_hz: float, anew: bool
) -> None:
    """Keep the device time of sample 0 that a chunk implies, unless it is that of the newest anchor.

    A chunk of a cell that is over is not asked, unless the stream begins ``anew`` with it.
    """
    n = int(anchors[COUNT])
    last = place_of(n - 1)
    cell = first // max(1, round(CELL_S * rate_hz))
    anchors[STRETCH] += int(anew)
    stretch = int(anchors[STRETCH])
    known = n > 0 and stretch_of(int(anchors[last]), stretch) == stretch
    if known and cell <= anchors[CELL]:
        return
    anchors[CELL] = cell
    if known and abs(anchors[last + 1] - zero_us) <= 1:
        return
    at = place_of(n)
    if n >= MAX_ANCHORS:
        row, oldest = int(rows.sizes[EVENT_ROWS]), int(anchors[at])
        rows.sizes[EVENT_ROWS] = row + 1
        of_oldest = stretch_of(oldest, stretch)
        write_event(rows.event[row], 0, slot, CLOCK, first_of(oldest), anchors[at + 1], session, of_oldest)
    anchors[at] = packed(stretch, first)
    anchors[at + 1] = zero_us
    anchors[COUNT] = n + 1


def device_time(
    i: int, slot: I64, later: I64, sample: I64, decided: I64, rate_hz: F64, anchors: I64, clocks: I64, time_us: I64
) -> None:
    """Write the device time of sample ``sample[i]``, by the last anchor at or before it.

    Parameters
    ----------
    slot, later, sample, decided, rate_hz : [n]
        The samples, how many stretches of their streams have begun behind them, and at which sample each output is
        decided: of the anchors of the stretch up to there the last ``LOOKBACK`` count.
    anchors : int64 [slots, ANCHOR_COLUMNS]
        State of the slots.
    clocks : int64 [c, 6]
        CLOCK events of this tick, by slot, those of a slot from old to new.
    time_us : int64 [n], written
    """
    row = anchors[slot[i]]
    stretch = row[STRETCH] - later[i]
    newest = int(row[COUNT])
    zero_us = 0
    left = LOOKBACK
    found = False
    for n in range(newest - 1, max(-1, newest - 1 - MAX_ANCHORS), -1):
        at = place_of(n)
        if stretch_of(int(row[at]), int(row[STRETCH])) == stretch:
            zero_us, first = int(row[at + 1]), first_of(int(row[at]))
            left -= first <= decided[i]
            found = first <= sample[i]
        if found or left == 0:
            break
    low, high = 0, clocks.shape[0]
    while low < high:
        middle = (low + high) // 2
        if clocks[middle, EVENT_SLOT] <= slot[i]:
            low = middle + 1
        else:
            high = middle
    while not found and left > 0 and low > 0 and clocks[low - 1, EVENT_SLOT] == slot[i]:
        low -= 1
        if clocks[low, EVENT_BANK] == stretch:
            zero_us = int(clocks[low, EVENT_VALUE])
            left -= clocks[low, EVENT_SAMPLE] <= decided[i]
            found = clocks[low, EVENT_SAMPLE] <= sample[i]
    time_us[i] = zero_us + int(math.floor(sample[i] * 1e6 / rate_hz[i] + 0.5))
