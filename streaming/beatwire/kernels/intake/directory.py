"""Look up streams and banks: from the bytes of a stream id to its slot, from rate and leads to a bank."""

from beatwire.records import F64, I32, I64, U8
from beatwire.records.alignment import StreamIds
from beatwire.records.columns import CHUNK_ID_AT, CHUNK_ID_HASH, CHUNK_ID_SIZE, CHUNK_LEADS, CHUNK_RATE_HZ

HASH, SLOT = range(2)  # columns of the table


def find_slot(i: int, payload: U8, ints: I64, table: I64, streams: StreamIds, slot: I64) -> None:
    """Write the slot of chunk ``i``, or -1 if its stream is not known.

    Parameters
    ----------
    payload, ints
        The chunks, see ``records.Chunks``.
    table : int64 [2^k, 2]
        Hashes and slots, by open addressing; a slot of -1 ends a probe.
    slot : int64 [n], written
    """
    at, size, digest = int(ints[i, CHUNK_ID_AT]), int(ints[i, CHUNK_ID_SIZE]), int(ints[i, CHUNK_ID_HASH])
    mask = table.shape[0] - 1
    place = digest & mask
    slot[i] = -1
    while table[place, SLOT] >= 0:
        candidate = int(table[place, SLOT])
        if table[place, HASH] == digest and streams.size[candidate] == size:
            same = True
            for k in range(size):
                if streams.ids[candidate, k] != payload[at + k]:
                    same = False
                    break
            if same:
                slot[i] = candidate
                return
        place = (place + 1) & mask


def find_bank(i: int, ints: I64, floats: F64, banks: F64, bank: I64) -> None:
    """Write the bank of chunk ``i``, -1 if there is none; ``banks`` [b, 2]: rate (Hz) and number of leads of each."""
    found = -1
    for k in range(len(banks)):
        if banks[k, 0] == floats[i, CHUNK_RATE_HZ] and banks[k, 1] == ints[i, CHUNK_LEADS]:
            found = k
    bank[i] = found


def note_partition(slot: I64, partition: I32, known: I32) -> None:
    """Write the partition of the last chunk of each stream, ``known`` by slot; the slot of a chunk is -1 for none."""
    for i in range(slot.shape[0]):
        if slot[i] >= 0:
            known[slot[i]] = partition[i]


def enter(table: I64, digest: int, slot: int) -> None:
    """Add a stream to the table of ``find_slot``; the caller keeps it at most half full."""
    mask = table.shape[0] - 1
    place = digest & mask
    while table[place, SLOT] >= 0:
        place = (place + 1) & mask
    table[place, HASH] = digest
    table[place, SLOT] = slot
