"""The files of a source on this machine: what a command must not write to.

In:  the name of a source. Out: paths, whether they exist or not
"""

from pathlib import Path
from urllib.parse import unquote

from beatwire.recordings.places import bids_json, is_address, is_synthetic

_LOCAL = ("file://", "local://")  # addresses of fsspec that are paths
_OF_A_RECORD = (".hea", ".dat", ".mat", ".atr")  # of a WFDB record, beside the files that its header names


def source_files(source: str | Path) -> list[Path]:
    """Return the files that reading a source may read.

    Parameters
    ----------
    source
        As for :func:`beatwire.recordings.read_recording`. Of ``synthetic`` and of an address elsewhere there are none.

    Returns
    -------
    list of Path
        The file itself; of a WFDB record its header, the signals and segments that the header names, and its reference
        annotations (.atr), which ``report`` shows; of a table of BIDS its JSON.
    """
    name = str(source)
    local = next((name[len(start) :] for start in _LOCAL if name.startswith(start)), None)
    if local is None and (is_address(name) or is_synthetic(name)):
        return []
    path = Path(unquote(local) if local is not None else name).expanduser()
    found: list[Path] = []
    for header in (path.with_name(path.name + ".hea"), path.with_suffix(".hea")) if path.name else ():
        if header.is_file():
            _add_record(header, found)
    beside = bids_json(path)
    return [path, *([beside] if beside else []), *found]


def _add_record(header: Path, found: list[Path]) -> None:
    """Add the files of a record, and of its segments."""
    if header in found:
        return
    found += [header, *(header.with_suffix(ending) for ending in _OF_A_RECORD[1:])]
    try:
        lines = header.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return
    rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    for name, *_ in rows[1:]:
        if name in ("~", ".", ".."):
            continue
        found.append(header.parent / name)
        segment = header.parent / f"{name}.hea"
        if segment.is_file():
            _add_record(segment, found)
