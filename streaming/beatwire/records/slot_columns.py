"""Columns of the table of streams, a row a slot, and of the tables that are written with it.

State of a stream, int64 ``slots[slot, column]``; lane, bank, expected and tick of a new slot are -1::

    SLOT_SESSION         session
    SLOT_BASE            first sample of the lane
    SLOT_EXPECTED        sample after the known prefix; below -1, until its next chunk is placed: -2 minus the one at a
                         rate that the stream had before a long silence
    SLOT_BANK, SLOT_LANE where its samples are; lane -1: it has none
    SLOT_LEADS           number of leads
    SLOT_LEAD_NAMES      hash of their names
    SLOT_LEAD_OFF        lead-off mask of the last chunk
    SLOT_ARRIVED_US      arrival of the last chunk
    SLOT_TICK            tick of the last placement
    SLOT_PASS            pass in that tick
    SLOT_PASS_BASE       first sample of that pass
    SLOT_FRESH           row of that pass in ``fresh``
    SLOT_NANOVOLTS       of one unit
    SLOT_MASK, SLOT_MASK_FROM  lead-off mask of the last LEADS_CHANGED event, and the sample from which it holds
    SLOT_LIMITS          number of the limits that the last LIMITS_CHANGED event named
    SLOT_BEFORE_JUMP     sample after the prefix that was known before the last chunk skipped more than can be repeated;
                         -1: it did not
    SLOT_FINAL           sample after the final ones; at most SLOT_EXPECTED
    SLOT_ABSENT          sample after those that are known to have no value from SLOT_EXPECTED on
    SLOT_MARKS, SLOT_MARKED  first and last of the last marks that are near each other
    SLOT_AHEAD_MARKED    1 if there may be marks in pending intervals
    SLOT_USED_TICK       tick of the last chunk that was of use, see ``kernels.intake.senders``
    SLOT_USED_US         its arrival
    SLOT_ACTIVE_US       time in which samples came, see there; 0: the stream had no chunk
    SLOT_ARRIVED_AT      sample of the last ARRIVED event of the lane; -1: none
    SLOT_RETURN_US       arrival of the last chunk with which a session came back, or was contradicted
    SLOT_CONFLICT        whether sessions take turns, or chunks contradict each other
    SLOT_RATE_CELL       cell of the last chunk whose time was compared with the rate (``kernels.intake.stated_rate``)
    SLOT_RATE_FULL       cells that count before it, at most RATE_STEPS + 1; -1: it does not count
    SLOT_RATE_WRONG      1 if the last event of it said that the rate is contradicted
    SLOT_RATE_FIRST, SLOT_RATE_TIME_US  first sample of the first chunk of that cell, and its time
    SLOT_RATE_LEASTS     least times of that cell and of the RATE_STEPS before it, a column each, the newest first
    SLOT_OTHER_COUNT     sessions before this one that are remembered: pairs in columns SLOT_OTHERS + 2 k and + 1, the
                         session and the arrival of its last chunk
    SLOT_VALUES_TO       second after the last one of which a value is kept (``kernels.intake.contradictions``)
    SLOT_DIFFERENCES     values in a row that were not those that came before
    SLOT_DIFFERS_US      arrival of the last of them
    SLOT_STRANGE_COUNT   steps in a row of chunks behind the lane (``kernels.intake.strangers``)
    SLOT_STRANGE_US, SLOT_STRANGE_TO  arrival of the last chunk of such a step, and the sample after it
    SLOT_STRANGE_COVERED samples that have come since
    SLOT_VALUES          bytes of values of the last seconds, seven a column, VALUE_COLUMNS columns
    SLOT_PENDING         number of pending intervals, in columns FIRST_PENDING + 2 k and + 1: sorted, disjoint
"""

import numpy as np

from beatwire.records.arrays import I64

SLOT_SESSION, SLOT_BASE, SLOT_EXPECTED, SLOT_BANK, SLOT_LANE, SLOT_LEADS, SLOT_LEAD_OFF, SLOT_ARRIVED_US = range(8)
SLOT_TICK, SLOT_PASS, SLOT_PASS_BASE, SLOT_FRESH, SLOT_NANOVOLTS, SLOT_MASK, SLOT_MASK_FROM = range(8, 15)
SLOT_LIMITS, SLOT_BEFORE_JUMP, SLOT_FINAL, SLOT_ABSENT, SLOT_MARKS, SLOT_MARKED, SLOT_AHEAD_MARKED = range(15, 22)
SLOT_USED_TICK, SLOT_USED_US, SLOT_ACTIVE_US, SLOT_ARRIVED_AT = range(22, 26)
SLOT_LEAD_NAMES, SLOT_RETURN_US, SLOT_CONFLICT = range(26, 29)
SLOT_RATE_CELL, SLOT_RATE_FULL, SLOT_RATE_WRONG, SLOT_RATE_FIRST, SLOT_RATE_TIME_US, SLOT_RATE_LEASTS = range(29, 35)
RATE_STEPS = 3
SLOT_OTHER_COUNT = SLOT_RATE_LEASTS + RATE_STEPS + 1
SLOT_OTHERS = SLOT_OTHER_COUNT + 1
MOST_OTHERS = 8  # sessions remembered beside the present one; of more the one that sent longest ago is forgotten
SLOT_VALUES_TO = SLOT_OTHERS + 2 * MOST_OTHERS
SLOT_DIFFERENCES, SLOT_DIFFERS_US, SLOT_STRANGE_COUNT, SLOT_STRANGE_US, SLOT_STRANGE_TO, SLOT_STRANGE_COVERED = range(
    SLOT_VALUES_TO + 1, SLOT_VALUES_TO + 7
)
SLOT_VALUES = SLOT_STRANGE_COVERED + 1
VALUE_COLUMNS = 10  # more than a minute: what goes back further is rejected
SLOT_PENDING = SLOT_VALUES + VALUE_COLUMNS
FIRST_PENDING = SLOT_PENDING + 1
MAX_PENDING = 8  # intervals; a chunk that would begin one more closes the gap before it
SLOT_COLUMNS = FIRST_PENDING + 2 * MAX_PENDING
NEVER_MARKED = -(1 << 62)

# ``limits[bank, column]``: in samples what a pass holds, how far ahead of its turn a chunk may come, the longest
# bridge, and how far back a chunk is a duplicate; in microseconds the silence after which a stream starts anew, and the
# one after which it is evicted; the longest hole that is filled in, and what is at least between two ARRIVED events, in
# samples.
LIMIT_PASS, LIMIT_REORDER, LIMIT_BRIDGE, LIMIT_DUPLICATE, LIMIT_SILENCE_US, LIMIT_EVICT_US, LIMIT_HOLE = range(7)
LIMIT_MARK = 7
LIMIT_COLUMNS = 8

# ``AlignRows.sizes``: rows written, passes, why ``groups.align_group`` stopped; then what happened to chunks.
PLACED_ROWS, FRESH_ROWS, EVENT_ROWS, PASSES, STATUS = range(5)
DUPLICATES, OVERLAPS, REORDERED, BRIDGED, RESTARTS, LOST, SILENCES, NO_VALUE = range(5, 13)
SIZES = 13


def new_slots(n: int) -> I64:
    """Return ``n`` slots without a stream, int64 [n, SLOT_COLUMNS]."""
    slots = np.zeros((n, SLOT_COLUMNS), np.int64)
    none = [SLOT_LANE, SLOT_BANK, SLOT_EXPECTED, SLOT_TICK, SLOT_BEFORE_JUMP, SLOT_USED_TICK, SLOT_ARRIVED_AT]
    none += [SLOT_RATE_CELL, SLOT_RATE_FULL]
    slots[:, none] = -1
    slots[:, [SLOT_MARKS, SLOT_MARKED]] = NEVER_MARKED
    return slots
