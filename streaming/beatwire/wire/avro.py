"""The wire format: Avro schemas, bytes <-> values; no I/O. Shared with producers.

Three forms of a sample message, told apart by their first byte: ``{`` is JSON, 0 is Confluent
framing (then a 4-byte schema id), anything else is plain Avro. A plain SampleChunk can begin with
neither, since its stream id would then be empty or of negative length.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import struct
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any, cast

import fastavro
import numpy as np
from numpy.typing import ArrayLike

from beatwire.kernels import avro
from beatwire.records import F64, I16, I64, U8
from beatwire.records.columns import CHUNK_COLUMNS, CHUNK_FLOATS

REASONS = {
    avro.MALFORMED: "truncated or malformed: no SampleChunk within {:.0f} bytes",
    avro.NEWER: "{:.0f} bytes are left after the last field of SampleChunk: written with a newer schema?",
    avro.EMPTY: "expected at least 1 sample per lead; got 0",
    avro.LEADS: f"expected 1-{avro.MAX_LEADS} leads; got {{:.0f}}",
    avro.RATE: f"expected a rate of {avro.MIN_RATE_HZ:.0f}-{avro.MAX_RATE_HZ:.0f} Hz; got {{:g}}",
    avro.LENGTH: "expected 2 bytes x leads x samples; got {:.0f} bytes",
    avro.TOO_BIG: f"expected at most {avro.MAX_BYTES} bytes; got {{:.0f}}",
    avro.STREAM_ID: f"expected a stream id of 1-{avro.MAX_ID} bytes; got {{:.0f}}",
    avro.CALIBRATION: "expected 0-1e6 microvolts per unit; got {:g}",
    avro.INDEX: "expected a first sample within 0..2^53 and a time within -2^53..2^53; got {:.0f}",
    avro.LEAD_OFF: "expected a lead-off mask with one bit a lead; got {:.0f}",
    avro.SCHEMA_ID: "schema id {:.0f} is not one of SampleChunk's: written with a newer schema?",
}


@cache
def schema(name: str) -> Any:
    """Return a parsed schema of the package: ``sample_chunk`` or ``beat``."""
    return fastavro.parse_schema(json.loads(schema_text(name)))


@cache
def schema_text(name: str) -> str:
    """Return the text of a schema of the package."""
    return resources.files("beatwire.wire").joinpath(f"schemas/{name}.avsc").read_text("utf-8")


def encode_chunk(
    stream: str,
    session: int,
    first: int,
    time_us: int,
    rate_hz: float,
    leads: Sequence[str],
    samples: ArrayLike,
    *,
    uv_per_unit: float = 5.0,
    lead_off: int = 0,
) -> bytes:
    """Encode consecutive samples of one stream as a plain Avro SampleChunk.

    Parameters
    ----------
    stream
        Pseudonymous id, 1-64 bytes; use it as the Kafka key as well.
    session
        Changes whenever the device restarts counting.
    first, time_us
        Index and device time (microseconds since 1970) of the first sample.
    rate_hz
        Samples per second and lead.
    leads
        Names of the 1-12 leads.
    samples : int16 [leads, n] or [n]
        Units of ``uv_per_unit`` microvolts; -32768 means no value.
    uv_per_unit
        0 when the device is not calibrated.
    lead_off
        Bit ``l`` is set while lead ``l`` is off.
    """
    buffer = io.BytesIO()
    chunk = {
        "stream": stream,
        "session": session,
        "first": first,
        "time": time_us,
        "rate_hz": rate_hz,
        "leads": list(leads),
        "uv_per_unit": uv_per_unit,
        "lead_off": lead_off,
        "samples": np.ascontiguousarray(samples, "<i2").tobytes(),
    }
    fastavro.schemaless_writer(buffer, schema("sample_chunk"), chunk)
    return buffer.getvalue()


def decode_chunk(value: bytes) -> dict[str, Any]:
    """Decode a plain or framed SampleChunk with fastavro; the oracle of the decode kernel."""
    chunk = fastavro.schemaless_reader(io.BytesIO(unframed(value)), schema("sample_chunk"), None)
    return cast("dict[str, Any]", chunk)


def decode_beat(value: bytes) -> dict[str, Any]:
    """Decode a plain or framed Beat of this schema, an older or a newer one; its times become aware datetimes.

    A plain message does not say what it was written with. But fields are only ever added at the end and with a
    default, so an older one ends where a field of this schema begins: what was added since has its default. Of a newer
    one the fields that are known here are read.

    Raises
    ------
    ValueError
        It is no Beat.
    """
    plain = io.BytesIO(unframed(value))
    for number, writer in enumerate(_beat_schemas()):
        plain.seek(0)
        with contextlib.suppress(EOFError, IndexError, OverflowError, ValueError):
            beat = fastavro.schemaless_reader(plain, writer, schema("beat"))
            if number == 0 or plain.tell() == len(plain.getbuffer()):
                return cast("dict[str, Any]", beat)
    raise ValueError(f"expected a Beat; got {len(value)} bytes that are none")


@cache
def _beat_schemas() -> list[Any]:
    """Return the schema that beats are written with, then those of before, newest first."""
    now = json.loads(schema_text("beat"))
    added = list(itertools.takewhile(lambda field: "default" in field, reversed(now["fields"])))
    fields = [now["fields"][: len(now["fields"]) - k] for k in range(len(added) + 1)]
    return [schema("beat"), *(fastavro.parse_schema(now | {"fields": older}) for older in fields[1:])]


def frame(value: bytes, schema_id: int) -> bytes:
    """Put Confluent framing before an Avro value."""
    return struct.pack(">bI", 0, schema_id) + value


def unframed(value: bytes) -> bytes:
    """Take Confluent framing off an Avro value, if there is any."""
    return value[5:] if value[:1] == b"\0" else value


def json_to_avro(value: bytes) -> bytes:
    """Turn a JSON sample message into Avro.

    Fields are SampleChunk's, ``samples`` a list of integers or a list of such lists, one a lead;
    ``null`` means no value. ``session``, ``time``, ``uv_per_unit``, ``lead_off`` and ``leads`` may
    be left out.

    Raises
    ------
    ValueError
        With one line that says which field, what was expected and what came.
    """
    try:
        chunk = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"JSON: {error}") from None
    if not isinstance(chunk, dict):
        raise ValueError(f"JSON: expected an object; got {type(chunk).__name__}")
    unknown = sorted(set(chunk) - {f["name"] for f in schema("sample_chunk")["fields"]})
    if unknown:
        raise ValueError(f"JSON: field {unknown[0]!r} is not in SampleChunk: written with a newer schema?")
    samples = _json_samples(_json_field(chunk, "samples", list))
    leads = _json_field(chunk, "leads", list, [f"lead{k}" for k in range(len(samples))])
    if len(leads) != len(samples) or not all(isinstance(name, str) for name in leads):
        raise ValueError(f"JSON: expected one name a lead; got {len(leads)} names for {len(samples)} leads")
    numbers = {
        name: _json_field(chunk, name, int, default)
        for name, default in (("session", 0), ("first", None), ("time", 0), ("lead_off", 0))
    }
    stream = _json_field(chunk, "stream", str)
    rate_hz = _json_field(chunk, "rate_hz", (int, float))
    uv_per_unit = _json_field(chunk, "uv_per_unit", (int, float), 5.0)
    try:
        size = len(stream.encode())
        if not 1 <= size <= avro.MAX_ID:
            raise ValueError(f"field 'stream': expected 1-{avro.MAX_ID} bytes; got {size}")
        return encode_chunk(
            stream,
            numbers["session"],
            numbers["first"],
            numbers["time"],
            float(rate_hz),
            leads,
            samples,
            uv_per_unit=float(uv_per_unit),
            lead_off=numbers["lead_off"],
        )
    except (ValueError, OverflowError, struct.error) as error:
        raise ValueError(f"JSON: {error}") from None


def _json_field(chunk: dict[str, Any], name: str, kind: Any, default: Any = None) -> Any:
    value = chunk.get(name, default)
    if value is None:
        raise ValueError(f"JSON: field {name!r} is missing")
    if not isinstance(value, kind) or isinstance(value, bool):
        expected = kind.__name__ if isinstance(kind, type) else "number"
        raise ValueError(f"JSON: field {name!r}: expected {expected}; got {str(value)[:40]!r}")
    return value


def _json_samples(rows: list[Any]) -> I16:
    nested = rows if rows and isinstance(rows[0], list) else [rows]
    if any(not isinstance(row, list) or len(row) != len(nested[0]) for row in nested):
        raise ValueError("JSON: field 'samples': expected lists of equal length, one a lead")
    for row in nested:
        for value in row:
            if value is not None and (type(value) is not int or not -32768 <= value <= 32767):
                raise ValueError(f"JSON: field 'samples': expected integers within int16; got {str(value)[:40]!r}")
    return np.array([[-32768 if v is None else v for v in row] for row in nested], np.int16)


def texts(strings: Sequence[str], width: int) -> tuple[U8, Any]:
    """Lay strings out for the kernels: uint8 [n, width] and their sizes, int32 [n]."""
    encoded = [s.encode() for s in strings]
    table = np.zeros((len(encoded), width), np.uint8)
    for row, value in zip(table, encoded, strict=True):
        row[: len(value)] = np.frombuffer(value, np.uint8)
    return table, np.array([len(value) for value in encoded], np.int32)


def columns(n: int) -> tuple[I64, F64, I16]:
    """Allocate what ``kernels.avro.read_chunk`` writes for ``n`` messages."""
    return np.zeros((n, CHUNK_COLUMNS), np.int64), np.zeros((n, CHUNK_FLOATS)), np.zeros(n, np.int16)
