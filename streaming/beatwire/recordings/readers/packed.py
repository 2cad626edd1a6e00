"""ZIP archives: NumPy's ``.npz``, an Excel workbook, or one recording that was packed.

Of a packed recording only what is in the archive is unpacked, into a temporary folder, and read as any file.
"""

import shutil
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from beatwire.errors import UserError, printable, reason
from beatwire.recordings.formats import open_file, reader_of
from beatwire.recordings.places import NUMPY, XLSX
from beatwire.recordings.record import Recording
from beatwire.recordings.signals import Signals, recording_of
from beatwire.recordings.text.recording import read_text

_SHOWN = 3
_MOST_BYTES = 1 << 32  # of what is unpacked
_IS_ENCRYPTED = 0x1
_OF_OFFICE = ("word/", "ppt/", "xl/", "mimetype", "content.xml")


def read_zip(path: Path, fs: float | None, column: str | None, gain: float | None) -> Recording | Signals:
    """Read an archive; parameters as for :func:`beatwire.recordings.read_recording`.

    Raises
    ------
    UserError
        It is damaged, holds several files or none, is too large or encrypted; or what it holds cannot be read.
    """
    where = path.name
    try:
        with zipfile.ZipFile(path) as archive:
            files = [one for one in archive.infolist() if not one.is_dir() and not _is_hidden(one.filename)]
            names = [one.filename for one in files]
            if names and all(name.endswith(".npy") for name in names):
                return reader_of(where, NUMPY)(path, fs, column, gain)
            if sum(one.file_size for one in files) > _MOST_BYTES or any(one.flag_bits & _IS_ENCRYPTED for one in files):
                raise UserError(f"{where}: expected at most {_MOST_BYTES >> 30} GiB in it, not encrypted: unpack it")
            if "xl/workbook.xml" in names:
                return reader_of(where, XLSX)(path, fs, column, gain)
            if any(name.startswith(_OF_OFFICE) for name in names):
                raise UserError(f"{where}: expected an ECG recording; got a document of Office: save its sheet as CSV")
            return _unpacked(archive, files, path, fs, column, gain)
    except UserError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, RuntimeError) as error:
        got = (str(error) or "a damaged one").splitlines()[0]
        raise UserError(f"{where}: expected a ZIP archive; got: {got}") from None


def _unpacked(
    archive: zipfile.ZipFile, files: list[zipfile.ZipInfo], path: Path, fs: float | None, column: str | None,
    gain: float | None,
) -> Recording:  # fmt: skip
    """Read the one recording of an archive: a file, or a WFDB record."""
    where, names = path.name, [one.filename for one in files]
    headers = [name for name in names if name.endswith(".hea")]
    folders = {PurePosixPath(name).parent for name in names}
    is_record = len(headers) == 1 and len(folders) == 1
    if (len(files) != 1 and not is_record) or any(name.lower().endswith(".zip") for name in names):
        shown = printable(", ".join(names[:_SHOWN])) + (", ..." if len(names) > _SHOWN else "")
        raise UserError(f"{where}: expected one recording in a ZIP archive; got {shown or 'nothing'}: unpack it")
    with TemporaryDirectory() as folder:
        for one in files:
            target = Path(folder) / PurePosixPath(one.filename.replace("\\", "/")).name
            try:
                with archive.open(one) as source, target.open("wb") as to:
                    shutil.copyfileobj(source, to)
            except OSError as error:
                raise UserError(f"{where}: expected space for a temporary file; {reason(error)}") from None
        name = PurePosixPath((headers if is_record else names)[0].replace("\\", "/")).name
        try:
            found = open_file(Path(folder) / name, fs, column, gain)
            if isinstance(found, Signals):  # read now: its file is gone then
                found = recording_of(found, fs, column, None, gain)
            recording = read_text(Path(folder) / name, fs, column, gain) if found is None else found
        except UserError as error:
            raise UserError(f"{where}: {error}") from None
    return replace(recording, notes=(f"read from {printable(name)} in it", *recording.notes))


def _is_hidden(name: str) -> bool:
    """Return True if a file is what a system adds: of macOS, or hidden."""
    return name.startswith("__MACOSX/") or PurePosixPath(name).name.startswith(".")
