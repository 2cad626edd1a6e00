"""The waiting room: chunks with a sampling rate and a number of leads that no stream has.

In:    Chunks, and which of them would open a bank
Out:   Chunks without those that wait, and with those whose stream has sent enough
State: the chunks that wait

A bank costs rings of its own and a run of all stages in each tick. A corrupt message can name any rate, and a device
keeps to one: so the bank is opened once a session has sent ``enough_s`` of samples without a hole of more than
``HOLE_S``. Nothing is lost: its chunks are placed as they came, and a stream has no beat in its first second. What
waits longer than ``silence_s`` is dropped, counted and rejected. The bank of the very first chunk is opened at once.

Which banks are open depends on all streams of a worker, and so on which partitions it has. A replay has to end with
what was published: it opens the banks that were open at the commit of a partition, for its chunks, and no other.

A chunk that waits has a negative number in place of the number of its message, until it is placed or rejected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from beatwire.records import F64, I64, Bool, Chunks
from beatwire.records.alignment import AlignChunks
from beatwire.records.columns import (
    CHUNK_AT,
    CHUNK_COUNT,
    CHUNK_FIRST,
    CHUNK_ID_AT,
    CHUNK_ID_HASH,
    CHUNK_LEADS,
    CHUNK_RATE_HZ,
    CHUNK_SESSION,
)
from beatwire.records.samples import BankKind

MOST_BYTES = 32 << 20  # of chunks that wait, beyond which the oldest are dropped; `pipeline.held` keeps their messages

HOLE_S = 1.0  # chunks further apart, or out of order by more, do not add up
Key = tuple[int, int, float, int]  # hash of the stream id, session, sampling rate, number of leads


@dataclass(slots=True)
class Waiting:
    """Chunks of one session: rows of ``Chunks`` with positions in ``raw``, their numbers, and their ticks.

    run, stop   samples that have come one after another so far, and the sample after them
    """

    run: int = 0
    stop: int = 0
    arrived_us: int = 0
    ints: list[I64] = field(default_factory=list)
    floats: list[F64] = field(default_factory=list)
    partition: list[int] = field(default_factory=list)
    tick: list[int] = field(default_factory=list)
    number: list[int] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)


@dataclass(slots=True)
class WaitingRoom:
    """The chunks that wait, in the order of the last chunk of each stream.

    enough_s   seconds of samples after which a stream is placed; 0: no chunk waits
    silence_s  seconds without a chunk after which its chunks are dropped
    dropped    chunks dropped so far
    admitted   the banks that may be opened in this tick
    entered    number of each chunk that has entered in this tick -> number of its message in the tick
    left       numbers of the chunks that have left in this tick
    """

    enough_s: float = 0.0
    silence_s: float = 60.0
    dropped: int = 0
    admitted: AbstractSet[BankKind] = frozenset()
    entered: dict[int, int] = field(default_factory=dict)
    left: set[int] = field(default_factory=set)
    _last: int = 0  # number given to a chunk
    _dropped: list[tuple[int, str]] = field(default_factory=list)  # of this tick: number and reason
    _entries: dict[Key, Waiting] = field(default_factory=dict)
    _bytes: int = 0
    _ticks: dict[int, Counter[int]] = field(default_factory=dict)  # partition -> tick, ascending -> chunks that wait

    def exchange(self, chunks: Chunks, rows: I64, tick: int, banks: AbstractSet[BankKind]) -> tuple[Chunks, I64]:
        """Take in the chunks that would open a bank, and let out the streams that have sent enough.

        Parameters
        ----------
        rows
            The chunks that would open a bank.
        tick
            The number of the tick.
        banks
            Those that are open; in a replay those that may be opened.

        Returns
        -------
        Chunks, int64 [r]
            The chunks to place, those that have waited first, by the numbers that they had here; and the ticks in
            which these first ``r`` came.
        """
        replay = chunks.open_banks is not None
        self.admitted, self.entered, self.left, self._dropped = banks if replay else frozenset(), {}, set(), []
        if not len(rows) and not self._entries:
            return chunks, np.zeros(0, np.int64)
        self._expire(chunks.now_us)
        stay = np.ones(len(chunks.message), np.bool_)
        stay[rows] = False
        of_streams = self._enter(chunks, rows)
        # A bank that one stream opens is there for all that wait for it. What waits in a replay waits until its end.
        opened = set()
        if not replay:
            opened = {
                key[2:]
                for key, entry in self._entries.items()
                if entry.run >= self.enough_s * key[2] or key[2:] in banks
            }
            self.admitted = opened
        out: list[Waiting] = []
        for key in [key for key in self._entries if key[2:] in opened]:
            entry = self._entries.pop(key)
            stay[of_streams.get(key, [])] = True
            if entry.raw:
                self._forget(entry)
                out.append(entry)
        self._hold({key: of_stream for key, of_stream in of_streams.items() if key[2:] not in opened}, chunks, tick)
        self._bound()
        return _joined(out, chunks, stay), np.array([tick for entry in out for tick in entry.tick], np.int64)

    def admits(self, chunks: AlignChunks, i: int) -> bool:
        """Return True if chunk ``i`` may open a bank in this tick."""
        kind = float(chunks.floats[i, CHUNK_RATE_HZ]), int(chunks.ints[i, CHUNK_LEADS])
        return not self.enough_s or kind in self.admitted

    def hold(self, chunks: Chunks, rows: I64, tick: int) -> list[tuple[int, str]]:
        """Take in chunks that were found to need a bank while they were placed: a session began between them.

        Returns
        -------
        list of (int, str)
            Number and reason of each chunk that was dropped in this tick.
        """
        self._hold(self._enter(chunks, rows), chunks, tick)
        self._bound()
        return self._dropped

    def _enter(self, chunks: Chunks, rows: I64) -> dict[Key, list[int]]:
        """Count the samples of the rows of each stream; return these rows."""
        of_streams = _by_stream(chunks, rows)
        places = dict(zip(rows.tolist(), chunks.ints[rows][:, [CHUNK_FIRST, CHUNK_COUNT]].tolist(), strict=True))
        for key, of_stream in of_streams.items():
            entry = self._entries.pop(key, None) or Waiting()
            self._entries[key] = entry  # the last, in the order of the last chunk
            _extend(entry, [places[row] for row in of_stream], HOLE_S * key[2])
        return of_streams

    def oldest_tick(self, partition: int, default: int) -> int:
        """Return the oldest tick with a chunk of the partition that waits: a successor must read it."""
        return min(default, next(iter(self._ticks.get(partition, ())), default))

    def __len__(self) -> int:
        return len(self._entries)

    def _hold(self, of_streams: Mapping[Key, Sequence[int]], chunks: Chunks, tick: int) -> None:
        """Take in the rows of each stream."""
        if not of_streams:  # in almost every tick
            return
        rows = [row for of_stream in of_streams.values() for row in of_stream]
        ints, floats = chunks.ints[rows], chunks.floats[rows]
        begin = ints[:, CHUNK_ID_AT].copy()
        stop = ints[:, CHUNK_AT] + 2 * ints[:, CHUNK_LEADS] * ints[:, CHUNK_COUNT]
        ints[:, [CHUNK_ID_AT, CHUNK_AT]] -= begin[:, None]
        raw = [chunks.payload[a:b].tobytes() for a, b in zip(begin.tolist(), stop.tolist(), strict=True)]
        columns = zip(ints, floats, chunks.partition[rows].tolist(), chunks.message[rows].tolist(), raw, strict=True)
        for key, of_stream in of_streams.items():
            entry = self._entries[key]
            for own_ints, own_floats, partition, message, value in islice(columns, len(of_stream)):
                entry.ints.append(own_ints.copy())  # views would keep the rows of all streams
                entry.floats.append(own_floats.copy())
                entry.partition.append(partition)
                entry.tick.append(tick)
                entry.number.append(self._number(message))
                entry.raw.append(value)
                self._bytes += len(value)
                self._ticks.setdefault(partition, Counter())[tick] += 1
            entry.arrived_us = chunks.now_us

    def _number(self, message: int) -> int:
        """Return the number of a chunk that enters; one that has waited before keeps its number."""
        if message < 0:
            self.left.discard(message)
            return message
        self._last -= 1
        self.entered[self._last] = message
        return self._last

    def _forget(self, entry: Waiting) -> None:
        self._bytes -= sum(map(len, entry.raw))
        self.left.update(entry.number)
        for partition, tick in zip(entry.partition, entry.tick, strict=True):
            ticks = self._ticks[partition]
            ticks[tick] -= 1
            if not ticks[tick]:
                del ticks[tick]

    def _drop_oldest(self) -> None:
        key = next(iter(self._entries))
        entry = self._entries.pop(key)
        self._forget(entry)
        self.dropped += len(entry.raw)
        _, _, rate_hz, leads = key
        reason = (
            f"expected {self.enough_s:g} s of samples of a stream whose rate and number of leads no other stream has; "
            f"got {entry.run / rate_hz:.3g} s at {rate_hz:g} Hz with {leads} leads"
        )
        self._dropped += [(number, reason) for number in entry.number]

    def _expire(self, now_us: int) -> None:
        while self._entries and now_us - next(iter(self._entries.values())).arrived_us > self.silence_s * 1e6:
            self._drop_oldest()

    def _bound(self) -> None:
        while self._bytes > MOST_BYTES:
            self._drop_oldest()


def _extend(entry: Waiting, places: Iterable[Sequence[int]], hole: float) -> None:
    """Count the samples of chunks, (first, count), that follow one another; one that is far away begins anew."""
    for first, count in places:
        if not entry.run or abs(first - entry.stop) > hole:
            entry.run, entry.stop = count, first + count
        else:
            entry.run += max(0, first + count - max(first, entry.stop))
            entry.stop = max(entry.stop, first + count)


def _by_stream(chunks: Chunks, rows: I64) -> dict[Key, list[int]]:
    """Return the rows of each stream, session, rate and number of leads, in their order."""
    found: dict[Key, list[int]] = {}
    columns = chunks.ints[rows][:, [CHUNK_ID_HASH, CHUNK_SESSION, CHUNK_LEADS]].tolist()
    rates_hz = chunks.floats[rows, CHUNK_RATE_HZ].tolist()
    for row, (digest, session, leads), rate_hz in zip(rows.tolist(), columns, rates_hz, strict=True):
        found.setdefault((digest, session, rate_hz, leads), []).append(row)
    return found


def _joined(entries: list[Waiting], chunks: Chunks, stay: Bool) -> Chunks:
    """Return the chunks that stay, behind those of the entries."""
    kept = replace(
        chunks, ints=chunks.ints[stay], floats=chunks.floats[stay], message=chunks.message[stay],
        partition=chunks.partition[stay],
    )  # fmt: skip
    if not entries:
        return kept
    raw = [value for entry in entries for value in entry.raw]
    ints = np.stack([row for entry in entries for row in entry.ints])
    at = len(chunks.payload) + np.cumsum([0, *map(len, raw[:-1])])
    ints[:, [CHUNK_ID_AT, CHUNK_AT]] += at[:, None]
    payload = np.concatenate([chunks.payload, np.frombuffer(b"".join(raw), np.uint8)])
    payload.flags.writeable = False  # kernels are compiled for that
    partition = np.array([p for entry in entries for p in entry.partition], chunks.partition.dtype)
    return replace(
        kept,
        payload=payload,
        ints=np.concatenate([ints, kept.ints]),
        floats=np.concatenate([np.stack([row for entry in entries for row in entry.floats]), kept.floats]),
        message=np.concatenate([np.array([k for entry in entries for k in entry.number], np.int64), kept.message]),
        partition=np.concatenate([partition, kept.partition]),
    )
