"""Recordings: a CSV, a WFDB record or ``synthetic`` -> one :class:`Recording` in int16.

In:  the name of a source, as a user types it, and what the user says about it.
Out: samples int16 ``[leads, n]`` on one common scale, -32768 where there is no value.

Whatever is wrong with a source is found here, before anything runs, and raised as a
``UserError`` of one line: where, expected, got.
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
    """Read a recording whole.

    Parameters
    ----------
    source
        a CSV (comma, semicolon or tab; gzip too), a WFDB record (with or without ``.hea``), or
        ``synthetic[:key=value,...]``.
    fs
        Hz; needed by a CSV without a time column, otherwise it must agree with the source.
    column
        the column or lead to read, or several with commas between them; all of them by default.
    lead
        of these only ``first``, one by its name, or one by its number, counted from 0.
    gain
        units per millivolt of a CSV's numbers.
    xp
        NumPy, or CuPy: then a CSV of numbers is parsed on the GPU and its samples stay there.

    Raises
    ------
    UserError
        one line: where, what was expected, what is there.
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
        inside = sorted(p.stem for p in path.glob("*.hea"))
        example = f"for example {path / inside[0]}" if inside else "it holds no WFDB record"
        raise UserError(f"{path}: expected a CSV or a WFDB record; got a folder ({example})")
    if path.suffix in _WFDB_SUFFIXES and (path.suffix == ".hea" or path.with_suffix(".hea").exists()):
        return read_wfdb(path.with_suffix(""), fs, column)
    header = path.with_name(path.name + ".hea")
    if header.exists() and not path.exists():
        return read_wfdb(path, fs, column)
    if not path.exists():
        raise UserError(f"{path}: expected a CSV or a WFDB record; there is neither this file nor {header.name}")
    if path.suffix in _WFDB_SUFFIXES:
        raise UserError(f"{path}: expected its WFDB header {path.with_suffix('.hea').name} beside it; there is none")
    return read_text(path, fs, column, gain, xp)
