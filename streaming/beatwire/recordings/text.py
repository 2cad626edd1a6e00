"""A recording from a text table (CSV): which columns are leads, their unit and their sampling rate.

At most one column is the time, found by its name, or because it is the first and rises in even steps: it gives the
sampling rate and shows gaps. Every other column of numbers is a lead. A missing number is a sample without a value;
text in place of a number is an error that names the line.

Numbers are millivolts unless the header (``MLII (uV)``, or a row of units) or ``--gain`` gives another unit. Integers
without a unit, and numbers too large for an ECG in millivolts, are not calibrated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from beatwire.errors import UserError
from beatwire.recordings.layout import (  # fmt: skip
    UV_PER,
    Layout,
    is_missing,
    is_number,
    read_layout,
    split_row,
    unit_of,
    without_unit,
)
from beatwire.recordings.record import MAX_LEADS, Recording, check_rate, find_lead
from beatwire.recordings.timecolumn import INDEX_NAMES, TIME_NAMES, rate_and_positions, times_s
from beatwire.recordings.units import Block, ValueRange, to_units, unit_guess, value_ranges
from beatwire.records import F64, I64
from beatwire.tables import Column, array_module, numbers, open_text, read_table, read_table_blocks

_NOT_A_LEAD = ("label", "annotation", "annotations", "class", "symbol", "beat", "event", "target")
_UNIT_SUFFIXES = "uv|mv|µv|μv"  # no plain "v": "lead_v" is a name
_OVERLAP = 64  # rows whose times a block is compared with
_GIVE_GAIN = "give --gain, units per millivolt"


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
    time = _time_column(layout, table)
    leads, notes = _lead_columns(where, layout, column, time)
    rate_hz, position, time_notes = _rate_and_positions(where, layout, table, time, fs)
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
        rate_hz=rate_hz,
        leads=tuple(without_unit(layout.names[k]) or f"lead {k}" for k in leads),
        uv_per_unit=uv_per_unit,
        samples=samples,
        notes=(*notes, *time_notes, *unit_notes, *scale_notes),
    )


def text_blocks(path: Path, fs: float | None, column: str | None, gain: float | None, rows: int) -> Iterator[Block]:
    """Yield a text table in blocks of so many rows; errors as of :func:`read_text`.

    The rate and the unit are those of the first block. Times are compared with those of the rows before each block.
    """
    layout, where = read_layout(path), path.name
    time: int | None = None
    leads: list[int] = []
    clock: _Clock | None = None
    unit: tuple[list[float], tuple[str, ...]] | None = None
    tables = read_table_blocks(
        path, delimiter=layout.delimiter, decimal=layout.decimal, lines_before=layout.lines_before,
        columns=len(layout.names), rows=rows,
    )  # fmt: skip
    for number, table in enumerate(tables):
        notes: tuple[str, ...] = ()
        if number == 0:
            time = _time_column(layout, table)
            leads, notes = _lead_columns(where, layout, column, time)
            rate_hz, _, _ = _rate_and_positions(where, layout, table, time, fs)
            clock = _Clock.of(where, layout, table, time, rate_hz)
        position = clock.positions(table) if clock is not None else None
        length = len(table[0]) if position is None else int(position[-1]) + 1
        columns = [_with_gaps(_as_numbers(path, layout, table[k], k), position, length) for k in leads]
        if unit is None:
            unit = _uv_per_value(layout, leads, value_ranges(columns), gain)
            notes += unit[1]
        names = tuple(without_unit(layout.names[k]) or f"lead {k}" for k in leads)
        yield Block(rate_hz, names, columns, unit[0], notes)


@dataclass(slots=True)
class _Clock:
    """Positions of the rows of each block by its time column; it keeps the last rows of the block before it."""

    where: str
    layout: Layout
    time: int
    rate_hz: float
    tail: Any = None

    @staticmethod
    def of(where: str, layout: Layout, table: list[Column], time: int | None, rate_hz: float) -> _Clock | None:
        """Return the clock of a table, None if its time column only counts samples or there is none."""
        if time is None or times_s(where, table[time], layout.names[time], layout.units[time], rate_hz) is None:
            return None
        return _Clock(where, layout, time, rate_hz)

    def positions(self, table: list[Column]) -> I64:
        """Return the sample index of each row, from the first row after the block before it."""
        name, column = self.layout.names[self.time], table[self.time]
        if self.tail is not None:
            joined = np.concatenate([self.tail, column])
            column = pd.Series(joined) if isinstance(column, pd.Series) else joined
        before = 0 if self.tail is None else len(self.tail)
        self.tail = np.asarray(table[self.time])[-_OVERLAP:]
        seconds = times_s(self.where, column, name, self.layout.units[self.time], self.rate_hz)
        assert seconds is not None
        _, position, _ = rate_and_positions(self.where, name, seconds, self.rate_hz)
        position = np.arange(len(seconds)) if position is None else position
        begin = int(position[before - 1]) + 1 if before else 0
        return np.asarray(position[before:] - begin, np.int64)


def _time_column(layout: Layout, table: list[Column]) -> int | None:
    """Return the index of the time column: by name, or the first if it is an index or has no name and rises evenly."""
    for k, name in enumerate(layout.names):
        if without_unit(name).casefold() in TIME_NAMES and (len(layout.names) > 1):
            return k
    if len(layout.names) > 1 and table[0].dtype.kind in "if":
        name = without_unit(layout.names[0]).casefold()
        if len(table[0]) > 2 and (name in INDEX_NAMES or name == layout.names[0] == "0"):
            xp, first = array_module(table[0]), table[0]
            steps = xp.diff(first)
            median = float(xp.median(steps))
            if median > 0 and bool(xp.all(xp.abs(steps - median) <= 0.51 * median)):
                return 0
    return None


def _lead_columns(
    where: str, layout: Layout, column: str | None, time: int | None
) -> tuple[list[int], tuple[str, ...]]:
    """Return the indices of the columns that are leads, and notes about those that are left out."""
    if column is not None:
        names = [without_unit(n) if column not in layout.names else n for n in layout.names]
        requested = [column] if column in names else column.split(",")
        return [find_lead(where, names, one, "column") for one in requested], ()
    leads: list[int] = []
    left_out: list[int] = []
    for k, name in enumerate(layout.names):
        if k == time or without_unit(name).casefold() in (*TIME_NAMES, *INDEX_NAMES):
            continue
        first = layout.first_row[k] if k < len(layout.first_row) else ""
        numeric = is_number(first, layout.decimal) or is_missing(first)
        is_lead = numeric and without_unit(name).casefold() not in _NOT_A_LEAD
        (leads if is_lead else left_out).append(k)
    if not leads:
        k = left_out[0] if left_out else 0
        got = f"column {layout.names[k]!r} begins with {layout.first_row[k]!r}" if left_out else "only a time column"
        raise UserError(f"{where}: expected a column of numbers; got {got}")
    if len(leads) > MAX_LEADS:
        raise UserError(f"{where}: expected 1-{MAX_LEADS} leads; got {len(leads)} columns (choose with --column)")
    notes = (f"left out: {', '.join(repr(layout.names[k]) for k in left_out)}",) if left_out else ()
    return leads, notes


def _rate_and_positions(
    where: str, layout: Layout, table: list[Column], time: int | None, fs: float | None
) -> tuple[float, I64 | None, tuple[str, ...]]:
    """Return the rate, the sample index of each row (None if there are no gaps), and notes."""
    if time is None:
        if fs is None:
            raise UserError(f"{where}: expected a sampling rate; the file has no time column: give --fs, in Hz")
        return fs, None, ()
    name = layout.names[time]
    seconds = times_s(where, table[time], name, layout.units[time], fs)
    if seconds is None:
        if fs is None:
            raise UserError(f"{where}: expected a sampling rate; column {name!r} only counts samples: give --fs, in Hz")
        return fs, None, ()
    rate_hz, position, notes = rate_and_positions(where, name, seconds, fs)
    return check_rate(where, rate_hz), position, notes


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
    return np.asarray(pd.to_numeric(column, errors="coerce"), np.float64)


def _with_gaps(column: Any, position: I64 | None, length: int) -> Any:
    """Return the values at their positions, NaN between them."""
    if position is None:
        return column
    out = array_module(column).full(length, np.nan)
    out[position] = column
    return out


def _uv_per_value(
    layout: Layout, leads: list[int], ranges: list[ValueRange], gain: float | None
) -> tuple[list[float], tuple[str, ...]]:
    """Return the microvolts per value of each lead, 0 if not calibrated, and notes."""
    if gain is not None:
        return [1000.0 / gain] * len(leads), ()
    units = [unit_of(layout.names[k], layout.units[k], _UNIT_SUFFIXES).casefold() for k in leads]
    if all(unit in UV_PER for unit in units):
        return [UV_PER[unit] for unit in units], ()
    if any(units):
        return [0.0] * len(leads), ()
    uv, why = unit_guess(ranges)
    return [uv] * len(leads), (f"{why} ({_GIVE_GAIN})",) if why else ()
