"""The layout of a text table, from its beginning: dialect, head, names and units of the columns, first row.

In:  the path of a text file, see ``beatwire.tables.textfile``
Out: :class:`Layout`

The rows of the table are those that look like its last ones. What stands before them is its head: a row of names, which
may lack the name of row numbers; a row of units; remarks and statements (``beatwire.recordings.text.head``).
"""

import re
import zlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path

from beatwire.errors import UserError, reason
from beatwire.recordings.columns.clocktext import is_date_in_digits
from beatwire.recordings.leads import unique_names
from beatwire.recordings.text.dialect import (  # fmt: skip
    Dialect,
    dialect_of,
    is_comma_twice,
    is_missing,
    is_number,
    is_remark,
    kind_of,
    kinds_of,
    split_row,
    with_groups,
)
from beatwire.recordings.text.head import Facts, is_statement, read_head
from beatwire.recordings.text.header import (  # fmt: skip
    aligned,
    are_formats,
    are_units,
    check_cells,
    check_width,
    has_index,
    is_column_number,
    is_time_or_lead,
    names_in,
    names_of_facts,
)
from beatwire.recordings.text.stated_scale import NOT_STATED, StatedScale
from beatwire.tables import encoding_of, open_bytes

_HEAD_BYTES = 262144  # longer than any head and enough rows after it, short enough to read at once
_MOST = 0.9  # of the rows are numbers alone: the others are no rows
_SAMPLE_LINES = 400  # by which the dialect is found
_STRANGE = re.compile(r"[\0-\x08\x0e-\x1b\x80-\uffff]")  # most are no letters of a table
_EMPATICA_S = (9e8, 4e9)  # a first row that is a time since 1970, in seconds


@dataclass(frozen=True)
class Layout:
    """The layout of a text table.

    dialect        delimiter, decimal sign, number of columns
    lines_before   lines of head before the first row
    names          of the columns; their numbers from 0 if the head has none
    units          of the columns; empty if the head has none
    sensors        ``ecg``, another sensor, or nothing, for each column
    first_row      cells of the first row
    rate_hz        sampling rate by the head; None if it is not stated
    unit           of the leads by the head; empty if it is not stated
    scale          what the head says about the size of one count
    skip_blank     blank lines are no rows; in a single column they are samples without a value
    """

    dialect: Dialect
    lines_before: int
    names: tuple[str, ...]
    units: tuple[str, ...]
    sensors: tuple[str, ...]
    first_row: tuple[str, ...]
    rate_hz: float | None = None
    unit: str = ""
    skip_blank: bool = True
    scale: StatedScale = NOT_STATED

    @cached_property
    def digits(self) -> tuple[int, ...]:
        """Columns of dates in digits that float64 would round: ``20260305095955.004``."""
        return tuple(k for k, cell in enumerate(self.first_row) if is_date_in_digits(cell))

    @property
    def only_numbers(self) -> bool:
        """True if every cell of the first row is a number or missing, and none has more digits than float64."""
        return not self.digits and all(is_number(c, self.dialect.decimal) or is_missing(c) for c in self.first_row)


def read_layout(path: Path) -> Layout:
    """Return the layout of a text table.

    Raises
    ------
    UserError
        The file cannot be read, is binary, is empty, has nothing after its head, or its rows do not fit its names.
    """
    try:
        state = path.stat()
    except OSError:
        return _layout(path)
    return _kept(path, state.st_ino, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=2)
def _kept(path: Path, *_state: int) -> Layout:
    """Return the layout of a file that several of its readers ask for, until it changes."""
    return _layout(path)


def _layout(path: Path) -> Layout:
    where, lines = path.name, _first_lines(path)
    filled = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not filled:
        raise UserError(f"{where}: expected rows of numbers; the file is empty")
    rows = [line for line in filled if re.search(r"\d", line)] or filled
    numbers = [line for line in rows if not re.search(r"[^\W\d_eE]", line)]
    rows = numbers if len(numbers) > _MOST * len(rows) else rows  # without a text after them
    rows = rows[-_SAMPLE_LINES:] if len(filled) > 40 else filled
    rows = rows[len(rows) // 4 :] if len(filled) > 40 else rows
    first_digits = next((k for k, line in enumerate(lines) if _is_row_of_digits(line)), 0)
    before = lines[first_digits - 1] if first_digits else ""
    dialect = dialect_of(rows, "" if is_statement(before) else before)
    if is_comma_twice(filled, dialect) and not _has_names(lines, dialect):
        raise UserError(
            f"{where}: expected a delimiter other than the decimal sign; got {rows[-1].strip()[:40]!r}, in which a "
            "comma seems to be both"
        )
    dialect = with_groups(filled, dialect)
    begin = _first_row(lines, dialect, kinds_of(rows, dialect))
    if begin is None:
        is_empty = any(is_missing(c) for line in rows for c in split_row(line, dialect.delimiter))
        got = "there is no value in it" if is_empty else "there is nothing after the header"
        raise UserError(f"{where}: expected rows of numbers; {got}")
    begin, top, names, units, facts = _head(where, lines, begin, dialect)
    if (first := next((line for line in lines[begin:] if line.strip()), None)) is None:
        raise UserError(f"{where}: expected rows of numbers; there is nothing after the header")
    check_cells(f"{where}: line {begin + 1 + lines[begin:].index(first)}", _cells(first, dialect), names)
    blanks = [not line.strip() for line in lines[begin:]]
    alternate = len(blanks) > 8 and sum(blanks) > 0.45 * len(blanks) and not any(a and b for a, b in pairwise(blanks))
    return Layout(
        dialect, begin, _unique(names), units, tuple(facts.sensors.get(name, "") for name in names),
        tuple(_cells(first, dialect)), facts.rate_hz, facts.unit, dialect.width > 1 or alternate,
        StatedScale.of(lines[:top]),
    )  # fmt: skip


def _has_names(lines: list[str], dialect: Dialect) -> bool:
    """Return True if the line before the first row of numbers alone has a name for each of its cells."""
    first = next((k for k, line in enumerate(lines) if re.fullmatch(r"[\s\d,+-]*\d[\s\d,+-]*", line)), 0)
    names = split_row(lines[first - 1], dialect.delimiter) if first else []
    return len(names) == dialect.width and not any(map(is_number, names))


def _unique(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(unique if name else "" for name, unique in zip(names, unique_names(names), strict=True))


def _is_row_of_digits(line: str) -> bool:
    return re.fullmatch(r"\s*[+-]?\d+,\d+\s*", line.replace('"', "")) is not None


def _first_row(lines: Sequence[str], dialect: Dialect, kinds: list[str]) -> int | None:
    """Return the line of the first row of the table: it and most of the rows after it look like its last ones."""
    cells = [_cells(line, dialect) if line.strip() else [] for line in lines]
    alike = [_is_alike(c, dialect, kinds) for c in cells]
    filled = [k for k, c in enumerate(cells) if c and not is_remark(lines[k])]
    for k, is_row in enumerate(alike):
        begin = bisect_right(filled, k)
        after = [alike[j] for j in filled[begin : begin + 10]]
        if is_row and _has_value(cells[k], dialect, kinds) and (len(after) < 3 or sum(after) >= 0.5 * len(after)):
            while k and len(above := cells[k - 1]) == dialect.width and not is_statement(lines[k - 1]):
                found = [kind_of(cell, dialect.decimal) for cell in above]
                if above[0].endswith(("=", ":")) or (found[0] == "text" and kinds[0] in ("number", "time")):
                    break  # a key and its value
                same = [c for c, a, b in zip(above, found, kinds, strict=True) if a == b and a in ("number", "time")]
                if all(is_column_number(c, above) for c in same) or _is_numbered(above) or are_units(above):
                    break
                k -= 1  # a row with a cell that is no number
            return k
    return None


def _cells(line: str, dialect: Dialect) -> list[str]:
    """Return the cells of a row without a remark after them, as LabChart writes it."""
    cells = split_row(line, dialect.delimiter)
    return cells[:-1] if len(cells) == dialect.width + 1 and cells[-1].startswith("#") else cells


def _is_alike(cells: list[str], dialect: Dialect, kinds: list[str]) -> bool:
    if len(cells) != dialect.width:
        return False
    pairs = zip((kind_of(cell, dialect.decimal) for cell in cells), kinds, strict=True)
    return all(a in (b, "missing") or b in ("text", "missing") for a, b in pairs)


def _has_value(cells: list[str], dialect: Dialect, kinds: list[str]) -> bool:
    found = [kind_of(cell, dialect.decimal) for cell in cells]
    is_fact = (found[0], kinds[0]) == ("text", "missing") and is_statement("\t".join(cells))
    return not is_fact and any(a == b and a in ("number", "time") for a, b in zip(found, kinds, strict=True))


def _is_numbered(cells: list[str]) -> bool:
    """Return True if cells are the numbers of columns, as pandas and MATLAB write them for an array."""
    numbers = cells[1:] if cells and cells[0] == "" else cells
    return len(numbers) > 0 and any(numbers == [str(k + first) for k in range(len(numbers))] for first in (0, 1))


def _head(
    where: str, lines: list[str], begin: int, dialect: Dialect
) -> tuple[int, int, tuple[str, ...], tuple[str, ...], Facts]:
    """Return the first row, the first line of names, names and units of the columns, and what else the head says."""
    width = dialect.width
    facts = read_head(lines[:begin])
    above = begin  # the line below the rows of names
    begin = _without_numbers_of(lines, begin, dialect, facts)
    names: tuple[str, ...] = ()
    units: tuple[str, ...] = ("",) * width
    first = split_row(lines[begin], dialect.delimiter)
    named = names_in(lines[begin - 1], dialect) if begin else None
    is_named = named is not None and len(named) == width  # else a row 0, 1 may be the names
    if not is_named and _is_numbered(first) and (first[0] == "" or _is_header_of_numbers(lines[begin:], dialect)):
        names, begin = tuple(first), begin + 1
    while above > 0 and not lines[above - 1].strip():
        above -= 1
    found, is_whole = tuple[str, ...](), False  # the row of units has a cell for each column
    while above > 0 and not names and (cells := names_in(lines[above - 1], dialect)) is not None:
        above -= 1
        found = cells if not are_formats(cells) else found
        over = names_in(lines[above - 1], dialect) if above else None
        is_named = over is not None and is_time_or_lead(over) and not are_units(over)
        if not any(units) and are_units(cells, over):
            units, is_whole = tuple(aligned(cells, width)), len(cells) == width
        elif not are_formats(cells) and not (is_named and are_units(cells, over)):  # in words, and below them as signs
            names = cells
            is_partial = any(map(is_missing, cells)) and not is_time_or_lead(cells)
            if is_partial and over is not None and len(over) == len(cells) and all(over):
                names, units = over, tuple(aligned(cells, width))  # units that nobody knows
    if facts.names:
        rows = [split_row(line, dialect.delimiter) for line in lines[begin : begin + 50] if line.strip()]
        is_empty_last = all(row[-1] == "" for row in rows)
        names, units = names_of_facts(facts, width, (names or found or ("",))[0], is_empty_last=is_empty_last)
    elif not names and found:
        names, units = found, ("",) * width  # a time and a millivolt are names too
    elif not names and begin and lines[begin - 1].strip():
        check_width(where, lines, begin, dialect)
    if len(names) == width - 1 > 0:
        at_front = has_index(where, lines, begin, dialect, names)
        names = ("", *names) if at_front else (*names, "")
        units = units if at_front or is_whole else (*units[1:], "")
    names = names or tuple(str(k) for k in range(width))
    names = (facts.lead,) if facts.lead and width == 1 and names == ("0",) else names
    return begin, above, names, units, facts


def _is_header_of_numbers(lines: list[str], dialect: Dialect) -> bool:
    """Return True if a row 0, 1, 2, ... is a header: the rows after it have fractions, or there are several columns."""
    rows = [split_row(line, dialect.delimiter) for line in lines[1:200] if line.strip()]
    whole = sum(re.fullmatch(r"[+-]?\d+", cell) is not None for row in rows for cell in row)
    return len(rows) > 1 and (dialect.width > 1 or whole < 0.05 * len(rows))


def _without_numbers_of(lines: list[str], begin: int, dialect: Dialect, facts: Facts) -> int:
    """Return the first row after rows that hold the numbers of samples (AcqKnowledge), or start and rate (Empatica)."""
    first = [c for c in split_row(lines[begin], dialect.delimiter) if c]
    if facts.counts and len(set(first)) == 1 and first[0].isdigit():
        return begin + 1
    if begin == 0 and len(lines) > 3 and len(set(first)) == 1:
        second = {c for c in split_row(lines[1], dialect.delimiter) if c}
        start, rate = (float(c) if is_number(c) else 0.0 for c in (first[0], next(iter(second), "")))
        if len(second) == 1 and _EMPATICA_S[0] < start < _EMPATICA_S[1] and 1 <= rate <= 4000:
            facts.rate_hz = rate
            return 2
    return begin


def _first_lines(path: Path) -> list[str]:
    """Return the complete lines among the first bytes of a text file."""
    try:
        with open_bytes(path) as file:
            head = file.read(_HEAD_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: expected a file that can be read; {reason(error)}") from None
    text = head.decode(encoding_of(head[:65536]), errors="replace").removeprefix("\ufeff")
    text = text.rstrip("\0") or text  # a logger that lost its power leaves zeros behind it
    if "\0" in text and len(_STRANGE.findall(text)) > 0.05 * len(text):
        to = "convert it to EDF or CSV, raw samples to .npy (of WFDB, name the header x.hea)"
        raise UserError(f"{path.name}: expected a recording of a known format; got another binary file: {to}")
    if "\0" in text:
        line = len(re.split(r"\r\n|\r|\n", text[: text.index("\0")]))
        raise UserError(f"{path.name}: line {line}: expected text; got a zero byte")
    lines = re.split(r"\r\n|\r|\n", text)
    if lines and (lines[-1] == "" or len(head) == _HEAD_BYTES):
        lines.pop()  # after the last end of line there is none, or it may be cut
    return lines
