"""Translate the JSON sample messages of a tick into Avro, parsed as one table where that is safe.

In: message values. Out: for each message an Avro SampleChunk with the same content, or the reason why it is rejected.

Three parsers exist. ``wire.avro.json_to_avro`` parses one message and defines the result. pyarrow and, for many
messages on a GPU, cuDF (``beatwire.tables``) parse all messages as one table. Invariant: all three give the same bytes
and the same reasons. Therefore a message goes through ``json_to_avro`` if it contains anything that table parsers may
interpret in their own way (escapes, ``null``, ``true``), or if its row of the table is not a valid SampleChunk. One
wrong message breaks the table of all, so those that cannot be a row are left out.

Importing pyarrow takes a second, cuDF ten. A background thread imports each when the first tick needs it; until then
messages go through a parser that is already imported.
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from beatwire.wire.avro import encode_chunk, json_to_avro
from beatwire.wire.background import import_in_background

MIN_TABLE_MESSAGES = 8  # below this, a table costs more than parsing the messages singly
MIN_GPU_MESSAGES = 1000  # cuDF takes 9 ms for a few messages and for a thousand; below this pyarrow is faster
_OBJECT = re.compile(rb'\s*\{\s*".*\}\s*', re.DOTALL)  # nothing else can be a row
_AMBIGUOUS = re.compile(rb"null|true|false|\\|NaN|Infinity")  # parsers differ in what they make of these
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")


def json_tick_to_avro(values: Sequence[bytes], xp: Any = np) -> list[bytes | str]:
    """Translate JSON sample messages into Avro.

    Parameters
    ----------
    values
        The values of the messages.
    xp
        NumPy, or CuPy where cuDF may be used.

    Returns
    -------
    list of bytes or str
        For each message its Avro SampleChunk (bytes), or the reason for its rejection (str).

    Examples
    --------
    >>> json_tick_to_avro([b'{"stream": 3}'])
    ["JSON: field 'samples' is missing"]
    """
    translated: list[bytes | str | None] = [None] * len(values)
    rows = [k for k, value in enumerate(values) if _may_be_row(value)]
    if len(rows) >= MIN_TABLE_MESSAGES:
        for k, message in zip(rows, _translate_table([values[k] for k in rows], xp), strict=True):
            translated[k] = message
    return [
        _translate_one(value) if message is None else message for value, message in zip(values, translated, strict=True)
    ]


def _may_be_row(value: bytes) -> bool:
    """Return True if a message may be a SampleChunk that every parser reads in the same way."""
    return b'"samples"' in value and _OBJECT.fullmatch(value) is not None and not _AMBIGUOUS.search(value)


def _translate_one(value: bytes) -> bytes | str:
    try:
        return json_to_avro(value)
    except ValueError as error:
        return str(error)


def _table_reader() -> Callable[..., Any] | None:
    """Return ``tables.read_json_lines``, or None until its module is imported."""
    reader = getattr(sys.modules.get("beatwire.tables"), "read_json_lines", None)
    if reader is None:
        import_in_background("beatwire.tables")
    return reader


def _uses_gpu(messages: int, xp: Any) -> bool:
    """Return True if cuDF is imported and faster than pyarrow for so many messages."""
    if xp is np or messages < MIN_GPU_MESSAGES:
        return False
    return not import_in_background("cudf").is_alive() and "cudf" in sys.modules


def _translate_table(values: list[bytes], xp: Any) -> list[bytes | None]:
    """Return an Avro message for each value; None for one that ``json_to_avro`` has to decide."""
    read, library = _table_reader(), xp if _uses_gpu(len(values), xp) else np
    lines = read and read(b"\n".join(value.translate(_ONE_LINE) for value in values), len(values), library)
    if lines is None:
        return [None] * len(values)
    small = np.clip(lines.values, -32768, 32767).astype(np.int16)
    outside = np.concatenate([[0], np.cumsum(small != lines.values)])
    return [
        None if outside[stop] > outside[begin] else _encode_row(lines.fields, k, small[begin:stop], lines.rows[k])
        for k, (begin, stop) in enumerate(zip(lines.start[:-1].tolist(), lines.start[1:].tolist(), strict=True))
    ]


def _encode_row(fields: dict[str, list[Any]], k: int, samples: Any, rows: int) -> bytes | None:
    """Return row ``k`` as Avro, or None if it is not a valid SampleChunk."""
    row = {name: column[k] for name, column in fields.items() if column[k] is not None}
    leads = row.pop("leads", [f"lead{i}" for i in range(max(1, rows))])
    complete = {"stream", "first", "rate_hz"} <= row.keys()
    if not complete or len(leads) != max(1, rows) or None in leads or len(samples) == 0 or len(samples) % len(leads):
        return None
    if not 1 <= len(row["stream"].encode()) <= 64:
        return None
    try:
        return encode_chunk(
            row["stream"], row.get("session", 0), row["first"], row.get("time", 0), row["rate_hz"], leads,
            samples.reshape(len(leads), -1), uv_per_unit=row.get("uv_per_unit", 5.0), lead_off=row.get("lead_off", 0),
        )  # fmt: skip
    except (ValueError, OverflowError, struct.error):
        return None
