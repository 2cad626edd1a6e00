"""The rows of a table on an even grid of samples: the rate, and the sample index of each row, block by block.

In:  the columns of a table and their roles; the rates that the user and the head of the file state
Out: the rate in Hz; int64 [n], the sample index of each row, if there are gaps

The clock gives the rate. A rate that the user states comes first, then that of a clock that is fine enough, then that
of the head. Without a clock, a column that counts samples shows gaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from beatwire.errors import UserError
from beatwire.recordings.columns.behaviour import first_rows, turn_of
from beatwire.recordings.columns.count import beside_clock, positions_of
from beatwire.recordings.columns.evenrate import rate_and_positions
from beatwire.recordings.columns.roles import Roles, Table
from beatwire.recordings.columns.timecolumn import times_of
from beatwire.recordings.record import check_rate
from beatwire.records import F64, I64
from beatwire.tables import array_module

_OVERLAP = 4096  # rows whose times a block is compared with
_UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds", "min": "minutes",
               "h": "hours", "d": "days"}  # fmt: skip


@dataclass(slots=True)
class RowClock:
    """The rate of a table, and the positions of its rows.

    where      the file, for error messages
    rate_hz    sampling rate
    column     of the clock, or of the count of samples; None if there is neither
    is_count   True if the column counts samples
    turn       after how much it begins again; None if it does not
    notes      what was assumed, one sentence each
    tail       the last rows of the block before; None in the first
    """

    where: str
    rate_hz: float
    column: int | None
    is_count: bool
    turn: float | None = None
    notes: tuple[str, ...] = ()
    tail: Any = None

    @staticmethod
    def of(
        where: str, table: Table, roles: Roles, fs: float | None, stated_hz: float | None = None,
        written: Sequence[Any] | None = None,
    ) -> RowClock:  # fmt: skip
        """Return the clock of a table from its first block.

        Parameters
        ----------
        where
            The file, for error messages.
        table, roles
            The columns and their roles.
        fs, stated_hz
            The rates that the user and the head of the file state, in Hz; None if they state none.
        written
            The columns as they were read, for error messages.

        Raises
        ------
        UserError
            There is no rate, ``fs`` contradicts the clock, or the times do not rise.
        """
        k = roles.clock
        if k is not None:
            values, name = table.columns[k], table.names[k]
            cells = written[k] if written is not None else None
            times = times_of(where, values, name, table.unit(k), fs if fs is not None else stated_hz, written=cells)
            if times is not None:
                rate_hz, position, notes = _rate(where, name, times.seconds, fs, stated_hz)
                notes = (f"times: column {name!r}, in {_UNIT_NAMES[times.unit]}; {rate_hz:.7g} Hz", *notes)
                if roles.count is not None:
                    called = table.names[roles.count]
                    counted = beside_clock(called, table.columns[roles.count], times.seconds, position)
                    if counted.position is not position:
                        return RowClock(where, rate_hz, roles.count, True, None, (*notes, *counted.notes))
                    notes += counted.notes
                return RowClock(where, rate_hz, k, False, turn_of(values), notes)
        count = k if k is not None else roles.count
        rate = fs if fs is not None else stated_hz
        if rate is None:
            counts = "" if count is None else f"column {table.names[count]!r} only counts samples"
            raise UserError(
                f"{where}: expected a sampling rate; {counts or 'the file has no time column'}: give --fs, in Hz"
            )
        head_notes = () if fs is not None else (f"rate: {rate:.7g} Hz, from the head of the file",)
        if count is None:
            return RowClock(where, check_rate(where, rate), None, True, None, head_notes)
        values = table.columns[count]
        turn = turn_of(values[first_rows(values)])
        notes = (*head_notes, *positions_of(table.names[count], values, turn).notes)
        return RowClock(where, check_rate(where, rate), count, True, turn, notes)

    def positions(self, table: Table, written: Sequence[Any] | None = None) -> I64 | None:
        """Return the sample index of each row of a block, from the first row after the block before it."""
        k = self.column
        if k is None:
            return None
        values, before = table.columns[k], 0
        cells = written[k] if written is not None and self.tail is None else None
        if self.tail is not None:
            before = len(self.tail)
            values = array_module(values).concatenate([self.tail, values])
        self.tail = values[-_OVERLAP:]
        position = (
            positions_of(table.names[k], values, self.turn).position if self.is_count
            else self._by_time(table, k, values, cells)
        )  # fmt: skip
        if position is None:
            return None
        begin = int(position[before - 1]) + 1 if before else 0
        return position[before:] - begin

    def _by_time(self, table: Table, k: int, values: F64, cells: Any) -> I64 | None:
        name = table.names[k]
        times = times_of(self.where, values, name, table.unit(k), self.rate_hz, turn=self.turn, written=cells)
        return None if times is None else rate_and_positions(self.where, name, times.seconds, self.rate_hz)[1]


def _rate(
    where: str, name: str, seconds: F64, fs: float | None, stated_hz: float | None
) -> tuple[float, I64 | None, tuple[str, ...]]:
    """Return the rate of times, beside the rates that the user and the head state, positions, and notes."""
    if fs is not None or stated_hz is None:
        rate_hz, position, notes = rate_and_positions(where, name, seconds, fs)
        return check_rate(where, rate_hz), position, notes
    try:
        rate_hz, position, notes = rate_and_positions(where, name, seconds, stated_hz)
    except UserError:
        rate_hz, position, notes = rate_and_positions(where, name, seconds, None)
        notes = (*notes, f"the head of the file states {stated_hz:.7g} Hz, its times give {rate_hz:.7g} Hz")
    return check_rate(where, rate_hz), position, notes
