"""ISHNE Holter files of the tests, written field by field as the standard lists them."""

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

# Field and its bytes, in order, behind the magic number and the checksum.
FIELDS = (
    ("size of the variable block", 4), ("size of the ECG", 4), ("offset of the variable block", 4),
    ("offset of the ECG", 4), ("version", 2), ("first name", 40), ("last name", 40), ("id", 20), ("sex", 2),
    ("race", 2), ("birth", 6), ("recorded", 6), ("written", 6), ("start", 6), ("leads", 2), ("codes", 24),
    ("qualities", 24), ("resolutions", 24), ("pacemaker", 2), ("recorder", 40), ("rate", 2), ("proprietary", 80),
    ("copyright", 80), ("reserved", 88),
)  # fmt: skip
UNKNOWN = -9


def checksum_of(content: bytes) -> int:
    """Return the CRC-CCITT of a header, bit by bit."""
    crc = 0xFFFF
    for byte in content:
        crc ^= byte << 8
        for _ in range(8):
            crc = ((crc << 1) ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def write_ishne(
    path: Path, digital: np.ndarray, rate_hz: int, codes: Sequence[int], resolutions: Sequence[int], *,
    size: int | None = None, variable: bytes = b"", checksum: int | None = None, behind: bytes = b"",
) -> None:  # fmt: skip
    """Write samples, int16 [leads, n]; ``size`` is what the header states, the samples of a lead if None."""
    leads = len(digital)
    twelve = [np.full(12, UNKNOWN, "<i2") for _ in range(3)]
    for row, values in zip(twelve, (codes, [1] * leads, resolutions), strict=True):
        row[:leads] = values
    given = {
        "size of the variable block": struct.pack("<i", len(variable)),
        "size of the ECG": struct.pack("<i", digital.shape[1] if size is None else size),
        "offset of the variable block": struct.pack("<i", 522),
        "offset of the ECG": struct.pack("<i", 522 + len(variable)), "version": struct.pack("<h", 1),
        "first name": b"A", "start": struct.pack("<3h", 23, 59, 58), "leads": struct.pack("<h", leads),
        "codes": twelve[0].tobytes(), "qualities": twelve[1].tobytes(), "resolutions": twelve[2].tobytes(),
        "rate": struct.pack("<h", rate_hz), "recorder": b"digital",
    }  # fmt: skip
    header = b"".join(given.get(name, b"").ljust(width, b"\0") for name, width in FIELDS) + variable
    stated = checksum_of(header) if checksum is None else checksum
    path.write_bytes(b"ISHNE1.0" + struct.pack("<H", stated) + header + np.asarray(digital, "<i2").T.tobytes() + behind)
