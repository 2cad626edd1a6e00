"""A recording from a WFDB record, with its size checked against its header before it is read.

Digital values minus each lead's baseline, put on one scale by the leads' gains. A gain of 0, or
none, means that the record is not calibrated (the ``wfdb`` package reads 200 there without a
word, so the header is looked at here). Leads that are not voltages are left out.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import wfdb

from beatwire.errors import UserError
from beatwire.recordings.record import MAX_LEADS, Recording, check_rate, find_lead, to_units

_BYTES_PER_SAMPLE = {
    "8": 1.0, "16": 2.0, "24": 3.0, "32": 4.0, "61": 2.0, "80": 1.0, "160": 2.0, "212": 1.5, "310": 4 / 3, "311": 4 / 3,
}  # fmt: skip
_NO_VALUE = {
    "16": -(2**15), "24": -(2**23), "32": -(2**31), "61": -(2**15), "80": -(2**7), "160": -(2**15), "212": -(2**11),
    "310": -(2**9), "311": -(2**9),
}  # fmt: skip
_UV_PER = {"mv": 1e3, "uv": 1.0, "µv": 1.0, "v": 1e6, "nv": 1e-3}


def read_wfdb(record: Path, fs: float | None, column: str | None) -> Recording:
    """Read a WFDB record; see :func:`beatwire.recordings.read_recording`.

    Raises
    ------
    UserError
        A file is missing or shorter than the header says, or the header says another rate or other leads.
    """
    where = record.name
    header = _quiet(where, wfdb.rdheader, str(record))
    rate_hz = check_rate(f"{where}.hea", float(header.fs or 0))
    if fs is not None and abs(fs - rate_hz) > 0.01 * rate_hz:
        raise UserError(f"{where}: expected --fs {rate_hz:g}, as its header says; got --fs {fs:g}")
    if isinstance(header, wfdb.Record):
        _check_sizes(record, header)
    whole = _quiet(where, wfdb.rdrecord, str(record), physical=False, return_res=64)
    if not whole.sig_len or whole.d_signal is None or not len(whole.d_signal):
        raise UserError(f"{where}: expected samples; the record has none")
    names = _unique(whole.sig_name)
    uncalibrated = _uncalibrated(record, whole)
    notes: list[str] = []
    rows = _rows(where, names, whole, column, notes)
    values, uv_per_value = [], []
    for k in rows:
        digital = whole.d_signal[:, k]
        value = digital.astype(np.float64) - float(whole.baseline[k] or 0)
        value[digital == _NO_VALUE.get(str(whole.fmt[k]) if whole.fmt else "", np.iinfo(np.int64).min)] = np.nan
        values.append(value)
        uv = _UV_PER.get((whole.units[k] or "mv").casefold(), 0.0)
        uv_per_value.append(0.0 if uncalibrated[k] else uv / abs(float(whole.adc_gain[k])))
    if not any(np.isfinite(v).any() for v in values):
        raise UserError(f"{where}: expected samples; every sample of {names[rows[0]]!r} is marked as having no value")
    samples, uv_per_unit, changed = to_units(values, uv_per_value)
    return Recording(
        name=where,
        rate_hz=rate_hz,
        leads=tuple(names[k] for k in rows),
        uv_per_unit=uv_per_unit,
        samples=samples,
        notes=(*notes, *changed),
    )


def _quiet(where: str, read: Any, *args: Any, **kwargs: Any) -> Any:
    """Call ``wfdb``, whose complaints are many exceptions of many kinds, and say them in one line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return read(*args, **kwargs)
    except FileNotFoundError as error:
        missing = Path(error.filename)
        if missing.suffix == ".hea":
            raise UserError(f"{where}: expected a WFDB record; there is no {missing.name}") from None
        raise UserError(f"{where}: expected {missing.name} beside its header; there is none") from None
    except Exception as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"{where}: expected a WFDB record that the wfdb package can read; {said}") from None


def _check_sizes(record: Path, header: Any) -> None:
    """Compare the size of each signal file with what the header promises."""
    files: dict[str, list[int]] = {}
    for k, file_name in enumerate(header.file_name or []):
        files.setdefault(file_name, []).append(k)
    for file_name, leads in files.items():
        if file_name == "~":
            continue
        path = record.with_name(file_name)
        if not path.exists():
            raise UserError(f"{record.name}: expected {file_name} beside its header; there is none")
        per_sample = _BYTES_PER_SAMPLE.get(str(header.fmt[leads[0]]))
        if per_sample is None or not header.sig_len:
            continue  # compressed, or of unknown length: wfdb will say
        frame = sum(int(header.samps_per_frame[k] or 1) for k in leads)
        offset = int(header.byte_offset[leads[0]] or 0)
        expected = offset + int(header.sig_len * frame * per_sample)
        found = path.stat().st_size
        if found < expected:
            promised = f"{header.sig_len} samples of {len(leads)} leads"
            raise UserError(f"{file_name}: expected {expected} bytes ({promised}); found {found}")


def _uncalibrated(record: Path, whole: Any) -> list[bool]:
    """Read the gains as written: 0 or none is 'not calibrated'."""
    if getattr(whole, "n_seg", None) or not record.with_suffix(record.suffix + ".hea").exists():
        return [not gain for gain in whole.adc_gain]
    lines = record.with_name(record.name + ".hea").read_text(encoding="utf-8", errors="replace").splitlines()
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")][1 : 1 + whole.n_sig]
    if len(lines) < whole.n_sig:
        return [not gain for gain in whole.adc_gain]
    written = [line.split() for line in lines]
    gains = [re.match(r"[-+.\deE]+", words[2]) if len(words) > 2 else None for words in written]
    return [gain is None or float(gain[0]) == 0 for gain in gains]


def _rows(where: str, names: tuple[str, ...], whole: Any, column: str | None, notes: list[str]) -> list[int]:
    if column is not None:
        wanted = [column] if column in names else column.split(",")
        return [find_lead(where, names, w) for w in wanted]
    volts = [k for k in range(len(names)) if (whole.units[k] or "mv").casefold() in _UV_PER]
    if not volts:
        raise UserError(f"{where}: expected a lead in volts; got {', '.join(str(u) for u in whole.units)}")
    if len(volts) < len(names):
        notes.append("left out: " + ", ".join(names[k] for k in range(len(names)) if k not in volts))
    if len(volts) > MAX_LEADS:
        notes.append(f"left out beyond {MAX_LEADS} leads: " + ", ".join(names[k] for k in volts[MAX_LEADS:]))
    return volts[:MAX_LEADS]


def _unique(names: list[str]) -> tuple[str, ...]:
    names = [name or f"lead {k}" for k, name in enumerate(names)]
    return tuple(n if names.index(n) == k else f"{n}.{names[:k].count(n)}" for k, n in enumerate(names))
