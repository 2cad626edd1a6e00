"""A recording from a table of text: CSV by comma, semicolon, tab or blanks; gzip too.

Of the columns one may be time (known by its name, or because the first of several columns rises
in even steps): it gives the rate and shows gaps. Every other column of numbers is a lead.
A missing number is a sample without a value; text where a number belongs is an error that names
its line. Numbers are millivolts unless the header says otherwise (``MLII (uV)``, or a row of
units) or ``--gain`` does; whole numbers without a unit, and numbers far beyond an ECG, are taken
as not calibrated.
"""

from __future__ import annotations

import csv
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from beatwire.errors import UserError
from beatwire.recordings.record import (
    MAX_LEADS,
    Recording,
    Span,
    check_rate,
    find_lead,
    plausible_mv,
    spans_of,
    to_units,
)
from beatwire.recordings.timecolumn import INDEX_NAMES, TIME_NAMES, bare, place, times_s
from beatwire.records import I64
from beatwire.tables import Column, array_module, numbers, open_bytes, open_text, read_table, reason

_HEAD_BYTES = 65536
_NO_NUMBER = ("", "-", "na", "nan", "n/a", "null", "none", "inf", "-inf")
_NOT_A_LEAD = ("label", "annotation", "annotations", "class", "symbol", "beat", "event", "target")
_UV_PER = {"uv": 1.0, "µv": 1.0, "μv": 1.0, "microvolts": 1.0, "mv": 1e3, "millivolts": 1e3, "v": 1e6, "volts": 1e6}


@dataclass(frozen=True)
class Layout:
    """How a file is laid out, found from its first lines.

    lines_before   lines of comments, header and units, before the first row of numbers
    """

    delimiter: str
    decimal: str
    lines_before: int
    names: tuple[str, ...]
    units: tuple[str, ...]
    first_row: tuple[str, ...]

    @property
    def only_numbers(self) -> bool:
        """Whether the first row holds nothing else."""
        return all(is_number(c, self.decimal) or c.casefold() in _NO_NUMBER for c in self.first_row)


def read_text(path: Path, fs: float | None, column: str | None, gain: float | None, xp: Any = np) -> Recording:
    """Read a table of text; see :func:`beatwire.recordings.read_recording`.

    Raises
    ------
    UserError
        It holds no such column, no numbers, or no times that go on evenly.
    """
    layout = _layout(path)
    where = path.name
    table = read_table(
        path, delimiter=layout.delimiter, decimal=layout.decimal, lines_before=layout.lines_before,
        columns=len(layout.names), only_numbers=layout.only_numbers, xp=xp,
    )  # fmt: skip
    time = _time_column(layout, table)
    leads, notes = _lead_columns(where, layout, column, time)
    rate_hz, position, more = _clock(where, layout, table, time, fs)
    columns = [_numbers(path, layout, table[k], k) for k in leads]
    length = len(table[0]) if position is None else int(position[-1]) + 1
    values = [_placed(c, position, length) for c in columns]
    spans = spans_of(values)
    if not any(span.known for span in spans):
        raise UserError(f"{where}: expected numbers in column {layout.names[leads[0]]!r}; it has no value at all")
    scale, why = _scale(layout, leads, spans, gain)
    samples, uv_per_unit, changed = to_units(values, scale, spans)
    return Recording(
        name=re.sub(r"(\.(csv|tsv|txt|gz))+$", "", path.name, flags=re.IGNORECASE),
        rate_hz=rate_hz,
        leads=tuple(bare(layout.names[k]) or f"lead {k}" for k in leads),
        uv_per_unit=uv_per_unit,
        samples=samples,
        notes=(*notes, *more, *why, *changed),
    )


def is_number(cell: str, decimal: str = ".") -> bool:
    """Say whether a cell holds a number, infinities and NaN left out."""
    text = cell.strip()
    if decimal == ",":
        text = text.replace(",", ".")
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text) is not None


def _layout(path: Path) -> Layout:
    where = path.name
    try:
        with open_bytes(path) as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: expected a file that can be read; {reason(error)}") from None
    if b"\0" in head:
        raise UserError(f"{where}: expected a CSV; got a binary file (a WFDB record is named by its header, x.hea)")
    text = head.decode("utf-8-sig", errors="replace")
    lines = text.splitlines()
    if len(head) == _HEAD_BYTES and len(lines) > 1:
        lines.pop()  # it may be cut
    before = 0
    while before < len(lines) and (not lines[before].strip() or lines[before].lstrip().startswith("#")):
        before += 1
    rows = lines[before : before + 200]
    if not rows:
        raise UserError(f"{where}: expected rows of numbers; the file is empty")
    delimiter = next((d for d in (";", "\t", ",") if d in rows[-1]), " " if len(rows[-1].split()) > 1 else ",")
    cells = [_split(row, delimiter) for row in (rows[:4] if delimiter == "," else rows)]
    decimal = "."
    if delimiter != "," and any(re.fullmatch(r"-?\d+,\d+", c) for row in cells for c in row):
        decimal = ","
    names, units = tuple(str(k) for k in range(len(cells[0]))), tuple("" for _ in cells[0])
    numbered = cells[0][0] == "" and cells[0][1:] == [str(k) for k in range(len(cells[0]) - 1)]
    if numbered or not any(is_number(c, decimal) for c in cells[0]):
        names, cells, before = _unique(cells[0]), cells[1:], before + 1
        if cells and not any(is_number(c, decimal) or c.casefold() in _NO_NUMBER for c in cells[0]):
            known = [c.casefold() for c in cells[0]]
            if any(c in _UV_PER or c in ("seconds", "s", "ms", "hh:mm:ss.mmm", "adu") for c in known):
                units, cells, before = tuple(cells[0]), cells[1:], before + 1
    if not cells:
        raise UserError(f"{where}: expected rows of numbers; there is nothing after the header")
    return Layout(delimiter, decimal, before, names, units, tuple(cells[0]))


def _split(row: str, delimiter: str) -> list[str]:
    cells = row.split() if delimiter == " " else next(csv.reader([row], delimiter=delimiter), [""])
    return [cell.strip().strip("'\"").strip() for cell in cells]


def _unique(names: list[str]) -> tuple[str, ...]:
    return tuple(n if names.index(n) == k else f"{n}.{names[:k].count(n)}" for k, n in enumerate(names))


def _time_column(layout: Layout, table: list[Column]) -> int | None:
    for k, name in enumerate(layout.names):
        if bare(name).casefold() in TIME_NAMES and (len(layout.names) > 1):
            return k
    if len(layout.names) > 1 and table[0].dtype.kind in "if":
        named = bare(layout.names[0]).casefold()
        if len(table[0]) > 2 and (named in INDEX_NAMES or named == layout.names[0] == "0"):
            xp, first = array_module(table[0]), table[0]
            steps = xp.diff(first)
            middle = float(xp.median(steps))
            if middle > 0 and bool(xp.all(xp.abs(steps - middle) <= 0.51 * middle)):
                return 0
    return None


def _lead_columns(
    where: str, layout: Layout, column: str | None, time: int | None
) -> tuple[list[int], tuple[str, ...]]:
    if column is not None:
        names = [bare(n) if column not in layout.names else n for n in layout.names]
        wanted = [column] if column in names else column.split(",")
        return [find_lead(where, names, w, "column") for w in wanted], ()
    usable: list[int] = []
    left_out: list[int] = []
    for k, name in enumerate(layout.names):
        if k == time or bare(name).casefold() in (*TIME_NAMES, *INDEX_NAMES):
            continue
        first = layout.first_row[k] if k < len(layout.first_row) else ""
        numeric = is_number(first, layout.decimal) or first.casefold() in _NO_NUMBER
        wanted_here = numeric and bare(name).casefold() not in _NOT_A_LEAD
        (usable if wanted_here else left_out).append(k)
    if not usable:
        k = left_out[0] if left_out else 0
        got = f"column {layout.names[k]!r} begins with {layout.first_row[k]!r}" if left_out else "only a time column"
        raise UserError(f"{where}: expected a column of numbers; got {got}")
    if len(usable) > MAX_LEADS:
        raise UserError(f"{where}: expected 1-{MAX_LEADS} leads; got {len(usable)} columns (choose with --column)")
    notes = (f"left out: {', '.join(repr(layout.names[k]) for k in left_out)}",) if left_out else ()
    return usable, notes


def _clock(
    where: str, layout: Layout, table: list[Column], time: int | None, fs: float | None
) -> tuple[float, I64 | None, tuple[str, ...]]:
    if time is None:
        if fs is None:
            raise UserError(f"{where}: expected a sampling rate; it has no time column, so give --fs")
        return fs, None, ()
    name = layout.names[time]
    seconds = times_s(where, table[time], name, layout.units[time], fs)
    if seconds is None:
        if fs is None:
            raise UserError(f"{where}: expected a sampling rate; column {name!r} only counts samples, so give --fs")
        return fs, None, ()
    rate_hz, position, notes = place(where, name, seconds, fs)
    return check_rate(where, rate_hz), position, notes


def _numbers(path: Path, layout: Layout, column: Column, k: int) -> Any:
    if column.dtype.kind in "fb":
        return numbers(column)
    with open_text(path) as text:
        for number, line in enumerate(text, 1):
            if number <= layout.lines_before:
                continue
            cells = _split(line.rstrip("\r\n"), layout.delimiter)
            cell = cells[k] if k < len(cells) else ""
            if not is_number(cell, layout.decimal) and cell.casefold() not in _NO_NUMBER:
                raise UserError(
                    f"{path.name}: line {number}, column {layout.names[k]!r}: expected a number; got {cell[:40]!r}"
                )
    return np.asarray(pd.to_numeric(column, errors="coerce"), np.float64)


def _placed(values: Any, position: I64 | None, length: int) -> Any:
    if position is None:
        return values
    out = array_module(values).full(length, np.nan)
    out[position] = values
    return out


def _scale(
    layout: Layout, leads: list[int], spans: list[Span], gain: float | None
) -> tuple[list[float], tuple[str, ...]]:
    if gain is not None:
        return [1000.0 / gain] * len(leads), ()
    units = [_unit(layout.names[k], layout.units[k]) for k in leads]
    if all(unit in _UV_PER for unit in units):
        return [_UV_PER[unit] for unit in units], ()
    if any(units):
        return [0.0] * len(leads), ()
    if all(span.whole for span in spans):
        return [0.0] * len(leads), ("whole numbers without a unit (give --gain, units per millivolt)",)
    if not plausible_mv(spans):
        return [0.0] * len(leads), ("the numbers are too large for millivolts (give --gain, units per millivolt)",)
    return [1000.0] * len(leads), ()


def _unit(name: str, unit: str) -> str:
    inside = re.search(r"[\[(]\s*([^\])]*?)\s*[\])]", name)
    ending = re.search(r"[_ ](uv|mv|µv|μv|v)$", name, flags=re.IGNORECASE)
    said = unit or (inside[1] if inside else "") or (ending[1] if ending and ending[1].lower() != "v" else "")
    return said.casefold()
