"""Admission: the banks that are open, and the lanes of each that streams have.

In:    the streams that begin, and those that leave
Out:   a lane for each stream, or why it has none
State: the banks, their lanes, and the waiting room

A bank is a sampling rate and a number of leads; a lane is the place of one stream in the rings of its bank. Chunks of
new streams that would open a bank wait first (``waiting``). ``stages.align`` orders the chunks of the streams that are
admitted here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from beatwire.kernels.intake import arrivals
from beatwire.records import I64, Bank, Chunks, slot_columns
from beatwire.records.alignment import AlignChunks
from beatwire.records.columns import CHUNK_LEADS, CHUNK_RATE_HZ, CHUNK_SESSION
from beatwire.stages.support.room import room_for
from beatwire.stages.support.streams.banks import allowed_banks, find_banks, without_bank
from beatwire.stages.support.streams.directory import Directory
from beatwire.stages.support.streams.waiting import WaitingRoom
from beatwire.stages.support.streams.waiting_sessions import goes_on

WAITS = -1  # verdict on a chunk whose bank may not be opened yet


@dataclass(slots=True)
class Admission:
    """Banks by number, and their lanes.

    most_banks  bounds the time of a tick against stray rates: each bank is a run of all stages
    waiting     chunks of new streams that would open a bank
    admits      returns True if there is memory for so many lanes of each bank
    banks       by number
    lanes       lanes that each bank has given so far
    free        lanes of each bank that are free again
    left        bank and lane of those that became free in this tick, which still has placements in them
    durations   int64 [banks, LIMIT_COLUMNS], see ``records.slot_columns``
    """

    most_banks: int
    waiting: WaitingRoom = field(default_factory=WaitingRoom)
    admits: Callable[[list[Bank], list[int]], bool] = lambda _banks, _lanes: True
    banks: list[Bank] = field(default_factory=list)
    lanes: list[int] = field(default_factory=list)
    free: list[list[int]] = field(default_factory=list)
    left: list[tuple[int, int]] = field(default_factory=list)
    durations: I64 = field(default_factory=lambda: np.zeros((0, slot_columns.LIMIT_COLUMNS), np.int64))

    def expected(self, code: int) -> float | None:
        """Return what the reject of a chunk says there is room for; None if the code is no matter of room."""
        if code == arrivals.REFUSED:
            return float(sum(self.lanes))
        return float(self.most_banks) if code == arrivals.NO_BANK else None

    def exchange(self, chunks: Chunks, tick: int, directory: Directory, slots: I64) -> tuple[Chunks, I64, I64]:
        """Exchange the chunks that would open a bank with the waiting room.

        Returns
        -------
        Chunks, int64 [r], int64 [n]
            See ``WaitingRoom.exchange``; and the bank of each chunk, -1: it has none yet.
        """
        bank = np.empty(len(chunks.ints), np.int64)
        find_banks(self.banks, chunks, bank)
        may_wait = self.waiting.enough_s > 0 and len(self.banks) < self.most_banks
        rows = without_bank(self.banks, chunks, bank) if may_wait else np.zeros(0, np.int64)
        if len(rows):  # without a new session a stream may not change its rate: that is a reject
            slot = directory.look_up(chunks.payload, chunks.ints[rows])
            known = np.flatnonzero(slot >= 0)
            same = slots[slot[known], slot_columns.SLOT_SESSION] == chunks.ints[rows[known], CHUNK_SESSION]
            rows = np.setdiff1d(np.delete(rows, known[same]), goes_on(chunks, rows), assume_unique=True)
        placed, waited = self.waiting.exchange(chunks, rows, tick, allowed_banks(self.banks, chunks))
        if placed is not chunks:
            bank = np.empty(len(placed.ints), np.int64)
            find_banks(self.banks, placed, bank)
        return placed, waited, bank

    def admit(self, given: AlignChunks, i: int, durations: Callable[[float], Sequence[int]]) -> int:
        """Make sure that there is a free lane for the stream that begins with chunk ``i``; return the verdict.

        Parameters
        ----------
        durations
            Returns the durations of a bank of so many Hz, in samples and microseconds.
        """
        if given.bank[i] < 0:
            if len(self.banks) >= self.most_banks:
                return arrivals.NO_BANK
            if self.banks and not self.waiting.admits(given, i):
                return WAITS
            self._open(given, i, durations)
        return arrivals.REFUSED if self._is_full(int(given.bank[i])) else arrivals.PLACED

    def _open(self, given: AlignChunks, i: int, durations: Callable[[float], Sequence[int]]) -> None:
        """Open a bank for a stream that begins with chunk ``i``; one that only changes its rate is a reject."""
        new = Bank(len(self.banks), float(given.floats[i, CHUNK_RATE_HZ]), int(given.ints[i, CHUNK_LEADS]))
        self.banks.append(new)
        self.lanes.append(0)
        self.free.append([])
        self.durations = np.concatenate([self.durations, np.array([durations(new.rate_hz)], np.int64)])
        find_banks(self.banks, given, given.bank)

    def _is_full(self, bank: int) -> bool:
        """Return True if the bank has no free lane and may not have more."""
        used = self.lanes[bank]
        if self.free[bank] or 0 < used < room_for(used):
            return False
        return not self.admits(self.banks, [room_for(n + (k == bank)) for k, n in enumerate(self.lanes)])

    def give(self, bank: int) -> int:
        """Return a lane of the bank."""
        if self.free[bank]:
            return self.free[bank].pop()
        self.lanes[bank] += 1
        return self.lanes[bank] - 1

    def release(self, rows: I64) -> None:
        """Free the lanes of streams by their rows of slots; those without a lane are passed over."""
        for row in rows[rows[:, slot_columns.SLOT_LANE] >= 0]:
            self.free[row[slot_columns.SLOT_BANK]].append(int(row[slot_columns.SLOT_LANE]))

    def release_left(self) -> None:
        """Free the lanes that streams left in the last tick."""
        for number, lane in self.left:
            self.free[number].append(lane)
        self.left.clear()

    def remove_empty(self) -> I64:
        """Remove the banks without a stream; return the number that each bank has now, -1: it was removed."""
        kept = [n for n in range(len(self.banks)) if len(self.free[n]) < self.lanes[n]]
        number = np.full(len(self.banks), -1)
        number[kept] = np.arange(len(kept))
        self.banks = [self.banks[old]._replace(number=new) for new, old in enumerate(kept)]
        self.lanes, self.free = [self.lanes[n] for n in kept], [self.free[n] for n in kept]
        self.durations = self.durations[kept]
        return number
