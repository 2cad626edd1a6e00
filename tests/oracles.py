"""Slow, obvious versions of what the kernels do; every fast path is compared with these."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import fastavro
import numpy as np

from streaming.wire import schema_text


def avro_long(value: int) -> bytes:
    """Write a long as the Avro specification words it: zigzag, then seven bits a byte, lowest first."""
    value = 2 * value if value >= 0 else -2 * value - 1
    out = []
    while True:
        value, seven = divmod(value, 128)
        out.append(seven + (128 if value else 0))
        if not value:
            return bytes(out)


def avro_chunk(chunk: dict[str, Any], blocks: Sequence[int] | None = None) -> bytes:
    """Write a SampleChunk by hand; ``blocks``: sizes of the blocks of its leads, negative ones in the long form."""
    out = b"".join([avro_text(chunk["stream"]), *(avro_long(chunk[k]) for k in ("session", "first", "time"))])
    out += struct.pack("<d", chunk["rate_hz"])
    at = 0
    for size in [len(chunk["leads"])] if blocks is None else blocks:
        items = b"".join(avro_text(name) for name in chunk["leads"][at : at + abs(size)])
        out += avro_long(size) + (avro_long(len(items)) if size < 0 else b"") + items
        at += abs(size)
    out += b"\0" + struct.pack("<d", chunk["uv_per_unit"]) + avro_long(chunk["lead_off"])
    return out + avro_long(len(chunk["samples"])) + chunk["samples"]


def avro_text(text: str | bytes) -> bytes:
    """Write a string or bytes."""
    raw = text.encode() if isinstance(text, str) else text
    return avro_long(len(raw)) + raw


@cache
def _plain_schema() -> Any:
    """SampleChunk without its logical type: fastavro would make a date of the time, and not of every one."""
    plain = json.loads(schema_text("sample_chunk"))
    for one in plain["fields"]:
        if one["name"] == "time":
            one["type"] = "long"
    return fastavro.parse_schema(plain)


def usable_chunk(value: bytes) -> dict[str, Any] | None:
    """Read a plain SampleChunk with fastavro and check it by the words of the contract; None: not usable.

    Raises
    ------
    UnicodeDecodeError
        A text is not UTF-8; whether that is seen so early is not decided here.
    """
    stream = io.BytesIO(value)
    try:
        chunk: Any = fastavro.schemaless_reader(stream, _plain_schema(), None)
    except UnicodeDecodeError:
        raise
    except Exception:
        return None
    leads, samples = len(chunk["leads"]), len(chunk["samples"])
    good = (
        stream.tell() == len(value) <= 65_536
        and 1 <= len(chunk["stream"].encode()) <= 64
        and 50 <= chunk["rate_hz"] <= 4000
        and 1 <= leads <= 12
        and 0 <= chunk["uv_per_unit"] <= 1e6
        and samples > 0
        and samples % (2 * leads) == 0
        and 0 <= chunk["lead_off"] < 2**leads
        and 0 <= chunk["first"] <= 2**53
        and abs(chunk["time"]) <= 2**53
    )
    return chunk if good else None
