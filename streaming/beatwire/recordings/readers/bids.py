"""Physiological recordings of BIDS: a table without names, and its JSON beside it.

``sub-01_physio.tsv.gz`` has numbers between tabs; ``sub-01_physio.json`` states ``Columns``, ``SamplingFrequency`` in
Hz, and of each column ``Units``.
"""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from beatwire.errors import UserError
from beatwire.recordings.arrays import from_array
from beatwire.recordings.leads import unique_names
from beatwire.recordings.places import bids_json
from beatwire.recordings.record import Recording
from beatwire.tables import open_text

_SAME_RATE = 0.01


def sidecar_of(path: Path) -> Path | None:
    """Return the JSON beside a table of BIDS; None if the table is none, has names of its own, or there is no JSON."""
    beside = bids_json(path)
    if beside is None or not beside.is_file():
        return None
    try:
        with open_text(path) as file:
            first = file.readline().split("\t")
        [float(cell) if cell.strip() != "n/a" else 0.0 for cell in first]
    except (OSError, EOFError, ValueError):
        return None  # the reader of tables says what is wrong
    return beside


def read_bids(path: Path, beside: Path, fs: float | None, column: str | None, gain: float | None) -> Recording:
    """Read such a table; parameters as for :func:`beatwire.recordings.read_recording`.

    Raises
    ------
    UserError
        The JSON is damaged, or does not state as many columns as the table has; or ``fs`` contradicts it.
    """
    where = path.name
    stated = _stated(beside)
    columns = stated.get("Columns")
    rate_hz = stated.get("SamplingFrequency")
    if not isinstance(columns, list) or not isinstance(rate_hz, int | float) or isinstance(rate_hz, bool):
        raise UserError(f"{beside.name}: expected Columns and SamplingFrequency, in Hz; one of them is missing")
    if fs is not None and abs(fs / rate_hz - 1 if rate_hz else 1.0) > _SAME_RATE:
        raise UserError(f"{where}: expected --fs {rate_hz:g}, the rate in {beside.name}, or no --fs; got --fs {fs:g}")
    try:
        table = pd.read_csv(path, sep="\t", header=None, dtype=np.float64, na_values=["n/a"])
    except (OSError, EOFError, ValueError) as error:
        raise UserError(f"{where}: expected numbers between tabs; got: {str(error).splitlines()[0]}") from None
    if table.shape[1] != len(columns):
        got = f"{table.shape[1]}"
        raise UserError(f"{where}: expected {len(columns)} columns, as {beside.name} states; got {got}")
    table.columns = pd.Index(unique_names([_called(str(name), stated.get(str(name))) for name in columns]))
    recording = from_array(table, float(rate_hz), gain=gain, column=column, where=where)
    name = re.sub(r"\.tsv(\.gz)?$", "", where, flags=re.IGNORECASE)
    return replace(recording, name=name, notes=(f"columns and rate: {beside.name}", *recording.notes))


def _stated(beside: Path) -> dict[str, Any]:
    try:
        found = json.loads(beside.read_text("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{beside.name}: expected JSON; got: {str(error)[:200]}") from None
    return found if isinstance(found, dict) else {}


def _called(name: str, about: Any) -> str:
    """Return the name of a column, with its unit in brackets if one is stated."""
    unit = about.get("Units") if isinstance(about, dict) else None
    return f"{name} ({unit})" if isinstance(unit, str) and unit else name
