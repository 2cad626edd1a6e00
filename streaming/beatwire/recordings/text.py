"""A recording from a text table (CSV): which columns are leads, their unit and their sampling rate.

At most one column is the time, found by its name, or because it is the first and rises in even steps: it gives the
sampling rate and shows gaps. Every other column of numbers is a lead. A missing number is a sample without a value;
text in place of a number is an error that names the line.

Numbers are millivolts unless the header (``MLII (uV)``, or a row of units) or ``--gain`` gives another unit. Integers
without a unit, and numbers too large for an ECG in millivolts, are not calibrated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from beatwire.errors import UserError
from beatwire.recordings.behaviour import turn_of
from beatwire.recordings.clocktext import seconds_of
from beatwire.recordings.evenrate import rate_and_positions
from beatwire.recordings.layout import MISSING_CELLS, Layout, is_missing, is_number, read_layout, split_row
from beatwire.recordings.names import UV_PER, unit_of, without_unit
from beatwire.recordings.record import Recording, check_rate
from beatwire.recordings.roles import Roles, Table, roles_of
from beatwire.recordings.timecolumn import positions_of, times_of
from beatwire.recordings.units import Block, ValueRange, to_units, unit_guess, value_ranges
from beatwire.records import F64, I64
from beatwire.tables import Column, array_module, numbers, open_text, read_table, read_table_blocks

_OVERLAP = 4096  # rows whose times a block is compared with
_GIVE_GAIN = "give --gain, units per millivolt"
_UNIT_NAMES = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds", "min": "minutes",
               "h": "hours", "d": "days"}  # fmt: skip


def read_text(path: Path, fs: float | None, column: str | None, gain: float | None, xp: Any = np) -> Recording:
    """Read a text table; see :func:`beatwire.recordings.read_recording`.

    Raises
    ------
    UserError
        There is no such column, a column holds no numbers, or the times do not rise evenly.
    """
    layout = read_layout(path)
    where = path.name
    table = read_table(
        path, delimiter=layout.delimiter, decimal=layout.decimal, lines_before=layout.lines_before,
        columns=len(layout.names), only_numbers=layout.only_numbers, xp=xp,
    )  # fmt: skip
    read = _Read.of(layout, table)
    roles = roles_of(where, read.table, column=column, fs=fs)
    clock = _Clock.of(where, read, roles, fs)
    leads, position = roles.leads, clock.positions(read)
    columns = [_as_numbers(path, layout, table[k], k) for k in leads]
    length = len(table[0]) if position is None else int(position[-1]) + 1
    columns = [_with_gaps(c, position, length) for c in columns]
    ranges = value_ranges(columns)
    if not any(r.any_valid for r in ranges):
        raise UserError(f"{where}: expected numbers in column {layout.names[leads[0]]!r}; all of them are missing")
    uv_per_value, unit_notes = _uv_per_value(layout, leads, ranges, gain)
    samples, uv_per_unit, scale_notes = to_units(columns, uv_per_value, ranges)
    return Recording(
        name=re.sub(r"(\.(csv|tsv|txt|gz))+$", "", path.name, flags=re.IGNORECASE),
        rate_hz=clock.rate_hz,
        leads=tuple(without_unit(layout.names[k]) or f"lead {k}" for k in leads),
        uv_per_unit=uv_per_unit,
        samples=samples,
        notes=(*clock.notes, *roles.notes(layout.names), *unit_notes, *scale_notes),
    )


def text_blocks(path: Path, fs: float | None, column: str | None, gain: float | None, rows: int) -> Iterator[Block]:
    """Yield a text table in blocks of so many rows; errors as of :func:`read_text`.

    The rate and the unit are those of the first block. Times are compared with those of the rows before each block.
    """
    layout, where = read_layout(path), path.name
    roles: Roles | None = None
    clock: _Clock | None = None
    unit: tuple[list[float], tuple[str, ...]] | None = None
    tables = read_table_blocks(
        path, delimiter=layout.delimiter, decimal=layout.decimal, lines_before=layout.lines_before,
        columns=len(layout.names), rows=rows,
    )  # fmt: skip
    for table in tables:
        notes: tuple[str, ...] = ()
        read = _Read.of(layout, table)
        if roles is None or clock is None:
            roles = roles_of(where, read.table, column=column, fs=fs)
            clock = _Clock.of(where, read, roles, fs)
            notes = (*clock.notes, *roles.notes(layout.names))
        position = clock.positions(read)
        length = len(table[0]) if position is None else int(position[-1]) + 1
        leads = roles.leads
        columns = [_with_gaps(_as_numbers(path, layout, table[k], k), position, length) for k in leads]
        if unit is None:
            unit = _uv_per_value(layout, leads, value_ranges(columns), gain)
            notes += unit[1]
        names = tuple(without_unit(layout.names[k]) or f"lead {k}" for k in leads)
        yield Block(clock.rate_hz, names, columns, unit[0], notes)


@dataclass(frozen=True)
class _Read:
    """The columns of a file as they were read, and as numbers: dates and clock times are seconds."""

    layout: Layout
    written: list[Column]
    table: Table

    @staticmethod
    def of(layout: Layout, written: list[Column]) -> _Read:
        """Return the columns of a file as numbers; text remains None."""
        columns: list[Any] = []
        units = [*layout.units]
        for k, column in enumerate(written):
            values = column if not isinstance(column, pd.Series) else _numbers_in(column, layout.decimal)
            if values is None:
                values = seconds_of(column)
                units[k] = units[k] if values is None else "s"
            columns.append(values)
        return _Read(layout, written, Table(layout.names, columns, tuple(units)))


@dataclass(slots=True)
class _Clock:
    """The rate of a file, and the positions of its rows, block by block, by its clock or its count of samples.

    tail   the last rows of the block before, as numbers and as written; None in the first
    """

    where: str
    rate_hz: float
    column: int | None
    is_count: bool
    turn: float | None
    notes: tuple[str, ...] = ()
    tail: Any = None

    @staticmethod
    def of(where: str, read: _Read, roles: Roles, fs: float | None) -> _Clock:
        """Return the clock of a file from its first block; raise UserError if there is no rate."""
        name = read.layout.names[roles.clock if roles.clock is not None else roles.count or 0]
        if roles.clock is not None:
            values, unit = read.table.columns[roles.clock], read.table.unit(roles.clock)
            times = times_of(where, values, name, unit, fs, written=read.written[roles.clock])
            if times is not None:
                rate_hz, _, notes = rate_and_positions(where, name, times.seconds, fs)
                check_rate(where, rate_hz)
                note = f"times: column {name!r}, in {_UNIT_NAMES[times.unit]}; {rate_hz:.7g} Hz"
                return _Clock(where, rate_hz, roles.clock, False, turn_of(values), (note, *notes))
        count = roles.clock if roles.clock is not None else roles.count
        if fs is None:
            why = "the file has no time column" if count is None else f"column {name!r} only counts samples"
            raise UserError(f"{where}: expected a sampling rate; {why}: give --fs, in Hz")
        return _Clock(where, fs, count, True, None if count is None else turn_of(read.table.columns[count]))

    def positions(self, read: _Read) -> I64 | None:
        """Return the sample index of each row of a block, from the first row after the block before it."""
        if self.column is None:
            return None
        values, before = read.table.columns[self.column], 0
        if self.tail is not None:
            before = len(self.tail)
            values = array_module(values).concatenate([self.tail, values])
        self.tail = values[-_OVERLAP:]
        position = positions_of(values, self.turn) if self.is_count else self._by_time(read, values)
        if position is None:
            return None
        begin = int(position[before - 1]) + 1 if before else 0
        return position[before:] - begin

    def _by_time(self, read: _Read, values: F64) -> I64 | None:
        k = self.column
        assert k is not None
        name, written = read.layout.names[k], read.written[k] if self.tail is None else None
        times = times_of(self.where, values, name, read.table.unit(k), self.rate_hz, turn=self.turn, written=written)
        return None if times is None else rate_and_positions(self.where, name, times.seconds, self.rate_hz)[1]


def _numbers_in(column: pd.Series, decimal: str) -> F64 | None:
    """Return a column of text as numbers, NaN where a cell is none; None if most of its cells are no numbers."""
    if column.dtype.kind == "b":
        return None
    text = column.astype(str).str.strip(" \t'\"").str.replace("\u2212", "-")
    found = pd.to_numeric(text.str.replace(",", ".") if decimal == "," else text, errors="coerce")
    filled = column.notna() & ~text.str.casefold().isin(MISSING_CELLS)
    is_numeric = int(found.notna().sum()) >= 0.5 * max(1, int(filled.sum()))
    values: F64 | None = found.to_numpy(np.float64) if is_numeric else None
    return values


def _as_numbers(path: Path, layout: Layout, column: Column, k: int) -> F64:
    """Return column ``k`` as float64; raise UserError with the line of the first cell that is no number."""
    if column.dtype.kind in "fb":
        return numbers(column)
    with open_text(path) as text:
        for number, line in enumerate(text, 1):
            if number <= layout.lines_before:
                continue
            cells = split_row(line.rstrip("\r\n"), layout.delimiter)
            cell = cells[k] if k < len(cells) else ""
            if not is_number(cell, layout.decimal) and not is_missing(cell):
                raise UserError(
                    f"{path.name}: line {number}, column {layout.names[k]!r}: expected a number; got {cell[:40]!r}"
                )
    found = _numbers_in(column, layout.decimal)
    return np.full(len(column), np.nan) if found is None else found


def _with_gaps(column: Any, position: I64 | None, length: int) -> Any:
    """Return the values at their positions, NaN between them."""
    if position is None:
        return column
    out = array_module(column).full(length, np.nan)
    out[position] = column
    return out


def _uv_per_value(
    layout: Layout, leads: Sequence[int], ranges: list[ValueRange], gain: float | None
) -> tuple[list[float], tuple[str, ...]]:
    """Return the microvolts per value of each lead, 0 if not calibrated, and notes."""
    if gain is not None:
        return [1000.0 / gain] * len(leads), ()
    units = [unit_of(layout.names[k], layout.units[k]) for k in leads]
    if all(unit in UV_PER for unit in units):
        return [UV_PER[unit] for unit in units], ()
    if any(units):
        return [0.0] * len(leads), ()
    uv, why = unit_guess(ranges)
    return [uv] * len(leads), (f"{why} ({_GIVE_GAIN})",) if why else ()
