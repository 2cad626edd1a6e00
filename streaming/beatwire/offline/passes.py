"""The passes of a batch of shards: for each pass, which samples of each shard are written to which lane.

In:  where the samples are (:class:`SampleSource`), the coverage, the shards
Out: one :class:`Placement` per pass, as align emits them for chunks

Samples are not copied here: a placement refers to bytes of the recording, or to bytes that a source uploads.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import numpy as np

from beatwire.offline.results.coverage import Coverage
from beatwire.offline.shards import Shards, out_of_gaps
from beatwire.records import I16, I64, Bank, Fresh, Placement
from beatwire.records.columns import PLACE_AT, PLACE_COUNT, PLACE_FIRST, PLACE_LANE, PLACE_STRIDE, PLACEMENT_COLUMNS

MAX_ROW_SAMPLES = 8192  # rows are the work items of the kernel, so a longer run is split into several


class SampleSource(Protocol):
    """Where the samples of a recording are."""

    def payload(self, lane: I64, start: I64, stop: I64, place: I64) -> Any:
        """Return the bytes that hold samples ``[start, stop)`` of ``lane``, int64 [k] each, lanes in ascending order.

        On entry, column ``PLACE_AT`` of ``place`` is a sample index; on return, it and ``PLACE_STRIDE`` are the
        position and the stride of the samples in the returned bytes.
        """


@dataclass(frozen=True, slots=True)
class SamplesInPlace:
    """Samples in the memory of the backend: int16 [leads, n]; the first of them is sample ``first``."""

    samples: Any
    first: int = 0

    def payload(self, lane: I64, start: I64, stop: I64, place: I64) -> Any:  # noqa: ARG002
        """Return the bytes of all samples."""
        place[:, PLACE_AT] = 2 * (place[:, PLACE_AT] - self.first)
        place[:, PLACE_STRIDE] = 2 * self.samples.shape[1]
        return self.samples.reshape(-1).view(np.uint8)


def passes(
    source: SampleSource, n: int, held: I16, coverage: Coverage, shards: Shards, bank: Bank, uv_per_unit: float,
    pass_samples: int, *, is_clean: bool = False,
) -> Iterator[Callable[[], Placement]]:  # fmt: skip
    """Yield a function for each pass, which fetches the samples of the pass and returns their placement.

    Parameters
    ----------
    source
        The samples of the recording, at least those of the shards.
    n
        Samples of the recording.
    held : int16 [leads, h]
        The samples held after its end, in the memory of the backend; they form a pass of their own. If they are clean,
        a bridged gap before them is among them.
    pass_samples
        Samples of a lane in a pass; more than in any bridged gap.
    is_clean
        Hum was taken out of the samples, and holes were filled in.
    """
    number, position = 0, shards.base
    last, after = coverage.until_held(n), SamplesInPlace(held, int(coverage.run[-1, 1]) - held.shape[1])
    while (position < shards.stop).any():
        next_position = np.minimum(out_of_gaps(coverage.gap, position + pass_samples, 0), last)
        until = np.minimum(np.where(position < last, next_position, shards.stop), shards.stop)
        for samples, selected in ((source, position < last), (after, position >= last)):
            lane = np.flatnonzero(selected & (position < until))
            if len(lane):
                start, stop = position[lane], until[lane]
                fresh, place = _fresh_and_place(coverage, shards, lane, start, stop, bank, uv_per_unit, number)
                if is_clean:
                    fresh, place = replace(fresh, is_clean=True), _with_bridges(place)
                yield partial(_placement, samples, lane, start, stop, place, len(shards), fresh)
        position = until
        number += 1


def _placement(
    source: SampleSource, lane: I64, start: I64, stop: I64, place: I64, lanes: int, fresh: Fresh
) -> Placement:
    return Placement(source.payload(lane, start, stop, place), place, lanes, fresh)


def _fresh_and_place(
    coverage: Coverage, shards: Shards, lane: I64, start: I64, stop: I64, bank: Bank, uv_per_unit: float, number: int
) -> tuple[Fresh, I64]:
    """Return the lanes of a pass, and the rows of its placement with sample indices as positions."""
    place, quiet = _rows(coverage, lane, start, stop)
    uv = np.floor(1000 * uv_per_unit + 0.5) / 1000  # the resolution of the wire format
    fresh = Fresh(
        number=number, bank=bank, lane=lane, slot=lane, start=start, stop=stop, base=shards.base[lane],
        session=np.ones(len(lane), np.int64), uv_per_unit=np.full(len(lane), uv), quiet=quiet,
    )  # fmt: skip
    return fresh, place


def _with_bridges(place: I64) -> I64:
    """Return rows that copy the samples of bridged gaps instead of drawing them."""
    first, count = place[:, PLACE_FIRST], place[:, PLACE_COUNT]
    place[:, PLACE_AT], place[:, PLACE_COUNT] = first, np.abs(count)
    return place


def _rows(coverage: Coverage, lane: I64, start: I64, stop: I64) -> tuple[I64, I64]:
    """Return the rows of a placement of samples ``[start, stop)`` of each lane.

    Returns
    -------
    place : int64 [p, PLACEMENT_COLUMNS]
        Rows of runs, at most ``MAX_ROW_SAMPLES`` each, and rows of bridged gaps, whose count is negative. ``PLACE_AT``
        is a sample index.
    quiet : int64 [q, 3]
        Lane, start and stop of each bridged gap.
    """
    run = coverage.run
    i = np.searchsorted(run[:, 1], start, "right")  # first run of each lane
    count = np.maximum(0, np.searchsorted(run[:, 0], stop, "left") - i)
    which = np.repeat(np.arange(len(lane)), count)
    k = np.repeat(i - (np.cumsum(count) - count), count) + np.arange(len(which))
    first, last = np.maximum(run[k, 0], start[which]), np.minimum(run[k, 1], stop[which])
    rows = -(-(last - first) // MAX_ROW_SAMPLES)  # of each run
    row = np.repeat(np.arange(len(k)), rows)
    begin = first[row] + (np.arange(len(row)) - np.repeat(np.cumsum(rows) - rows, rows)) * MAX_ROW_SAMPLES
    gap = np.flatnonzero(run[k, 0] > start[which])  # runs with a gap of this pass before them
    place = np.zeros((len(row) + len(gap), PLACEMENT_COLUMNS), np.int64)
    plain, bridge = place[: len(row)], place[len(row) :]
    plain[:, PLACE_LANE], plain[:, PLACE_FIRST], plain[:, PLACE_AT] = lane[which[row]], begin, begin
    plain[:, PLACE_COUNT] = np.minimum(begin + MAX_ROW_SAMPLES, last[row]) - begin
    gap_start, gap_stop = run[k[gap] - 1, 1], run[k[gap], 0]
    bridge[:, PLACE_LANE], bridge[:, PLACE_FIRST], bridge[:, PLACE_AT] = lane[which[gap]], gap_start, gap_stop
    bridge[:, PLACE_COUNT] = gap_start - gap_stop
    quiet = np.stack([bridge[:, PLACE_LANE], gap_start, gap_stop], axis=1)
    if len(gap):
        place = place[np.lexsort((place[:, PLACE_FIRST], place[:, PLACE_LANE]))]
    return place, quiet
