r"""Text files: their compression, encoding and line ends.

In:  the path of a text file, plain or gzip; UTF-8, UTF-16 with or without a byte order mark, or cp1252
Out: the file as text with ``\n`` at the end of lines
"""

import codecs
import gzip
import io
from pathlib import Path
from typing import IO, cast

_HEAD_BYTES = 65536
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip


def open_bytes(path: Path) -> IO[bytes]:
    """Open a file; decompress it if it is gzip."""
    return cast(IO[bytes], gzip.open(path)) if is_gzip(path) else path.open("rb")


def open_text(path: Path) -> io.TextIOWrapper:
    """Open a text file in its encoding; decompress it if it is gzip."""
    with open_bytes(path) as file:
        encoding = encoding_of(file.read(_HEAD_BYTES))
    return io.TextIOWrapper(open_bytes(path), encoding=encoding, errors="replace")


def encoding_of(head: bytes) -> str:
    r"""Return the encoding of a text file by its first bytes.

    >>> encoding_of("ECG (µV)".encode("cp1252")), encoding_of("time,ECG\n0.004,0.1\n".encode("utf-16-le"))
    ('cp1252', 'utf-16-le')
    """
    for bom, encoding in _BOMS:
        if head.startswith(bom):
            return encoding
    even, odd, half = head[::2].count(0), head[1::2].count(0), len(head) // 2
    if len(head) >= 16 and max(even, odd) > 0.8 * half and min(even, odd) < 0.05 * half:
        return "utf-16-le" if odd > even else "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def is_plain(path: Path) -> bool:
    """Return True if a file can be parsed as it is: not compressed, UTF-8, lines that end with a newline."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head[:2] == b"\x1f\x8b" or encoding_of(head) != "utf-8-sig":
        return False
    return b"\r" not in head or (head.count(b"\r") == head.count(b"\r\n") and b"\r\r\n" not in head)


def is_gzip(path: Path) -> bool:
    """Return True if a file is compressed by gzip."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"
