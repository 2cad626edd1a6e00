"""The JSON sample messages of a tick become Avro: parsed as one table, one by one where that is not sure.

In: message values. Out: for each the Avro that says the same, or the line that says why there is none. The table
is pyarrow's or, of many messages on a GPU, cuDF's (``beatwire.tables``). Whatever a parser might take in its own way
(escapes, ``null``, ``true``) and whatever is not plainly as it should be goes through ``wire.json_to_avro``, which is
the law: all ways give the same bytes and the same reasons. The libraries of tables take a second to import, cuDF ten: a
thread does that when the first tick comes that wants them, and until it has, messages go the way that is there.
"""

from __future__ import annotations

import contextlib
import struct
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from threading import Thread
from typing import Any

import numpy as np

from beatwire.wire.avro import encode_chunk, json_to_avro

FEWEST = 8  # messages that are worth a table
FEWEST_ON_GPU = 1000  # messages that are worth cuDF's, which takes 9 ms for few and for a thousand
_UNSURE = (b"null", b"true", b"false", b"\\", b"NaN", b"Infinity")
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")


def json_tick_to_avro(values: Sequence[bytes], xp: Any = np) -> list[bytes | str]:
    """Turn JSON sample messages into Avro, or into the reason why one cannot be used.

    Parameters
    ----------
    values
        The messages.
    xp
        CuPy where there is a GPU: it may read them.

    >>> json_tick_to_avro([b'{"stream": 3}'])
    ["JSON: field 'samples' is missing"]
    """
    made: list[bytes | str | None] = [None] * len(values)
    sure = [k for k, value in enumerate(values) if not any(word in value for word in _UNSURE)]
    if len(sure) >= FEWEST:
        for k, message in zip(sure, _as_table([values[k] for k in sure], xp), strict=True):
            made[k] = message
    return [_one(value) if message is None else message for value, message in zip(values, made, strict=True)]


def _one(value: bytes) -> bytes | str:
    try:
        return json_to_avro(value)
    except ValueError as error:
        return str(error)


def _reader() -> Callable[..., Any] | None:
    """Return what reads tables; None while it is not there yet."""
    found = getattr(sys.modules.get("beatwire.tables"), "read_json_lines", None)
    if found is None:
        importing("beatwire.tables")
    return found


@cache
def importing(name: str) -> Thread:
    """Import a module, by a thread."""

    def work() -> None:
        with contextlib.suppress(ImportError):  # without cuDF pyarrow goes on
            import_module(name)

    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread


def _on_gpu(messages: int, xp: Any) -> bool:
    """Tell whether cuDF reads so many messages: if that is worth it, and it is there."""
    return xp is not np and messages >= FEWEST_ON_GPU and not importing("cudf").is_alive() and "cudf" in sys.modules


def _as_table(values: list[bytes], xp: Any) -> list[bytes | None]:
    read, there = _reader(), xp if _on_gpu(len(values), xp) else np
    lines = read and read(b"\n".join(value.translate(_ONE_LINE) for value in values), len(values), there)
    if lines is None:
        return [None] * len(values)
    small = np.clip(lines.values, -32768, 32767).astype(np.int16)
    outside = np.concatenate([[0], np.cumsum(small != lines.values)])
    return [
        None if outside[stop] > outside[begin] else _message(lines.fields, k, small[begin:stop], lines.rows[k])
        for k, (begin, stop) in enumerate(zip(lines.start[:-1].tolist(), lines.start[1:].tolist(), strict=True))
    ]


def _message(fields: dict[str, list[Any]], k: int, samples: Any, rows: int) -> bytes | None:
    """Encode one row; None where it lacks what it needs or has what it should not."""
    row = {name: column[k] for name, column in fields.items() if column[k] is not None}
    leads = row.pop("leads", [f"lead{i}" for i in range(max(1, rows))])
    needed = {"stream", "first", "rate_hz"} <= row.keys()
    if not needed or len(leads) != max(1, rows) or None in leads or len(samples) == 0 or len(samples) % len(leads):
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
