"""Which reader a local path needs: that of WFDB records or that of text tables."""

from __future__ import annotations

from pathlib import Path

from beatwire.errors import UserError

_WFDB_SUFFIXES = (".hea", ".dat", ".atr", ".mat")


def wfdb_record(path: Path) -> Path | None:
    """Return the path of a WFDB record, without ``.hea``; None if the path is that of a text table.

    Raises
    ------
    UserError
        There is no such file, it is a folder, or the header of a record is missing.
    """
    if path.is_dir():
        records = sorted(p.stem for p in path.glob("*.hea"))
        hint = f"choose a record in it, for example {path / records[0]}" if records else "it holds no WFDB record"
        raise UserError(f"{path}: expected a CSV file or a WFDB record; got a folder ({hint})")
    if path.suffix in _WFDB_SUFFIXES and (path.suffix == ".hea" or path.with_suffix(".hea").exists()):
        return path.with_suffix("")
    header = path.with_name(path.name + ".hea")
    if header.exists() and not path.exists():
        return path
    if not path.exists():
        raise UserError(f"{path}: expected a CSV file or a WFDB record; neither this file nor {header.name} exists")
    if path.suffix in _WFDB_SUFFIXES:
        raise UserError(f"{path}: expected its WFDB header {path.with_suffix('.hea').name} beside it; there is none")
    return None
