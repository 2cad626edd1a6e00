"""Avro: encode and decode single messages with fastavro.

In and out: one message value as bytes. State: none, but for parsed schemas. The kernels of
``beatwire.kernels.intake.avro`` and ``beatwire.kernels.beat_message`` read and write the same bytes for whole ticks;
the functions here are their reference.

The first byte of a sample message determines its form: ``{`` is JSON, 0 is Confluent framing (then a 4-byte
schema id), anything else is plain Avro, or, if it is none, JSON after blanks or a byte-order mark. The first field of a
SampleChunk is the stream id, and Avro writes its length first; 0 and ``{`` would be an empty id and one of negative
length, so no valid plain SampleChunk begins with either.
"""

import contextlib
import io
import itertools
import json
import math
import struct
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any, cast

import fastavro
import numpy as np
from numpy.typing import ArrayLike

from beatwire.kernels.intake import avro
from beatwire.records import F64, I16, I64, U8
from beatwire.records.columns import CHUNK_AT, CHUNK_COLUMNS, CHUNK_FLOATS, CHUNK_ID_AT, CHUNK_ID_SIZE, CHUNK_LEADS

# Code of ``kernels.intake.avro.read_chunk`` -> reason in the dead letter; the placeholder is the offending value.
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
    avro.INDEX: "expected a first sample within 0..2^53, 2^43 s at most, and a time within -2^53..2^53; got {:.0f}",
    avro.MILLISECONDS: "expected a time in microseconds since 1970; got {:.0f}, the present in milliseconds",
    avro.SECONDS: "expected a time in microseconds since 1970; got {:.0f}, the present in seconds",
    avro.LEAD_OFF: "expected a lead-off mask with one bit a lead; got {:.0f}",
    avro.SCHEMA_ID: "schema id {:.0f} is not one of SampleChunk's: written with a newer schema?",
}


@cache
def schema(name: str) -> Any:
    """Return the parsed Avro schema ``sample_chunk``, ``sample_bundle`` or ``beat``."""
    return fastavro.parse_schema(json.loads(schema_text(name)))


@cache
def schema_text(name: str) -> str:
    """Return the JSON text of the Avro schema ``sample_chunk``, ``sample_bundle`` or ``beat``."""
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
        Pseudonymous id, 1-64 bytes; also the Kafka key of the message.
    session
        A number that changes whenever the device restarts its sample count.
    first, time_us
        Index of the first sample since the start of the session, and its device time in microseconds since 1970.
    rate_hz
        Samples per second and lead, 50-4000.
    leads
        Names of the 1-12 leads, in the order of the rows of ``samples``.
    samples : int16 [leads, n] or [n]
        Units of ``uv_per_unit`` microvolts; -32768 means no value.
    uv_per_unit
        Microvolts per unit; 0 when the device is not calibrated.
    lead_off
        Bit ``l`` is set while lead ``l`` is off.

    Returns
    -------
    bytes
        The value of one message on ``ecg.samples``.
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
    """Decode a plain or framed Avro SampleChunk into a dictionary of its fields; ``time`` becomes an aware datetime."""
    chunk = fastavro.schemaless_reader(io.BytesIO(unframe(value)), schema("sample_chunk"), None)
    return cast("dict[str, Any]", chunk)


def lead_names(payload: U8, row: I64) -> list[str]:
    """Return the names of the leads of a chunk; of what is not UTF-8 there, the bytes as escapes.

    Parameters
    ----------
    row : int64 [CHUNK_COLUMNS]
        Of the chunk, in ``payload``.
    """
    at, stop = int(row[CHUNK_ID_AT] + row[CHUNK_ID_SIZE]), int(row[CHUNK_AT])
    for _ in range(3):  # session, first, time
        _, at = avro.read_long(payload, at, stop)
    at += 8  # rate
    names: list[str] = []
    while len(names) < row[CHUNK_LEADS]:
        count, at = avro.read_long(payload, at, stop)
        if count < 0:
            _, at = avro.read_long(payload, at, stop)
        for _ in range(abs(count)):
            size, at = avro.read_long(payload, at, stop)
            names.append(payload[at : at + size].tobytes().decode("utf-8", "backslashreplace"))
            at += size
    return names


def decode_beat(value: bytes) -> dict[str, Any]:
    """Decode a plain or framed Avro Beat of this, an older or a newer schema; its times become aware datetimes.

    A number that may be null is null if it is not finite: JSON has no NaN. A plain message does not name its schema.
    Fields are only ever added at the end and with a default. A message of an older schema therefore ends where a later
    field begins, and the later fields get their defaults. Of a message of a newer schema, the fields of this schema are
    returned.

    Raises
    ------
    ValueError
        The bytes are not a Beat.
    """
    plain = io.BytesIO(unframe(value))
    for number, writer in enumerate(_beat_schemas()):
        plain.seek(0)
        beat: Any = None
        with contextlib.suppress(EOFError, IndexError, OverflowError, ValueError):
            beat = fastavro.schemaless_reader(plain, writer, schema("beat"))
        if beat is not None and (number == 0 or plain.tell() == len(plain.getbuffer())):
            return _finite(beat)
    raise ValueError(f"expected a Beat; got {len(value)} bytes that are not one")


def _finite(beat: dict[str, Any]) -> dict[str, Any]:
    """Return a beat with null in place of numbers that are not finite; ValueError where a field cannot be null."""
    for field in schema("beat")["fields"]:
        name, number = field["name"], beat[field["name"]]
        if isinstance(number, float) and not math.isfinite(number):
            if not isinstance(field["type"], list):
                raise ValueError(f"expected a finite number for {name}; got {number}")
            beat[name] = None
    letter = beat["beat_class"]
    if letter is not None and not (len(letter) == 1 and letter.isascii()):
        raise ValueError(f"expected one letter for beat_class; got {letter!r}")
    return beat


@cache
def _beat_schemas() -> list[Any]:
    """Return the present schema of beats, then all earlier ones, newest first."""
    present = json.loads(schema_text("beat"))
    added = list(itertools.takewhile(lambda field: "default" in field, reversed(present["fields"])))
    fields = [present["fields"][: len(present["fields"]) - k] for k in range(len(added) + 1)]
    return [schema("beat"), *(fastavro.parse_schema(present | {"fields": older}) for older in fields[1:])]


def frame(value: bytes, schema_id: int) -> bytes:
    """Prefix an Avro value with Confluent framing: a zero byte and the schema id, 4 bytes, big-endian."""
    return struct.pack(">bI", 0, schema_id) + value


def unframe(value: bytes) -> bytes:
    """Remove the Confluent framing of an Avro value, if it has one."""
    return value[5:] if value[:1] == b"\0" else value


def string_table(strings: Sequence[str], width: int) -> tuple[U8, Any]:
    """Return strings as the kernels read them: UTF-8 in uint8 [n, width], and sizes in bytes, int32 [n]."""
    encoded = [s.encode() for s in strings]
    table = np.zeros((len(encoded), width), np.uint8)
    for row, value in zip(table, encoded, strict=True):
        row[: len(value)] = np.frombuffer(value, np.uint8)
    return table, np.array([len(value) for value in encoded], np.int32)


def chunk_columns(n: int) -> tuple[I64, F64, I16]:
    """Return arrays for ``kernels.intake.avro.read_chunk`` to write: integers, floats and codes of ``n`` messages."""
    return np.empty((n, CHUNK_COLUMNS), np.int64), np.empty((n, CHUNK_FLOATS)), np.empty(n, np.int16)
