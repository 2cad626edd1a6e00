"""Tables of align: slots before their first chunk, and what later stages read."""

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.intake import align
from beatwire.records import I64
from beatwire.records.samples import SlotColumns


def new_slots(n: int) -> I64:
    """Return ``n`` slots without a stream, int64 [n, SLOT_COLUMNS]."""
    slots = np.zeros((n, align.SLOT_COLUMNS), np.int64)
    none = [align.SLOT_LANE, align.SLOT_BANK, align.SLOT_EXPECTED, align.SLOT_TICK, align.SLOT_BEFORE_JUMP]
    slots[:, [*none, align.SLOT_USED_TICK, align.SLOT_ARRIVED_AT]] = -1
    slots[:, [align.SLOT_MARKS, align.SLOT_MARKED]] = align.NEVER_MARKED
    return slots


def positions_of(slots: I64, tick: int) -> tuple[SlotColumns, I64]:
    """Return the columns of the state that later stages read, and the slots that had a chunk of use in the tick."""
    n = len(slots)
    columns = SlotColumns(*np.empty((len(SlotColumns._fields), n), np.int64))
    used = np.empty(n, np.bool_)
    cpu.kernels.copy_position(n, slots, tick, columns, used)
    return columns, np.flatnonzero(used)


def occurring(slot: I64, slots: int) -> I64:
    """Return the slots that occur in ``slot``, each once, in ascending order; -1 is none."""
    occurs = np.zeros(slots, np.bool_)
    occurs[slot[slot >= 0]] = True
    return np.flatnonzero(occurs)
