"""The waiting room: chunks with a sampling rate and a number of leads that no stream has.

In:    Chunks, and which of them would open a bank
Out:   Chunks without those that wait, and with those whose stream has sent enough
State: the chunks that wait

A bank costs rings of its own and a run of all stages in each tick. A corrupt message can name any rate, and a device
keeps to one: so the bank is opened once a session has sent ``enough_s`` of samples without a hole of more than
``HOLE_S``, or a stream has kept to it for ``PERSISTS_S``, whatever its counts and sessions say: what cannot be analysed
is announced (law 8). Nothing is lost: its chunks are placed as they came, and a stream has no beat in its first second.
What waits is dropped, counted and rejected with the first message of its partition that arrived more than ``silence_s``
after the last chunk of its session: so the log alone decides, and a successor rejects nothing again. The bank of the
very first chunk is opened at once.

Which banks are open depends on all streams of a worker, and so on which partitions it has. A replay has to end with
what was published: it opens the banks that were open at the commit of a partition, for its chunks, and no other. They
stay open afterwards, although the replay may have had no chunk for one.

A chunk that waits has a negative number in place of the number of its message, until it is placed or rejected.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from beatwire.records import I64, Chunks
from beatwire.records.alignment import AlignChunks
from beatwire.records.columns import (
    CHUNK_ARRIVED_US,
    CHUNK_AT,
    CHUNK_COUNT,
    CHUNK_FIRST,
    CHUNK_ID_AT,
    CHUNK_LEADS,
    CHUNK_RATE_HZ,
)
from beatwire.records.samples import BankKind
from beatwire.stages.support.streams.waiting_sessions import Key, Waiting, by_session, joined

MOST_BYTES = 32 << 20  # of chunks that wait, beyond which the oldest are dropped; `pipeline.held` keeps their messages

PERSISTS_S, PAUSE_S = 6.0, 2.5  # a stream keeps to a bank without a longer pause between its chunks
MOST_STREAMS = 10_000  # whose persistence is remembered
HOLE_S = 1.0  # chunks further apart, or out of order by more, do not add up


def kind_of(chunks: Chunks | AlignChunks, i: int) -> BankKind:
    """Return the bank that chunk ``i`` needs."""
    return float(chunks.floats[i, CHUNK_RATE_HZ]), int(chunks.ints[i, CHUNK_LEADS])


@dataclass(slots=True)
class WaitingRoom:
    """The chunks that wait, in the order of the last chunk of each stream.

    enough_s   seconds of samples after which a stream is placed; 0: no chunk waits
    silence_s  seconds without a chunk after which the chunks of a stream are dropped
    dropped    chunks dropped so far
    admitted   the banks that may be opened in this tick
    entered    number of each chunk that has entered in this tick -> number of its message in the tick
    left       numbers of the chunks that have left in this tick
    inherited  the banks that were open at the commits from which replays began
    """

    enough_s: float = 0.0
    silence_s: float = 60.0
    dropped: int = 0
    admitted: AbstractSet[BankKind] = frozenset()
    entered: dict[int, int] = field(default_factory=dict)
    left: set[int] = field(default_factory=set)
    inherited: frozenset[BankKind] = frozenset()
    _last: int = 0  # number given to a chunk
    _dropped: list[tuple[int, str]] = field(default_factory=list)  # of this tick: number and reason
    _entries: dict[Key, Waiting] = field(default_factory=dict)
    _oldest_us: dict[int, int] = field(default_factory=dict)  # partition -> its last chunks arrived no earlier
    _kept: dict[Key, tuple[int, int]] = field(default_factory=dict)  # session 0 -> arrival of its first and last chunk
    _changed: set[Key] = field(default_factory=set)  # that have sent something since `_opened` was called
    _banks: AbstractSet[BankKind] = frozenset()  # that were open then
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
        if chunks.open_banks is not None:
            self.inherited = self.inherited.union(*chunks.open_banks.values())
        elif self.inherited:
            rows = np.array([row for row in rows.tolist() if kind_of(chunks, row) not in self.inherited], np.int64)
        self.admitted, self.entered, self.left, self._dropped = banks if replay else self.inherited, {}, set(), []
        if not len(rows) and not self._entries:
            return chunks, np.zeros(0, np.int64)
        stay = np.ones(len(chunks.message), np.bool_)
        stay[rows] = False
        of_streams = self._enter(chunks, rows)
        opened: AbstractSet[BankKind] = frozenset()
        if not replay:  # what waits in a replay waits until its end
            opened = self._opened(banks | self.inherited)
            self.admitted = opened | self.inherited
        out: list[tuple[Key, Waiting]] = []
        for key in [key for key in self._entries if key.bank in opened] if opened else []:
            entry = self._entries.pop(key)
            stay[of_streams.get(key, [])] = True
            if entry.raw:
                self._forget(key, entry)
                out.append((key, entry))
        self._hold({key: of_stream for key, of_stream in of_streams.items() if key.bank not in opened}, chunks, tick)
        self._expire(chunks)
        self._bound()
        return joined(out, chunks, stay), np.array([tick for _, entry in out for tick in entry.tick], np.int64)

    def _opened(self, banks: AbstractSet[BankKind]) -> frozenset[BankKind]:
        """Return the banks that are opened: a stream that has sent enough opens its bank for all that wait for it.

        Only streams that have sent something since the last call can have sent enough.
        """
        looked_at = self._changed & self._entries.keys() if banks == self._banks else set(self._entries)
        self._banks = banks
        self._changed.clear()
        return frozenset(
            key.bank
            for key in looked_at
            if self._entries[key].run >= self.enough_s * key.rate_hz or key.bank in banks or self._persists(key)
        )

    def _persists(self, key: Key) -> bool:
        """Return True if the stream has kept to its bank for long enough, in one session or in many."""
        first_us, last_us = self._kept.get(key._replace(session=0), (0, 0))
        return last_us - first_us >= PERSISTS_S * 1e6

    def _note_stream(self, key: Key, arrived_us: int) -> None:
        stream = key._replace(session=0)
        first_us, last_us = self._kept.pop(stream, (arrived_us, arrived_us))
        begins = arrived_us - last_us > PAUSE_S * 1e6
        self._kept[stream] = (arrived_us if begins else first_us, max(arrived_us, last_us))
        if len(self._kept) > MOST_STREAMS:
            del self._kept[next(iter(self._kept))]

    def admits(self, chunks: AlignChunks, i: int) -> bool:
        """Return True if chunk ``i`` may open a bank in this tick."""
        return not self.enough_s or kind_of(chunks, i) in self.admitted

    def hold(self, chunks: Chunks, rows: I64, tick: int) -> list[tuple[int, str]]:
        """Take in chunks that were found to need a bank while they were placed: a session began between them.

        Returns
        -------
        list of (int, str)
            Number and reason of each chunk that was dropped in this tick.
        """
        self._hold(self._enter(chunks, rows), chunks, tick)
        if len(rows):
            self._expire(chunks)
        self._bound()
        return self._dropped

    def _enter(self, chunks: Chunks, rows: I64) -> dict[Key, list[int]]:
        """Count the samples of the rows of each stream; return these rows, without those dropped by a later one."""
        columns = chunks.ints[rows][:, [CHUNK_FIRST, CHUNK_COUNT, CHUNK_ARRIVED_US]].tolist()
        places = dict(zip(rows.tolist(), columns, strict=True))
        return {
            key: self._extend(key, of_stream, places, chunks) for key, of_stream in by_session(chunks, rows).items()
        }

    def _extend(self, key: Key, rows: Sequence[int], places: Mapping[int, Sequence[int]], chunks: Chunks) -> list[int]:
        """Count the samples of the rows of a stream; one that is far away begins anew, after a silence without all."""
        entry = self._entries.pop(key, None) or Waiting()
        kept: list[int] = []
        for row in rows:
            first, count, arrived_us = places[row]
            if entry.run and arrived_us - entry.arrived_us > self.silence_s * 1e6:
                self._drop(key, entry, chunks.message[kept].tolist())
                entry, kept = Waiting(), []
            if not entry.run or abs(first - entry.stop) > HOLE_S * key.rate_hz:
                entry.run, entry.stop = count, first + count
            else:
                entry.run += max(0, first + count - max(first, entry.stop))
                entry.stop = max(entry.stop, first + count)
            entry.arrived_us = arrived_us
            self._note_arrival(key.partition, arrived_us)
            self._note_stream(key, arrived_us)
            kept.append(row)
        self._entries[key] = entry  # the last, in the order of the last chunk
        self._changed.add(key)
        return kept

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
        columns = zip(ints, floats, chunks.message[rows].tolist(), raw, strict=True)
        for key, of_stream in of_streams.items():
            entry = self._entries[key]
            for own_ints, own_floats, message, value in islice(columns, len(of_stream)):
                entry.ints.append(own_ints.copy())  # views would keep the rows of all streams
                entry.floats.append(own_floats.copy())
                entry.tick.append(tick)
                entry.number.append(self._number(message))
                entry.raw.append(value)
                self._bytes += len(value)
                self._ticks.setdefault(key.partition, Counter())[tick] += 1

    def _number(self, message: int) -> int:
        """Return the number of a chunk that enters; one that has waited before keeps its number."""
        if message < 0:
            self.left.discard(message)
            return message
        self._last -= 1
        self.entered[self._last] = message
        return self._last

    def _forget(self, key: Key, entry: Waiting) -> None:
        self._bytes -= sum(map(len, entry.raw))
        self.left.update(entry.number)
        for tick in entry.tick:
            ticks = self._ticks[key.partition]
            ticks[tick] -= 1
            if not ticks[tick]:
                del ticks[tick]

    def _drop(self, key: Key, entry: Waiting, numbers: Sequence[int] = ()) -> None:
        """Reject the chunks of an entry, and chunks with these numbers that have not entered."""
        self._forget(key, entry)
        self.dropped += len(entry.raw) + len(numbers)
        reason = (
            f"expected {self.enough_s:g} s of samples of a stream whose rate and number of leads no other stream has; "
            f"got {entry.run / key.rate_hz:.3g} s at {key.rate_hz:g} Hz with {key.leads} leads"
        )
        self._dropped += [(number, reason) for number in [*entry.number, *numbers]]

    def _expire(self, chunks: Chunks) -> None:
        """Drop what has waited for too long by the newest arrival in its partition."""
        if not self._entries:
            return
        partition, arrived_us = chunks.received
        newest_us = np.zeros(max(partition.max(initial=0), *self._oldest_us) + 1, np.int64)
        np.maximum.at(newest_us, partition, arrived_us)
        limit_us = round(self.silence_s * 1e6)
        late = {p for p, oldest_us in self._oldest_us.items() if newest_us[p] - oldest_us > limit_us}
        if not late:
            return
        for p in late:
            del self._oldest_us[p]
        for key, entry in [(key, entry) for key, entry in self._entries.items() if key.partition in late]:
            if newest_us[key.partition] - entry.arrived_us > limit_us:
                self._drop(key, self._entries.pop(key))
            else:
                self._note_arrival(key.partition, entry.arrived_us)

    def _note_arrival(self, partition: int, arrived_us: int) -> None:
        self._oldest_us[partition] = min(arrived_us, self._oldest_us.get(partition, arrived_us))

    def _bound(self) -> None:
        while self._bytes > MOST_BYTES:
            key = next(iter(self._entries))
            self._drop(key, self._entries.pop(key))
