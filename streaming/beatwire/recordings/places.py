"""Where a source is, and what kind of file: found before anything that takes time to load.

In:  a path or an address
Out: the path of a WFDB record, the format that the first bytes of a file show; or one line that says what is wrong
"""

import re
import struct
from pathlib import Path
from typing import Any, NamedTuple

from beatwire.errors import UserError, printable, reason
from beatwire.recordings.download import download_hint
from beatwire.recordings.unreadable import markup, unreadable
from beatwire.recordings.wfdb.header import read_header

WFDB_SUFFIXES = (".hea", ".dat", ".atr", ".mat")


class Format(NamedTuple):
    """A format with a reader of its own.

    name      as its users call it
    reader    module in ``beatwire.recordings.readers``, and function in it
    package   that the reader imports; empty for what is always installed
    """

    name: str
    reader: str
    package: str = ""


EDF = Format("EDF, EDF+", "edf:read", "edfio")
BDF = Format("BDF", "edf:read", "edfio")
DICOM = Format("DICOM", "dicom:read", "pydicom")
BIOPAC = Format("BIOPAC", "biopac:read", "bioread")
ISHNE = Format("ISHNE Holter", "ishne:read")
PARQUET = Format("Parquet", "parquet:read_parquet")
ARROW = Format("Arrow, Feather", "parquet:read_arrow")
JSON = Format("JSON", "documents:read_json")
HDF5 = Format("HDF5, MATLAB 7.3", "hdf5:read_hdf5", "h5py")
XLSX = Format("Excel", "sheets:read_xlsx", "openpyxl")
ZIP = Format("ZIP", "packed:read_zip")
NUMPY = Format(".npy, .npz", "arrays:read_numpy")
MATLAB = Format(".mat", "arrays:read_matlab")
FORMATS = (EDF, BDF, DICOM, BIOPAC, ISHNE, PARQUET, ARROW, JSON, NUMPY, MATLAB, HDF5, XLSX, ZIP)

ENDINGS = {
    ".edf": EDF, ".bdf": BDF, ".dcm": DICOM, ".dicom": DICOM, ".acq": BIOPAC, ".parquet": PARQUET, ".npy": NUMPY,
    ".feather": ARROW, ".arrow": ARROW, ".npz": NUMPY, ".mat": MATLAB,
}  # fmt: skip
_TABLE = re.compile(rb"(?=.*\d)(?:[\t -~]*[\r\n])+[\t -~]*", re.DOTALL)  # lines of ASCII, with a digit
_BEGIN = re.compile(rb"(\d\d\D\d\d\D\d\d){2}")  # date and time in a header of EDF: no table has them at that place
GZIP = b"\x1f\x8b"
SHORT_BYTES = 256  # by which the formats that are read are told
_SHOWN = 200  # letters of a path in an error
_BIDS = re.compile(r"(.*_(?:physio|stim|ecg))\.tsv(?:\.gz)?", re.IGNORECASE)
_ADDRESS = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+(::[A-Za-z][A-Za-z0-9+.-]*)*://")


def is_synthetic(source: str) -> bool:
    """Return True if a source is a synthetic recording."""
    return source == "synthetic" or source.startswith("synthetic:")


def is_address(source: str) -> bool:
    """Return True if a source is an address and not the path of a local file.

    >>> is_address("s3://bucket/100"), is_address("mitdb/100"), is_address("C:/ecg.csv")
    (True, False, False)
    """
    return _ADDRESS.match(source) is not None


def called(source: Any, name: str) -> str:
    """Return what notes call a source, as errors do: its file; of what is no file its name.

    >>> called("recordings/ecg.csv", "ecg"), called("synthetic:seed=1", "synthetic"), called([1, 2], "array")
    ('ecg.csv', 'synthetic', 'array')
    """
    is_file = isinstance(source, str | Path) and not is_synthetic(str(source))
    return (Path(source).name if is_file else "") or name


def bids_json(path: Path) -> Path | None:
    """Return the path of the JSON that BIDS has beside a table; None if a path is not that of such a table.

    >>> bids_json(Path("sub-01_physio.tsv.gz")), bids_json(Path("sub-01_physio.csv"))
    (PosixPath('sub-01_physio.json'), None)
    """
    found = _BIDS.fullmatch(path.name)
    return path.with_name(f"{found[1]}.json") if found else None


def check_folder(folder: Path) -> None:
    """Raise UserError if a folder of records does not exist."""
    if not folder.is_dir():
        raise UserError(f"{folder}: expected a folder of WFDB records; there is no such folder{download_hint(folder)}")


def check_name(path: Path) -> None:
    """Raise UserError if the system refuses to look for a path: it is too long, or in a folder that is not open."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return  # it does not exist
    except OSError as error:
        raise UserError(
            f"{printable(str(path))[:_SHOWN]}: expected a path that can be looked for; got: {reason(error)}"
        ) from None


def wfdb_record(path: Path) -> Path | None:
    """Return the path of a WFDB record, without ``.hea``; None if the path is that of another file.

    Raises
    ------
    UserError
        There is no such file, it is a folder, a pipe or a device, or the header of a record is missing.
    """
    check_name(path)
    if path.is_dir():
        records = sorted(p.stem for p in path.glob("*.hea"))
        hint = f"choose a record in it, for example {path / records[0]}" if records else "it holds no WFDB record"
        raise UserError(f"{path}: expected a recording or a WFDB record; got a folder ({hint})")
    if path.is_fifo() or path.is_socket() or path.is_block_device() or path.is_char_device():
        raise UserError(f"{path}: expected a file, which is read twice; got a pipe or a device: save to a file first")
    header = path.with_name(f"{path.name}.hea")
    if not path.exists():
        if path.suffix == ".hea" or (path.suffix in WFDB_SUFFIXES and path.with_suffix(".hea").exists()):
            return path.with_suffix("")
        if header.exists():
            return path
        raise UserError(
            f"{path}: expected a recording or a WFDB record; neither this file nor {header.name} exists"
            f"{download_hint(path.parent)}"
        )
    if path.suffix == ".hea":
        return path.with_suffix("")
    beside = path.with_suffix(".hea")
    if beside.exists() and (path.suffix in WFDB_SUFFIXES or _names(beside, path.name)):
        return path.with_suffix("")
    if path.suffix in (".dat", ".atr") and not beside.exists() and _may_be_signal(head_of(path)):
        raise no_header(path)
    return None


def no_header(path: Path) -> UserError:
    """Return the error of a file that may be one of a WFDB record, without its header."""
    header = path.with_suffix(".hea").name
    raw = "of raw samples, save an array as .npy"
    return UserError(f"{path}: expected its WFDB header {header} beside it; there is none ({raw})")


def _may_be_signal(head: bytes) -> bool:
    """Return True if a file may be one of a WFDB record by its first bytes: other programs write tables as .dat."""
    is_other = head[:2] == GZIP or by_content(head) or unreadable(head) or markup(head, b"")
    return not is_other and _TABLE.fullmatch(head) is None


def _names(header: Path, file: str) -> bool:
    """Return True if a header names a file as one of its signal files."""
    try:
        return any(line.file == file for line in read_header(header).signals)
    except UserError:
        return False


def head_of(path: Path, count: int = SHORT_BYTES) -> bytes:
    """Return so many first bytes of a file; raise UserError if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(count)
    except OSError as error:
        raise UserError(f"{path}: expected a file that can be read; {reason(error)}") from None


def by_content(head: bytes) -> Format | None:
    """Return the format that the first bytes of a file show; None if they show none of these."""
    length = head[184:192].strip(b" \0").partition(b"\0")[0].rstrip()  # of the header of EDF
    if head[:8].rstrip(b" \0") == b"0" and len(head) == SHORT_BYTES and length.isdigit() and (
        b"\n" not in head or _BEGIN.fullmatch(head[168:184])
    ):  # fmt: skip
        return EDF
    if head[:8] == b"\xffBIOSEMI":
        return BDF
    if head[128:132] == b"DICM" or _is_dicom_without_preamble(head):
        return DICOM
    if head[:5] == b"ISHNE":
        return ISHNE
    if head[:4] == b"PAR1":
        return PARQUET
    if head[:6] == b"ARROW1" or (head[:4] == b"\xff\xff\xff\xff" and b"\0\0" in head[6:8]):
        return ARROW
    if head[:6] == b"\x93NUMPY":
        return NUMPY
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return ZIP
    if head[:8] == b"\x89HDF\r\n\x1a\n" or head[:19] == b"MATLAB 7.3 MAT-file":
        return HDF5
    if head[:19] == b"MATLAB 5.0 MAT-file" or _is_matlab_4(head):
        return MATLAB
    if _is_biopac(head):
        return BIOPAC
    return None


def _is_dicom_without_preamble(head: bytes) -> bool:
    """Return True if a file begins with an element of DICOM's groups 2 or 8, in one of its two usual encodings."""
    if len(head) < 8 or head[:2] not in (b"\x02\0", b"\x08\0"):
        return False
    return head[4:6] in (b"UL", b"UI", b"CS", b"OB", b"SH", b"LO", b"DA", b"TM") or (
        head[2:4] in (b"\0\0", b"\x05\0", b"\x08\0", b"\x16\0") and int.from_bytes(head[4:8], "little") < 128
    )


def _is_matlab_4(head: bytes) -> bool:
    """Return True if a file begins with the header of a numeric matrix of MATLAB 4, which has no magic number."""
    if len(head) < 24:
        return False
    kind, rows, columns, imaginary, name = struct.unpack("<5i", head[:20])
    is_kind = kind in (0, 10, 20, 30, 40, 50)
    return bool(
        is_kind and rows > 0 and columns > 0 and imaginary in (0, 1) and 1 < name <= 64
        and head[20 : 19 + name].isascii() and head[20:21].isalpha() and head[19 + name : 20 + name] == b"\0"
    )  # fmt: skip


def _is_biopac(head: bytes) -> bool:
    """Return True if a file begins like one of AcqKnowledge: an unused number and a version of 30 to 400."""
    if len(head) < SHORT_BYTES:
        return False
    for order in "<>":
        version, length, channels = struct.unpack(f"{order}iih", head[2:12])
        if 30 <= version <= 400 and 0 < length < 100_000 and 0 < channels <= 512:
            return True
    return False
