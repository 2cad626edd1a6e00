"""Text tables with several samples of one lead in a row, as Movesense writes them: a time, and sixteen samples.

In:  the path of a text file
Out: a table with a sample a row, in which the other cells of a row are repeated

Columns of numbered names, or without names, are samples of one lead if numbers go on from the end of a row to the next
row, and change more from row to row than within rows. Leads beside each other do not.
"""

import csv
import re
import zlib
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.names import unit_of, without_unit
from beatwire.recordings.record import MAX_LEADS
from beatwire.recordings.text.dialect import is_number, split_row
from beatwire.recordings.text.layout import Layout, read_layout
from beatwire.records import F64
from beatwire.tables import open_text

_FEWEST, _MOST_OTHERS = 5, 4  # samples in a row; cells beside them
_ROWS = 20, 400  # fewest and most rows by which such a table is found
_BEGIN = 1 << 16
_NUMBERED = re.compile(r"[\s_.-]*[\[(]?\d+[\])]?$")
_OF_A_LEAD = re.compile(r"(?:ch|chan|channel|lead|v|derivation|electrode|sensor)", re.IGNORECASE)


@dataclass(frozen=True)
class PackedRows:
    """A table with several samples in a row: its layout, and the columns of samples."""

    layout: Layout
    first: int
    count: int
    name: str


def packed_rows(path: Path) -> PackedRows | None:
    """Return how samples lie in the rows of a file; None if a row has one sample of each lead."""
    try:
        with open_text(path) as file:
            lines = file.read(_BEGIN).splitlines()
        if len(lines) <= _ROWS[0] or max(len(re.findall(r"[,;\t| ]+", line.strip())) for line in lines[-3:]) < _FEWEST:
            return None
        layout = read_layout(path)
    except (OSError, EOFError, zlib.error, UserError):
        return None  # the reader of tables says what is wrong
    width = layout.dialect.width
    rows = [split_row(line, layout.dialect.delimiter) for line in lines[layout.lines_before : -1] if line.strip()]
    rows = [row for row in rows if len(row) == width][: _ROWS[1]]
    decimal = layout.dialect.decimal
    for first, count, name in _samples(layout) if len(rows) >= _ROWS[0] else ():
        if count <= MAX_LEADS and _OF_A_LEAD.fullmatch(name):
            continue
        cells = [row[first : first + count] for row in rows]
        if all(is_number(cell, decimal) for row in cells for cell in row):
            values = np.array(
                [[float(cell.replace(",", ".") if decimal == "," else cell) for cell in row] for row in cells]
            )
            if _goes_on(values):
                return PackedRows(layout, first, count, name)
    return None


def write_one_a_row(path: Path, to: Path, packed: PackedRows) -> tuple[str, ...]:
    """Write a table with one sample a row; return a note if its last line is cut off, and therefore left out.

    Raises
    ------
    UserError
        Another row has more or fewer cells.
    """
    layout, first, end = packed.layout, packed.first, packed.first + packed.count
    delimiter, width = layout.dialect.delimiter, layout.dialect.width
    unit = unit_of(layout.names[first], layout.units[first])
    name = packed.name or "samples"
    with open_text(path) as source, to.open("w", encoding="utf-8", newline="") as target:
        written = csv.writer(target, delimiter=delimiter, lineterminator="\n")
        for number, line in enumerate(source):
            if number < layout.lines_before:
                if len(split_row(line.rstrip("\r\n"), delimiter)) < _FEWEST:
                    target.write(line.rstrip("\r\n") + "\n")
                continue
            if number == layout.lines_before:
                others = [n or "" for n in (*layout.names[:first], *layout.names[end:])]
                if layout.lines_before:
                    written.writerow([*others, f"{name} ({unit})" if unit else name])
            text, is_plain = line.rstrip("\r\n"), delimiter != " " and '"' not in line
            row = text.split(delimiter) if is_plain else split_row(text, delimiter)
            if len(row) != width and not line.endswith("\n"):
                return ("the last line is cut off: left out",)
            if len(row) != width:
                if len(row) >= _FEWEST:
                    raise UserError(f"{path.name}: expected {width} cells in a row; line {number + 1} has {len(row)}")
                target.write(line)  # no row: its reader says so
                continue
            others = [*row[:first], *row[end:]]
            if is_plain:
                before = "".join([other + delimiter for other in others])
                target.write("".join([f"{before}{cell}\n" for cell in row[first:end]]))
            else:
                written.writerows([*others, cell] for cell in row[first:end])
    return ()


def _samples(layout: Layout) -> tuple[tuple[int, int, str], ...]:
    """Return the first, the number and the name of the columns that may be samples of one lead, the likeliest first."""
    width, names = layout.dialect.width, [without_unit(name) for name in layout.names]
    if all(name == str(k) for k, name in enumerate(names)):  # without names: behind one column at most
        return ((0, width, ""), (1, width - 1, "")) if width > _FEWEST else ()
    stems = [_NUMBERED.sub("", name).casefold() for name in names]
    runs = [(stem, [k for k, _ in group]) for stem, group in groupby(enumerate(stems), key=lambda pair: pair[1])]
    stem, columns = max(runs, key=lambda run: len(run[1]))
    if not stem or len(columns) < _FEWEST or width - len(columns) > _MOST_OTHERS:
        return ()
    return ((columns[0], len(columns), stem),)


def _goes_on(values: F64) -> bool:
    """Return True if numbers [rows, samples] go on from the end of each row, and change more from row to row."""
    within = float(np.abs(np.diff(values, axis=1)).mean())
    between = float(np.abs(values[1:, 0] - values[:-1, -1]).mean())
    down = float(np.abs(np.diff(values, axis=0)).mean())
    return down > 1.5 * within > 0 and between < 2 * within and between < 0.67 * down
