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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.codes import without_codes
from beatwire.recordings.columns.behaviour import Behaviour
from beatwire.recordings.columns.names import UV_PER, is_unscaled, unit_of, without_unit
from beatwire.recordings.columns.roles import Roles, Table, roles_of
from beatwire.recordings.columns.rowclock import RowClock
from beatwire.recordings.columns.roworder import row_order
from beatwire.recordings.columns.stacked import check_rows
from beatwire.recordings.record import Recording
from beatwire.recordings.text.dialect import kind_of, split_row
from beatwire.recordings.text.layout import Layout, read_layout
from beatwire.recordings.text.read_columns import ReadColumns, numbers_in
from beatwire.recordings.text.strays import blank_lines, without_strays
from beatwire.recordings.text.turned import leads_in_columns
from beatwire.recordings.units import Block, ValueRange, to_units, unit_guess, unit_note, value_ranges
from beatwire.records import F64, I64
from beatwire.tables import Column, array_module, numbers, open_text, read_table, read_table_blocks, rows_of

_TAIL_BYTES = 4096
_STILL = (Behaviour.EMPTY.value, Behaviour.CONSTANT.value)
_GIVE_GAIN = "give --gain, units per millivolt"


def read_text(path: Path, fs: float | None, column: str | None, gain: float | None, xp: Any = np) -> Recording:
    """Read a text table; see :func:`beatwire.recordings.read_recording`.

    Raises
    ------
    UserError
        There is no such column, a column holds no numbers, or the times do not rise evenly.
    """
    with leads_in_columns(path) as (table, notes):
        try:
            return _read_text(table, fs, column, gain, xp, notes)
        except UserError as error:
            with _rows_alone(table, error) as (cleaned, said):
                return _read_text(cleaned, fs, column, gain, xp, (*notes, *said))


def _read_text(
    path: Path, fs: float | None, column: str | None, gain: float | None, xp: Any, notes: tuple[str, ...]
) -> Recording:
    layout = read_layout(path)
    where = path.name
    table = read_table(
        path, delimiter=layout.dialect.delimiter, decimal=layout.dialect.decimal, lines_before=layout.lines_before,
        columns=len(layout.names), only_numbers=layout.only_numbers, skip_blank=layout.skip_blank,
        text=layout.digits, xp=xp,
    )  # fmt: skip
    row_notes = check_rows(where, layout.names, table)
    read = ReadColumns.of(layout, table)
    roles = roles_of(where, read.table, column=column, fs=fs)
    table, read, order_notes = _in_order(layout, table, read, roles)
    clock = RowClock.of(where, read.table, roles, fs, layout.rate_hz, read.written)
    leads, position = roles.leads, clock.positions(read.table, read.written)
    columns = [_as_numbers(path, layout, table[k], k) for k in leads]
    length = len(table[0]) if position is None else int(position[-1]) + 1
    columns, code_notes = without_codes([_with_gaps(c, position, length) for c in columns])
    ranges = value_ranges(columns)
    if not any(r.any_valid for r in ranges):
        raise UserError(f"{where}: expected numbers in column {layout.names[leads[0]]!r}; all of them are missing")
    uv_per_value, unit_notes = _uv_per_value(layout, leads, ranges, gain)
    samples, uv_per_unit, scale_notes = to_units(columns, uv_per_value, ranges)
    line_notes = (*blank_lines(path, layout, roles), *_cut_note(path, layout))
    return Recording(
        name=re.sub(r"(\.(csv|tsv|txt|gz))+$", "", path.name, flags=re.IGNORECASE),
        rate_hz=clock.rate_hz,
        leads=tuple(without_unit(layout.names[k]) or f"lead {k}" for k in leads),
        uv_per_unit=uv_per_unit,
        samples=samples,
        notes=(
            *notes,
            *order_notes,
            *clock.notes,
            *roles.notes(layout.names),
            *row_notes,
            *code_notes,
            *unit_notes,
            *scale_notes,
            *line_notes,
        ),
    )


def text_blocks(path: Path, fs: float | None, column: str | None, gain: float | None, rows: int) -> Iterator[Block]:
    """Yield a text table in blocks of so many rows; errors as of :func:`read_text`.

    The rate and the unit are those of the first block. Times are compared with those of the rows before each block.
    """
    with leads_in_columns(path) as (table, notes):
        done = 0
        try:
            for block in _text_blocks(table, fs, column, gain, rows, notes):
                yield block
                done += 1
        except UserError as error:
            with _rows_alone(table, error) as (cleaned, said):
                for k, block in enumerate(_text_blocks(cleaned, fs, column, gain, rows, notes)):
                    if k >= done:
                        yield block._replace(notes=(*said, *block.notes)) if k == done else block


@contextmanager
def _rows_alone(path: Path, error: UserError) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Yield the path of a table without the lines that are no rows, and notes; raise the error if there are none.

    An error in what remains says which lines were left out.
    """
    with without_strays(path, read_layout(path)) as found:
        if found is None:
            raise error
        try:
            yield found
        except UserError as remaining:
            raise UserError("; ".join((str(remaining), *found[1]))) from None


def _text_blocks(
    path: Path, fs: float | None, column: str | None, gain: float | None, rows: int, notes: tuple[str, ...]
) -> Iterator[Block]:
    layout, where = read_layout(path), path.name
    roles: Roles | None = None
    clock: RowClock | None = None
    unit: tuple[list[float], tuple[str, ...]] | None = None
    signs: list[int] = []
    left_out: set[int] = set()
    tables = read_table_blocks(
        path, delimiter=layout.dialect.delimiter, decimal=layout.dialect.decimal, lines_before=layout.lines_before,
        columns=len(layout.names), rows=rows, skip_blank=layout.skip_blank, text=layout.digits,
    )  # fmt: skip
    read: ReadColumns | None = None
    for table in tables:
        read = ReadColumns.of(layout, table, read)
        if roles is None:
            notes += check_rows(where, layout.names, table)
            roles = roles_of(where, read.table, column=column, fs=fs)
        table, read, order_notes = _in_order(layout, table, read, roles)
        notes += order_notes
        notes += _changed(layout, roles, read.table, left_out) if clock is not None else ()
        if clock is None:
            clock = RowClock.of(where, read.table, roles, fs, layout.rate_hz, read.written)
            left_out = {k for k, why in roles.left_out.items() if why in _STILL}
            notes += (*clock.notes, *roles.notes(layout.names), *_cut_note(path, layout))
        position = clock.positions(read.table, read.written)
        length = len(table[0]) if position is None else int(position[-1]) + 1
        leads = roles.leads
        columns = [_with_gaps(_as_numbers(path, layout, table[k], k), position, length) for k in leads]
        signs = signs or [0] * len(leads)
        columns, code_notes = without_codes(columns, signs)
        notes += code_notes
        if unit is None:
            unit = _uv_per_value(layout, leads, value_ranges(columns), gain)
            notes += (*unit[1], *blank_lines(path, layout, roles))
        names = tuple(without_unit(layout.names[k]) or f"lead {k}" for k in leads)
        yield Block(clock.rate_hz, names, columns, unit[0], notes)
        notes = ()


def _changed(layout: Layout, roles: Roles, table: Table, left_out: set[int]) -> tuple[str, ...]:
    """Return a note for each column that the first block left out as it had no signal, and that has one now, once."""
    notes = []
    for k in sorted(left_out):
        values = table.columns[k]
        known = np.empty(0) if values is None else values[np.isfinite(values)]
        if len(known) and (roles.left_out[k] == Behaviour.EMPTY.value or float(known.min()) != float(known.max())):
            left_out.remove(k)
            had = f"left out by the first block ({roles.left_out[k]})"
            notes.append(f"column {layout.names[k]!r}, {had}, has values later (choose with --column)")
    return tuple(notes)


def _in_order(
    layout: Layout, written: list[Column], read: ReadColumns, roles: Roles
) -> tuple[list[Column], ReadColumns, tuple[str, ...]]:
    """Return the columns of a file with each row once, in the order of its clock, and notes."""
    rows, notes = row_order(read.table, roles)
    if rows is None:
        return written, read, ()
    written = [rows_of(column, rows) for column in written]
    return written, ReadColumns.of(layout, written, read), notes


def _as_numbers(path: Path, layout: Layout, column: Column, k: int) -> F64:
    """Return column ``k`` as float64; raise UserError with the line of the first cell that is no number."""
    if column.dtype.kind in "fb":
        return numbers(column)
    with open_text(path) as text:
        for number, line in enumerate(text, 1):
            if number <= layout.lines_before:
                continue
            cells = split_row(line.rstrip("\r\n"), layout.dialect.delimiter)
            cell = cells[k] if k < len(cells) else ""
            if kind_of(cell, layout.dialect.decimal) not in ("number", "missing"):
                raise UserError(
                    f"{path.name}: line {number}, column {layout.names[k]!r}: expected a number; got {cell[:40]!r}"
                )
    found = numbers_in(column, layout.dialect.decimal)
    return np.full(len(column), np.nan) if found is None else found


def _cut_note(path: Path, layout: Layout) -> tuple[str, ...]:
    """Return a note if the last line of a plain file is cut off, and therefore left out."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        tail = file.read()
    last = tail.rstrip(b"\0")[-1:]
    if layout.dialect.width == 1 or last in (b"\n", b"\r", b"") or not tail.isascii():
        return ()
    cells = split_row(re.split(r"[\r\n]", tail.rstrip(b"\0").decode("ascii"))[-1], layout.dialect.delimiter)
    return ("the last line is cut off: left out",) if len(cells) < layout.dialect.width else ()


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
    units = [unit_of(layout.names[k], layout.units[k]) or layout.unit for k in leads]
    if gain is not None:
        named = zip((layout.names[k] for k in leads), units, strict=True)
        return [1000.0 / gain] * len(leads), unit_note(f"--gain {gain:g}", 1000.0 / gain, named)
    if all(unit in UV_PER for unit in units):
        return [UV_PER[unit] for unit in units], ()
    uv, why = unit_guess(ranges)
    if (uv <= 0 or any(units)) and all(unit in UV_PER or not unit or is_unscaled(unit) for unit in units):
        counts = layout.scale.uv_per_count([layout.names[k] for k in leads])
        if counts is not None:
            sizes = ", ".join(f"{one:.4g}" for one in dict.fromkeys(counts))
            found = [UV_PER.get(unit, one) for unit, one in zip(units, counts, strict=True)]
            return found, (f"{sizes} uV a count, from the head of the file",)
    stated = layout.scale.unclear if uv <= 0 or any(units) else ""
    hint = f"the head states {stated}: " if stated else ""
    hint = "the head states sizes of a count that differ: " if layout.scale.stated else hint
    if any(units):
        unknown = ", ".join(repr(layout.names[k]) for k, unit in zip(leads, units, strict=True) if unit not in UV_PER)
        found = [UV_PER.get(unit, 0.0) for unit in units]
        return found, (f"no unit of voltage in column {unknown} ({hint}{_GIVE_GAIN})",)
    assumed = "no unit: read as millivolts"
    return [uv] * len(leads), (f"{why or assumed} ({hint}{_GIVE_GAIN})",)
