"""The files that an analysis writes: their formats by their endings, checked before the work."""

from collections.abc import Iterable
from pathlib import Path

from beatwire.errors import UserError
from beatwire.outputs import check_output

_FORMATS = (
    "CSV (.csv, .csv.gz), Parquet (.parquet) or WFDB annotations (.atr, or 2-5 other letters that name no other format)"
)
# Endings that a user expects to select a format that is not written here; annotators have other names.
_OTHER_FORMATS = (
    "arrow avro bak bdf bin bmp bz cfg conf css dat db doc docx edf exe feather gif gz hdf hea htm html ini ipynb jpeg "
    "jpg js json jsonl log mat md nc npy npz ods odt orc pdf pickle pkl png ppt pptx ps py rst rtf sh sql svg tar tex "
    "tgz tif tiff tmp toml tsv txt wav webp xls xlsx xml xz yaml yml zip zst"
)


def check_out(path: str | Path, sources: Iterable[str | Path] = (), option: str = "--out") -> Path:
    """Return the path of a file of beats, with ``~`` expanded, if beats can be written to it, and alerts beside it.

    Raises
    ------
    UserError
        The ending selects no format, or one of the files cannot be written, as of
        :func:`beatwire.outputs.check_output`.
    """
    path = Path(path).expanduser()
    if format_of(path) is None:
        raise UserError(f"{option}: expected {_FORMATS}; got {path.name!r}")
    sources = list(sources)
    check_output(option, alerts_beside(path), sources=sources)
    return check_output(option, path, sources=sources)


def alerts_beside(path: str | Path) -> Path:
    """Return the file of the alerts that are written with the beats at ``path``."""
    return Path(f"{path}.alerts.jsonl")


def format_of(path: Path) -> str | None:
    """Return the format that the ending of a path selects; None if it selects none."""
    name = path.name.lower()
    if name.endswith((".csv", ".csv.gz")):
        return "csv"
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    ending = path.suffix[1:].lower()
    is_annotator = (
        2 <= len(ending) <= 5 and ending.isascii() and ending.isalpha() and ending not in _OTHER_FORMATS.split()
    )
    return "wfdb" if path.stem and is_annotator else None
