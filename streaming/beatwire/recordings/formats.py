"""Which reader a local path needs. The content decides, by its first bytes; then the ending; what is left is text.

In:  a path; rate, columns and gain that the user gives, for formats that state none
Out: :class:`Signals` of a file that describes them, a :class:`Recording` of arrays or a table, None for a text table
"""

import gzip
import json
import re
import zlib
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from beatwire.errors import UserError
from beatwire.recordings.places import (
    BDF,
    BIOPAC,
    DICOM,
    EDF,
    ENDINGS,
    JSON,
    WFDB_SUFFIXES,
    Format,
    by_content,
    head_of,
    wfdb_record,
)
from beatwire.recordings.record import Recording
from beatwire.recordings.signals import Signals
from beatwire.recordings.wfdb.record import open_wfdb

_NOT_READ = "which beatwire does not read"
_PACKED = "a compressed file: unpack it"
# Formats that are not read: their first bytes after so many, and what their users can do.
_UNREADABLE = (
    (0, b"ISHNE", f"an ISHNE Holter file, {_NOT_READ}: convert it to EDF or WFDB"),
    (16, b"SCPECG", f"an SCP-ECG file, {_NOT_READ}: convert it to DICOM or WFDB"),
    (2, b"MFR", f"an MFER file, {_NOT_READ}: convert it to EDF or WFDB"),
    (0, b"GDF ", f"a GDF file, {_NOT_READ}: convert it to EDF"),
    (0, b"fLaC", "a FLAC file without its WFDB header"),
    (8, b"WAVE", f"a WAV file, {_NOT_READ}: convert it to WFDB or CSV"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1", f"an old document of Office, {_NOT_READ}: save its sheet as CSV"),
    (0, b"FEA1", f"a Feather file of version 1, {_NOT_READ}: save it as Parquet"),
    *(
        (0, begin, f"a pickle of Python, {_NOT_READ}, as it may hold any program: save it as .npz or Parquet")
        for begin in (b"\x80\x02", b"\x80\x03", b"\x80\x04\x95", b"\x80\x05\x95")
    ),
    (0, b"SQLite format 3", f"an SQLite database, {_NOT_READ}: save its table as CSV"),
    (0, b"MSH|", f"a message of HL7 v2, {_NOT_READ}: save its samples as CSV"),
    (0, b"%PDF", "a PDF: the numbers of its curves are not in it"),
    *((0, begin, "a picture") for begin in (b"\x89PNG", b"\xff\xd8\xff")),
    *((0, begin, _PACKED) for begin in (b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"\x28\xb5\x2f\xfd", b"Rar!")),
)

_MARKUP = re.compile(rb"(\xef\xbb\xbf)?\s*<[?!A-Za-z]")
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*(\{\s*["}]|\[\s*[\[{\]"]|\[\s*[\r\n]\s*-?\d)')
_TAIL_BYTES = 64
_LINE_BYTES = 1 << 20
_GZIP, _UNPACKED_BYTES = b"\x1f\x8b", 256


def open_file(path: Path, fs: float | None, column: str | None, gain: float | None) -> Signals | Recording | None:
    """Open a WFDB record or a file of a format with a reader of its own; None if the path is that of a text table.

    Raises
    ------
    UserError
        There is no such file, it is a folder, its format cannot be read, or a package is missing.
    """
    record = wfdb_record(path)
    if record is not None:
        return open_wfdb(record, fs)
    head = head_of(path)
    for at, magic, what in _UNREADABLE:
        if head[at : at + len(magic)] == magic:
            raise _refused(path, what)
    inner = _unpacked(path) if head[:2] == _GZIP else b""
    if (
        by_content(inner)
        or _JSON.match(inner)
        or any(inner[at : at + len(magic)] == magic for at, magic, _ in _UNREADABLE)
    ):
        raise _refused(path, _PACKED)
    found = by_content(head)
    if found is None and b"\0" in head:
        found = ENDINGS.get(path.suffix.lower())
    if found is None and _MARKUP.match(head) and _last(path) == b">":
        raise _refused(path, f"an XML or HTML document (HL7 aECG is one), {_NOT_READ}: convert it to WFDB or CSV")
    if found is None and _is_json(head, path):
        found = JSON
    if found is None:
        if path.suffix in WFDB_SUFFIXES and b"\0" in head:
            raise UserError(
                f"{path}: expected its WFDB header {path.with_suffix('.hea').name} beside it; there is none"
            )
        from beatwire.recordings.readers.listed import has_lists, read_listed  # with pandas, as the reader of tables

        if has_lists(path):
            return read_listed(path, fs, column, gain)
        return None
    read = reader_of(path.name, found)
    return read(path) if found in (EDF, BDF, DICOM, BIOPAC) else read(path, fs, column, gain)


def _unpacked(path: Path) -> bytes:
    """Return the first bytes in a gzip file; none if it is damaged, which its reader says."""
    try:
        with gzip.open(path) as file:
            return file.read(_UNPACKED_BYTES)
    except (OSError, EOFError, zlib.error):
        return b""


def _refused(path: Path, got: str) -> UserError:
    """Return the error of a file that is no recording."""
    return UserError(f"{path.name}: expected an ECG recording; got {got}")


def _last(path: Path) -> bytes:
    """Return the last byte of a file that is no blank."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return file.read().replace(b"\0", b"").rstrip()[-1:]


def _is_json(head: bytes, path: Path) -> bool:
    """Return True if a file is JSON, or was before it was cut off: not if an object is the head of a table."""
    plain = head.replace(b"\0", b"").removeprefix(b"\xff\xfe").removeprefix(b"\xfe\xff")  # UTF-16 too
    if not _JSON.match(plain):
        return False
    is_closed = _last(path) in (b"}", b"]")
    if is_closed or plain.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"[":
        return is_closed
    with path.open("rb") as file:
        begin = file.read(_LINE_BYTES)
    try:
        text = begin.decode(json.detect_encoding(begin), "replace").strip("\ufeff\0 \t\r\n")
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return True
    return text[end:].lstrip(", \t\r\n")[:1] in ("", "{")


def missing_package(found: Format) -> str | None:
    """Return the package that a format needs and that is not installed."""
    return found.package if found.package and find_spec(found.package) is None else None


def reader_of(where: str, found: Format) -> Callable[..., Signals | Recording]:
    """Return the function that reads a format; raise UserError if its package is not installed."""
    missing = missing_package(found)
    if missing is not None:
        got = "it is not installed (pip install 'beatwire[formats]')"
        raise UserError(f"{where}: expected {missing} to read {found.name}; {got}")
    module, _, function = found.reader.partition(":")
    reader: Callable[..., Signals | Recording] = getattr(
        import_module(f"beatwire.recordings.readers.{module}"), function
    )
    return reader
