"""A recording from a WFDB record. The sizes of its files are checked against its header before they are read.

The baseline of each lead is subtracted from its digital values; the gains put the leads on one scale. A gain of 0, or
no gain, means that the record is not calibrated; the ``wfdb`` package silently replaces it by 200, so the gains are
read from the header here. Leads that are not voltages are left out.

File formats: https://physionet.org/physiotools/wag/signal-5.htm and header-5.htm there.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import wfdb

from beatwire.errors import UserError
from beatwire.recordings.record import MAX_LEADS, Recording, check_rate, find_lead, unique_names
from beatwire.recordings.units import Block, to_units

_BYTES_PER_SAMPLE = {
    "8": 1.0, "16": 2.0, "24": 3.0, "32": 4.0, "61": 2.0, "80": 1.0, "160": 2.0, "212": 1.5, "310": 4 / 3, "311": 4 / 3,
}  # fmt: skip
_INVALID = {  # the digital value that marks an invalid sample, by format
    "16": -(2**15), "24": -(2**23), "32": -(2**31), "61": -(2**15), "80": -(2**7), "160": -(2**15), "212": -(2**11),
    "310": -(2**9), "311": -(2**9),
}  # fmt: skip
_UV_PER = {"mv": 1e3, "uv": 1.0, "µv": 1.0, "v": 1e6, "nv": 1e-3}


def read_wfdb(record: Path, fs: float | None, column: str | None) -> Recording:
    """Read a WFDB record; see :func:`beatwire.recordings.read_recording`.

    Raises
    ------
    UserError
        A file is missing or shorter than its header states, ``fs`` differs from the header, or there is no such lead.
    """
    where = record.name
    header = _call(where, wfdb.rdheader, str(record))
    rate_hz = _rate(where, float(header.fs or 0), fs)
    if isinstance(header, wfdb.Record):
        _check_sizes(record, header)
    signals = _call(where, wfdb.rdrecord, str(record), physical=False, return_res=64)
    return _recording(where, rate_hz, signals, _uncalibrated(_without_gain(record, header), signals), column)


def from_wfdb(record: Any, fs: float | None = None, column: str | None = None) -> Recording:
    """Convert a ``wfdb.Record`` in memory, with physical or digital samples.

    Raises
    ------
    UserError
        The record has no samples or no such lead, or ``fs`` differs from its rate.
    """
    where = str(record.record_name or "record")
    rate_hz = _rate(where, float(record.fs or 0), fs)
    if record.d_signal is None:
        if record.p_signal is None:
            raise UserError(f"{where}: expected a wfdb.Record with d_signal or p_signal; got neither")
        names = unique_names([name or f"lead {k}" for k, name in enumerate(record.sig_name)])
        rows, notes = _rows(where, names, record, column)
        values = [np.asarray(record.p_signal[:, k], np.float64) for k in rows]
        uv = [_UV_PER.get((record.units[k] or "mv").casefold(), 0.0) for k in rows]
        return _converted(where, rate_hz, tuple(names[k] for k in rows), values, uv, notes)
    return _recording(where, rate_hz, record, [not gain for gain in record.adc_gain], column)


def wfdb_blocks(record: Path, fs: float | None, column: str | None, samples: int) -> Iterator[Block]:
    """Yield a WFDB record in blocks of so many samples per lead; errors as of :func:`read_wfdb`."""
    where = record.name
    header = _call(where, wfdb.rdheader, str(record))
    rate_hz = _rate(where, float(header.fs or 0), fs)
    if isinstance(header, wfdb.Record):
        _check_sizes(record, header)
    without_gain = _without_gain(record, header)
    for first in range(0, int(header.sig_len or 0), samples):
        last = min(first + samples, header.sig_len)
        signals = _call(
            where, wfdb.rdrecord, str(record), sampfrom=first, sampto=last, physical=False, return_res=64
        )  # fmt: skip
        names = unique_names([name or f"lead {k}" for k, name in enumerate(signals.sig_name)])
        rows, notes = _rows(where, names, signals, column)
        values, uv_per_value = _values(signals, rows, _uncalibrated(without_gain, signals))
        yield Block(rate_hz, tuple(names[k] for k in rows), values, uv_per_value, tuple(notes))


def _rate(where: str, header_hz: float, fs: float | None) -> float:
    """Return the rate of a header; raise UserError if ``fs`` differs from it."""
    rate_hz = check_rate(f"{where}.hea", header_hz)
    if fs is not None and abs(fs - rate_hz) > 0.01 * rate_hz:
        raise UserError(f"{where}: expected --fs {rate_hz:g}, the rate of its header, or no --fs; got --fs {fs:g}")
    return rate_hz


def _recording(where: str, rate_hz: float, signals: Any, uncalibrated: list[bool], column: str | None) -> Recording:
    """Return the recording of a record with digital samples."""
    if not signals.sig_len or signals.d_signal is None or not len(signals.d_signal):
        raise UserError(f"{where}: expected samples; the record has none")
    names = unique_names([name or f"lead {k}" for k, name in enumerate(signals.sig_name)])
    rows, notes = _rows(where, names, signals, column)
    values, uv_per_value = _values(signals, rows, uncalibrated)
    return _converted(where, rate_hz, tuple(names[k] for k in rows), values, uv_per_value, notes)


def _values(signals: Any, rows: list[int], uncalibrated: list[bool]) -> tuple[list[Any], list[float]]:
    """Return the digital values of leads without their baselines, NaN where there is none, and their microvolts."""
    values, uv_per_value = [], []
    for k in rows:
        digital = signals.d_signal[:, k]
        value = digital.astype(np.float64) - float(signals.baseline[k] or 0)
        value[digital == _INVALID.get(str(signals.fmt[k]) if signals.fmt else "", np.iinfo(np.int64).min)] = np.nan
        values.append(value)
        uv = _UV_PER.get((signals.units[k] or "mv").casefold(), 0.0)
        uv_per_value.append(0.0 if uncalibrated[k] else uv / abs(float(signals.adc_gain[k])))
    return values, uv_per_value


def _converted(
    where: str, rate_hz: float, leads: tuple[str, ...], values: list[Any], uv_per_value: list[float], notes: list[str]
) -> Recording:
    """Return the recording of leads whose values are numbers, NaN where there is none."""
    if not any(np.isfinite(v).any() for v in values):
        raise UserError(f"{where}: expected samples; every sample of {leads[0]!r} is marked as having no value")
    samples, uv_per_unit, scale_notes = to_units(values, uv_per_value)
    return Recording(where, rate_hz, leads, uv_per_unit, samples, (*notes, *scale_notes))


def _call(where: str, read: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of ``wfdb`` without its warnings; its exceptions, of any type, become a UserError."""
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
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"{where}: expected a WFDB record that the wfdb package can read; got: {first_line}") from None


def _check_sizes(record: Path, header: Any) -> None:
    """Raise UserError if a signal file is missing or smaller than the header states."""
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
            continue  # compressed, or of unknown length: wfdb reports what is wrong
        frame = sum(int(header.samps_per_frame[k] or 1) for k in leads)
        offset = int(header.byte_offset[leads[0]] or 0)
        expected = offset + int(header.sig_len * frame * per_sample)
        size = path.stat().st_size
        if size < expected:
            content = f"{header.sig_len} samples of {len(leads)} leads"
            raise UserError(f"{file_name}: expected {expected} bytes ({content}); got {size}")


def _without_gain(record: Path, header: Any) -> list[bool]:
    """Return, for each lead in a header file, True if its gain is 0 or absent; nothing for a record of segments."""
    path = record.with_name(record.name + ".hea")
    if not isinstance(header, wfdb.Record) or not path.exists():
        return []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")][1 : 1 + header.n_sig]
    fields = [line.split() for line in lines]
    gains = [re.match(r"[-+.\deE]+", words[2]) if len(words) > 2 else None for words in fields]
    return [gain is None or float(gain[0]) == 0 for gain in gains]


def _uncalibrated(without_gain: list[bool], signals: Any) -> list[bool]:
    """Return, for each lead that was read, True if it has no gain; where the header does not say, as wfdb read it."""
    return without_gain if len(without_gain) == signals.n_sig else [not gain for gain in signals.adc_gain]


def _rows(where: str, names: tuple[str, ...], signals: Any, column: str | None) -> tuple[list[int], list[str]]:
    """Return the indices of the leads to read, and notes about those that are left out."""
    if column is not None:
        requested = [column] if column in names else column.split(",")
        return [find_lead(where, names, one) for one in requested], []
    notes: list[str] = []
    volts = [k for k in range(len(names)) if (signals.units[k] or "mv").casefold() in _UV_PER]
    if not volts:
        raise UserError(f"{where}: expected a lead in volts; got {', '.join(str(u) for u in signals.units)}")
    if len(volts) < len(names):
        notes.append("left out: " + ", ".join(names[k] for k in range(len(names)) if k not in volts))
    if len(volts) > MAX_LEADS:
        notes.append(f"left out beyond {MAX_LEADS} leads: " + ", ".join(names[k] for k in volts[MAX_LEADS:]))
    return volts[:MAX_LEADS], notes
