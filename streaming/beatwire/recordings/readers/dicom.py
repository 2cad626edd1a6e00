"""Waveforms of DICOM files, by the package ``pydicom``.

A file holds multiplex groups, each of some channels at one rate. Groups of the same channels one after the other are
one recording. Averaged beats (groups that are derived, beside original ones) are left out. A channel without a
sensitivity is not calibrated.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.kinds import uv_per_unit_of
from beatwire.recordings.signals import Signal, Signals, joined, of_digital


def read(path: Path) -> Signals:
    """Open a file of this format.

    Raises
    ------
    UserError
        The file is damaged, or is no waveform.
    """
    where = path.name
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _signals(where, path)
    except UserError:
        raise
    except Exception as error:
        got = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"{where}: expected a DICOM waveform; got: {got}") from None


def _signals(where: str, path: Path) -> Signals:
    import pydicom
    from pydicom.waveforms.numpy_handler import multiplex_array

    opened = pydicom.dcmread(path, force=True)
    groups = list(getattr(opened, "WaveformSequence", None) or [])
    if not groups:
        uid = getattr(opened, "SOPClassUID", None)
        raise UserError(f"{where}: expected a DICOM waveform; got {getattr(uid, 'name', None) or 'another object'}")
    original = [k for k, g in enumerate(groups) if getattr(g, "WaveformOriginality", "ORIGINAL") == "ORIGINAL"]
    notes = []
    if left := [k for k in range(len(groups)) if original and k not in original]:
        labels = (str(getattr(groups[k], "MultiplexGroupLabel", None) or f"group {k}") for k in left)
        notes.append(f"left out, derived: {', '.join(labels)}")
    pieces: dict[str, list[tuple[float, Signal]]] = {}
    for k in original or range(len(groups)):
        group, raw = groups[k], multiplex_array(opened, k, as_raw=True)
        rate_hz = float(group.SamplingFrequency)
        begin_s = float(getattr(group, "MultiplexGroupTimeOffset", None) or 0) / 1000
        padding = _padding(group)
        for row, channel in enumerate(group.ChannelDefinitionSequence):
            name, signal = _channel(channel, raw[:, row], rate_hz, padding, row)
            before = pieces.setdefault(name, [])
            skew_s = float(getattr(channel, "ChannelTimeSkew", None) or 0)
            skew_s += float(getattr(channel, "ChannelSampleSkew", None) or 0) / rate_hz
            end_s = before[-1][0] + before[-1][1].length / before[-1][1].rate_hz if before else 0.0
            if before and begin_s + skew_s < end_s - 0.5 / rate_hz:
                notes.append(f"left out: {name} of group {k}, at the time of another one")
                continue
            before.append((begin_s + skew_s, signal))
    first_s = min(begin_s for parts in pieces.values() for begin_s, _ in parts)
    signals = tuple(_joined(name, parts, first_s) for name, parts in pieces.items())
    return Signals(where, path.stem, signals, tuple(notes))


def _joined(name: str, parts: list[tuple[float, Signal]], first_s: float) -> Signal:
    """Return the signal of a channel in all groups; times are in seconds."""
    rate_hz = max(signal.rate_hz for _, signal in parts)
    places = [(round((begin_s - first_s) * rate_hz), signal) for begin_s, signal in parts]
    if len(places) == 1 and places[0][0] == 0:
        return places[0][1]
    start, last = places[-1]
    return joined(places, name, rate_hz, start + round(last.length * rate_hz / last.rate_hz))


def _channel(channel: Any, raw: Any, rate_hz: float, padding: int | None, row: int) -> tuple[str, Signal]:
    """Return the name of a channel and its signal."""
    source = (getattr(channel, "ChannelSourceSequence", None) or [None])[0]
    meaning = str(getattr(source, "CodeMeaning", None) or getattr(channel, "ChannelLabel", None) or f"lead {row}")
    lead = re.fullmatch(r"(?:ECG )?lead ([^\s(]+)(?: \(.*\))?", meaning.strip(), flags=re.IGNORECASE)
    name = lead[1] if lead else meaning.strip()
    sensitivity = getattr(channel, "ChannelSensitivity", None)
    unit = (getattr(channel, "ChannelSensitivityUnitsSequence", None) or [None])[0]
    uv = uv_per_unit_of(str(getattr(unit, "CodeValue", ""))) if sensitivity is not None else 0.0
    gain = float(sensitivity or 0) * float(getattr(channel, "ChannelSensitivityCorrectionFactor", None) or 1)
    offset = float(getattr(channel, "ChannelBaseline", None) or 0)
    return name, of_digital(raw, name, rate_hz, gain, offset, uv, padding)


def _padding(group: Any) -> int | None:
    """Return the sample that stands for no value; None if there is none."""
    value = getattr(group, "WaveformPaddingValue", None)
    if value is None:
        return None
    if isinstance(value, bytes):
        signed = str(getattr(group, "WaveformSampleInterpretation", "SS")) in ("SS", "SB", "SL")
        return int.from_bytes(value, "little", signed=signed)
    return int(np.asarray(value).ravel()[0])
