"""The layout of a text table, from its first 64 KiB: delimiter, decimal sign, header, units.

In:  the path of a CSV file: comma, semicolon, tab or blanks; gzip too
Out: :class:`Layout`

Lines that are blank or begin with ``#`` before the header are skipped. A first row without any number is the header;
a second one that holds units (``mV``) is a row of units.
"""

from __future__ import annotations

import csv
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from beatwire.errors import UserError
from beatwire.recordings.names import canonical_unit
from beatwire.recordings.record import unique_names
from beatwire.tables import open_bytes, reason

MISSING_CELLS = ("", "-", "na", "nan", "n/a", "null", "none", "inf", "-inf")  # a sample without a value, case-folded

_HEAD_BYTES = 65536  # long enough for any header, short enough to read at once
_SAMPLE_LINES = 200  # from which the delimiter and the decimal sign are found


@dataclass(frozen=True)
class Layout:
    """The layout of a text table.

    delimiter      one character; a blank stands for any run of blanks
    decimal        ``.`` or ``,``
    lines_before   lines of comments, header and units before the first row of numbers
    names          of the columns; their numbers from 0 if there is no header
    units          cells of the row of units; empty if there is none
    first_row      cells of the first row of numbers
    """

    delimiter: str
    decimal: str
    lines_before: int
    names: tuple[str, ...]
    units: tuple[str, ...]
    first_row: tuple[str, ...]

    @property
    def only_numbers(self) -> bool:
        """True if every cell of the first row is a number or missing."""
        return all(is_number(c, self.decimal) or is_missing(c) for c in self.first_row)


def is_number(cell: str, decimal: str = ".") -> bool:
    """Return True if a cell holds a finite number."""
    text = cell.strip()
    if decimal == ",":
        text = text.replace(",", ".")
    return re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text) is not None


def is_missing(cell: str) -> bool:
    """Return True if a cell stands for a missing number: empty, ``NaN``, ``-`` and the like."""
    return cell.casefold() in MISSING_CELLS


def read_layout(path: Path) -> Layout:
    """Return the layout of a text table.

    Raises
    ------
    UserError
        The file cannot be read, is binary, is empty, or has nothing after its header.
    """
    lines = _first_lines(path)
    before = 0
    while before < len(lines) and (not lines[before].strip() or lines[before].lstrip().startswith("#")):
        before += 1
    rows = lines[before : before + _SAMPLE_LINES]
    if not rows:
        raise UserError(f"{path.name}: expected rows of numbers; the file is empty")
    delimiter = next((d for d in (";", "\t", ",") if d in rows[-1]), " " if len(rows[-1].split()) > 1 else ",")
    cells = [split_row(row, delimiter) for row in (rows[:4] if delimiter == "," else rows)]
    decimal = "."
    if delimiter != "," and any(re.fullmatch(r"-?\d+,\d+", c) for row in cells for c in row):
        decimal = ","
    names, units = tuple(str(k) for k in range(len(cells[0]))), tuple("" for _ in cells[0])
    numbered = cells[0][0] == "" and cells[0][1:] == [str(k) for k in range(len(cells[0]) - 1)]  # as pandas writes it
    if numbered or not any(is_number(c, decimal) for c in cells[0]):
        names, cells, before = unique_names(cells[0]), cells[1:], before + 1
        is_text = cells and not any(is_number(c, decimal) or is_missing(c) for c in cells[0])
        if is_text and any(canonical_unit(c) for c in cells[0]):
            units, cells, before = tuple(cells[0]), cells[1:], before + 1
    if not cells:
        raise UserError(f"{path.name}: expected rows of numbers; there is nothing after the header")
    return Layout(delimiter, decimal, before, names, units, tuple(cells[0]))


def split_row(row: str, delimiter: str) -> list[str]:
    """Return the cells of a row, without blanks and quotes around them."""
    cells = row.split() if delimiter == " " else next(csv.reader([row], delimiter=delimiter), [""])
    return [cell.strip().strip("'\"").strip() for cell in cells]


def _first_lines(path: Path) -> list[str]:
    """Return the complete lines among the first bytes of a text file."""
    try:
        with open_bytes(path) as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: expected a file that can be read; {reason(error)}") from None
    if b"\0" in head:
        raise UserError(
            f"{path.name}: expected a CSV file; got a binary file (a WFDB record is named by its header, x.hea)"
        )
    lines = head.decode("utf-8-sig", errors="replace").splitlines()
    if len(head) == _HEAD_BYTES and len(lines) > 1:
        lines.pop()  # it may be cut
    return lines
