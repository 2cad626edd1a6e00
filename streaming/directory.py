"""Who is who: the streams that the monitor knows, each with a slot, for as long as it runs.

The same table serves the kernels (bytes and digests) and people (names).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streaming.kernels import avro, cpu
from streaming.records import I32, I64, U8, Chunks


def _empty_table(size: int) -> I64:
    return np.full((size, 2), -1, np.int64)


@dataclass(slots=True)
class Directory:
    """Streams by slot.

    names, keys  slot -> stream id, as text and as bytes
    ids, id_size uint8 [slots, 64], int32 [slots]: the same for kernels
    partition    int32 [slots]: where the stream was last read from
    """

    most: int
    names: list[str] = field(default_factory=list)
    keys: list[bytes] = field(default_factory=list)
    ids: U8 = field(default_factory=lambda: np.zeros((64, avro.MAX_ID), np.uint8))
    id_size: I32 = field(default_factory=lambda: np.zeros(64, np.int32))
    partition: I32 = field(default_factory=lambda: np.zeros(64, np.int32))
    _table: I64 = field(default_factory=lambda: _empty_table(256))
    _digests: list[int] = field(default_factory=list)

    @property
    def capacity(self) -> int:
        """Slots that arrays by slot must have room for."""
        return len(self.id_size)

    def find(self, chunks: Chunks) -> tuple[I64, list[tuple[int, str]]]:
        """Return the slot of every chunk, claiming new ones, and what could not be claimed and why."""
        n = len(chunks.message)
        slot = np.empty(n, np.int64)
        refused: list[tuple[int, str]] = []
        cpu.find_slot(n, chunks.payload, chunks.ints, self._table, self.ids, self.id_size, slot)
        unknown = np.flatnonzero(slot < 0)
        if len(unknown):
            for i in map(int, unknown):
                reason = self._claim(chunks, i)
                if reason:
                    refused.append((i, reason))
            cpu.find_slot(n, chunks.payload, chunks.ints, self._table, self.ids, self.id_size, slot)
        known = slot >= 0
        self.partition[slot[known]] = chunks.partition[known]
        return slot, refused

    def _claim(self, chunks: Chunks, i: int) -> str | None:
        at, size, digest = map(int, chunks.ints[i, :3])
        one = np.empty(1, np.int64)
        cpu.find_slot(1, chunks.payload, chunks.ints[i : i + 1], self._table, self.ids, self.id_size, one)
        if one[0] >= 0:
            return None
        raw = chunks.payload[at : at + size]
        try:
            name = raw.tobytes().decode()
        except UnicodeDecodeError:
            return f"expected a stream id in UTF-8; got {raw.tobytes()!r}"
        if not name.isprintable():
            return f"expected a printable stream id; got {name!r}"
        slot = len(self.names)
        if slot >= self.most:
            return f"expected at most {self.most} streams; {name!r} would be one more"
        if slot == self.capacity:
            self._grow()
        self.names.append(name)
        self.keys.append(raw.tobytes())
        self._digests.append(digest)
        self.ids[slot, :size] = raw
        self.id_size[slot] = size
        cpu.enter(self._table, digest, slot)
        return None

    def _grow(self) -> None:
        more = 2 * self.capacity
        for name in ("ids", "id_size", "partition"):
            old = getattr(self, name)
            grown = np.zeros((more, *old.shape[1:]), old.dtype)
            grown[: len(old)] = old
            setattr(self, name, grown)
        self._table = _empty_table(4 * more)
        for slot, digest in enumerate(self._digests):
            cpu.enter(self._table, digest, slot)
