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


def seen_in(slot: I64, code: I64, slots: int) -> I64:
    """Return the slots with a chunk that was placed or for which there was no room, each once, in ascending order.

    Parameters
    ----------
    slot, code : int64 [n]
        Slot of each chunk, -1: none, and its verdict.
    slots
        Number of slots.
    """
    seen = np.zeros(slots, np.bool_)
    cpu.kernels.mark_seen(slot, code, seen)
    return np.flatnonzero(seen)
