"""What later stages read of the table of streams."""

import numpy as np

from beatwire.jit import cpu
from beatwire.records import I64
from beatwire.records.samples import SlotColumns


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
