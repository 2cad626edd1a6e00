"""Files of beats (CSV, Parquet or WFDB annotations) and of alerts (JSON lines).

In:  columns of beats, at least ``sample``; a path whose ending selects the format
Out: ``x.csv[.gz]``, ``x.parquet``, or an annotation file such as ``x.atr``; ``<path>.alerts.jsonl`` or another file,
     one alert per line, ``wire/schemas/alert.schema.json``

The first columns are always ``sample, time_s, rr_ms, quality, score``; the other columns follow. A file is written
completely or not at all (``beatwire.outputs``).
"""

import gzip
import io
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import wfdb

from beatwire.offline.results.beat import DECIMALS
from beatwire.offline.results.files import alerts_beside, check_out, format_of
from beatwire.outputs import write_output
from beatwire.wire.alerts import encode_alert

FIRST_COLUMNS = ("sample", "time_s", "rr_ms", "quality", "score")
ALERT_COLUMNS = (
    "rule", "priority", "state", "onset", "onset_s", "decided", "decided_s", "value", "limit", "text", "technical",
    "id", "stream", "session", "onset_us", "decided_us", "model",
)  # fmt: skip
_ALERT_TYPES = {
    **dict.fromkeys(("onset", "decided", "session", "onset_us", "decided_us"), np.int64),
    **dict.fromkeys(("value", "limit"), np.float64),
    "technical": np.bool_,
}


def write_beats(
    path: str | Path, beats: Mapping[str, Any] | pd.DataFrame, *, rate_hz: float, option: str = "--out"
) -> Path:
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
    option
        What an error message begins with.

    Raises
    ------
    UserError
        The path cannot be written.
    """
    path = check_out(path, option=option)
    return write_output(option, path, _content(path, beats_table(beats, rate_hz), rate_hz))


def write_alerts(path: str | Path, alerts: Iterable[Mapping[str, Any]], option: str = "--out") -> Path:
    """Write alerts to ``<path>.alerts.jsonl``, beside the beats at ``path``; return that path.

    Raises
    ------
    UserError
        The file cannot be written.
    """
    return write_alert_lines(alerts_beside(path), alerts, option)


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
    return write_output(option, path, "".join(encode_alert(alert) + "\n" for alert in alerts))


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
    table = table.astype(_ALERT_TYPES)  # a table without an alert, or with a value that is not known, has them too
    for name in ("onset", "decided"):
        table[f"{name}_s"] = table[name].astype(np.float64) / rate_hz
    return table[list(ALERT_COLUMNS)]


def _content(path: Path, table: pd.DataFrame, rate_hz: float) -> bytes:
    """Return a table in the format of ``path``."""
    kind = format_of(path)
    if kind == "csv":
        rounded = table.round({name: places for name, places in DECIMALS.items() if name in table})
        text = rounded.to_csv(index=False, lineterminator="\n").encode()
        # without a time stamp, so that equal beats give equal files
        return gzip.compress(text, mtime=0) if path.suffix.lower() == ".gz" else text
    if kind == "parquet":
        buffer = io.BytesIO()
        table.to_parquet(buffer, engine="pyarrow", index=False)
        return buffer.getvalue()
    return _annotations(path.suffix[1:], table, rate_hz)


def _annotations(annotator: str, table: pd.DataFrame, rate_hz: float) -> bytes:
    """Return a WFDB annotation file."""
    if not len(table):
        return b"\0\0"  # the end mark; ``wfdb`` refuses to write a file without annotations
    order = np.argsort(table["sample"].to_numpy(), kind="stable")
    named = next((name for name in ("symbol", "beat_class") if name in table), None)
    symbols = ["N"] * len(table) if named is None else table[named].astype(str).tolist()
    with tempfile.TemporaryDirectory(prefix="beatwire-") as folder:
        wfdb.wrann(
            "beats",
            annotator,
            table["sample"].to_numpy()[order],
            symbol=[symbols[k] for k in order],
            fs=rate_hz,
            write_dir=folder,
        )
        return (Path(folder) / f"beats.{annotator}").read_bytes()
