"""Bodies of the directories: from a stream id's bytes to its slot by open addressing, from rate and leads to a bank."""

from __future__ import annotations

from beatwire.kernels.arrivals import ROW_BANK
from beatwire.records import F64, I32, I64, U8


def find_slot(i: int, payload: U8, ints: I64, table: I64, ids: U8, id_size: I32, slot: I64) -> None:
    """Write the slot of chunk ``i``, or -1 when its stream is not known.

    ``table`` int64 [2^k, 2] holds digest and slot; a slot of -1 ends a probe.
    """
    at, size, digest = int(ints[i, 0]), int(ints[i, 1]), int(ints[i, 2])
    mask = table.shape[0] - 1
    place = digest & mask
    slot[i] = -1
    while table[place, 1] >= 0:
        candidate = int(table[place, 1])
        if table[place, 0] == digest and id_size[candidate] == size:
            same = True
            for k in range(size):
                if ids[candidate, k] != payload[at + k]:
                    same = False
                    break
            if same:
                slot[i] = candidate
                return
        place = (place + 1) & mask


def find_bank(i: int, ints: I64, floats: F64, banks: F64) -> None:
    """Write the bank of chunk ``i``, -1 where there is none; ``banks``: rate and number of leads of each."""
    found = -1
    for k in range(len(banks)):
        if banks[k, 0] == floats[i, 0] and banks[k, 1] == ints[i, 6]:
            found = k
    ints[i, ROW_BANK] = found


def enter(table: I64, digest: int, slot: int) -> None:
    """Add a stream to the table; the caller keeps it at most half full."""
    mask = table.shape[0] - 1
    place = digest & mask
    while table[place, 1] >= 0:
        place = (place + 1) & mask
    table[place, 0] = digest
    table[place, 1] = slot
