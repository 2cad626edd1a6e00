"""Recordings at an address that fsspec can open: ``s3://``, ``gs://``, ``https://``, ``memory://`` and others.

The file, and for a WFDB record its header with the segments and signal files that it names, are copied into a temporary
folder.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import fsspec

from beatwire.errors import UserError
from beatwire.recordings.places import ENDINGS, WFDB_SUFFIXES
from beatwire.recordings.wfdb.header import beside, read_header

_TEXT = (".csv", ".tsv", ".txt", ".gz")


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

        def copy(remote: str, target: Path) -> Path:
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                files.get_file(remote, str(target))
            except FileNotFoundError:
                raise UserError(f"{address}: expected the file {PurePosixPath(remote).name}; there is none") from None
            except Exception as error:  # of any protocol
                first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
                raise UserError(f"{address}: expected a file that can be read; got: {first_line}") from None
            return target

        suffix = PurePosixPath(name).suffix
        if suffix in WFDB_SUFFIXES and (suffix != ".mat" or files.exists(f"{path.removesuffix(suffix)}.hea")):
            stem = path.removesuffix(suffix)
        elif not suffix or (suffix.lower() not in (*_TEXT, *ENDINGS) and files.exists(f"{path}.hea")):
            stem = path
        else:
            yield copy(path, local)
            return
        parent = f"{stem.rpartition('/')[0]}/" if "/" in stem else ""
        header = copy(f"{stem}.hea", local.with_name(f"{PurePosixPath(stem).name}.hea"))
        for file_name in _files_of(header):
            target = copy(parent + file_name, beside(header, file_name))
            if target.suffix == ".hea":
                inside = f"{PurePosixPath(file_name).parent}/".removeprefix("./")
                for more in _files_of(target):
                    copy(parent + inside + more, beside(target, more))
        yield header.with_suffix("")


def _files_of(header: Path) -> list[str]:
    """Return the names of the files that a WFDB header needs; one that cannot be read is reported by its reader."""
    try:
        found = read_header(header)
    except UserError:
        return []
    segments = {f"{name}.hea" for name, _ in found.segments if name != "~"}
    return sorted(segments | {line.file for line in found.signals if line.file != "~"})
