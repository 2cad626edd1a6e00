"""The schedule of a replay: which chunk of which stream is sent when.

In: feeds and the length of a chunk. Out: `Schedule`, columns with one row a message. No state. A chunk is due when its
last sample exists. The streams are not synchronised: their chunks are spread evenly over the length of one. Chunk k of
a stream contains the samples from floor(k c) to floor((k + 1) c), where c = rate x chunk length need not be an integer;
so chunks do not drift.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from beatwire.records import I32, I64, U8

from beatwire_producers.feeds import LENGTH, Lanes

INTACT, TRUNCATED, GARBAGE, NO_VALUE = range(4)
_MOST_S = 1e9  # no recording is longer


@dataclass(frozen=True)
class Schedule:
    """``n`` messages to send; all columns have the shape [n].

    lane        int64   row of the feed in `Lanes`
    number      int64   number of the chunk in its stream, from 0
    first       int64   index of its first sample
    count       int64   its samples per lead
    time_us     int64   device time of its first sample, microseconds since the start of the feed
    due_us      int64   time to send it, microseconds since the start of the feed
    lead_off    int32   bit l is set while lead l is off
    broken      uint8   INTACT, TRUNCATED (the first half of the message), GARBAGE (random bytes of its length) or
                        NO_VALUE (no sample has a value)
    session     int64   what is added to the session of the feed
    shift       int64   what is added to the index of the first sample in the message
    """

    lane: I64
    number: I64
    first: I64
    count: I64
    time_us: I64
    due_us: I64
    lead_off: I32
    broken: U8
    session: I64
    shift: I64

    def __len__(self) -> int:
        return len(self.lane)

    def take(self, rows: object) -> Schedule:
        """Return the rows that a mask, a slice or an array of indices selects."""
        return Schedule(*(getattr(self, f.name)[rows] for f in fields(self)))

    def by_due(self) -> Schedule:
        """Return the rows in the order in which they are sent."""
        return self.take(np.argsort(self.due_us, kind="stable"))


def joined(*parts: Schedule) -> Schedule:
    """Concatenate schedules."""
    return Schedule(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Schedule)))


def phases_us(lanes: int, chunk_ms: float) -> I64:
    """Return by how much the chunks of each stream are due later than those of the first, int64 [lanes]."""
    phases: I64 = np.floor(np.arange(lanes) * (chunk_ms * 1000.0 / lanes)).astype(np.int64)
    return phases


def lengths_of(lanes: Lanes, seconds: float | None = None) -> I64:
    """Return how many samples of each lead are played of each stream, int64 [lanes]; ``seconds`` None: all of them."""
    lengths = lanes.ints[:, LENGTH]
    if seconds is None:
        return lengths
    return np.minimum(lengths, np.ceil(min(seconds, _MOST_S) * lanes.rate_hz - 1e-6).astype(np.int64))


def chunks_of(
    lanes: Lanes, chunk_ms: float, start: int = 0, stop: int | None = None, seconds: float | None = None
) -> Schedule:
    """Return the chunks ``start`` to ``stop`` of every stream, in the order in which they are due.

    Parameters
    ----------
    lanes
        The feeds.
    chunk_ms
        Length of a chunk, milliseconds.
    start, stop
        Numbers of the first chunk and of the one after the last; by default all chunks of the longest stream.
    seconds
        Of each stream; None: all of it.
    """
    step = lanes.rate_hz * chunk_ms / 1000.0  # samples a chunk, [lanes]
    if stop is None:
        stop = int(np.max(np.ceil(lengths_of(lanes, seconds) / step - 1e-9)))
    number = np.repeat(np.arange(start, stop, dtype=np.int64), len(step))
    lane = np.tile(np.arange(len(step), dtype=np.int64), stop - start)
    length = lengths_of(lanes, seconds)[lane]
    first = np.minimum(np.floor(number * step[lane] + 1e-6).astype(np.int64), length)
    last = np.minimum(np.floor((number + 1) * step[lane] + 1e-6).astype(np.int64), length)
    phase_us = phases_us(len(step), chunk_ms)
    rows = Schedule(
        lane=lane,
        number=number,
        first=first,
        count=last - first,
        time_us=np.rint(first * (1e6 / lanes.rate_hz[lane])).astype(np.int64) + phase_us[lane],
        due_us=np.floor((number + 1) * chunk_ms * 1000.0).astype(np.int64) + phase_us[lane],
        lead_off=np.zeros(len(lane), np.int32),
        broken=np.zeros(len(lane), np.uint8),
        session=np.zeros(len(lane), np.int64),
        shift=np.zeros(len(lane), np.int64),
    )
    rows = rows.take(rows.count > 0)
    return _apply_defects(lanes, rows)


def _apply_defects(lanes: Lanes, rows: Schedule) -> Schedule:
    """Apply the planned defects of the feeds: leads off, absent samples, malformed messages."""
    defective = [k for k, f in enumerate(lanes.feeds) if f.lead_off or f.absent or f.malformed]
    if not defective or not len(rows):
        return rows
    keep = np.ones(len(rows), np.bool_)
    lead_off = rows.lead_off.copy()
    extra: list[Schedule] = []
    affected = np.flatnonzero(np.isin(rows.lane, defective))
    for lane in defective:
        feed = lanes.feeds[lane]
        at = affected[rows.lane[affected] == lane]
        first, last = rows.first[at], rows.first[at] + rows.count[at]
        for start, stop, mask in feed.lead_off:
            lead_off[at[(last > start) & (first < stop)]] |= mask
        for start, stop in feed.absent:
            keep[at[(last > start) & (first < stop)]] = False
        for sample in feed.malformed:
            copy = rows.take(at[(first <= sample) & (last > sample)])
            extra.append(replace(copy, broken=np.full(len(copy), GARBAGE, np.uint8)))
    kept = replace(rows, lead_off=lead_off).take(keep)
    return joined(kept, *extra).by_due() if any(len(e) for e in extra) else kept
