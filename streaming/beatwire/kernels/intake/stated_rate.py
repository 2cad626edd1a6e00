"""Body that compares the rate that a stream states with the times of its chunks.

In:    first sample and time of each chunk, in order of arrival
Out:   the value of an event RATE
State: columns ``SLOT_RATE_...`` of ``records.slot_columns``, since the lane began

Samples are divided into cells of ``CELL_S`` by the stated rate. If that is right, all chunks imply the same time of
sample 0. A gateway that stamps chunks when they arrive is late by turns, never early: so the least time of a cell
counts. Where a stated second lasts two by the device's times, it moves by a cell from one cell to the next. The rate is
contradicted while the last ``STEPS`` such steps change it by more than ``MOST``, and differ by at most half of their
mean: one step of a clock does not, and pauses that are not counted seldom do.

A cell counts if it begins ``BEGINS_S`` after the lane or more: by then all chunks that waited for their turn are there.
The next one does so with it if a chunk begins in it, and if times have advanced a twentieth as fast as samples or more.
Else they are those of a device without a clock, or of chunks that were stored and are stamped when they are sent. So
what is found depends on the samples of 51 s.
"""

import math

from beatwire.records import I64
from beatwire.records.slot_columns import (
    RATE_STEPS,
    SLOT_BASE,
    SLOT_RATE_CELL,
    SLOT_RATE_FIRST,
    SLOT_RATE_FULL,
    SLOT_RATE_LEASTS,
    SLOT_RATE_TIME_US,
    SLOT_RATE_WRONG,
)

CELL_S = 10.0
MOST = 0.02  # a clock that is off by so much is off by half an hour a day
SLOWEST = 0.05
BEGINS_S = 1.0
UNKNOWN = -1  # no cell, or one that does not count
NOTHING_DUE = 1  # no value: a rate that is off is off by more


def forget_rate(state: I64) -> None:
    """Begin a lane: nothing is known of its rate."""
    state[SLOT_RATE_CELL] = state[SLOT_RATE_FULL] = UNKNOWN
    state[SLOT_RATE_WRONG] = 0


def off_by(leasts: I64, cell_us: float) -> int:
    """Return by how many thousandths of a percent the rate differs from the stated one; 0: nothing contradicts that.

    Parameters
    ----------
    leasts : int64 [RATE_STEPS + 1]
        Least times of sample 0 of consecutive cells, the newest first, microseconds.
    cell_us
        Length of a cell by the stated rate.
    """
    mean = int(leasts[0] - leasts[RATE_STEPS]) / (RATE_STEPS * cell_us)
    for k in range(RATE_STEPS):
        step = int(leasts[k] - leasts[k + 1]) / cell_us
        if step <= -1.0 or abs(1.0 / (1.0 + step) - 1.0) <= MOST or abs(step - mean) > abs(mean) / 2:
            return 0
    return int(math.floor(1e5 * (1.0 / (1.0 + mean) - 1.0)))


def note_rate(state: I64, first: int, zero_us: int, rate_hz: float) -> int:
    """Note a chunk; return the value of the event that is due, or ``NOTHING_DUE``.

    Parameters
    ----------
    first, zero_us
        First sample of the chunk, and the time of sample 0 that its time implies, microseconds.
    """
    samples = max(1, round(CELL_S * rate_hz))
    cell, known = first // samples, int(state[SLOT_RATE_CELL])
    leasts = state[SLOT_RATE_LEASTS : SLOT_RATE_LEASTS + RATE_STEPS + 1]
    if cell <= known:
        if cell == known:
            leasts[0] = min(zero_us, int(leasts[0]))
        return NOTHING_DUE
    off = 0
    start_us = zero_us + int(math.floor(first * 1e6 / rate_hz))
    passed_us, lasted_us = start_us - int(state[SLOT_RATE_TIME_US]), (first - state[SLOT_RATE_FIRST]) * 1e6 / rate_hz
    state[SLOT_RATE_FIRST], state[SLOT_RATE_TIME_US] = first, start_us
    full = 0
    if known != UNKNOWN and cell == known + 1 and state[SLOT_RATE_FULL] >= 0 and passed_us >= SLOWEST * lasted_us:
        full = min(RATE_STEPS + 1, int(state[SLOT_RATE_FULL]) + 1)
        if full > RATE_STEPS:
            off = off_by(leasts, samples * 1e6 / rate_hz)
    state[SLOT_RATE_FULL] = full if cell * samples >= state[SLOT_BASE] + BEGINS_S * rate_hz else UNKNOWN
    for k in range(RATE_STEPS, 0, -1):
        leasts[k] = leasts[k - 1]
    state[SLOT_RATE_CELL] = cell
    leasts[0] = zero_us
    due = off != 0 or state[SLOT_RATE_WRONG] != 0
    state[SLOT_RATE_WRONG] = int(off != 0)
    return off if due else NOTHING_DUE
