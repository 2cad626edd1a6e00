"""Who is who: the streams that the monitor knows, each with a slot, until they are forgotten.

The same table serves the kernels (bytes and digests) and people (names). A stream that is forgotten is not found any
more; its slot keeps what it was called until it is given back, and then is another's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from beatwire.jit import cpu
from beatwire.kernels import avro
from beatwire.records import I32, I64, U8, Bool, Chunks


def _empty_table(size: int) -> I64:
    return np.full((size, 2), -1, np.int64)


@dataclass(slots=True)
class Directory:
    """Streams by slot.

    names, keys  slot -> stream id, as text and as bytes
    ids, id_size uint8 [slots, 64], int32 [slots]: the same for kernels
    partition    int32 [slots]: where the stream was last read from
    claimed      slots that the last ``find`` gave to streams it had not known
    """

    most: int
    names: list[str] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    ids: U8 = field(default_factory=lambda: np.zeros((64, avro.MAX_ID), np.uint8))
    id_size: I32 = field(default_factory=lambda: np.zeros(64, np.int32))
    partition: I32 = field(default_factory=lambda: np.zeros(64, np.int32))
    claimed: list[int] = field(default_factory=list)
    _table: I64 = field(default_factory=lambda: _empty_table(256))
    _entries: int = 0
    _digests: list[int] = field(default_factory=list)
    _free: list[int] = field(default_factory=list)

    @property
    def capacity(self) -> int:
        """Slots that arrays by slot must have room for."""
        return len(self.id_size)

    @property
    def known(self) -> int:
        """How many streams there are."""
        return int(np.count_nonzero(self.id_size))

    def is_known(self) -> Bool:
        """Tell of each of the slots that were ever given whether it is a stream's."""
        there: Bool = self.id_size[: len(self.names)] > 0
        return there

    def evict(self, slots: I64) -> None:
        """Do not find these streams any more."""
        self.id_size[slots] = 0  # in the table an id without a byte is nobody's

    def give_back(self, slots: I64) -> None:
        """Let slots of streams that were forgotten be claimed by others."""
        for slot in slots.tolist():
            self.names[slot], self.keys[slot] = "", b""
            self._free.append(slot)

    def find(self, chunks: Chunks) -> tuple[I64, list[tuple[int, str]]]:
        """Return the slot of every chunk, claiming new ones, and what could not be claimed and why."""
        n = len(chunks.message)
        slot = np.empty(n, np.int64)
        refused: list[tuple[int, str]] = []
        self.claimed.clear()
        cpu.kernels.find_slot(n, chunks.payload, chunks.ints, self._table, self.ids, self.id_size, slot)
        unknown = np.flatnonzero(slot < 0)
        if len(unknown):
            for i in map(int, unknown):
                reason = self._claim(chunks, i)
                if reason:
                    refused.append((i, reason))
            cpu.kernels.find_slot(n, chunks.payload, chunks.ints, self._table, self.ids, self.id_size, slot)
        known = slot >= 0
        self.partition[slot[known]] = chunks.partition[known]
        return slot, refused

    def _claim(self, chunks: Chunks, i: int) -> str | None:
        at, size, digest = map(int, chunks.ints[i, :3])
        one = np.empty(1, np.int64)
        cpu.kernels.find_slot(1, chunks.payload, chunks.ints[i : i + 1], self._table, self.ids, self.id_size, one)
        if one[0] >= 0:
            return None
        raw = chunks.payload[at : at + size]
        try:
            name = raw.tobytes().decode()
        except UnicodeDecodeError:
            return f"expected a stream id in UTF-8; got {raw.tobytes()!r}"
        if not name.isprintable():
            return f"expected a printable stream id; got {name!r}"
        slot = self._free.pop() if self._free else self._new_slot()
        if slot < 0:
            return f"expected at most {self.most} streams; {name!r} would be one more"
        self.names[slot], self.keys[slot], self._digests[slot] = name, raw.tobytes(), digest
        self.ids[slot, :size] = raw
        self.id_size[slot] = size
        if 2 * self._entries >= len(self._table):
            self._enter_all(len(self._table))
        else:
            cpu.kernels.enter(self._table, digest, slot)
            self._entries += 1
        self.claimed.append(slot)
        return None

    def _new_slot(self) -> int:
        """Return a slot that was never given, -1: there may be no more."""
        slot = len(self.names)
        if slot >= self.most:
            return -1
        if slot == self.capacity:
            self._grow()
        self.names.append("")
        self.keys.append(b"")
        self._digests.append(0)
        return slot

    def _grow(self) -> None:
        more = 2 * self.capacity
        for name in ("ids", "id_size", "partition"):
            old = getattr(self, name)
            grown = np.zeros((more, *old.shape[1:]), old.dtype)
            grown[: len(old)] = old
            setattr(self, name, grown)
        self._enter_all(4 * more)

    def _enter_all(self, size: int) -> None:
        """Make the table anew, without those that were forgotten."""
        self._table = _empty_table(size)
        known = np.flatnonzero(self.is_known()).tolist()
        self._entries = len(known)
        for slot in known:
            cpu.kernels.enter(self._table, self._digests[slot], slot)
