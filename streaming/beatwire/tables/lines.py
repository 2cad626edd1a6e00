"""JSON sample messages to columns: pyarrow's parser, or cuDF's."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.json


class Lines(NamedTuple):
    """JSON sample messages, one a line, as columns; the samples of ``k`` are ``values[start[k]:start[k + 1]]``.

    fields   name -> a list of one length
    values   int64 [samples]
    start    int64 [n + 1]
    rows     lists of samples in a message, of one length each; 0 where samples are plain numbers
    """

    fields: dict[str, list[Any]]
    values: Any
    start: Any
    rows: list[int]


JSON_TYPES = {
    "stream": pa.string(), "session": pa.int64(), "first": pa.int64(), "time": pa.int64(), "lead_off": pa.int64(),
    "rate_hz": pa.float64(), "uv_per_unit": pa.float64(), "leads": pa.list_(pa.string()),
}  # fmt: skip


def read_json_lines(text: bytes, lines: int, xp: Any = np) -> Lines | None:
    """Parse sample messages, one a line, all of one form; None where any is not plainly what it should be.

    Parameters
    ----------
    text
        The lines, joined by newlines; no ``null``, ``true`` or ``false`` in them, which parsers take in different ways.
    lines
        How many there are.
    """
    for nested in (False, True):
        samples = pa.list_(pa.list_(pa.int64())) if nested else pa.list_(pa.int64())
        table = (_json_arrow if xp is np else _json_gpu)(text, pa.schema({**JSON_TYPES, "samples": samples}))
        if table is None or len(table) != lines or table.column("samples").null_count:
            continue
        table = table.combine_chunks()
        whole = table.column("samples").chunk(0)
        start, values, rows = whole.offsets.to_numpy(), whole.flatten(), [0] * lines
        if values.null_count:
            return None
        if nested:
            rows, lengths, inner = np.diff(start).tolist(), values.value_lengths().to_numpy(), values.offsets.to_numpy()
            if (lengths != np.repeat(lengths[np.minimum(start[:-1], len(lengths) - 1)], np.diff(start))).any():
                return None
            start, values = inner[start], values.flatten()
        if values.null_count:
            return None
        fields = {name: table.column(name).to_pylist() for name in JSON_TYPES}
        return Lines(fields, values.to_numpy(), start, rows)
    return None


def _json_arrow(text: bytes, schema: pa.Schema) -> pa.Table | None:
    try:
        return pa.json.read_json(
            pa.BufferReader(text),
            read_options=pa.json.ReadOptions(block_size=max(1 << 20, len(text) + 1)),
            parse_options=pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
    except pa.ArrowException:
        return None


def _json_gpu(text: bytes, schema: pa.Schema) -> pa.Table | None:
    import cudf

    try:
        table = cudf.read_json(io.BytesIO(text), lines=True, compression=None).to_arrow()
        if set(table.column_names) - set(schema.names):
            return None
        if not all(_fits(table.schema.field(name).type, schema.field(name).type) for name in table.column_names):
            return None  # text or fractions where integers belong: whoever reads it one by one says so
        for name in schema.names:
            if name not in table.column_names:
                table = table.append_column(name, pa.nulls(len(table), schema.field(name).type))
        return table.select(schema.names).cast(schema)
    except (RuntimeError, ValueError, MemoryError, pa.ArrowException):
        return None


def _fits(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Say whether a type is the wanted one, whatever its width; an integer will do where a fraction is wanted."""
    lists = [pa.types.is_list(t) or pa.types.is_large_list(t) for t in (found, wanted)]
    if any(lists):
        return all(lists) and _fits(found.value_type, wanted.value_type)
    if pa.types.is_string(wanted):
        return bool(pa.types.is_string(found) or pa.types.is_large_string(found))
    return bool(pa.types.is_integer(found) or found == wanted)
