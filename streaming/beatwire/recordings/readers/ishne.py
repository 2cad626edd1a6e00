"""ISHNE Holter files, by their standard of 1998: a header, then 16-bit samples of all leads, moment by moment.

All numbers are little-endian. A digit of a lead is a number of nanovolts; where that is unknown (-9) the lead is not
calibrated. The number of samples is that of a lead, or of all leads, as programs differ: the file is read to its end,
and one that is shorter than either is refused. A checksum that is not that of the header is said.
"""

import struct
from binascii import crc_hqx
from pathlib import Path

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.leads import unique_names
from beatwire.recordings.record import MAX_LEADS
from beatwire.recordings.signals import Signals, of_digital

_MAGIC = b"ISHNE1.0"
_HEADER = struct.Struct("<8sH4i130xh12h24x12h42xh")  # of what is read of 522 bytes, up to the rate
_FIXED = 522  # bytes: magic number, checksum, and the part of the header that has a fixed length
_UV_PER_NV = 1e-3
_FIRST_LEAD = 2  # its code; 0 is unknown, 1 any bipolar lead
_LEADS = ("X", "Y", "Z", "I", "II", "III", "aVR", "aVL", "aVF", "V1", "V2", "V3", "V4", "V5", "V6", "ES", "AS", "AI")


def read(path: Path) -> Signals:
    """Open a file of this format.

    Raises
    ------
    UserError
        The file is damaged, or shorter than its header states.
    """
    where, size = path.name, path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_FIXED)
        if len(head) < _FIXED or head[:8] != _MAGIC:
            got = f"{size} bytes" if head[:8] == _MAGIC else repr(head[:8].decode("latin-1"))
            raise UserError(
                f"{where}: expected an ISHNE Holter file of version 1.0, with a header of 522 bytes; got {got}"
            )
        _, checksum, _, stated, _, begin, count, *numbers, rate_hz = _HEADER.unpack(head[: _HEADER.size])
        if not 1 <= count <= MAX_LEADS:
            raise UserError(f"{where}: expected 1-{MAX_LEADS} leads; its header states {count}")
        if not _FIXED <= begin <= size:
            raise UserError(f"{where}: expected samples behind its header, in {size} bytes; it states byte {begin}")
        counted = crc_hqx(head[10:] + file.read(begin - _FIXED), 0xFFFF)
    held, rest = divmod(size - begin, 2 * count)
    if held < -(-stated // count) or held == 0:
        raise UserError(f"{where}: expected {stated} samples, as its header states; got {held} of each lead")
    notes = []
    if stated > 0 and stated not in (held, held * count):
        notes.append(f"its header states {stated} samples; it holds {held} of each lead")
    if rest:
        notes.append(f"left out: {rest} bytes behind its last whole sample")
    if checksum not in (0, counted):
        notes.append(f"the checksum of its header is {counted}; it states {checksum}: it may be damaged")
    digital = np.memmap(path, "<i2", "r", begin, (held, count))
    codes, resolutions = numbers[:count], numbers[MAX_LEADS : MAX_LEADS + count]
    known = dict(enumerate(_LEADS, _FIRST_LEAD))
    names = unique_names([known.get(code, f"lead {k}") for k, code in enumerate(codes)])
    signals = tuple(
        of_digital(digital[:, k], name, float(rate_hz), float(max(0, nv)), 0.0, _UV_PER_NV)
        for k, (name, nv) in enumerate(zip(names, resolutions, strict=True))
    )
    return Signals(where, path.stem, signals, tuple(notes))
