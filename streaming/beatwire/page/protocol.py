"""The messages between the page's server and its browsers: ``docs/reference/page-protocol.md`` as code.

In: samples of streams. Out: one binary message; and back, for tests and other clients. In: a message of a browser. Out:
the value of one of its fields, or ValueError with what was expected. No state. All numbers are
little-endian; every block begins at a multiple of 8 bytes, so that a browser reads samples without a copy.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from beatwire.records import I16
from beatwire.wire.staff import NAME, is_name

VERSION = 1
MAGIC = 0x42574531  # "BWE1"
GAP, NEW_SESSION = 1, 2  # flags of a block
HEADER = np.dtype([("magic", "<u4"), ("number", "<u4"), ("blocks", "<u4"), ("reserved", "<u4")])
BLOCK = np.dtype(
    [
        ("stream", "<u4"), ("leads", "<u2"), ("flags", "<u2"), ("samples", "<u4"), ("rate_hz", "<f4"), ("first", "<f8"),
        ("time_us", "<f8"), ("uv_per_unit", "<f4"), ("reserved", "<u4"),
    ]
)  # fmt: skip
MOST_WATCHED = 64  # streams of which a browser gets samples
MOST_BEDS = 200  # of one ward message
_ALIGNED = 8


class Block(NamedTuple):
    """Consecutive samples of one stream.

    stream       its number
    flags        ``GAP``, ``NEW_SESSION``
    rate_hz      samples per second and lead
    first        index of the first sample
    time_us      device time of it, microseconds since 1970
    uv_per_unit  microvolts; 0: not calibrated
    samples      int16 [leads, n]
    """

    stream: int
    flags: int
    rate_hz: float
    first: int
    time_us: int
    uv_per_unit: float
    samples: I16


def encode_samples(number: int, blocks: Sequence[Block]) -> bytes:
    """Return one binary message.

    Parameters
    ----------
    number
        Of the message, counted per browser.
    blocks
        Samples of any streams.

    Returns
    -------
    bytes
        Header and blocks, as the protocol has them.
    """
    parts = [np.array([(MAGIC, number, len(blocks), 0)], HEADER).tobytes()]
    for block in blocks:
        leads, n = block.samples.shape
        head = (block.stream, leads, block.flags, n, block.rate_hz, block.first, block.time_us, block.uv_per_unit, 0)
        parts.append(np.array([head], BLOCK).tobytes())
        samples = np.ascontiguousarray(block.samples, "<i2").tobytes()
        parts += [samples, b"\0" * (-len(samples) % _ALIGNED)]
    return b"".join(parts)


def decode_samples(message: bytes) -> tuple[int, list[Block]]:
    """Return the number of a binary message and its blocks.

    Raises
    ------
    ValueError
        The message is not one of samples, or it is truncated.
    """
    header = np.frombuffer(message, HEADER, 1)[0]
    if header["magic"] != MAGIC:
        raise ValueError(f"expected a message that begins with {MAGIC:#x}; got {int(header['magic']):#x}")
    at, blocks = HEADER.itemsize, []
    for _ in range(int(header["blocks"])):
        head = np.frombuffer(message, BLOCK, 1, at)[0]
        leads, n = int(head["leads"]), int(head["samples"])
        at += BLOCK.itemsize
        samples = np.frombuffer(message, "<i2", leads * n, at).reshape(leads, n)
        at += -(-samples.nbytes // _ALIGNED) * _ALIGNED
        blocks.append(
            Block(
                int(head["stream"]), int(head["flags"]), float(head["rate_hz"]), int(head["first"]),
                int(head["time_us"]), float(head["uv_per_unit"]), samples,
            )
        )  # fmt: skip
    return int(header["number"]), blocks


def by_of(message: dict[str, Any]) -> str:
    """Return who sends a message, as it is stored."""
    by = message.get("by")
    if not isinstance(by, str) or not is_name(by):
        raise ValueError(f"{message['type']}: expected by of {NAME}")
    return by.strip()


def limits_of(message: dict[str, Any]) -> dict[str, float | None]:
    """Return rule -> limit; None: the default."""
    given = message.get("limits")
    if not isinstance(given, dict) or not given:
        raise ValueError("set limits: expected limits: an object of rules and numbers, null for the default")
    for rule, value in given.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (is_number and math.isfinite(value)):
            raise ValueError(f"set limits: expected a number or null for {rule[:64]!r}")
    return {rule: None if value is None else float(value) for rule, value in given.items()}


def flag_of(message: dict[str, Any], name: str, *, default: bool) -> bool:
    """Return a field that is true or false."""
    value = message.get(name, default)
    if not isinstance(value, bool):
        raise ValueError(f"{message['type']}: expected {name} true or false")
    return value


def text_of(message: dict[str, Any], name: str, least: int, most: int) -> str:
    """Return a field of so many printable characters."""
    value = message.get(name, "" if least == 0 else None)
    if not isinstance(value, str) or not least <= len(value) <= most or (value and not value.isprintable()):
        raise ValueError(f"{message['type']}: expected {name} of {least}-{most} printable characters")
    return value


def count_of(message: dict[str, Any], name: str, most: int) -> int:
    """Return a field that is a whole number from 0 to ``most``."""
    value = message.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError(f"{message['type']}: expected {name} of 0-{most}")
    return value
