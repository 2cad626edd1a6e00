"""CSV files as columns.

In:  the path of a CSV file, plain or gzip, and its layout
Out: one column per column of the file: float64 [rows], or a pandas Series if it holds text

A plain file of numbers is parsed by pyarrow, which uses all cores, or by cuDF. Every other file, and every file that
these refuse, is parsed by pandas, whose errors name the line.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from beatwire.errors import UserError
from beatwire.tables.columns import Column, host_array
from beatwire.tables.parse_gpu import read_numbers

# Cells without a value, for pyarrow, which compares them as written.
MISSING_CELLS = ("", "-", "NaN", "nan", "NA", "N/A", "n/a", "null", "NULL", "None")


def read_table(
    path: Path, *, delimiter: str, decimal: str, lines_before: int, columns: int, only_numbers: bool, xp: Any = np
) -> list[Column]:
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
    xp
        NumPy, or CuPy: then columns parsed by cuDF stay on the GPU; columns parsed by pandas are on the host.

    Returns
    -------
    list of columns
        Without the empty rows at the end.

    Raises
    ------
    UserError
        A line has too many cells, there is no value, or the file cannot be read.
    """
    found = None
    if only_numbers and delimiter != " " and not _is_gzip(path):
        read = _read_numbers if xp is np else read_numbers
        found = read(path, delimiter, decimal, lines_before, columns)
    if found is None:
        table = _read_any(path, delimiter, decimal, lines_before, columns)
        found = [_as_array(table[k]) for k in range(columns)]
    rows = _used_rows(found)
    if rows == 0:
        raise UserError(f"{path.name}: expected rows of numbers; there is no value in it")
    return [column[:rows] for column in found]  # blank lines at the end are no samples


def read_table_blocks(
    path: Path, *, delimiter: str, decimal: str, lines_before: int, columns: int, rows: int
) -> Iterator[list[Column]]:
    """Parse a CSV file in blocks of so many rows, on the CPU; parameters, columns and errors as of :func:`read_table`.

    Empty rows at the end are rows without a value.
    """
    with _errors_of(path, columns), open_text(path) as text:
        for table in pd.read_csv(text, chunksize=rows, **_options(delimiter, decimal, lines_before, columns)):
            yield [_as_array(table[k]) for k in range(columns)]


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file; decompress it if it is gzip."""
    return cast(IO[bytes], gzip.open(path)) if _is_gzip(path) else path.open("rb")


def open_text(path: Path) -> io.TextIOWrapper:
    """Open a UTF-8 text file; decompress it if it is gzip."""
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", errors="replace")


def reason(error: BaseException) -> str:
    """Return the message of an error; for a system error without its number and path."""
    return getattr(error, "strerror", None) or str(error)


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


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


def _read_numbers(path: Path, delimiter: str, decimal: str, lines_before: int, columns: int) -> list[Column] | None:
    """Parse with pyarrow on all cores; None if a cell is neither a number nor missing, or a line is too long."""
    names = [str(k) for k in range(columns)]
    pa.set_cpu_count(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    try:
        table = pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(column_names=names, skip_rows=lines_before, block_size=1 << 22),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=False),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.float64()), null_values=list(MISSING_CELLS), decimal_point=decimal
            ),
        )
    except (pa.ArrowException, OSError):
        return None
    return [table.column(k).to_numpy() for k in range(columns)]


def _read_any(path: Path, delimiter: str, decimal: str, lines_before: int, columns: int) -> pd.DataFrame:
    """Parse with pandas, which reads text and names the line of an error."""
    with _errors_of(path, columns), open_text(path) as text:
        table: pd.DataFrame = pd.read_csv(text, **_options(delimiter, decimal, lines_before, columns))
    return table


def _options(delimiter: str, decimal: str, lines_before: int, columns: int) -> dict[str, Any]:
    """Return the options of ``pandas.read_csv`` for a layout."""
    return {
        "sep": r"\s+" if delimiter == " " else delimiter, "decimal": decimal, "header": None, "names": range(columns),
        "index_col": False, "skiprows": lines_before, "skip_blank_lines": False, "skipinitialspace": True,
        "na_values": ["-", "NaN", "nan"], "low_memory": False, "on_bad_lines": "error",
    }  # fmt: skip


@contextmanager
def _errors_of(path: Path, columns: int) -> Iterator[None]:
    """Turn the errors of pandas and gzip into a UserError that names the file, and the line if it is known."""
    try:
        yield
    except pd.errors.EmptyDataError:
        raise UserError(f"{path.name}: expected rows of numbers; the file is empty") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        counts = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        got = f"line {counts[2]} has {counts[3]}" if counts else str(error).strip().splitlines()[-1]
        raise UserError(f"{path.name}: expected {columns} columns in every line; {got}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path.name}: expected a complete gzip file; got: {reason(error)}") from None
