"""Limits of the rules for each stream, and which hold when.

In:    changes as staff entered them (``records.LimitChange``), and the chunks of a tick
Out:   for each chunk the number of the limits that are in force when it arrives
State: the table, and the changes of each stream

A row of the table is used again; a number is not: a later change has a higher one. It contains the row (``row_of``).

A change is in force for the chunks that arrive at the broker from ``since_us`` on. Both times are the broker's, so
every replay finds the same first chunk. ``kernels.intake.arrivals`` makes an event of it at that chunk's first sample
of which no earlier chunk has said anything; ``insert_changes`` puts the event in its place among those of the stream.
So no cutting into chunks or ticks matters.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from beatwire.alerts.limits import MOST_CHANGES
from beatwire.alerts.rules import NUMBERS
from beatwire.records import F64, I64, Aligned, LimitChange
from beatwire.records.alignment import AlignChunks
from beatwire.records.columns import (
    CHUNK_ARRIVED_US,
    CHUNK_COUNT,
    CHUNK_FIRST,
    CHUNK_SESSION,
    EVENT_BANK,
    EVENT_PASS,
    EVENT_SAMPLE,
    EVENT_SESSION,
    EVENT_SLOT,
    EVENT_VALUE,
    ORDERED_COLUMNS,
    ORDERED_KIND,
    ORDERED_SAMPLE,
    ORDERED_SLOT,
)
from beatwire.records.events import ARRIVED, BEAT, LIMITS_CHANGED, RESTART, WATERMARK
from beatwire.stages.support.streams.directory import Directory
from beatwire.stages.support.streams.stretches import restarts_up_to

_ROWS = 1 << 32  # more than a table has


@dataclass(slots=True)
class Limits:
    """The table of limits, and the changes of each stream.

    defaults    by number of the rule
    directory   the streams by slot
    changes     stream -> its changes in order, each with its number; a row that none has any more is used again
    newest_us, newest   int64 [slots]: the last change of each stream, and its number
    version     counts the changes of ``values``
    """

    defaults: Sequence[float]
    directory: Directory
    version: int = 0
    changes: dict[str, list[tuple[LimitChange, int]]] = field(default_factory=dict)
    newest_us: I64 = field(default_factory=lambda: np.zeros(0, np.int64))
    newest: I64 = field(default_factory=lambda: np.zeros(0, np.int64))

    _table: F64 = field(init=False)
    _rows: int = 1
    _free: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin with the defaults."""
        self._table = np.array([self.defaults], np.float64)

    @property
    def values(self) -> F64:
        """Return the table, float64 [rows, rules]; row 0 has the defaults."""
        return self._table[: self._rows]

    @property
    def changed(self) -> int:
        """Return how many streams have limits that differ from the defaults; another thread may call it."""
        return sum(bool(changes[-1][0].limits) for changes in list(self.changes.values()))

    def add(self, changes: Iterable[LimitChange]) -> None:
        """Add changes, those of a stream in their order."""
        for change in changes:
            known = self.changes.setdefault(change.stream, [])
            if not known and change.before:  # of the time before the oldest message that compaction has left
                known.append((change._replace(limits=change.before, since_us=0), self._new_number(change.before)))
            known.append((change, self._new_number(change.limits)))
            self._free += [row_of(number) for _, number in known[:-MOST_CHANGES]]
            del known[:-MOST_CHANGES]
            names = self.directory.names
            if change.stream in names:
                self._enter(names.index(change.stream))

    def numbers_of(self, slot: I64, arrived_us: I64) -> I64:
        """Return the number of the limits for each chunk of a tick, int64 [n], by its slot and its arrival."""
        if not self.changes:
            return np.zeros(len(slot), np.int64)
        for claimed in self.directory.claimed:
            self._enter(claimed)
        self._grow()
        newest = self.newest[slot]
        old = arrived_us < self.newest_us[slot]
        numbers = np.where(old, 0, newest)
        for i in np.flatnonzero(old & (newest > 0) & (slot >= 0)).tolist():
            numbers[i] = self._number_at(self.directory.names[slot[i]], int(arrived_us[i]))
        return numbers

    def rows_at(self, now_us: int, streams: int) -> I64:
        """Return the row of the table that holds at a time, for the first ``streams`` slots: int64 [streams]."""
        if not self.changes:
            return np.zeros(streams, np.int64)
        self._grow()
        return self.numbers_of(np.arange(streams), np.full(streams, now_us)) % _ROWS

    def of_stream(self, stream: str, rule: int, now_us: int) -> float:
        """Return the limit of a rule that holds at a time for a stream, which may have no slot."""
        number = self._number_at(stream, now_us) if stream in self.changes else 0
        return float(self.values[row_of(number), rule])

    def between(self, stream: str, before: int, number: int) -> list[LimitChange]:
        """Return the changes of a stream after number ``before``, up to ``number``."""
        known = self.changes.get(stream, [])
        return [change for change, own in known if before < own <= number and change.since_us]

    def _new_number(self, limits: Mapping[str, float]) -> int:
        """Enter limits into the table; return their number."""
        row = np.array(self.defaults, np.float64)
        for rule, value in limits.items():
            row[NUMBERS[rule]] = value
        self.version += 1
        if self._free:
            place = self._free.pop()
        else:
            place, self._rows = self._rows, self._rows + 1
            if place == len(self._table):  # twice as long: adding many is linear
                self._table = np.concatenate([self._table, np.zeros_like(self._table)])
        self._table[place] = row
        return self.version * _ROWS + place

    def _enter(self, slot: int) -> None:
        """Enter the last change of the stream of a slot, which may have belonged to another one."""
        self._grow()
        changes = self.changes.get(self.directory.names[slot])
        self.newest_us[slot], self.newest[slot] = (changes[-1][0].since_us, changes[-1][1]) if changes else (0, 0)

    def _grow(self) -> None:
        missing = self.directory.capacity - len(self.newest_us)
        if missing > 0:
            more = np.zeros(missing, np.int64)
            self.newest_us, self.newest = (np.append(old, more) for old in (self.newest_us, self.newest))

    def _number_at(self, stream: str, arrived_us: int) -> int:
        found = (number for change, number in reversed(self.changes[stream]) if change.since_us <= arrived_us)
        return next(found, 0)


def row_of(number: int) -> int:
    """Return the row of the table of limits with a number, while they are kept.

    >>> row_of(7 * 2**32 + 3), row_of(0)
    (3, 0)
    """
    return number % _ROWS


def insert_changes(events: I64, pending: dict[int, list[I64]], marks: Mapping[int, int]) -> I64:
    """Return the events of a tick with those of changed limits in their places.

    An event comes before the first beat or watermark that is not before its sample, and before the restart that ends
    its stretch. All beats before a mark of active time are known at the mark after it: so an event comes before that
    one if its sample is not after the first. One that has no place yet stays pending.

    Parameters
    ----------
    events : int64 [e, 6]
        Columns ``ORDERED_...``.
    pending
        Slot -> changes that have no place yet, see ``split_changes``; read and written.
    marks
        Slot -> the sample of the last mark of active time before the tick; -1: none.
    """
    at: list[int] = []
    rows: list[tuple[int, ...]] = []
    for slot in list(pending):
        first, stop = np.searchsorted(events[:, ORDERED_SLOT], [slot, slot + 1]).tolist()
        restarts, mark, waiting = 0, marks[slot], pending[slot]
        for e in range(first, stop):
            kind, sample = events[e, [ORDERED_KIND, ORDERED_SAMPLE]].tolist()
            while waiting and _belongs_before(waiting[0], kind, mark if kind == ARRIVED else sample, restarts):
                change = waiting.pop(0)
                at.append(e)
                own_sample = -1 if kind == RESTART else change[EVENT_SAMPLE]  # nothing is decided at its sample
                row = row_of(int(change[EVENT_VALUE]))
                rows.append((slot, change[EVENT_SESSION], LIMITS_CHANGED, own_sample, row, change[EVENT_BANK]))
            if kind == RESTART:
                restarts, mark = restarts + 1, -1
            elif kind == ARRIVED:
                mark = sample
        for change in waiting:
            change[EVENT_PASS] = 0
        if not waiting:
            del pending[slot]
    return np.insert(events, at, np.array(rows, np.int64).reshape(-1, ORDERED_COLUMNS), axis=0) if rows else events


def _belongs_before(change: I64, kind: int, sample: int, restarts: int) -> bool:
    """Return True if a change belongs before an event behind so many restarts; all beats before ``sample`` are known.

    A session may come again in the tick, and samples with it: so the restarts say which stretch is meant.
    """
    if change[EVENT_PASS] != restarts:
        return False
    return kind == RESTART or (kind in (ARRIVED, BEAT, WATERMARK) and sample >= change[EVENT_SAMPLE])


def limits_in_force(limits: Limits | None, slot: I64, arrived_us: I64) -> I64:
    """Return the number of the limits in force when each chunk arrives, int64 [n]; None: there is no table."""
    return np.zeros(len(slot), np.int64) if limits is None else limits.numbers_of(slot, arrived_us)


def with_arrivals(events: I64, given: AlignChunks) -> I64:
    """Return events of changed limits, int64 [l, 8], with the arrival of the first chunk that they are about.

    Chunks that only repeat samples may have come before it.
    """
    arrived_us = np.zeros(len(events), np.int64)
    for k, row in enumerate(events):
        of_change = (given.slot == row[EVENT_SLOT]) & (given.limits == row[EVENT_VALUE])
        stop = given.ints[:, CHUNK_FIRST] + given.ints[:, CHUNK_COUNT]
        is_new = of_change & (given.ints[:, CHUNK_SESSION] == row[EVENT_SESSION]) & (stop > row[EVENT_SAMPLE])
        first = np.flatnonzero(is_new if is_new.any() else of_change)[0]
        arrived_us[k] = given.ints[first, CHUNK_ARRIVED_US]
    return np.column_stack([events, arrived_us])


def split_changes(aligned: Aligned) -> dict[int, list[I64]]:
    """Return the events of changed limits by slot, in order: with the restarts before each in place of its pass."""
    by_slot: dict[int, list[I64]] = {}
    for row in aligned.limits:
        change, slot = row.copy(), int(row[EVENT_SLOT])
        change[EVENT_PASS] = restarts_up_to(aligned, slot, int(row[EVENT_PASS]))
        by_slot.setdefault(slot, []).append(change)
    return by_slot
