"""Files of beats (CSV, Parquet or WFDB annotations) and of alerts (JSON lines).

In:  columns of beats, at least ``sample``; a path whose ending selects the format
Out: ``x.csv[.gz]``, ``x.parquet``, or an annotation file such as ``x.atr``; ``<path>.alerts.jsonl``, one alert per line

The first columns are always ``sample, time_s, rr_ms, quality, score``; the other columns follow. A file of beats is
written completely or not at all: it is written to a temporary folder and then moved.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import wfdb

from beatwire.errors import UserError

FIRST_COLUMNS = ("sample", "time_s", "rr_ms", "quality", "score")
_DECIMALS = {
    "time_s": 6, "rr_ms": 3, "quality": 4, "score": 4, "rate_bpm": 3, "response": 4, "prematurity": 4,
    "map_x": 4, "map_y": 4, "expected_errors": 4,
}  # fmt: skip
_FORMATS = "CSV (.csv, .csv.gz), Parquet (.parquet) or WFDB annotations (.atr or other letters)"


def check_out(path: str | Path) -> Path:
    """Return the path of a file of beats, with ``~`` expanded, if beats can be written to it.

    Raises
    ------
    UserError
        The ending selects no format, the path is a folder, or its folder does not exist.
    """
    path = Path(path).expanduser()
    if _format(path) is None:
        raise UserError(f"--out: expected {_FORMATS}; got {path.name!r}")
    if path.is_dir() or not path.parent.is_dir():
        got = f"got the folder {str(path)!r}" if path.is_dir() else f"there is no folder {str(path.parent)!r}"
        raise UserError(f"--out: expected a file in an existing folder; {got}")
    return path


def write_beats(path: str | Path, beats: Mapping[str, Any] | pd.DataFrame, *, rate_hz: float) -> Path:
    """Write beats in the format that the ending of the path selects; return the path.

    Parameters
    ----------
    path
        ``x.csv``, ``x.csv.gz``, ``x.parquet``, or ``record.annotator``.
    beats
        Columns of equal length. ``sample`` is required. A missing ``time_s`` is computed from it; other missing first
        columns are empty. ``symbol`` is the WFDB symbol of each beat; without it, ``N``.
    rate_hz
        Sampling rate in Hz.

    Raises
    ------
    UserError
        The path cannot be written.
    """
    path = check_out(path)
    table = _table(beats, rate_hz)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".beatwire-") as folder:
            _write(Path(folder), path, table, rate_hz).replace(path)
    except OSError as error:
        raise UserError(f"--out: expected to write {path}; got: {error.strerror or error}") from None
    return path


def write_alerts(path: str | Path, alerts: Iterable[Mapping[str, Any]]) -> Path:
    """Write alerts to ``<path>.alerts.jsonl``, beside the beats at ``path``; return that path.

    Raises
    ------
    UserError
        The file cannot be written.
    """
    beside = Path(f"{Path(path).expanduser()}.alerts.jsonl")
    lines = [json.dumps(dict(alert), ensure_ascii=False, default=_plain) + "\n" for alert in alerts]
    try:
        beside.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise UserError(f"--out: expected to write {beside}; got: {error.strerror or error}") from None
    return beside


def _format(path: Path) -> str | None:
    """Return the format that the ending of a path selects; None if it selects none."""
    name = path.name.lower()
    if name.endswith((".csv", ".csv.gz")):
        return "csv"
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    other_formats = (".dat", ".hea", ".txt", ".json", ".jsonl", ".gz", ".tsv", ".xlsx", ".xls", ".npy", ".npz")
    ending = path.suffix[1:]
    if path.stem and ending.isascii() and ending.isalpha() and path.suffix.lower() not in other_formats:
        return "wfdb"
    return None


def _table(beats: Mapping[str, Any] | pd.DataFrame, rate_hz: float) -> pd.DataFrame:
    """Return the table of beats with its first columns in order."""
    given = pd.DataFrame(dict(beats))
    sample = given["sample"].to_numpy(np.int64) if len(given) else np.zeros(0, np.int64)
    columns: dict[str, Any] = {"sample": sample, "time_s": sample / rate_hz}
    for name in FIRST_COLUMNS[2:]:
        columns[name] = np.full(len(sample), np.nan)
    for name in given.columns:
        if name != "sample":
            columns[str(name)] = given[name].to_numpy()
    return pd.DataFrame(columns)


def _write(folder: Path, path: Path, table: pd.DataFrame, rate_hz: float) -> Path:
    """Write a table into a folder in the format of ``path``; return the file."""
    kind = _format(path)
    file = folder / "beats"
    if kind == "csv":
        rounded = table.round({name: places for name, places in _DECIMALS.items() if name in table})
        text = rounded.to_csv(index=False, lineterminator="\n")
        # without a time stamp, so that equal beats give equal files
        file.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix.lower() == ".gz" else text.encode())
    elif kind == "parquet":
        table.to_parquet(file, engine="pyarrow", index=False)
    else:
        file = _write_annotations(folder, path.suffix[1:], table, rate_hz)
    return file


def _write_annotations(folder: Path, annotator: str, table: pd.DataFrame, rate_hz: float) -> Path:
    """Write a WFDB annotation file into a folder; return the file."""
    file = folder / f"beats.{annotator}"
    if not len(table):
        file.write_bytes(b"\0\0")  # the end mark; ``wfdb`` refuses to write a file without annotations
        return file
    order = np.argsort(table["sample"].to_numpy(), kind="stable")
    symbols = table["symbol"].astype(str).tolist() if "symbol" in table else ["N"] * len(table)
    wfdb.wrann(
        "beats",
        annotator,
        table["sample"].to_numpy()[order],
        symbol=[symbols[k] for k in order],
        fs=rate_hz,
        write_dir=str(folder),
    )
    return file


def _plain(value: Any) -> Any:
    """Convert NumPy scalars and arrays for JSON."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"expected a value that JSON can represent; got {type(value).__name__}")
