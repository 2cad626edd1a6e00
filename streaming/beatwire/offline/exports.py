"""Files of beats (CSV, Parquet or WFDB annotations) and of alerts (JSON lines).

In:  columns of beats, at least ``sample``; a path whose ending selects the format
Out: ``x.csv[.gz]``, ``x.parquet``, or an annotation file such as ``x.atr``; ``<path>.alerts.jsonl`` or another file,
     one alert per line, ``wire/schemas/alert.schema.json``

The first columns are always ``sample, time_s, rr_ms, quality, score``; the other columns follow. A file of beats is
written completely or not at all: it is written to a temporary folder and then moved.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import wfdb

from beatwire.errors import UserError
from beatwire.wire.alerts import encode_alert

FIRST_COLUMNS = ("sample", "time_s", "rr_ms", "quality", "score")
ALERT_COLUMNS = (
    "rule", "priority", "state", "onset", "onset_s", "decided", "decided_s", "value", "limit", "text", "technical",
    "id", "stream", "session", "onset_us", "decided_us", "model",
)  # fmt: skip
_DECIMALS = {
    "time_s": 6, "rr_ms": 3, "quality": 4, "score": 4, "rate_bpm": 3, "response": 4, "prematurity": 4,
    "map_x": 4, "map_y": 4, "expected_errors": 4, "class_probability": 4,
}  # fmt: skip
_FORMATS = (
    "CSV (.csv, .csv.gz), Parquet (.parquet) or WFDB annotations (.atr, or 2-5 other letters that name no other format)"
)
# Endings that a user expects to select a format that is not written here; annotators have other names.
_OTHER_FORMATS = (
    "arrow avro bak bdf bin bmp bz cfg conf css dat db doc docx edf exe feather gif gz hdf hea htm html ini ipynb jpeg "
    "jpg js json jsonl log mat md nc npy npz ods odt orc pdf pickle pkl png ppt pptx ps py rst rtf sh sql svg tar tex "
    "tgz tif tiff tmp toml tsv txt wav webp xls xlsx xml xz yaml yml zip zst"
)


def check_out(path: str | Path) -> Path:
    """Return the path of a file of beats, with ``~`` expanded, if beats can be written to it.

    Raises
    ------
    UserError
        The ending selects no format, the path is a folder, or its folder does not exist or cannot be written to.
    """
    path = Path(path).expanduser()
    if _format(path) is None:
        raise UserError(f"--out: expected {_FORMATS}; got {path.name!r}")
    return check_file("--out", path)


def check_file(option: str, path: str | Path) -> Path:
    """Return the path of an output file, with ``~`` expanded, if it can be written: before the work, not after it.

    Raises
    ------
    UserError
        The path is a folder, or its folder does not exist or cannot be written to; the message begins with `option`.
    """
    path = Path(path).expanduser()
    if path.is_dir() or not path.parent.is_dir():
        got = f"got the folder {str(path)!r}" if path.is_dir() else f"there is no folder {str(path.parent)!r}"
        raise UserError(f"{option}: expected a file in an existing folder; {got}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UserError(f"{option}: expected a file that can be written; got {str(path)!r} without permission to write")
    return path


def write_beats(path: str | Path, beats: Mapping[str, Any] | pd.DataFrame, *, rate_hz: float) -> Path:
    """Write beats in the format that the ending of the path selects; return the path.

    Parameters
    ----------
    path
        ``x.csv``, ``x.csv.gz``, ``x.parquet``, or ``record.annotator``.
    beats
        Columns of equal length. ``sample`` is required. A missing ``time_s`` is computed from it; other missing first
        columns are empty. ``symbol`` is the WFDB symbol of each beat; without it, ``beat_class`` is, and without
        both, ``N``.
    rate_hz
        Sampling rate in Hz.

    Raises
    ------
    UserError
        The path cannot be written.
    """
    path = check_out(path)
    table = beats_table(beats, rate_hz)
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
    return write_alert_lines(f"{path}.alerts.jsonl", alerts, "--out")


def write_alert_lines(path: str | Path, alerts: Iterable[Mapping[str, Any]], option: str = "--alerts") -> Path:
    """Write alerts to a file, one line of JSON each; return its path, with ``~`` expanded.

    Parameters
    ----------
    path
        The file.
    alerts
        Transitions in order, each with the name of the model: ``wire/schemas/alert.schema.json``.
    option
        What an error message begins with.

    Raises
    ------
    UserError
        The file cannot be written.
    """
    path = Path(path).expanduser()
    lines = [encode_alert(alert) + "\n" for alert in alerts]
    try:
        path.write_text("".join(lines), encoding="utf-8")
    except OSError as error:
        raise UserError(f"{option}: expected to write {path}; got: {error.strerror or error}") from None
    return path


def _format(path: Path) -> str | None:
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


def beats_table(beats: Mapping[str, Any] | pd.DataFrame, rate_hz: float) -> pd.DataFrame:
    """Return the table of beats that a file holds: its first columns in order, then the others.

    Parameters
    ----------
    beats, rate_hz
        As for :func:`write_beats`.
    """
    given = pd.DataFrame(dict(beats))
    sample = given["sample"].to_numpy(np.int64) if len(given) else np.zeros(0, np.int64)
    columns: dict[str, Any] = {"sample": sample, "time_s": sample / rate_hz}
    for name in FIRST_COLUMNS[2:]:
        columns[name] = np.full(len(sample), np.nan)
    for name in given.columns:
        if name != "sample":
            columns[str(name)] = given[name].to_numpy()
    return pd.DataFrame(columns)


def alerts_table(alerts: Iterable[Mapping[str, Any]], rate_hz: float) -> pd.DataFrame:
    """Return alert transitions as a table, with ``onset`` and ``decided`` in seconds too."""
    table = pd.DataFrame(list(alerts), columns=[name for name in ALERT_COLUMNS if not name.endswith("_s")])
    for name in ("onset", "decided"):
        table[f"{name}_s"] = table[name].astype(np.float64) / rate_hz
    return table[list(ALERT_COLUMNS)]


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
    named = next((name for name in ("symbol", "beat_class") if name in table), None)
    symbols = ["N"] * len(table) if named is None else table[named].astype(str).tolist()
    wfdb.wrann(
        "beats",
        annotator,
        table["sample"].to_numpy()[order],
        symbol=[symbols[k] for k in order],
        fs=rate_hz,
        write_dir=str(folder),
    )
    return file
