"""Mutated messages: what a broken or hostile sender puts between the messages of good streams.

In: valid messages of streams that nobody else uses, a seed. Out: messages that were cut, changed, lengthened, or never
were a sample chunk. Most cannot be used; some are valid, with a new stream id or an impossible rate.
"""

import random
import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat

import numpy as np

from beatwire.kernels.intake.avro import MAX_RATE_HZ, MIN_RATE_HZ
from beatwire.wire.avro import decode_chunk, encode_chunk

Mutation = Callable[[bytes, random.Random], bytes]
HEAD = 40  # bytes: stream id, session, first sample, time, rate
OVERSIZED_BYTES = 70_000
OVERSIZED_SHARE = 0.001  # of the messages: their cost is that of their bytes
_HUGE = b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f"  # a long of 63 bits
_JSON = (
    b'{"stream": 3}',
    b'{"stream": "x", "first": -1, "rate_hz": 250, "samples": [1, null, "a"]}',
    b'{"stream": "x", "first": 0, "rate_hz": 1e999, "samples": [1]}',
    b'{"a": [1, 2',
    b"{}",
)


def truncated(value: bytes, rng: random.Random) -> bytes:
    """Return the beginning of a message."""
    return value[: rng.randrange(len(value))]


def flipped(value: bytes, rng: random.Random) -> bytes:
    """Return a message with one to eight bits flipped anywhere."""
    return _flip(value, rng, rng.randint(1, 8), len(value))


def flipped_head(value: bytes, rng: random.Random) -> bytes:
    """Return a message with one to three bits flipped before its samples: new stream ids, rates, indices."""
    return _flip(value, rng, rng.randint(1, 3), min(HEAD, len(value)))


def random_bytes(_value: bytes, rng: random.Random) -> bytes:
    """Return bytes that are no message."""
    return rng.randbytes(rng.randint(1, 400))


def wrong_schema(value: bytes, rng: random.Random) -> bytes:
    """Return a message in Confluent framing with the id of another schema, and a byte that is not of SampleChunk."""
    return struct.pack(">bI", 0, rng.getrandbits(32)) + value + b"\0"


def huge_count(value: bytes, rng: random.Random) -> bytes:
    """Return a message in which a huge number stands in the place of a length or a count."""
    at = rng.randrange(min(HEAD, len(value)))
    return value[:at] + _HUGE + value[at:]


def wrong_length(value: bytes, rng: random.Random) -> bytes:
    """Return a message with more bytes than its last field says."""
    return value + rng.randbytes(rng.randint(1, 50))


def json_garbage(_value: bytes, rng: random.Random) -> bytes:
    """Return what begins like JSON."""
    return rng.choice((*_JSON, b"{" + rng.randbytes(60)))


def oversized(value: bytes, _rng: random.Random) -> bytes:
    """Return a message that is longer than any chunk may be."""
    return value + bytes(OVERSIZED_BYTES)


def stray_rate(value: bytes, rng: random.Random) -> bytes:
    """Return a valid message of a stream that sends nothing else, at a rate of its own: half a second at most."""
    chunk = decode_chunk(value)
    samples = np.frombuffer(chunk["samples"], "<i2").reshape(len(chunk["leads"]), -1)
    rate_hz = rng.uniform(max(MIN_RATE_HZ, 2.0 * samples.shape[1]), MAX_RATE_HZ)
    stream = f"~~stray~{rng.getrandbits(60):x}"
    return encode_chunk(stream, chunk["session"], chunk["first"], chunk["time"], rate_hz, chunk["leads"], samples)


KINDS: tuple[Mutation, ...] = (
    truncated, flipped, flipped_head, random_bytes, wrong_schema, huge_count, wrong_length, json_garbage,
)  # fmt: skip
_STILL_VALID = (flipped, flipped_head)  # some of what these return
REJECTED = (*(kind for kind in KINDS if kind not in _STILL_VALID), stray_rate)  # at once, or after a minute of waiting


def mutated(
    valid: Sequence[bytes], count: int | None, seed: int, *, kinds: Sequence[Mutation] = KINDS
) -> Iterator[bytes]:
    """Yield so many mutated messages (None: without end), every kind equally often but those that are too long."""
    rng = random.Random(seed)  # noqa: S311
    for _ in repeat(None) if count is None else range(count):
        value = rng.choice(valid)
        kind = oversized if rng.random() < OVERSIZED_SHARE else rng.choice(kinds)
        yield kind(value, rng)


def _flip(value: bytes, rng: random.Random, bits: int, size: int) -> bytes:
    changed = bytearray(value)
    for _ in range(bits):
        changed[rng.randrange(size)] ^= 1 << rng.randrange(8)
    return bytes(changed)
