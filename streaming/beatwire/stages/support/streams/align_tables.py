"""Tables of align: slots before their first chunk, rows for its kernels to write, and what later stages read."""

from __future__ import annotations

import numpy as np

from beatwire.kernels.intake import align
from beatwire.records import I64
from beatwire.records.alignment import AlignRows
from beatwire.records.columns import EVENT_COLUMNS, FRESH_COLUMNS, PLACE_COLUMNS
from beatwire.records.samples import SlotColumns


def new_slots(n: int) -> I64:
    """Return ``n`` slots without a stream, int64 [n, SLOT_COLUMNS]."""
    slots = np.zeros((n, align.SLOT_COLUMNS), np.int64)
    none = [align.SLOT_LANE, align.SLOT_BANK, align.SLOT_EXPECTED, align.SLOT_TICK, align.SLOT_BEFORE_JUMP]
    slots[:, [*none, align.SLOT_USED_TICK, align.SLOT_ARRIVED_AT]] = -1
    slots[:, [align.SLOT_MARKS, align.SLOT_MARKED]] = align.NEVER_MARKED
    return slots


def columns_of(slots: I64) -> SlotColumns:
    """Copy the columns of the state that later stages read: 1 ms for 100,000 slots."""
    columns = (
        align.SLOT_SESSION, align.SLOT_BANK, align.SLOT_LANE, align.SLOT_EXPECTED, align.SLOT_ARRIVED_US,
        align.SLOT_USED_US, align.SLOT_ACTIVE_US,
    )  # fmt: skip
    return SlotColumns(*(slots[:, column].copy() for column in columns))


def occurring(slot: I64, slots: int) -> I64:
    """Return the slots that occur in ``slot``, each once, in ascending order; -1 is none."""
    occurs = np.zeros(slots, np.bool_)
    occurs[slot[slot >= 0]] = True
    return np.flatnonzero(occurs)


def empty_rows(n: int) -> AlignRows:
    """Return room for ``n`` rows of each kind."""
    return AlignRows(
        place=np.empty((n, PLACE_COLUMNS), np.int64),
        fresh=np.empty((n, FRESH_COLUMNS), np.int64),
        event=np.empty((n, EVENT_COLUMNS), np.int64),
        sizes=np.zeros(align.SIZES, np.int64),
    )
