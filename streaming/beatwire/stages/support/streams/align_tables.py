"""What later stages read of the table of streams."""

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.intake.senders import NO_CONFLICT
from beatwire.kernels.intake.strangers import LONGEST_US
from beatwire.records import I64
from beatwire.records.samples import SlotColumns
from beatwire.records.slot_columns import SLOT_ARRIVED_US, SLOT_CONFLICT, SLOT_STRANGE_COUNT, SLOT_STRANGE_US


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


def contested_in(slots: I64, restarted: I64) -> I64:
    """Return those of the slots that restart for which another device or another session has sent just before.

    What was sent then decides what is said of them, although their own samples are of no use any more.
    """
    state = slots[restarted]
    is_recent = state[:, SLOT_ARRIVED_US] - state[:, SLOT_STRANGE_US] <= LONGEST_US
    contested: I64 = restarted[
        (is_recent & (state[:, SLOT_STRANGE_COUNT] > 0)) | (state[:, SLOT_CONFLICT] != NO_CONFLICT)
    ]
    return contested
