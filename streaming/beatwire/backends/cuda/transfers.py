"""The host's memory of a tick on a device: arrays for the device, results from it.

A device has two: while nobody has waited for the results of a tick, the next tick uses the other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, SupportsIndex

import numpy as np

from beatwire.backends.cuda.launch_list import Launch, Total
from beatwire.backends.cuda.protocols import CopyCard
from beatwire.backends.cuda.staging import CELLS, Columns, Segments, Staging


@dataclass(slots=True)
class FetchedTable:
    """A table on its way to the host: its number of rows, its columns, and their places in pinned memory."""

    total: SupportsIndex
    table: Columns
    places: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Transfers:
    """Both ways of a tick; ``pending``: nobody has waited for the results yet."""

    card: CopyCard
    staging: Staging
    segments: Segments
    pending: bool = False

    @staticmethod
    def of(card: CopyCard) -> Transfers:
        """Allocate the memory."""
        return Transfers(card, Staging(card), Segments(card))

    def begin(self) -> None:
        """Begin a tick."""
        self.staging.begin()
        self.segments.begin()

    def add_segments(self, tables: Sequence[FetchedTable], cells: Any, used: int) -> None:
        """Add what is copied to the host: the first ``used`` cells, which have numbers of rows, then the columns."""
        address, number = self.card.address, self.staging.stage_number
        sizes = address(self.staging.sizes)
        self.segments.add(cells, 8, CELLS, sizes + 8 * number(used))
        for one in tables:
            total, most = one.total, one.total.__index__()
            rows = address(cells) + 8 * total.cell if isinstance(total, Total) else sizes + 8 * number(most)
            columns = zip(one.table.columns, one.table.dtypes, strict=True) if most else ()
            one.places = [self.segments.add(column, dtype.itemsize, most, rows) for column, dtype in columns]

    def copy_launch(self) -> Launch:
        """Return the last launch of a tick, which copies the segments."""
        n = len(self.segments)
        return Launch("copy_to_host", n, self.staging.sizes, 0, (self.staging.stage(self.segments.table()),))

    def columns(self, tables: Sequence[FetchedTable], used: int) -> list[tuple[Any, ...]]:
        """Return the columns of tables, exactly their rows, after the copy."""
        counts = self.segments.rows(0, used, np.dtype(np.int64))
        fetched = []
        for one in tables:
            n = int(counts[one.total.cell]) if isinstance(one.total, Total) else one.total.__index__()
            fetched.append(
                tuple(self.segments.rows(at, n, dtype) for at, dtype in zip(one.places, one.table.dtypes, strict=True))
                if n
                else tuple(np.empty((0, *dtype.shape), dtype.base) for dtype in one.table.dtypes)
            )
        return fetched
