"""Recordings: a CSV file, a WFDB record or ``synthetic`` becomes a :class:`Recording`.

In:  the name of a source, and the options of the user: rate, columns, lead, gain
Out: samples, int16 ``[leads, n]`` on one scale, -32768 where there is no value

A source that cannot be used raises ``UserError`` here, before anything else runs: one line with the file, the line or
column, the expected and the actual value.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.record import MAX_LEADS, MAX_RATE_HZ, MIN_RATE_HZ, NO_VALUE, Recording
from beatwire.recordings.synthetic.person import synthetic_recording
from beatwire.recordings.text import read_text
from beatwire.recordings.wfdb import read_wfdb

__all__ = ["MAX_LEADS", "MAX_RATE_HZ", "MIN_RATE_HZ", "NO_VALUE", "Recording", "read_recording"]

_WFDB_SUFFIXES = (".hea", ".dat", ".atr", ".mat")


def read_recording(
    source: str | Path,
    *,
    fs: float | None = None,
    column: str | None = None,
    lead: str | int | None = None,
    gain: float | None = None,
    xp: Any = np,
) -> Recording:
    """Read a whole recording.

    Parameters
    ----------
    source
        A CSV file (comma, semicolon, tab or blanks; gzip too), a WFDB record (with or without ``.hea``), or
        ``synthetic[:key=value,...]``.
    fs
        Sampling rate in Hz. Required for a CSV file without a time column; otherwise it must agree with the source
        within 1 %.
    column
        The columns or leads to read: names, or numbers counted from 0, separated by commas. None: all leads.
    lead
        The lead to keep of those: ``first``, a name, or a number counted from 0. None or ``all``: all.
    gain
        Units per millivolt of the numbers in a CSV file. None: the unit in its header.
    xp
        NumPy, or CuPy: then a CSV file of numbers is parsed on the GPU and its samples stay there.

    Raises
    ------
    UserError
        The source, or an option, cannot be used.
    """
    name = str(source)
    if fs is not None and not MIN_RATE_HZ <= fs <= MAX_RATE_HZ:
        raise UserError(f"--fs: expected {MIN_RATE_HZ:g}-{MAX_RATE_HZ:g} Hz; got {fs:g}")
    if gain is not None and not 0 < gain < float("inf"):
        raise UserError(f"--gain: expected a positive number of units per millivolt; got {gain:g}")
    if name == "synthetic" or name.startswith("synthetic:"):
        recording = synthetic_recording(name, rate_hz=fs)
        recording = recording.pick(*column.split(",")) if column else recording
    else:
        recording = _read_file(Path(name).expanduser(), fs, column, gain, xp)
    return recording if lead is None or lead == "all" else recording.pick(lead)


def _read_file(path: Path, fs: float | None, column: str | None, gain: float | None, xp: Any) -> Recording:
    if path.is_dir():
        records = sorted(p.stem for p in path.glob("*.hea"))
        hint = f"choose a record in it, for example {path / records[0]}" if records else "it holds no WFDB record"
        raise UserError(f"{path}: expected a CSV file or a WFDB record; got a folder ({hint})")
    if path.suffix in _WFDB_SUFFIXES and (path.suffix == ".hea" or path.with_suffix(".hea").exists()):
        return read_wfdb(path.with_suffix(""), fs, column)
    header = path.with_name(path.name + ".hea")
    if header.exists() and not path.exists():
        return read_wfdb(path, fs, column)
    if not path.exists():
        raise UserError(f"{path}: expected a CSV file or a WFDB record; neither this file nor {header.name} exists")
    if path.suffix in _WFDB_SUFFIXES:
        raise UserError(f"{path}: expected its WFDB header {path.with_suffix('.hea').name} beside it; there is none")
    return read_text(path, fs, column, gain, xp)
