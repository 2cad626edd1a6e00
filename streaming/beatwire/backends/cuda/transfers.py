"""The host's part of a tick on a device: what goes up, what comes down, and whether somebody has yet to wait for it.

A device has two: while nobody has waited for a tick, the next one is written down on the other side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, SupportsIndex

import numpy as np

from beatwire.backends.cuda.launch_list import Line, Total
from beatwire.backends.cuda.staging import CELLS, Columns, Memories, Segments, Staging


@dataclass(slots=True)
class Brought:
    """A table that comes down: how many rows it has, its columns, and where these will be in pinned memory."""

    total: SupportsIndex
    table: Columns
    places: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Transfers:
    """What goes up and what comes down; ``awaited``: what came was not looked at yet."""

    card: Memories
    staging: Staging
    segments: Segments
    awaited: bool = False

    @staticmethod
    def of(card: Memories) -> Transfers:
        """Make one."""
        return Transfers(card, Staging(card), Segments(card))

    def begin(self) -> None:
        """Begin a tick."""
        self.staging.begin()
        self.segments.begin()

    def bring(self, brought: Sequence[Brought], cells: Any, counted: int) -> None:
        """List what comes down: the first ``counted`` cells, which hold numbers of rows, then the columns of tables."""
        address, number = self.card.address, self.staging.number
        sizes = address(self.staging.sizes)
        self.segments.add(cells, 8, CELLS, sizes + 8 * number(counted))
        for one in brought:
            total, most = one.total, one.total.__index__()
            rows = address(cells) + 8 * total.cell if isinstance(total, Total) else sizes + 8 * number(most)
            columns = zip(one.table.columns, one.table.dtypes, strict=True) if most else ()
            one.places = [self.segments.add(column, dtype.itemsize, most, rows) for column, dtype in columns]

    def line(self) -> Line:
        """Return the last line of a tape: it brings what is listed."""
        n = len(self.segments)
        return Line("bring", n, self.staging.sizes, 0, (self.staging.put(self.segments.table()),))

    def columns(self, brought: Sequence[Brought], counted: int) -> list[tuple[Any, ...]]:
        """Return the columns of tables that came, exactly their rows."""
        counts = self.segments.rows(0, counted, np.dtype(np.int64))
        came = []
        for one in brought:
            n = int(counts[one.total.cell]) if isinstance(one.total, Total) else one.total.__index__()
            came.append(
                tuple(self.segments.rows(at, n, dtype) for at, dtype in zip(one.places, one.table.dtypes, strict=True))
                if n
                else tuple(np.empty((0, *dtype.shape), dtype.base) for dtype in one.table.dtypes)
            )
        return came
