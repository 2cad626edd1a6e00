"""JSON sample messages as columns, parsed all at once by pyarrow (CPU) or cuDF (GPU).

In:  the messages of a tick as bytes, one per line
Out: :class:`Lines`; None if any message deviates from the schema. The caller then parses them one by one, which gives
     each message its own result or reason.
"""

import io
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.json

from beatwire.records import I64


class Lines(NamedTuple):
    """Fields and samples of ``n`` JSON messages; the samples of message ``k`` are ``values[start[k]:start[k + 1]]``.

    fields   the values of each field of ``JSON_TYPES``, a list of ``n`` each
    values   int64, the samples of all messages
    start    int64 [n + 1]
    rows     lists in ``samples`` of each message, all of equal length; 0 if ``samples`` is a flat list of numbers
    """

    fields: dict[str, list[Any]]
    values: I64
    start: I64
    rows: list[int]


# Fields of a message beside its samples.
JSON_TYPES = {
    "stream": pa.string(), "session": pa.int64(), "first": pa.int64(), "time": pa.int64(), "lead_off": pa.int64(),
    "rate_hz": pa.float64(), "uv_per_unit": pa.float64(), "leads": pa.list_(pa.string()),
}  # fmt: skip


def read_json_lines(text: bytes, lines: int, xp: Any = np) -> Lines | None:
    """Parse sample messages, one per line, either all with flat or all with nested samples.

    Parameters
    ----------
    text
        The messages, joined by newlines, in UTF-8; without ``null``, ``true`` and ``false``, which the parsers treat
        differently.
    lines
        The number of messages.
    xp
        NumPy: parse with pyarrow; CuPy: parse with cuDF.

    Returns
    -------
    Lines or None
        None if a message deviates from the schema: text in place of a number, a missing sample, lists of unequal
        length; cuDF, which does not check what it does not return, also returns None for an unknown field.
    """
    try:
        return _read_json_lines(text, lines, xp)
    except (ValueError, pa.ArrowException):  # what a parser accepts, a conversion may still refuse: text, above all
        return None


def _read_json_lines(text: bytes, lines: int, xp: Any) -> Lines | None:
    for nested in (False, True):
        samples = pa.list_(pa.list_(pa.int64())) if nested else pa.list_(pa.int64())
        parse = _json_arrow if xp is np else _json_gpu
        table = parse(text, pa.schema({**JSON_TYPES, "samples": samples}))
        if table is None or len(table) != lines or table.column("samples").null_count:
            continue
        table = table.combine_chunks()
        column = table.column("samples").chunk(0)
        start, values, rows = column.offsets.to_numpy(), column.flatten(), [0] * lines
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
            parse_options=pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
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
            return None  # text or fractions in place of integers
        for name in schema.names:
            if name not in table.column_names:
                table = table.append_column(name, pa.nulls(len(table), schema.field(name).type))
        return table.select(schema.names).cast(schema)
    except (RuntimeError, ValueError, MemoryError, pa.ArrowException):
        return None


def _fits(found: pa.DataType, expected: pa.DataType) -> bool:
    """Return True if a type is the expected one in any width; integers are accepted in place of fractions."""
    lists = [pa.types.is_list(t) or pa.types.is_large_list(t) for t in (found, expected)]
    if any(lists):
        return all(lists) and _fits(found.value_type, expected.value_type)
    if pa.types.is_string(expected):
        return bool(pa.types.is_string(found) or pa.types.is_large_string(found))
    return bool(pa.types.is_integer(found) or found == expected)
