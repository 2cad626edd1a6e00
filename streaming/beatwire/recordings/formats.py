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
    GZIP,
    ISHNE,
    JSON,
    SHORT_BYTES,
    WFDB_SUFFIXES,
    Format,
    by_content,
    head_of,
    no_header,
    wfdb_record,
)
from beatwire.recordings.record import Recording
from beatwire.recordings.signals import Signals
from beatwire.recordings.unreadable import HEAD_BYTES, PACKED, markup, plain, unreadable
from beatwire.recordings.wfdb.record import open_wfdb

_JSON = re.compile(rb'\s*(\{\s*["}]|\[\s*[\[{\]"]|\[\s*[\r\n]\s*-?\d)')
_TAIL_BYTES = 64
_LINE_BYTES = 1 << 20


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
    begin = head_of(path, HEAD_BYTES)
    head = begin[:SHORT_BYTES]
    if what := unreadable(head):
        raise _refused(path, what)
    inner = _unpacked(path) if head[:2] == GZIP else b""
    if what := unreadable(inner) or markup(inner, b""):
        raise _refused(path, what)
    if by_content(inner[:SHORT_BYTES]) or _JSON.match(plain(inner)):
        raise _refused(path, PACKED)
    found = by_content(head)
    if found is None and (what := markup(begin, _last(path))):
        raise _refused(path, what)
    if found is None and b"\0" in head:
        found = ENDINGS.get(path.suffix.lower())
    if found is None and _is_json(head, path):
        found = JSON
    if found is None:
        if path.suffix in WFDB_SUFFIXES and b"\0" in head:
            raise no_header(path)
        from beatwire.recordings.readers.bids import read_bids, sidecar_of
        from beatwire.recordings.readers.listed import has_lists, read_listed  # with pandas, as the reader of tables

        if has_lists(path):
            return read_listed(path, fs, column, gain)
        if (beside := sidecar_of(path)) is not None:
            return read_bids(path, beside, fs, column, gain)
        return None
    read = reader_of(path.name, found)
    return read(path) if found in (EDF, BDF, DICOM, BIOPAC, ISHNE) else read(path, fs, column, gain)


def _unpacked(path: Path) -> bytes:
    """Return the first bytes in a gzip file; none if it is damaged, which its reader says."""
    try:
        with gzip.open(path) as file:
            return file.read(HEAD_BYTES)
    except (OSError, EOFError, zlib.error):
        return b""


def _refused(path: Path, got: str) -> UserError:
    """Return the error of a file that is no recording."""
    return UserError(f"{path.name}: expected an ECG recording; got {got}")


def _last(path: Path) -> bytes:
    """Return the last byte of a file that is no blank."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return file.read().replace(b"\0", b"").rstrip(b" \t\r\n\x1a")[-1:]


def _is_json(head: bytes, path: Path) -> bool:
    """Return True if a file is JSON, or was before it was cut off: not if an object is the head of a table."""
    text_head = plain(head).lstrip()
    if not _JSON.match(text_head):
        return False
    is_closed = _last(path) in (b"}", b"]")
    if is_closed or text_head[:1] == b"[":
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
