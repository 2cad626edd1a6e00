"""Avro SampleChunks of one stream, written from their constant bytes.

In: what changes from chunk to chunk. Out: messages as bytes. State: the constant bytes.
Invariant: the bytes are those that fastavro writes for the same values.
"""

import struct
from collections.abc import Sequence
from functools import lru_cache


class ChunkWriter:
    """Writes the messages of a stream.

    Parameters
    ----------
    stream, rate_hz, leads, uv_per_unit
        As of `beatwire.wire.encode_chunk`; at least one lead.

    Attributes
    ----------
    before, after : bytes
        What is constant before the field ``session``, and after ``time``.
    """

    def __init__(self, stream: str, rate_hz: float, leads: Sequence[str], uv_per_unit: float) -> None:
        names = b"".join(map(avro_text, leads))
        self.before = avro_text(stream)
        self.after = struct.pack("<d", rate_hz) + avro_long(len(leads)) + names + b"\0" + struct.pack("<d", uv_per_unit)

    def message(self, session: int, first: int, time_us: int, lead_off: int, samples: bytes) -> bytes:
        """Return a message; the samples are little-endian int16, all of a lead together."""
        place = _constant(session) + avro_long(first) + avro_long(time_us)
        return b"".join((self.before, place, self.after, _constant(lead_off), _constant(len(samples)), samples))


def avro_long(value: int) -> bytes:
    r"""Return an integer of 64 bits as Avro writes it.

    >>> avro_long(0), avro_long(-1), avro_long(64)
    (b'\x00', b'\x01', b'\x80\x01')
    """
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 127:
        out.append((value & 127) | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


_constant = lru_cache(4096)(avro_long)  # what most messages have in common


def avro_text(value: str) -> bytes:
    """Return a text as Avro writes it."""
    encoded = value.encode()
    return avro_long(len(encoded)) + encoded
