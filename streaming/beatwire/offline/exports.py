"""Beats to a file: CSV, Parquet, or a WFDB annotation file; alerts in a file beside it.

In:  columns of beats, at least ``sample``; an output path whose ending says the format.
Out: ``x.csv[.gz]``, ``x.parquet``, or an annotation file such as ``x.atr`` that ``wfdb`` reads;
     ``<path>.alerts.jsonl``, one alert a line.

The first columns are always ``sample, time_s, rr_ms, quality, score``, then what else is known of
a beat. A file appears whole or not at all: it is written beside its place and then moved there.
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
    """Say early whether beats can be written to a path.

    Raises
    ------
    UserError
        an ending that names no format, or a folder that does not exist.
    """
    path = Path(path).expanduser()
    if _format(path) is None:
        raise UserError(f"--out: expected {_FORMATS}; got {path.name!r}")
    if path.is_dir() or not path.parent.is_dir():
        what = "a folder" if path.is_dir() else f"no folder {str(path.parent)!r}"
        raise UserError(f"--out: expected a file in a folder that exists; got {what}")
    return path


def write_beats(path: str | Path, beats: Mapping[str, Any] | pd.DataFrame, *, rate_hz: float) -> Path:
    """Write beats in the format that the path's ending names.

    Parameters
    ----------
    path
        ``x.csv``, ``x.csv.gz``, ``x.parquet``, or ``record.annotator``.
    beats
        columns of one length. ``sample`` is needed; ``time_s`` follows from it where it is not
        given; other first columns that are not given are empty. ``symbol``, where given, is the
        WFDB symbol of each beat, ``N`` otherwise.
    rate_hz
        samples a second.

    Raises
    ------
    UserError
        the path cannot be written.
    """
    path = check_out(path)
    table = _table(beats, rate_hz)
    try:
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".beatwire-") as folder:
            made = _write(Path(folder), path, table, rate_hz)
            made.replace(path)
    except OSError as error:
        raise UserError(f"--out: expected to write {path}; {error.strerror or error}") from None
    return path


def write_alerts(path: str | Path, alerts: Iterable[Mapping[str, Any]]) -> Path:
    """Write alerts beside the beats at ``path``, one JSON object a line; return where.

    Raises
    ------
    UserError
        That file cannot be written.
    """
    beside = Path(f"{Path(path).expanduser()}.alerts.jsonl")
    lines = [json.dumps(dict(alert), ensure_ascii=False, default=_plain) + "\n" for alert in alerts]
    try:
        beside.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise UserError(f"--out: expected to write {beside}; {error.strerror or error}") from None
    return beside


def _format(path: Path) -> str | None:
    name = path.name.lower()
    if name.endswith((".csv", ".csv.gz")):
        return "csv"
    if name.endswith((".parquet", ".pq")):
        return "parquet"
    known_others = (".dat", ".hea", ".txt", ".json", ".jsonl", ".gz", ".tsv", ".xlsx", ".xls", ".npy", ".npz")
    ending = path.suffix[1:]
    if path.stem and ending.isascii() and ending.isalpha() and path.suffix.lower() not in known_others:
        return "wfdb"
    return None


def _table(beats: Mapping[str, Any] | pd.DataFrame, rate_hz: float) -> pd.DataFrame:
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
    kind = _format(path)
    made = folder / "beats"
    if kind == "csv":
        rounded = table.round({name: places for name, places in _DECIMALS.items() if name in table})
        text = rounded.to_csv(index=False, lineterminator="\n")
        made.write_bytes(gzip.compress(text.encode(), mtime=0) if path.suffix.lower() == ".gz" else text.encode())
    elif kind == "parquet":
        table.to_parquet(made, engine="pyarrow", index=False)
    else:
        made = _write_annotations(folder, path.suffix[1:], table, rate_hz)
    return made


def _write_annotations(folder: Path, annotator: str, table: pd.DataFrame, rate_hz: float) -> Path:
    made = folder / f"beats.{annotator}"
    if not len(table):
        made.write_bytes(b"\0\0")  # the end mark, which ``wfdb`` does not write without an annotation
        return made
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
    return made


def _plain(value: Any) -> Any:
    """Turn NumPy scalars and arrays into what JSON knows."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"expected something that JSON knows; got {type(value).__name__}")
