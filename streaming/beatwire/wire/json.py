"""Translate the JSON sample messages of a tick into Avro, parsed as one table where that is safe.

In: message values. Out: for each message an Avro SampleChunk with the same content, or the reason why it is rejected.

Three parsers exist. ``json_chunk.json_to_avro`` parses one message and defines the result. pyarrow and, for many
messages on a GPU, cuDF (``beatwire.tables``) parse all messages as one table. Invariant: all three give the same bytes
and the same reasons. Therefore a message goes through ``json_to_avro`` if it contains anything that table parsers may
interpret in their own way (escapes, ``null``, ``true``, bytes that are not UTF-8, control characters in a text, objects
in the object, deep lists, very long numbers), or if `encode_fields` does not accept its row of the table. One wrong
message breaks the table of all, so those that cannot be a row are left out.

Importing pyarrow takes a second, cuDF ten. A background thread imports each when the first tick needs it; until then
messages go through a parser that is already imported.
"""

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from beatwire.lazy import import_in_background
from beatwire.wire.json_chunk import encode_fields, json_to_avro

MIN_TABLE_MESSAGES = 8  # below this, a table costs more than parsing the messages singly
MIN_GPU_MESSAGES = 1000  # cuDF takes 9 ms for a few messages and for a thousand; below this pyarrow is faster
_OBJECT = re.compile(rb'[ \t\r\n]*\{[ \t\r\n]*".*\}[ \t\r\n]*', re.DOTALL)  # nothing else can be a row
_AMBIGUOUS = re.compile(rb"null|true|false|\\|NaN|Infinity")  # parsers differ in what they make of these
_LONG_NUMBER = re.compile(rb"[0-9]{1000}")  # Python refuses integers of more than 4300 digits
_MOST_LISTS = 16  # of samples, leads and a little more; parsers differ in how deep they go
_CONTROLS = bytes(range(32))
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
    ["JSON: field 'first' is missing"]
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
    return (
        b'"samples"' in value
        and value.count(b"{") == 1
        and value.count(b"[") <= _MOST_LISTS
        and _OBJECT.fullmatch(value) is not None
        and not _AMBIGUOUS.search(value)
        and (len(value) < 1000 or not _LONG_NUMBER.search(value))
        and _is_text(value)
    )


def _is_text(value: bytes) -> bool:
    """Return True if a message is UTF-8, and has control characters between its texts alone."""
    if not value.isascii():
        try:
            value.decode()
        except UnicodeDecodeError:
            return False
    if len(value.translate(None, _CONTROLS)) == len(value):
        return True
    texts = value.split(b'"')[1::2]  # there are no escapes
    return all(len(text.translate(None, _CONTROLS)) == len(text) for text in texts)


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
    if not len(samples) or not {"stream", "first", "rate_hz"} <= row.keys():
        return None
    try:
        return encode_fields(row, samples.reshape(max(1, rows), -1))
    except ValueError:
        return None
