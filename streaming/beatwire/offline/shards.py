"""A long recording as many overlapping shards, each a lane: what align does for chunks, for whole arrays.

In:  int16 ``samples[leads, n]``, -32768 where there is no value
Out: stretches of samples that are known (``Stretches``), shards (``Shards``), and for each pass of a batch
     of shards the placement of its samples

A hole of up to ``bridge`` samples is bridged, a longer one ends a *segment*; the next begins as a stream does.
Every segment is cut into shards. A piece answers for ``[begin, end)`` and begins ``warm`` samples earlier, or
with its segment; ``warm`` is the horizon, so nothing that it says of ``[begin, end)`` depends on where it
began. Samples are never copied here: placements point into the recording.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from beatwire.recordings.record import NO_VALUE
from beatwire.records import I64, Bank, Fresh, Placement
from beatwire.records.columns import (
    PLACE_AT,
    PLACE_COLUMNS,
    PLACE_COUNT,
    PLACE_FIRST,
    PLACE_LANE,
    PLACE_STRIDE,
    PLACEMENT_COLUMNS,
)
from beatwire.records.events import GAP, RESTART
from beatwire.tables import array_module, host_array

MOST_IN_A_ROW = 8192
MANY = 1 << 22  # samples that are worth a thread
HOLD_S = 1.0


@dataclass(frozen=True, slots=True)
class Stretches:
    """Where a recording has values: int64 arrays, all in order.

    run       [r, 2] first and last + 1 sample of a stretch without holes
    segment   [s, 2] the same of stretches with bridged holes only
    event     [e, 3] kind (RESTART, GAP), sample, value, as align tells them of the stream
    """

    run: I64
    segment: I64
    event: I64

    @property
    def gap(self) -> I64:
        """Bridged holes: [g, 2] from, to."""
        return self.event[self.event[:, 0] == GAP, 1:]

    @property
    def counts(self) -> dict[str, int]:
        """What align counts of holes."""
        hole = self.event[self.event[:, 2] >= 0]
        bridged = int((hole[:, 0] == GAP).sum())
        return {
            "bridged": bridged,
            "restarts": len(hole) - bridged,
            "lost_samples": int(np.abs(hole[:, 2] - hole[:, 1]).sum()),
        }


@dataclass(frozen=True, slots=True)
class Shards:
    """Shards, each a row: int64 [p].

    base      the first sample it sees
    begin     it answers for [begin, end)
    end
    stop      up to where it sees
    segment   which segment it belongs to
    """

    base: I64
    begin: I64
    end: I64
    stop: I64
    segment: I64

    def __len__(self) -> int:
        """Count the shards."""
        return len(self.base)

    def rows(self, start: int, stop: int) -> Shards:
        """Return some of them."""
        return Shards(*(getattr(self, name)[start:stop] for name in self.__slots__))


def held_after(samples: Any, rate_hz: float) -> Any:
    """Return what follows the end, so that the last beats are decided: the last value of each lead for ``HOLD_S``.

    int16 [leads, h], on the host. Nothing can be found in a constant.
    """
    end = samples.shape[1]
    while end > 0:
        part = host_array(samples[:, max(0, end - 4096) : end])
        known = np.flatnonzero((part != NO_VALUE).all(axis=0))
        if len(known):
            return np.repeat(part[:, known[-1], None], round(HOLD_S * rate_hz), axis=1)
        end -= 4096
    return np.repeat(host_array(samples[:, -1:]), round(HOLD_S * rate_hz), axis=1)


def stretches_of(samples: Any, held: int, bridge: int) -> Stretches:
    """Find the stretches of a recording that is followed by ``held`` samples of the last value.

    >>> some = np.array([[1, 2, NO_VALUE, 3, NO_VALUE, NO_VALUE, NO_VALUE, 4]], np.int16)
    >>> found = stretches_of(some, 2, 1)
    >>> found.segment.tolist(), found.gap.tolist()
    ([[0, 4], [7, 10]], [[2, 3]])
    """
    run = _runs(samples, held)
    first = int(run[0, 0])
    hole = np.stack([run[:-1, 1], run[1:, 0]], axis=1)
    ends = hole[:, 1] - hole[:, 0] > bridge
    told = np.empty((len(hole), 3), np.int64)
    told[:, 0] = np.where(ends, RESTART, GAP)
    told[:, 1] = np.where(ends, hole[:, 1], hole[:, 0])
    told[:, 2] = np.where(ends, hole[:, 0], hole[:, 1])
    begun = [(RESTART, 0, -1)] + ([(RESTART, first, 0)] if first else [])
    segment = np.stack(
        [np.concatenate([[first], hole[ends, 1]]), np.concatenate([hole[ends, 0], [run[-1, 1]]])], axis=1
    )
    return Stretches(run, segment, np.concatenate([np.array(begun, np.int64), told]))


def _runs(samples: Any, held: int) -> I64:
    """Return the stretches of samples that all leads have: [r, 2], and what follows the end."""
    n, xp = samples.shape[1], array_module(samples)
    if n == 0 or _least(samples) != NO_VALUE:
        return np.array([[0, n + held]], np.int64)
    known = (samples != NO_VALUE).all(axis=0)
    changed = host_array(xp.flatnonzero(known[1:] != known[:-1])) + 1
    edges = [np.zeros(int(known[0]), np.int64), changed, np.full(1 - int(known[-1]), n), [n + held]]
    return np.concatenate(edges).astype(np.int64).reshape(-1, 2)


def _least(samples: Any) -> int:
    """Return the least of all samples; large arrays of the host are looked at by several threads."""
    if not isinstance(samples, np.ndarray) or samples.size < MANY:
        return int(samples.min())
    parts = [
        samples[:, first : first + MANY // len(samples)] for first in range(0, samples.shape[1], MANY // len(samples))
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return min(int(least) for least in pool.map(np.min, parts))


def cut(known: Stretches, length: int, warm: int, ahead: int) -> Shards:
    """Cut every segment into shards that answer for ``length`` samples and see ``ahead`` beyond.

    >>> known = Stretches(np.array([[0, 100]]), np.array([[0, 100]]), np.array([[RESTART, 0, -1]]))
    >>> shards = cut(known, 40, 10, 5)
    >>> shards.base.tolist(), shards.begin.tolist(), shards.end.tolist(), shards.stop.tolist()
    ([0, 30, 70], [0, 40, 80], [40, 80, 100], [45, 85, 100])
    """
    first, last = known.segment.T
    each = np.maximum(1, -(-(last - first) // length))
    segment = np.repeat(np.arange(len(each)), each)
    number = np.arange(len(segment)) - np.repeat(np.cumsum(each) - each, each)
    begin = first[segment] + number * length
    end = np.minimum(begin + length, last[segment])
    return Shards(
        base=_out_of_gaps(known.gap, np.maximum(begin - warm, first[segment]), 1),
        begin=begin,
        end=end,
        stop=_out_of_gaps(known.gap, np.minimum(end + ahead, last[segment]), 0),
        segment=segment,
    )


def _out_of_gaps(gap: I64, at: I64, side: int) -> I64:
    """Move what lies inside a bridged hole to its beginning (side 0) or its end (side 1)."""
    if len(gap) == 0:
        return at
    k = np.searchsorted(gap[:, 0], at, "left") - 1
    inside = (k >= 0) & (at > gap[k, 0]) & (at < gap[k, 1])
    return np.where(inside, gap[k, side], at)


class Source(Protocol):
    """Where the samples of a recording come from."""

    def payload(self, lane: I64, start: I64, stop: I64, place: I64) -> Any:
        """Return bytes that hold samples ``[start, stop)`` of lanes, in order of lanes.

        Where they stand there is put into ``place`` in place of which they are: position and stride, in bytes.
        """


@dataclass(frozen=True, slots=True)
class Whole:
    """Samples that stand somewhere: int16 [leads, .], from sample ``first`` on."""

    samples: Any
    first: int = 0

    def payload(self, lane: I64, start: I64, stop: I64, place: I64) -> Any:  # noqa: ARG002
        """Return all of them."""
        place[:, PLACE_AT] = 2 * (place[:, PLACE_AT] - self.first)
        place[:, PLACE_STRIDE] = 2 * self.samples.shape[1]
        return self.samples.reshape(-1).view(np.uint8)


def passes(
    source: Source, n: int, held: Any, known: Stretches, shards: Shards, bank: Bank, uv_per_unit: float, most: int
) -> Iterator[Callable[[], Placement]]:
    """Yield of each pass what brings its samples and returns their placement, at most ``most`` samples of a lane.

    Parameters
    ----------
    source
        The samples of the recording, at least those of the shards.
    n, held : int16 [leads, h]
        How many the recording has, and what follows them: in a pass of its own.
    most
        Longer than any bridged hole.
    """
    number, at = 0, shards.base
    last = n if known.run[-1, 0] < n or len(known.run) == 1 else int(known.run[-2, 1])  # what follows closes a hole
    while (at < shards.stop).any():
        here = np.minimum(_out_of_gaps(known.gap, at + most, 0), last)
        to = np.minimum(np.where(at < last, here, shards.stop), shards.stop)
        for samples, mine in ((source, at < last), (Whole(held, n), at >= last)):
            lane = np.flatnonzero(mine & (at < to))
            if len(lane):
                fresh, place = _placed(known, shards, lane, at[lane], to[lane], bank, uv_per_unit, number)
                yield partial(_brought, samples, lane, at[lane], to[lane], place, len(shards), fresh)
        at = to
        number += 1


def _brought(source: Source, lane: I64, start: I64, stop: I64, place: I64, lanes: int, fresh: Fresh) -> Placement:
    return Placement(source.payload(lane, start, stop, place), place[:, :PLACEMENT_COLUMNS], lanes, fresh)


def _placed(
    known: Stretches, shards: Shards, lane: I64, start: I64, stop: I64, bank: Bank, uv_per_unit: float, number: int
) -> tuple[Fresh, I64]:
    place, quiet = _rows(known, lane, start, stop)
    fresh = Fresh(
        number=number, bank=bank, lane=lane, slot=lane, start=start, stop=stop, base=shards.base[lane],
        session=np.ones(len(lane), np.int64), uv_per_unit=np.full(len(lane), np.floor(1000 * uv_per_unit + 0.5) / 1000),
        quiet=quiet,
    )  # fmt: skip
    return fresh, place


def _rows(known: Stretches, lane: I64, start: I64, stop: I64) -> tuple[I64, I64]:
    """Return placements (their position in samples) of ``[start, stop)`` of each lane, and bridged holes."""
    run = known.run
    i = np.searchsorted(run[:, 1], start, "right")
    count = np.maximum(0, np.searchsorted(run[:, 0], stop, "left") - i)
    which = np.repeat(np.arange(len(lane)), count)
    k = np.repeat(i - (np.cumsum(count) - count), count) + np.arange(len(which))
    first, last = np.maximum(run[k, 0], start[which]), np.minimum(run[k, 1], stop[which])
    after = run[k, 0] > start[which]  # a hole of this pass comes before it
    each = -(-(last - first) // MOST_IN_A_ROW)
    row = np.repeat(np.arange(len(k)), each)
    begin = first[row] + (np.arange(len(row)) - np.repeat(np.cumsum(each) - each, each)) * MOST_IN_A_ROW
    hole = np.flatnonzero(after)
    place = np.zeros(
        (len(row) + len(hole), PLACE_COLUMNS), np.int64
    )  # as wide as align's: kernels see the same strides
    plain, bridge = place[: len(row)], place[len(row) :]
    plain[:, PLACE_LANE], plain[:, PLACE_FIRST], plain[:, PLACE_AT] = lane[which[row]], begin, begin
    plain[:, PLACE_COUNT] = np.minimum(begin + MOST_IN_A_ROW, last[row]) - begin
    begun, ended = run[k[hole] - 1, 1], run[k[hole], 0]
    bridge[:, PLACE_LANE], bridge[:, PLACE_FIRST], bridge[:, PLACE_AT] = lane[which[hole]], begun, ended
    bridge[:, PLACE_COUNT] = begun - ended
    quiet = np.stack([bridge[:, PLACE_LANE], begun, ended], axis=1)
    if len(hole):
        place = place[np.lexsort((place[:, PLACE_FIRST], place[:, PLACE_LANE]))]
    return place, quiet
