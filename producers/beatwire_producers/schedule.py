"""A schedule: which chunk of which stream is sent when. Columns, one row a message.

A chunk is due when its last sample exists; the streams of a ward are not in step, so they are
spread evenly over one chunk's time. Chunk k of a stream holds the samples from floor(k c) to
floor((k + 1) c), c = rate x chunk length, which need not be whole: nothing drifts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from beatwire.records import I32, I64, U8

from beatwire_producers.feeds import Lanes

FINE, TRUNCATED, GARBAGE = range(3)


@dataclass(frozen=True)
class Schedule:
    """Messages to send, ``n`` of them.

    lane        int64   row of the feed
    number      int64   of the chunk in its stream
    first       int64   its first sample
    count       int64   its samples per lead
    time_us     int64   device time of its first sample, since the start of the feed
    due_us      int64   when to send it, since the start of the feed
    lead_off    int32   bit l is set while lead l is off
    broken      uint8   FINE, TRUNCATED (the first half of the message), GARBAGE (its length in noise)
    """

    lane: I64
    number: I64
    first: I64
    count: I64
    time_us: I64
    due_us: I64
    lead_off: I32
    broken: U8

    def __len__(self) -> int:
        return len(self.lane)

    def take(self, rows: object) -> Schedule:
        """Return some rows: a mask, a slice or positions."""
        return Schedule(*(getattr(self, f.name)[rows] for f in fields(self)))

    def by_due(self) -> Schedule:
        """Return the rows in the order in which they are sent."""
        return self.take(np.argsort(self.due_us, kind="stable"))


def joined(*parts: Schedule) -> Schedule:
    """Put schedules one after another."""
    return Schedule(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(Schedule)))


def chunks_of(lanes: Lanes, chunk_ms: float, start: int = 0, stop: int | None = None) -> Schedule:
    """List the chunks ``start`` to ``stop`` of every stream, in the order in which they are due.

    Parameters
    ----------
    chunk_ms
        length of a chunk.
    stop
        past the last chunk; by default past the end of the longest stream.
    """
    step = lanes.rate_hz * chunk_ms / 1000.0  # samples a chunk, [lanes]
    if stop is None:
        stop = int(np.max(np.ceil(lanes.ints[:, 1] / step - 1e-9)))
    number = np.repeat(np.arange(start, stop, dtype=np.int64), len(step))
    lane = np.tile(np.arange(len(step), dtype=np.int64), stop - start)
    length = lanes.ints[lane, 1]
    first = np.minimum(np.floor(number * step[lane] + 1e-6).astype(np.int64), length)
    last = np.minimum(np.floor((number + 1) * step[lane] + 1e-6).astype(np.int64), length)
    phase_us = np.floor(np.arange(len(step)) * (chunk_ms * 1000.0 / len(step))).astype(np.int64)
    rows = Schedule(
        lane=lane,
        number=number,
        first=first,
        count=last - first,
        time_us=np.rint(first * (1e6 / lanes.rate_hz[lane])).astype(np.int64) + phase_us[lane],
        due_us=np.floor((number + 1) * chunk_ms * 1000.0).astype(np.int64) + phase_us[lane],
        lead_off=np.zeros(len(lane), np.int32),
        broken=np.zeros(len(lane), np.uint8),
    )
    rows = rows.take(rows.count > 0)
    return _as_planned(lanes, rows)


def _as_planned(lanes: Lanes, rows: Schedule) -> Schedule:
    """Apply what the feeds themselves say: leads off, samples never sent, messages nobody can read."""
    special = [k for k, f in enumerate(lanes.feeds) if f.lead_off or f.absent or f.malformed]
    if not special or not len(rows):
        return rows
    keep = np.ones(len(rows), np.bool_)
    lead_off = rows.lead_off.copy()
    extra: list[Schedule] = []
    mine = np.flatnonzero(np.isin(rows.lane, special))
    for lane in special:
        feed = lanes.feeds[lane]
        at = mine[rows.lane[mine] == lane]
        first, last = rows.first[at], rows.first[at] + rows.count[at]
        for start, stop, mask in feed.lead_off:
            lead_off[at[(last > start) & (first < stop)]] |= mask
        for start, stop in feed.absent:
            keep[at[(last > start) & (first < stop)]] = False
        for sample in feed.malformed:
            bad = rows.take(at[(first <= sample) & (last > sample)])
            extra.append(replace(bad, broken=np.full(len(bad), GARBAGE, np.uint8)))
    kept = replace(rows, lead_off=lead_off).take(keep)
    return joined(kept, *extra).by_due() if any(len(e) for e in extra) else kept
