"""CSV to columns.

A table of nothing but numbers takes the fast way: pyarrow's parser, which uses all cores, or cuDF's. Anything else,
and whatever the fast way refuses, is read by pandas, which says what is wrong.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from beatwire.errors import UserError
from beatwire.tables.columns import Column, host_array
from beatwire.tables.parse_gpu import read_numbers

NO_NUMBER = ("", "-", "NaN", "nan", "NA", "N/A", "n/a", "null", "NULL", "None")


def read_table(
    path: Path, *, delimiter: str, decimal: str, lines_before: int, columns: int, only_numbers: bool, xp: Any = np
) -> list[Column]:
    """Parse a CSV whose layout is known.

    Parameters
    ----------
    delimiter
        One character; a blank stands for any run of blanks.
    lines_before
        Lines before the first row.
    only_numbers
        The first row holds nothing else: the fast way may do.
    xp
        Where the columns shall live; what is read by pandas stays on the host.

    Raises
    ------
    UserError
        One line: what is wrong with the file.
    """
    found = None
    if only_numbers and delimiter != " " and not _is_gzip(path):
        read = _read_numbers if xp is np else read_numbers
        found = read(path, delimiter, decimal, lines_before, columns)
    if found is None:
        table = _read_any(path, delimiter, decimal, lines_before, columns)
        found = [_plain(table[k]) for k in range(columns)]
    rows = _used(found)
    if rows == 0:
        raise UserError(f"{path.name}: expected rows of numbers; there is no value in it")
    return [column[:rows] for column in found]  # blank lines at the end are no samples


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file, unpacked if it is gzip."""
    return cast(IO[bytes], gzip.open(path)) if _is_gzip(path) else path.open("rb")


def open_text(path: Path) -> io.TextIOWrapper:
    """Open a text file, unpacked if it is gzip."""
    return io.TextIOWrapper(open_bytes(path), encoding="utf-8-sig", errors="replace")


def reason(error: BaseException) -> str:
    """Return what the system says of an error."""
    return getattr(error, "strerror", None) or str(error)


def _is_gzip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _plain(column: pd.Series) -> Column:
    return column.to_numpy(np.float64) if column.dtype.kind in "ifu" else column


def _used(columns: Sequence[Column]) -> int:
    """Count the rows up to the last one that holds anything; looks at the end first."""
    rows = len(columns[0])
    step = 1024
    while rows:
        first = max(0, rows - step)
        held = [c[first:rows].notna() if isinstance(c, pd.Series) else c[first:rows] == c[first:rows] for c in columns]
        last = max(int(np.flatnonzero(host_array(h)).max(initial=-1)) for h in held)
        if last >= 0:
            return first + last + 1
        rows, step = first, 4 * step
    return 0


def _read_numbers(path: Path, delimiter: str, decimal: str, lines_before: int, columns: int) -> list[Column] | None:
    """Parse by pyarrow on all cores; None where a cell is neither a number nor empty, or a line too long."""
    names = [str(k) for k in range(columns)]
    pa.set_cpu_count(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    try:
        table = pa.csv.read_csv(
            path,
            read_options=pa.csv.ReadOptions(column_names=names, skip_rows=lines_before, block_size=1 << 22),
            parse_options=pa.csv.ParseOptions(delimiter=delimiter, ignore_empty_lines=False),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.float64()), null_values=list(NO_NUMBER), decimal_point=decimal
            ),
        )
    except (pa.ArrowException, OSError):
        return None
    return [table.column(k).to_numpy() for k in range(columns)]


def _read_any(path: Path, delimiter: str, decimal: str, lines_before: int, columns: int) -> pd.DataFrame:
    try:
        with open_text(path) as text:
            return pd.read_csv(
                text,
                sep=r"\s+" if delimiter == " " else delimiter,
                decimal=decimal,
                header=None,
                names=range(columns),
                index_col=False,
                skiprows=lines_before,
                skip_blank_lines=False,
                skipinitialspace=True,
                na_values=["-", "NaN", "nan"],
                low_memory=False,
                on_bad_lines="error",
            )
    except pd.errors.EmptyDataError:
        raise UserError(f"{path.name}: expected rows of numbers; the file is empty") from None
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        said = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
        what = f"line {said[2]} has {said[3]}" if said else str(error).strip().splitlines()[-1]
        raise UserError(f"{path.name}: expected {columns} columns in every line; {what}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path.name}: expected a whole gzip file; {reason(error)}") from None
