"""CSV files as columns.

In:  the path of a CSV file, plain or gzip, and its layout
Out: one column per column of the file: float64 [rows], or a pandas Series if it holds text

A plain file of numbers is parsed by pyarrow, which uses all cores, or by cuDF. Every other file, and every file that
these refuse, is parsed by pandas. No cell is dropped: a line with more or fewer cells is an error that names it, except
a last line that is cut off, and a remark after the last cell, which begins with ``#``.
"""

import csv
import io
import os
import re
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from beatwire.errors import UserError, reason
from beatwire.tables.arrays import host_array
from beatwire.tables.columns import Column
from beatwire.tables.parse_gpu import read_numbers
from beatwire.tables.textfile import is_plain, open_text

# Cells without a value, for pyarrow, which compares them as written.
MISSING_CELLS = ("", "-", "NaN", "nan", "NA", "N/A", "n/a", "null", "NULL", "None")
_BLANKS = re.compile(r"""\[[^\]]*\]|"[^"]*"|'[^']*'|\S+""")


def read_table(
    path: Path, *, delimiter: str, decimal: str, lines_before: int, columns: int, only_numbers: bool,
    skip_blank: bool = False, text: Sequence[int] = (), xp: Any = np,
) -> list[Column]:  # fmt: skip
    """Parse a CSV file of a known layout.

    Parameters
    ----------
    delimiter
        One character; a blank stands for any run of blanks.
    decimal
        The decimal sign, ``.`` or ``,``.
    lines_before
        Lines before the first row of numbers.
    columns
        The number of columns.
    only_numbers
        True if the first row holds numbers only: try pyarrow or cuDF first.
    skip_blank
        True if blank lines are no rows.
    text
        Columns that are read as text, whatever they hold.
    xp
        NumPy, or CuPy: then columns parsed by cuDF stay on the GPU; columns parsed by pandas are on the host.

    Returns
    -------
    list of columns
        Without the empty rows at the end.

    Raises
    ------
    UserError
        A line has more or fewer cells, there is no value, or the file cannot be read.
    """
    found = None
    if only_numbers and delimiter != " " and is_plain(path):
        found = (
            _read_numbers(path, delimiter, decimal, lines_before, columns, skip_blank) if xp is np
            else read_numbers(path, delimiter, decimal, lines_before, columns)
        )  # fmt: skip
    if found is None:
        found = _read_any(path, _Rows(delimiter, decimal, lines_before, columns, skip_blank, text))
    rows = _used_rows(found)
    if rows == 0:
        raise UserError(f"{path.name}: expected rows of numbers; there is no value in it")
    return [column[:rows] for column in found]  # blank lines at the end are no samples


def read_table_blocks(
    path: Path, *, delimiter: str, decimal: str, lines_before: int, columns: int, rows: int, skip_blank: bool = False,
    text: Sequence[int] = (),
) -> Iterator[list[Column]]:  # fmt: skip
    """Parse a CSV file in blocks of so many rows, on the CPU; parameters, columns and errors as of :func:`read_table`.

    Empty rows at the end are rows without a value.
    """
    layout = _Rows(delimiter, decimal, lines_before, columns, skip_blank, text)
    with _errors_of(path, layout), open_text(path) as lines:
        _skip(lines, layout)
        for table in pd.read_csv(_as_cells(lines, layout), chunksize=rows, **_options(layout)):
            yield _checked(path, table, layout)


def _as_array(column: pd.Series) -> Column:
    """Return a column of numbers as a NumPy array, and a column of text as it is."""
    return column.to_numpy(np.float64) if column.dtype.kind in "ifu" else column


def _used_rows(columns: Sequence[Column]) -> int:
    """Return the number of rows up to the last one with a value; searches from the end."""
    rows = len(columns[0])
    step = 1024
    while rows:
        first = max(0, rows - step)
        tails = [column[first:rows] for column in columns]
        filled = [tail.notna() if isinstance(tail, pd.Series) else tail == tail for tail in tails]
        last = max(int(np.flatnonzero(host_array(f)).max(initial=-1)) for f in filled)
        if last >= 0:
            return first + last + 1
        rows, step = first, 4 * step
    return 0


def _read_numbers(
    path: Path, delimiter: str, decimal: str, lines_before: int, columns: int, skip_blank: bool
) -> list[Column] | None:
    """Parse with pyarrow on all cores; None if a cell is neither a number nor missing, or a line is too long."""
    names = [str(k) for k in range(columns)]
    pa.set_cpu_count(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    try:
        table = pa.csv.read_csv(
            pa.OSFile(os.fsencode(path)),  # its name may be any bytes
            read_options=pa.csv.ReadOptions(column_names=names, skip_rows=lines_before, block_size=1 << 22),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=skip_blank),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.float64()), null_values=list(MISSING_CELLS), decimal_point=decimal
            ),
        )
    except (pa.ArrowException, OSError):
        return None
    return [table.column(k).to_numpy() for k in range(columns)]


class _Rows(NamedTuple):
    """The layout of the rows of a file; see :func:`read_table`."""

    delimiter: str
    decimal: str
    lines_before: int
    columns: int
    skip_blank: bool
    text: Sequence[int] = ()


def _read_any(path: Path, layout: _Rows) -> list[Column]:
    """Parse with pandas, which reads text."""
    with _errors_of(path, layout), open_text(path) as text:
        _skip(text, layout)
        table: pd.DataFrame = pd.read_csv(_as_cells(text, layout), **_options(layout))
    return _checked(path, table, layout)


def _skip(text: io.TextIOWrapper, layout: _Rows) -> None:
    for _ in range(layout.lines_before):
        text.readline()


def _as_cells(text: io.TextIOWrapper, layout: _Rows) -> Any:
    """Return rows whose cells blanks separate with tabs between their cells: a cell in brackets may hold blanks."""
    return _Tabbed(text) if layout.delimiter == " " else text


class _Tabbed:
    """A text file whose cells blanks separate, read with tabs between them."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text

    def read(self, size: int = -1) -> str:
        """Return about so many characters, to the end of a line."""
        lines = self._text.readlines(size) if size > 0 else self._text.readlines()
        return "".join("\t".join(cells_at_blanks(line)) + "\n" for line in lines)

    def __iter__(self) -> Iterator[str]:
        return ("\t".join(cells_at_blanks(line)) + "\n" for line in self._text)


def cells_at_blanks(line: str) -> list[str]:
    """Return the cells of a line that runs of blanks separate.

    >>> cells_at_blanks("  [10:00:00.004 03/02/2024]  -0.12")
    ['[10:00:00.004 03/02/2024]', '-0.12']
    """
    return line.split() if "[" not in line and '"' not in line and "'" not in line else _BLANKS.findall(line)


def _options(layout: _Rows) -> dict[str, Any]:
    """Return the options of ``pandas.read_csv`` for a layout; one more column shows rows that are too long."""
    return {
        "sep": "\t" if layout.delimiter == " " else layout.delimiter, "decimal": layout.decimal, "header": None,
        "names": range(layout.columns + 1), "index_col": False, "skip_blank_lines": layout.skip_blank,
        "skipinitialspace": True, "na_values": ["-", "NaN", "nan"], "low_memory": False, "on_bad_lines": "error",
        "dtype": dict.fromkeys(layout.text, str),
    }  # fmt: skip


def _checked(path: Path, table: pd.DataFrame, layout: _Rows) -> list[Column]:
    """Return the columns of a table; raise UserError if a row is too long or too short."""
    numeric = (table[k].dtype.kind in "ifu" or k in layout.text for k in range(layout.columns))
    beyond = table[layout.columns].dropna()
    is_odd = not all(isinstance(cell, str) and cell.startswith("#") for cell in beyond) or not all(numeric)
    if is_odd or (layout.columns > 1 and table[layout.columns - 1].isna().any()):
        cut = _check_widths(path, layout)
        if cut and table.iloc[-1].isna().any():
            table = table.iloc[:-1]
    return [_as_array(table[k]) for k in range(layout.columns)]


def _check_widths(path: Path, layout: _Rows) -> bool:
    """Raise UserError for the first line with more or fewer cells; return True if the last line is cut off."""
    short: tuple[int, int] | None = None
    with open_text(path) as text:
        for number, line in enumerate(text, 1):
            if number <= layout.lines_before or not line.strip("\n \0"):
                continue
            if short is not None:
                break
            if "\0" in line.rstrip("\n\0"):
                raise UserError(f"{path.name}: line {number}: expected text; got a zero byte")
            cells = _cells(line.rstrip("\n"), layout.delimiter)
            while len(cells) > layout.columns and cells[-1][:1] in ("", "#"):
                cells.pop()
            if len(cells) > layout.columns:
                raise _of_width(path, layout, number, len(cells))
            short = (number, len(cells)) if len(cells) < layout.columns else None
            ended = line.endswith("\n")
        else:
            if short is None or not ended:
                return short is not None
    assert short is not None
    raise _of_width(path, layout, *short)


def _cells(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        return cells_at_blanks(line)
    if '"' not in line:
        return line.split(delimiter)
    return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [""])


def _of_width(path: Path, layout: _Rows, line: int, cells: int) -> UserError:
    return UserError(f"{path.name}: expected {layout.columns} columns in every line; line {line} has {cells}")


@contextmanager
def _errors_of(path: Path, layout: _Rows) -> Iterator[None]:
    """Turn the errors and warnings of pandas, and those of gzip, into a UserError that names the file and the line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except pd.errors.EmptyDataError:
        raise UserError(f"{path.name}: expected rows of numbers; the file is empty") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        _check_widths(path, layout)
        got = str(error).strip().splitlines()[-1]
        raise UserError(f"{path.name}: expected {layout.columns} columns in every line; got: {got}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path.name}: expected a complete gzip file; got: {reason(error)}") from None
