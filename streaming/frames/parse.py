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
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

from streaming.errors import UserError
from streaming.frames.columns import Column, host_array
from streaming.frames.upload import Span, upload

NO_NUMBER = ("", "-", "NaN", "nan", "NA", "N/A", "n/a", "null", "NULL", "None")
_ODD_NUMBERS = ("-", "+", ".", "-.", "+.")  # cuDF reads 0 where they stand
_LOW = (1 << 32) - 1
_LEAST_PART = 1 << 20  # bytes of a file that must fit into a device's memory, with what parsing needs


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
        read = _read_numbers if xp is np else _read_numbers_gpu
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


def _read_numbers_gpu(path: Path, delimiter: str, decimal: str, lines_before: int, columns: int) -> list[Column] | None:
    """Parse by cuDF; None where a cell is not a number, which only pandas tells from an empty one.

    What does not fit into the device's memory at once is parsed in parts and put together on the host.
    """
    if find_spec("cudf") is None:
        raise UserError(
            f"{path}: expected cuDF, which parses text on a GPU; it is not installed (pip install 'beatwire[gpu]')"
        )
    with path.open("rb") as file:
        for _ in range(lines_before):
            file.readline()
        first = file.tell()
    size = path.stat().st_size - first
    parts = 1
    while True:
        try:
            found = _in_parts(path, first, parts, delimiter, decimal, columns)
            break
        except MemoryError:
            parts *= 2
            if size // parts < _LEAST_PART:
                raise
    if found is None or len(found) == 1:
        return found and found[0]
    return [np.concatenate([one[k] for one in found]) for k in range(columns)]


def _in_parts(
    path: Path, first: int, parts: int, delimiter: str, decimal: str, columns: int
) -> list[list[Column]] | None:
    """Parse the rows from byte ``first`` on in several parts; more than one come to the host."""
    edges = _edges(path, first, parts)
    found = []
    for start, stop in pairwise(edges):
        one = _parse_on_device(upload(path, start, stop), delimiter, decimal, columns)
        if one is None:
            return None
        found.append(one if len(edges) == 2 else [host_array(column) for column in one])
    return found


def _edges(path: Path, first: int, parts: int) -> list[int]:
    """Cut the bytes of a file from ``first`` on into parts that end with a line."""
    size = path.stat().st_size
    edges = [first]
    with path.open("rb") as file:
        for k in range(1, parts):
            file.seek(first + (size - first) * k // parts)
            file.readline()
            edges.append(max(edges[-1], file.tell()))
    return sorted({*edges, size})


def _parse_on_device(text: Span, delimiter: str, decimal: str, columns: int) -> list[Column] | None:
    """Do what ``cudf.read_csv`` does, of bytes that are on the device already, which that does not take."""
    import cudf
    import pylibcudf as plc

    exponents, quotes = _odd_bytes(text.array)
    if exponents:
        return None
    names = [str(k) for k in range(columns + (quotes > 0))]  # one more, so that a line that is too long is seen
    options = (
        plc.io.csv.CsvReaderOptions.builder(plc.io.SourceInfo([text]))
        .compression(plc.io.types.CompressionType.NONE)
        .decimal(decimal)
        .delimiter(delimiter)
        .skip_blank_lines(False)
        .build()
    )
    options.set_header(-1)
    options.set_names(names)
    options.set_dtypes({name: plc.DataType(plc.TypeId.FLOAT64) for name in names})
    options.set_na_values(list(_ODD_NUMBERS))
    try:
        table = cudf.DataFrame.from_pylibcudf(plc.io.csv.read_csv(options))
    except RuntimeError:
        return None
    if any(table[name].null_count for name in names[:columns]):
        return None
    if quotes:
        too_long = table[names[-1]].null_count != len(table)
    else:  # no line is short, so one that is long makes one delimiter too many
        too_long = int(_counter(f"c == {ord(delimiter)}")(text.array)) != (columns - 1) * len(table)
    return None if too_long else [cupy_of(table[name]) for name in names[:columns]]


@cache
def _counter(count: str) -> Any:
    """Return what sums up something of each byte ``c`` of text on the device."""
    import cupy

    return cupy.ReductionKernel("uint8 c", "int64 n", count, "a + b", "n = a", "0", "counter")


def _odd_bytes(text: Any) -> tuple[int, int]:
    """Count the letter e, for cuDF takes ``1e`` for a number, and quotes."""
    counted = int(_counter("(long long) (c == 69 || c == 101) + ((long long) (c == 34) << 32)")(text))
    return counted & _LOW, counted >> 32


def cupy_of(series: Any) -> Any:
    """Return a cuDF column without nulls as a CuPy array: the same memory."""
    import cupy

    return cupy.asarray(series)


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
