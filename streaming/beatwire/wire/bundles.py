"""Bundles: one message with the chunks of many streams, as a gateway sends them.

In: values of SampleChunk messages. Out: one value, and back. No state. A chunk in a bundle is what it would be alone:
Avro, with or without framing, or JSON. The bundle itself is Avro, or JSON: ``{"chunks": [{...}, ...]}``.
"""

import io
import json
import re
from collections.abc import Sequence
from typing import Any

import fastavro

from beatwire.errors import shown
from beatwire.kernels.intake.bundles import MARK, MAX_BUNDLE_BYTES, MOST_CHUNKS
from beatwire.wire.avro import schema, unframe

BUNDLE_MARK = bytes(MARK)
_BEGINS_BUNDLE = re.compile(rb'(?:\xef\xbb\xbf)?[ \t\r\n]*\{[ \t\r\n]*"chunks"[ \t\r\n]*:')
_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def encode_bundle(chunks: Sequence[bytes]) -> bytes:
    """Encode a plain Avro SampleBundle.

    Parameters
    ----------
    chunks
        Values of SampleChunk messages, 1-1000, such as `encode_chunk` returns; those of a stream in their order.

    Returns
    -------
    bytes
        The value of one message on ``ecg.samples``, at most 1 MiB.

    Raises
    ------
    ValueError
        There is no chunk, there are too many, or the message would be too long.

    Examples
    --------
    >>> decode_bundle(encode_bundle([b"one", b"two"]))
    [b'one', b'two']
    """
    if not 1 <= len(chunks) <= MOST_CHUNKS:
        raise ValueError(f"bundle: expected 1-{MOST_CHUNKS} chunks; got {len(chunks)}")
    buffer = io.BytesIO()
    fastavro.schemaless_writer(buffer, schema("sample_bundle"), {"mark": BUNDLE_MARK, "chunks": chunks})
    value = buffer.getvalue()
    if len(value) > MAX_BUNDLE_BYTES:
        raise ValueError(f"bundle: expected at most {MAX_BUNDLE_BYTES} bytes; got {len(value)}")
    return value


def decode_bundle(value: bytes) -> list[bytes]:
    """Return the values of the chunks in a plain or framed Avro SampleBundle.

    Raises
    ------
    ValueError
        The bytes are no SampleBundle.
    """
    plain = unframe(value)
    if plain[: len(BUNDLE_MARK)] != BUNDLE_MARK:
        raise ValueError(f"bundle: expected the mark {BUNDLE_MARK.hex()}; got {plain[:4].hex() or 'nothing'}")
    try:
        found: Any = fastavro.schemaless_reader(io.BytesIO(plain), schema("sample_bundle"), None)
    except (EOFError, IndexError, OverflowError) as error:
        raise ValueError(f"bundle: expected a SampleBundle; got {len(value)} bytes that are not one") from error
    return list(found["chunks"])


def is_json_bundle(value: bytes) -> bool:
    """Return True if a message begins as a bundle in JSON does.

    >>> is_json_bundle(b' {"chunks": []}'), is_json_bundle(b'{"stream": "bed"}')
    (True, False)
    """
    return _BEGINS_BUNDLE.match(value) is not None


def json_chunks(value: bytes) -> list[bytes]:
    """Return the texts of the chunks in a bundle in JSON, each as it stands there.

    Raises
    ------
    ValueError
        It is not ``{"chunks": [...]}`` with at least one chunk; the message is a reason for a dead letter.

    Examples
    --------
    >>> json_chunks(b'{"chunks": [{"a": 1.0}, 2]}')
    [b'{"a": 1.0}', b'2']
    """
    expected = 'expected {"chunks": [...]}'
    found = _BEGINS_BUNDLE.match(value)
    if found is None:
        raise ValueError(f"{expected}; got {shown(value[:40])}")
    try:
        text, out = value[found.end() :].decode(), list[bytes]()
        at = _sign(text, 0, "[")
        while True:
            if len(out) == MOST_CHUNKS:
                raise ValueError(f"{MOST_CHUNKS} chunks and more")
            begin = _skip(text, at)
            _, at = _DECODER.raw_decode(text, begin)
            out.append(text[begin:at].encode())
            at = _skip(text, at)
            if text[at : at + 1] != ",":
                break
            at += 1
        at = _skip(text, _sign(text, _sign(text, at, "]"), "}"))
        if at != len(text):
            raise ValueError(f"{shown(text[at : at + 20])} behind it")
    except RecursionError as error:
        raise ValueError(f"{expected}; got lists within lists") from error
    except ValueError as error:
        raise ValueError(f"{expected}; got {error}") from error
    return out


def _skip(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() if found else at


def _sign(text: str, at: int, sign: str) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != sign:
        raise ValueError(f"{shown(text[at : at + 20])} where {sign!r} has to be")
    return at + 1
