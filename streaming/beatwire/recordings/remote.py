"""Recordings at an address that fsspec can open: ``s3://``, ``gs://``, ``https://``, ``memory://`` and others.

The file, and for a WFDB record its header with the signal files that it names, are copied into a temporary folder.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import fsspec
import wfdb

from beatwire.errors import UserError

_ADDRESS = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+(::[A-Za-z][A-Za-z0-9+.-]*)*://")
_TABLES = (".csv", ".tsv", ".txt", ".gz")


def is_address(source: str) -> bool:
    """Return True if a source is an address and not the path of a local file.

    >>> is_address("s3://bucket/100"), is_address("mitdb/100"), is_address("C:/ecg.csv")
    (True, False, False)
    """
    return _ADDRESS.match(source) is not None


@contextmanager
def fetched(address: str) -> Iterator[Path]:
    """Copy the files of a recording into a temporary folder; yield the path of the table or WFDB record.

    Raises
    ------
    UserError
        The protocol is unknown or its package is missing, or a file does not exist or cannot be read.
    """
    try:
        files, path = fsspec.core.url_to_fs(address)
    except (ValueError, ImportError) as error:
        raise UserError(f"{address}: expected an address that fsspec can open; {error}") from None
    name = PurePosixPath(path).name
    with tempfile.TemporaryDirectory(prefix="beatwire-") as folder:
        local = Path(folder) / name

        def copy(remote: str) -> Path:
            target = Path(folder) / PurePosixPath(remote).name
            try:
                files.get_file(remote, str(target))
            except FileNotFoundError:
                raise UserError(f"{address}: expected the file {PurePosixPath(remote).name}; there is none") from None
            except Exception as error:  # of any protocol
                first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
                raise UserError(f"{address}: expected a file that can be read; got: {first_line}") from None
            return target

        if name.lower().endswith(_TABLES):
            yield copy(path)
            return
        stem = re.sub(r"\.(hea|dat|atr|mat)$", "", path)
        header = copy(f"{stem}.hea")
        for file_name in _signal_files(header):
            copy(f"{stem.rpartition('/')[0]}/{file_name}" if "/" in stem else file_name)
        yield local.with_name(header.stem)


def _signal_files(header: Path) -> list[str]:
    """Return the names of the signal files of a WFDB header; a header that cannot be read is reported by its reader."""
    try:
        record = wfdb.rdheader(str(header.with_suffix("")))
    except Exception:
        return []
    return sorted({name for name in getattr(record, "file_name", None) or [] if name != "~"})
