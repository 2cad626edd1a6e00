"""The signals of a ``wfdb.Record`` in memory, with physical or digital samples, one or more in a frame."""

from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.kinds import uv_per_unit_of
from beatwire.recordings.signals import Signal, Signals, of_array
from beatwire.recordings.stretches import joined
from beatwire.recordings.wfdb.files import INVALID


def of_record(record: Any) -> Signals:
    """Return the signals of a ``wfdb.Record`` or ``wfdb.MultiRecord``.

    Raises
    ------
    UserError
        The record has no samples.
    """
    where = str(record.record_name or "record")
    rate_hz = float(record.fs or 0)
    if not hasattr(record, "segments"):
        return Signals(where, where, tuple(_signals(where, record, rate_hz)))
    pieces: dict[str, list[tuple[int, Signal]]] = {}
    start = 0
    for segment, frames in zip(record.segments or [], record.seg_len, strict=False):
        if segment is not None and frames:
            for signal in _signals(where, segment, rate_hz):
                pieces.setdefault(signal.name, []).append((start, signal))
        start += int(frames)
    if not pieces:
        raise UserError(f"{where}: expected a wfdb.MultiRecord with segments; got none with samples")
    joins = []
    for name, parts in pieces.items():
        frame = round(max(part.rate_hz for _, part in parts) / rate_hz)
        joins.append(joined([(at * frame, part) for at, part in parts], name, rate_hz * frame, start * frame))
    return Signals(where, where, tuple(joins))


def _signals(where: str, record: Any, rate_hz: float) -> list[Signal]:
    """Return the signals of a record without segments."""
    digital, physical = (_columns(getattr(record, a, None), getattr(record, f"e_{a}", None)) for a in _KINDS)
    if digital is None and physical is None:
        raise UserError(f"{where}: expected a wfdb.Record with d_signal or p_signal; got neither")
    signals = []
    expanded = getattr(record, "d_signal", None) is None and getattr(record, "p_signal", None) is None
    for k in range(len(digital if digital is not None else physical or [])):
        unit = uv_per_unit_of(record.units[k] if record.units else "mV")
        name = (record.sig_name[k] if record.sig_name else None) or f"lead {k}"
        frame = int(record.samps_per_frame[k] or 1) if expanded and record.samps_per_frame else 1
        if digital is None:
            values, uv = np.asarray(physical[k], np.float64), unit  # type: ignore[index]
        else:
            gain = float(record.adc_gain[k] or 0) if record.adc_gain else 0.0
            values = digital[k] - float((record.baseline[k] if record.baseline else 0) or 0)
            values = -values if gain < 0 else values
            values[digital[k] == INVALID.get(str(record.fmt[k]) if record.fmt else "", np.iinfo(np.int64).min)] = np.nan
            uv = unit / abs(gain) if unit and gain else unit and 0.0
        signals.append(of_array(values, str(name), rate_hz * frame, uv))
    return signals


_KINDS = ("d_signal", "p_signal")


def _columns(smooth: Any, expanded: Any) -> list[Any] | None:
    """Return one array for each signal."""
    if smooth is not None:
        return list(np.asarray(smooth).T)
    return None if expanded is None else [np.asarray(one) for one in expanded]
