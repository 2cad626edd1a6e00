"""The last ten seconds of samples of every stream, and the streams by slot.

In: Chunks. Out: the samples of a stream since an index, for as many readers as there are; each keeps its own index.
State: the directory of streams; by slot the columns of ``Traces``; by bank (rate and number of leads) the rings,
int16 [lanes, leads, R], sample ``a`` in column ``a % R``.

Memory: a stream of one lead at 250 Hz has 5 kB; 5,000 have 25 MB, so every stream has a ring and one that is watched
needs nothing of the past. Streams beyond ``most_bytes`` of rings are listed, but have no trace. Samples that did not
arrive are -32768, never what the ring held before. Everything that runs once a sample or a chunk is a kernel or NumPy.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import Any

import fastavro
import numpy as np

from beatwire.jit import cpu
from beatwire.kernels.ring import NO_VALUE
from beatwire.records import F64, I16, I64, Bank, Chunks, RawTick
from beatwire.records.columns import (
    CHUNK_AT,
    CHUNK_COUNT,
    CHUNK_FIRST,
    CHUNK_ID_AT,
    CHUNK_ID_SIZE,
    CHUNK_LEAD_OFF,
    CHUNK_LEADS,
    CHUNK_RATE_HZ,
    CHUNK_SESSION,
    CHUNK_TIME_US,
    CHUNK_UV_PER_UNIT,
    PLACEMENT_COLUMNS,
)
from beatwire.stages import decode
from beatwire.stages.ring import ring_samples
from beatwire.stages.support.directory import Directory
from beatwire.wire.avro import encode_chunk, schema

RING_S = 10.0
MOST_STREAMS = 20_000
MOST_BYTES = 512 << 20
_INT_COLUMNS = (
    "session", "base", "stop", "leads", "lead_off", "anchor", "anchor_us", "arrived_us", "bank", "lane", "epoch",
)  # fmt: skip


@dataclass(slots=True)
class Traces:
    """Streams by slot.

    directory    names and slots
    ints         int64 [slots] of each of: session; base, its first sample here; stop, the sample after the newest one
                 (-1: none); leads; lead_off, the mask of the last chunk; anchor and anchor_us, a sample and its device
                 time; arrived_us, when the last chunk was read; bank, lane (-1: none); epoch, how often it began anew
    rate_hz, uv_per_unit  float64 [slots]
    lead_names   slot -> names of its leads
    numbers      name -> slot
    rejected     messages that could not be used
    """

    most_bytes: int = MOST_BYTES
    directory: Directory = field(default_factory=lambda: Directory(MOST_STREAMS))
    ints: dict[str, I64] = field(default_factory=lambda: {name: np.full(0, -1, np.int64) for name in _INT_COLUMNS})
    rate_hz: F64 = field(default_factory=lambda: np.zeros(0))
    uv_per_unit: F64 = field(default_factory=lambda: np.zeros(0))
    lead_names: dict[int, list[str]] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    rejected: int = 0
    _banks: list[Bank] = field(default_factory=list)
    _rings: list[I16] = field(default_factory=list)
    _free: list[list[int]] = field(default_factory=list)
    _decoder: decode.State = field(default_factory=lambda: decode.State(decode.Settings()))

    def add(self, tick: RawTick) -> bool:
        """Add the messages of a tick; return True if there are new streams among them."""
        _, chunks = decode.step(self._decoder, tick)
        self.rejected += len(chunks.rejects)
        slot = self._find(chunks)
        usable = np.flatnonzero(slot >= 0)
        self.rejected += len(slot) - len(usable)
        begun = len(self.directory.claimed) > 0
        if len(usable):
            self._place(chunks.payload, chunks.ints[usable], chunks.floats[usable], slot[usable], tick.now_us)
        return begun

    def slot_of(self, stream: str) -> int:
        """Return the slot of a stream of which perhaps no sample has arrived, -1 if there are too many streams."""
        if stream not in self.numbers:
            made_up = RawTick.of([encode_chunk(stream, 0, 0, 0, 250.0, ["-"], [0])])  # it carries the id, no more
            self._find(decode.step(self._decoder, made_up)[1])
        return self.numbers.get(stream, -1)

    def since(self, slot: int, first: int, leads: int) -> tuple[int, I16]:
        """Return the samples of a stream from ``first`` on, or from the oldest one kept.

        Parameters
        ----------
        slot
            Of the stream.
        first
            Index of the first sample wanted.
        leads
            Number of leads wanted.

        Returns
        -------
        int, int16 [leads, n]
            The index of the first sample, and the samples; n is 0 if there are none.
        """
        stop, lane = int(self.ints["stop"][slot]), int(self.ints["lane"][slot])
        if stop < 0 or lane < 0:
            return first, np.empty((leads, 0), np.int16)
        ring = self._rings[self.ints["bank"][slot]][lane]
        first = min(max(first, stop - ring.shape[1], int(self.ints["base"][slot])), stop)
        return first, ring[:leads, np.arange(first, stop) % ring.shape[1]]

    def time_us(self, slot: int, sample: int) -> int:
        """Return the device time of a sample, microseconds since 1970, by the newest chunk."""
        past_s = (sample - int(self.ints["anchor"][slot])) / self.rate_hz[slot]
        return int(self.ints["anchor_us"][slot]) + round(float(past_s) * 1e6)

    def forget(self, slots: I64) -> None:
        """Remove streams; their slots and rings go to others."""
        for slot in slots.tolist():
            self._leave(slot)
            self.numbers.pop(self.directory.names[slot], None)
            self.lead_names.pop(slot, None)
            for column in self.ints.values():
                column[slot] = -1
        self.directory.evict(slots)
        self.directory.give_back(slots)

    @property
    def ring_bytes(self) -> int:
        """Return the size of all rings."""
        return sum(ring.nbytes for ring in self._rings)

    def _find(self, chunks: Chunks) -> I64:
        slot, _ = self.directory.find(chunks)
        missing = self.directory.capacity - len(self.rate_hz)
        if missing > 0:
            self.ints = {name: np.append(c, np.full(missing, -1)) for name, c in self.ints.items()}
            self.rate_hz, self.uv_per_unit = (np.append(c, np.zeros(missing)) for c in (self.rate_hz, self.uv_per_unit))
        for new in self.directory.claimed:
            self.numbers[self.directory.names[new]] = new
        return slot

    def _place(self, payload: Any, ints: I64, floats: F64, slot: I64, now_us: int) -> None:
        """Write chunks, all of known streams, into the rings."""
        last = np.full(len(self.rate_hz), -1)
        last[slot] = np.arange(len(slot))
        seen = np.flatnonzero(last >= 0)
        newest = last[seen]
        begun = self._begin_what_changed(payload, ints, floats, seen, newest)
        of_last = last[slot]  # a stream that began anew in this tick: what came before is not shown
        same = (ints[:, CHUNK_SESSION] == ints[of_last, CHUNK_SESSION]) & (
            ints[:, CHUNK_LEADS] == ints[of_last, CHUNK_LEADS]
        )
        same &= floats[:, CHUNK_RATE_HZ] == floats[of_last, CHUNK_RATE_HZ]
        same &= self.ints["lane"][slot] >= 0
        rows = np.flatnonzero(same)
        rows = rows[np.argsort(slot[rows], kind="stable")]
        of_begun = rows[np.isin(slot[rows], begun)]
        np.minimum.at(self.ints["base"], slot[of_begun], ints[of_begun, CHUNK_FIRST])
        self._write(payload, ints[rows], slot[rows])
        self.ints["anchor"][seen] = ints[newest, CHUNK_FIRST]
        self.ints["anchor_us"][seen] = ints[newest, CHUNK_TIME_US]
        self.ints["lead_off"][seen] = ints[newest, CHUNK_LEAD_OFF]
        self.ints["arrived_us"][seen] = now_us

    def _begin_what_changed(self, payload: Any, ints: I64, floats: F64, seen: I64, newest: I64) -> I64:
        """Begin the streams that are new, or have another session, rate or number of leads; return their slots."""
        changed = (self.ints["session"][seen] != ints[newest, CHUNK_SESSION]) | (self.ints["stop"][seen] < 0)
        changed |= self.ints["leads"][seen] != ints[newest, CHUNK_LEADS]
        changed |= self.rate_hz[seen] != floats[newest, CHUNK_RATE_HZ]
        for slot, i in zip(seen[changed].tolist(), newest[changed].tolist(), strict=True):
            rate_hz, leads = float(floats[i, CHUNK_RATE_HZ]), int(ints[i, CHUNK_LEADS])
            if self.rate_hz[slot] != rate_hz or self.ints["leads"][slot] != leads or self.ints["lane"][slot] < 0:
                self._leave(slot)
                self._enter(slot, rate_hz, leads)
            if self.ints["lane"][slot] >= 0:
                self._rings[self.ints["bank"][slot]][self.ints["lane"][slot]] = NO_VALUE
            self.ints["session"][slot], self.ints["leads"][slot] = ints[i, CHUNK_SESSION], leads
            self.ints["base"][slot] = self.ints["stop"][slot] = ints[i, CHUNK_FIRST]
            self.ints["epoch"][slot] += 1
            self.rate_hz[slot], self.uv_per_unit[slot] = rate_hz, floats[i, CHUNK_UV_PER_UNIT]
            self.lead_names[slot] = _lead_names(payload, ints[i])
        begun: I64 = seen[changed]
        return begun

    def _write(self, payload: Any, ints: I64, slot: I64) -> None:
        """Write chunks, those of a stream together and in order, into the rings of their banks."""
        first, count = ints[:, CHUNK_FIRST], ints[:, CHUNK_COUNT]
        before = self.ints["stop"][slot]
        np.maximum.at(self.ints["stop"], slot, first + count)
        after = self.ints["stop"][slot]
        previous = np.append(-1, (first + count)[:-1])
        begins = np.append(True, slot[1:] != slot[:-1]) if len(slot) else np.zeros(0, np.bool_)
        self._clear_gaps(slot[first > np.where(begins, before, previous)], slot, before, after)
        size = np.array([ring.shape[2] for ring in self._rings] or [0])[self.ints["bank"][slot]]
        cut = np.maximum(after - size - first, 0)  # what is older than the ring
        place = np.zeros((len(slot), PLACEMENT_COLUMNS), np.int64)
        columns = (self.ints["lane"][slot], first + cut, count - cut, ints[:, CHUNK_AT] + 2 * cut, 2 * count)
        for k, column in enumerate(columns):
            place[:, k] = column
        for bank in np.unique(self.ints["bank"][slot]).tolist():
            rows = np.ascontiguousarray(place[(self.ints["bank"][slot] == bank) & (cut < count)])
            cpu.kernels.write_samples(len(rows), rows, payload, self._rings[bank])
        for i in np.flatnonzero((ints[:, CHUNK_LEAD_OFF] != 0) & (cut < count)).tolist():
            ring = self._rings[self.ints["bank"][slot[i]]][self.ints["lane"][slot[i]]]
            columns_off = np.arange(place[i, 1], place[i, 1] + place[i, 2]) % ring.shape[1]
            for lead in range(len(ring)):
                if ints[i, CHUNK_LEAD_OFF] >> lead & 1:
                    ring[lead, columns_off] = NO_VALUE

    def _clear_gaps(self, gaps: I64, slot: I64, before: I64, after: I64) -> None:
        """Write no value to all new samples of the slots that have a gap; what arrived is written after it."""
        for one in np.unique(gaps).tolist():
            i = int(np.searchsorted(slot, one))
            ring = self._rings[self.ints["bank"][one]][self.ints["lane"][one]]
            new = np.arange(max(before[i], after[i] - ring.shape[1]), after[i])
            ring[:, new % ring.shape[1]] = NO_VALUE

    def _leave(self, slot: int) -> None:
        if self.ints["lane"][slot] >= 0:
            self._free[self.ints["bank"][slot]].append(int(self.ints["lane"][slot]))
        self.ints["lane"][slot] = -1

    def _enter(self, slot: int, rate_hz: float, leads: int) -> None:
        """Give a slot a ring, if there is memory for it."""
        bank = next((b.number for b in self._banks if (b.rate_hz, b.leads) == (rate_hz, leads)), -1)
        if bank < 0:
            bank = len(self._banks)
            self._banks.append(Bank(bank, rate_hz, leads))
            self._rings.append(np.empty((0, leads, ring_samples(RING_S, rate_hz)), np.int16))
            self._free.append([])
        if not self._free[bank]:
            ring = self._rings[bank]
            more = max(8, len(ring) // 4)
            if self.ring_bytes + 2 * more * leads * ring.shape[2] > self.most_bytes:
                return
            self._rings[bank] = np.concatenate([ring, np.full((more, *ring.shape[1:]), NO_VALUE, np.int16)])
            self._free[bank] = list(range(len(ring) + more - 1, len(ring) - 1, -1))
        self.ints["bank"][slot], self.ints["lane"][slot] = bank, self._free[bank].pop()


def _lead_names(payload: Any, row: I64) -> list[str]:
    """Return the names of a chunk's leads: the chunk begins with the length of its stream id."""
    at = int(row[CHUNK_ID_AT]) - (1 if row[CHUNK_ID_SIZE] < 64 else 2)
    end = int(row[CHUNK_AT] + 2 * row[CHUNK_LEADS] * row[CHUNK_COUNT])
    chunk = fastavro.schemaless_reader(io.BytesIO(payload[at:end].tobytes()), schema("sample_chunk"), None)
    assert isinstance(chunk, dict)
    return [str(name)[:16] for name in chunk["leads"]]
