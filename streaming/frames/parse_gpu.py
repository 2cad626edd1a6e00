"""CSV to columns on a GPU, by cuDF: files of nothing but numbers.

cuDF counts the values of a column in one cell of memory, 1.3 of them a nanosecond at most: a recording of one lead
takes 15 ms for 20 million, whatever is in it. So a file is parsed in several parts at once, each with a cell of its
own, the first ones while the last are on their way to the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from streaming.errors import UserError
from streaming.frames.columns import Column, array_module, host_array
from streaming.frames.upload import Span, upload

_ODD_NUMBERS = ("-", "+", ".", "-.", "+.")  # cuDF reads 0 where they stand
_LOW = (1 << 32) - 1
_LEAST_PART = 1 << 20  # bytes of a file that must fit into a device's memory, with what parsing needs
_AT_ONCE = 8
_WORTH = 1 << 22  # bytes that are worth a part of their own


def read_numbers(path: Path, delimiter: str, decimal: str, lines_before: int, columns: int) -> list[Column] | None:
    """Parse a CSV of numbers; None where a cell is none, which only pandas tells from an empty one.

    What does not fit into the device's memory at once is parsed part by part and put together on the host.

    Raises
    ------
    UserError
        cuDF is not there.
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
            return _in_parts(path, first, parts, delimiter, decimal, columns)
        except MemoryError:
            parts *= 2
            if size // parts < _LEAST_PART:
                raise


def _in_parts(path: Path, first: int, parts: int, *layout: Any) -> list[Column] | None:
    """Parse the rows from byte ``first`` on: as one, which stays on the device, or part by part, to the host."""
    if parts == 1:
        size = path.stat().st_size - first
        found = _at_once(path, _edges(path, first, max(1, min(_AT_ONCE, size // _WORTH))), *layout)
        return _joined(found)
    found = []
    for start, stop in pairwise(_edges(path, first, parts)):
        one = _parse(upload(path, start, stop), *layout)
        found.append(one and [host_array(column) for column in one])
    return _joined(found)


def _at_once(path: Path, edges: Sequence[int], *layout: Any) -> list[list[Column] | None]:
    """Parse what lies between the edges, all of it at the same time, each part on a stream of its own."""
    import cudf  # noqa: F401  before several threads do
    import cupy

    device = cupy.cuda.Device()

    def one(stream: Any, start: int, stop: int) -> list[Column] | None:
        with device, stream:
            try:
                return _parse(upload(path, start, stop), *layout)
            finally:
                stream.synchronize()

    if len(edges) == 2:
        return [_parse(upload(path, *edges), *layout)]
    with ThreadPoolExecutor(len(edges) - 1, "beatwire-parse") as pool:
        return list(pool.map(one, _streams()[: len(edges) - 1], edges, edges[1:]))


@cache
def _streams() -> list[Any]:
    import cupy

    return [cupy.cuda.Stream(non_blocking=True) for _ in range(_AT_ONCE)]


def _joined(parts: Sequence[list[Column] | None]) -> list[Column] | None:
    """Put parts together; None where one of them could not be parsed."""
    if len(parts) == 1:
        return parts[0]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    joined = [array_module(column[0]).concatenate(column) for column in zip(*known, strict=True)]
    if not isinstance(joined[0], np.ndarray):
        array_module(joined[0]).cuda.get_current_stream().synchronize()  # the parts' memory goes on other streams
    return joined


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


def _parse(text: Span, delimiter: str, decimal: str, columns: int) -> list[Column] | None:
    """Do what ``cudf.read_csv`` does, of bytes that are on the device already and on CuPy's current stream."""
    import cudf
    import cupy
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
        table = cudf.DataFrame.from_pylibcudf(plc.io.csv.read_csv(options, stream=cupy.cuda.get_current_stream()))
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
