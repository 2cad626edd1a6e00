"""The directory of streams: each has a slot until it is evicted.

Kernels read bytes and hashes of ids, people read names. An evicted stream is not found any more; its slot keeps the
name until it is given back, and may then be given to another stream.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from beatwire.jit import cpu
from beatwire.kernels.intake import avro
from beatwire.records import I32, I64, U8, Bool, Chunks
from beatwire.records.alignment import StreamIds
from beatwire.records.columns import CHUNK_ID_AT, CHUNK_ID_HASH, CHUNK_ID_SIZE
from beatwire.stages.support.room import room_for
from beatwire.stages.support.streams.partitions import has_moved

LEAST_TABLE = 256  # rows; a power of two
_MOVES = 3  # between partitions: more than of a stream that has moved, and is replayed


def _empty_table(size: int) -> I64:
    return np.full((size, 2), -1, np.int64)


@dataclass(slots=True)
class Directory:
    """Streams by slot.

    most         streams at most
    reserved     what no stream of a device may be called: alerts about the feed and about a partition have it as stream
    names        stream ids
    keys         object [slots], the same as bytes; another array once streams leave: messages to be sent refer to this
    ids, id_size uint8 [slots, 64], int32 [slots]: the same for kernels; a size of 0: no stream
    partition    int32 [slots]: partition of the last chunk
    bundled      bool [slots]: a chunk came in a bundle, whose key and not the stream's own chose the partition
    moves        uint8 [slots]: ticks in which a chunk came from another partition than the one before it; 255: or more
    scattered    streams of which the last ``find`` found that they arrive in several partitions, once each
    claimed      slots that the last ``find`` gave to new streams
    counts       numbers of partitions that the topic of samples has had, the present one last; empty: unknown
    """

    most: int
    reserved: str = ""
    names: list[str] = field(default_factory=list)
    keys: NDArray[np.object_] = field(default_factory=lambda: np.full(64, b"", np.object_))
    ids: U8 = field(default_factory=lambda: np.zeros((64, avro.MAX_ID), np.uint8))
    id_size: I32 = field(default_factory=lambda: np.zeros(64, np.int32))
    partition: I32 = field(default_factory=lambda: np.zeros(64, np.int32))
    bundled: Bool = field(default_factory=lambda: np.zeros(64, np.bool_))
    moves: U8 = field(default_factory=lambda: np.zeros(64, np.uint8))
    scattered: list[str] = field(default_factory=list)
    claimed: list[int] = field(default_factory=list)
    counts: tuple[int, ...] = ()
    _table: I64 = field(default_factory=lambda: _empty_table(LEAST_TABLE))
    _entries: int = 0
    _digests: list[int] = field(default_factory=list)
    _free: list[int] = field(default_factory=list)

    @property
    def capacity(self) -> int:
        """Return the number of slots that arrays by slot must have."""
        return len(self.id_size)

    @property
    def stream_ids(self) -> StreamIds:
        """Return the ids for kernels."""
        return StreamIds(self.ids, self.id_size)

    @property
    def known(self) -> int:
        """Return the number of streams."""
        return int(np.count_nonzero(self.id_size))

    def is_known(self) -> Bool:
        """Return of each slot that was ever given whether it has a stream."""
        has_id: Bool = self.id_size[: len(self.names)] > 0
        return has_id

    def moved(self, slots: I64) -> I64:
        """Return those of the slots whose streams belong to another partition since partitions were added."""
        if len(self.counts) < 2:
            return slots[:0]
        own = slots[~self.bundled[slots]]
        return own[[has_moved(self.keys[s], int(self.partition[s]), self.counts) for s in own.tolist()]]

    def evict(self, slots: I64) -> None:
        """Remove streams: ``find`` does not find them any more."""
        self.id_size[slots] = 0  # ``kernels.intake.directory.find_slot`` compares sizes, and no id has size 0

    def give_back(self, slots: I64) -> None:
        """Allow new streams to claim slots of evicted ones."""
        self.keys = self.keys.copy()
        self.keys[slots] = b""
        for slot in slots.tolist():
            self.names[slot] = ""
            self._free.append(slot)

    def look_up(self, payload: U8, ints: I64) -> I64:
        """Return the slot of every row of ``Chunks.ints``, -1 where its stream has none."""
        slot = np.empty(len(ints), np.int64)
        cpu.kernels.find_slot(len(ints), payload, ints, self._table, self.stream_ids, slot)
        return slot

    def find(self, chunks: Chunks) -> tuple[I64, list[tuple[int, str]]]:
        """Return the slot of every chunk, new streams included, and the chunks that have none with the reason."""
        refused: list[tuple[int, str]] = []
        self.claimed.clear()
        slot = self.look_up(chunks.payload, chunks.ints)
        unknown = np.flatnonzero(slot < 0)
        if len(unknown):
            reasons: dict[bytes, str | None] = {}  # of the new stream ids of this tick
            payload, columns = chunks.payload.data, [CHUNK_ID_AT, CHUNK_ID_SIZE, CHUNK_ID_HASH]
            for i, (at, size, digest) in zip(unknown.tolist(), chunks.ints[unknown][:, columns].tolist(), strict=True):
                raw = payload[at : at + size].tobytes()
                if raw not in reasons:
                    reasons[raw] = self._claim(raw, digest)
                if reason := reasons[raw]:
                    refused.append((i, reason))
            slot[unknown] = self.look_up(chunks.payload, chunks.ints[unknown])
        self.partition[self.claimed] = -1
        before = self.partition[slot]
        cpu.kernels.note_partition(slot, chunks.partition, self.partition)
        self._note_moves(slot[(before != chunks.partition) & (before >= 0) & (slot >= 0)])
        if chunks.bundled is not None:
            now = (slot >= 0) & (chunks.message >= 0)
            self.bundled[slot[now][chunks.bundled[chunks.message[now]]]] = True
        return slot, refused

    def _note_moves(self, slots: I64) -> None:
        """Count that streams came from another partition; one that only moves, as partitions are added, does so once.

        Parameters
        ----------
        slots
            Of the chunks that did.
        """
        self.scattered.clear()
        if not len(slots):
            return
        moved = np.unique(slots)
        self.moves[moved] += self.moves[moved] < np.iinfo(np.uint8).max
        self.scattered += [self.names[slot] for slot in moved[self.moves[moved] == _MOVES].tolist()]

    def _claim(self, raw: bytes, digest: int) -> str | None:
        """Give a new stream a slot; return why it cannot have one."""
        try:
            name = raw.decode()
        except UnicodeDecodeError:
            return f"expected a stream id in UTF-8; got {raw!r}"
        if not name.isprintable():
            return f"expected a printable stream id; got {name!r}"
        if self.reserved and name.partition("/")[0] == self.reserved:
            return f"expected a stream id that is not the name of the topic; got {name!r}"
        slot = self._free.pop() if self._free else self._new_slot()
        if slot < 0:
            return f"expected at most {self.most} streams; {name!r} would be one more"
        self.names[slot], self.keys[slot], self._digests[slot] = name, raw, digest
        self.ids[slot, : len(raw)] = np.frombuffer(raw, np.uint8)
        self.id_size[slot] = len(raw)
        self.bundled[slot], self.moves[slot] = False, 0
        if 2 * self._entries >= len(self._table):
            self._enter_all()
        else:
            cpu.kernels.enter(self._table, digest, slot)
            self._entries += 1
        self.claimed.append(slot)
        return None

    def _new_slot(self) -> int:
        """Return a slot that was never given, -1 if there are ``most``."""
        slot = len(self.names)
        if slot >= self.most:
            return -1
        if slot == self.capacity:
            self._grow()
        self.names.append("")
        self._digests.append(0)
        return slot

    def _grow(self) -> None:
        more = room_for(self.capacity + 1)
        for name in ("keys", "ids", "id_size", "partition", "bundled", "moves"):
            old = getattr(self, name)
            grown = np.full((more, *old.shape[1:]), b"" if name == "keys" else 0, old.dtype)
            grown[: len(old)] = old
            setattr(self, name, grown)

    def _enter_all(self) -> None:
        """Make a table without the evicted streams: less than half of its rows are in use."""
        known = np.flatnonzero(self.is_known()).tolist()
        self._table = _empty_table(max(LEAST_TABLE, 1 << (2 * len(known)).bit_length()))
        self._entries = len(known)
        for slot in known:
            cpu.kernels.enter(self._table, self._digests[slot], slot)
