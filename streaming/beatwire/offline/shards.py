"""A long recording as overlapping shards, each of which is processed as a lane.

In:  the coverage of the recording (``beatwire.offline.results.coverage``)
Out: :class:`Shards`

Every segment is cut into shards. A shard *owns* the samples ``[begin, end)``: its results count there and nowhere else.
It begins ``warm`` samples earlier, or with its segment. ``warm`` covers the horizon, so no result in ``[begin, end)``
depends on where the shard began.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from beatwire.offline.results.coverage import Coverage
from beatwire.records import I64


@dataclass(frozen=True, slots=True)
class Shards:
    """Shards, int64 [p] each.

    base      first sample that the shard processes
    begin     first sample that it owns
    end       last sample that it owns + 1
    stop      last sample that it processes + 1
    segment   index of its segment
    """

    base: I64
    begin: I64
    end: I64
    stop: I64
    segment: I64

    def __len__(self) -> int:
        """Return the number of shards."""
        return len(self.base)

    def rows(self, start: int, stop: int) -> Shards:
        """Return the shards ``[start, stop)``."""
        return Shards(*(getattr(self, name)[start:stop] for name in self.__slots__))


def cut(coverage: Coverage, length: int, warm: int, ahead: int) -> Shards:
    """Cut every segment into shards that own ``length`` samples and process ``ahead`` samples beyond.

    >>> from beatwire.records.events import RESTART
    >>> coverage = Coverage(np.array([[0, 100]]), np.zeros((0, 2)), np.array([[0, 100]]), np.array([[RESTART, 0, -1]]))
    >>> shards = cut(coverage, 40, 10, 5)
    >>> shards.base.tolist(), shards.begin.tolist(), shards.end.tolist(), shards.stop.tolist()
    ([0, 30, 70], [0, 40, 80], [40, 80, 100], [45, 85, 100])
    """
    first, last = coverage.segment.T
    count = np.maximum(1, -(-(last - first) // length))  # shards of each segment
    segment = np.repeat(np.arange(len(count)), count)
    number = np.arange(len(segment)) - np.repeat(np.cumsum(count) - count, count)  # of a shard in its segment
    begin = first[segment] + number * length
    end = np.minimum(begin + length, last[segment])
    return Shards(
        base=out_of_gaps(coverage.gap, np.maximum(begin - warm, first[segment]), 1),
        begin=begin,
        end=end,
        stop=out_of_gaps(coverage.gap, np.minimum(end + ahead, last[segment]), 0),
        segment=segment,
    )


def out_of_gaps(gap: I64, sample: I64, side: int) -> I64:
    """Return samples, int64 [n]; one inside a bridged gap moves to its first sample (side 0) or its end (side 1)."""
    if len(gap) == 0:
        return sample
    k = np.searchsorted(gap[:, 0], sample, "left") - 1
    inside = (k >= 0) & (sample > gap[k, 0]) & (sample < gap[k, 1])
    return np.where(inside, gap[k, side], sample)
