"""Which reader a local path needs. The content decides, by its first bytes; then the ending; what is left is text.

In:  a path; rate, columns and gain that the user gives, for formats that state none
Out: :class:`Signals` of a file that describes them, a :class:`Recording` of arrays or a table, None for a text table
"""

import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from beatwire.errors import UserError
from beatwire.recordings.places import (
    ENDINGS,
    MATLAB,
    NUMPY,
    PARQUET,
    WFDB_SUFFIXES,
    Format,
    by_content,
    head_of,
    wfdb_record,
)
from beatwire.recordings.record import Recording
from beatwire.recordings.signals import Signals
from beatwire.recordings.wfdb.record import open_wfdb

# Formats that no maintained library reads: their first bytes after so many, and what their users can do.
_UNREADABLE = (
    (0, b"ISHNE", "an ISHNE Holter file, which beatwire does not read: convert it to EDF or WFDB"),
    (16, b"SCPECG", "an SCP-ECG file, which beatwire does not read: convert it to DICOM or WFDB"),
    (0, b"\x89HDF\r\n", "an HDF5 file, which beatwire does not read: save with MATLAB's option -v7, or as .npz"),
    (0, b"fLaC", "a FLAC file without its WFDB header"),
)

_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*(\{\s*["}]|\[\s*[\[{\]"])')
_TAIL_BYTES = 64


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
            raise UserError(f"{path.name}: expected an ECG recording; got {what}")
    found = by_content(head, path)
    if found is None and b"\0" in head:
        found = ENDINGS.get(path.suffix.lower())
    if found is None and _JSON.match(head) and _last(path) in (b"}", b"]"):
        got = "a JSON document, which beatwire does not read: save its samples as CSV"
        raise UserError(f"{path.name}: expected an ECG recording; got {got}")
    if found is None:
        if path.suffix in WFDB_SUFFIXES and b"\0" in head:
            raise UserError(
                f"{path}: expected its WFDB header {path.with_suffix('.hea').name} beside it; there is none"
            )
        return None
    read = _reader(path.name, found)
    return read(path, fs, column, gain) if found in (PARQUET, NUMPY, MATLAB) else read(path)


def _last(path: Path) -> bytes:
    """Return the last byte of a file that is no blank."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _TAIL_BYTES))
        return file.read().rstrip()[-1:]


def missing_package(found: Format) -> str | None:
    """Return the package that a format needs and that is not installed."""
    return found.package if found.package and find_spec(found.package) is None else None


def _reader(where: str, found: Format) -> Callable[..., Signals | Recording]:
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
