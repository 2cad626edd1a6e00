"""Waveforms of DICOM files, by the package ``pydicom``.

A file holds multiplex groups, each of some channels at one rate. Groups of the same channels one after the other are
one recording; of two at the same time the longer one is, and what the other has before and behind it. Averaged beats
(groups that are derived, beside original ones) are left out. A channel without a sensitivity is not calibrated. Samples
on a logarithmic scale are refused.
"""

import re
import warnings
from pathlib import Path
from typing import Any, Literal

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.kinds import is_ecg, uv_per_unit_of
from beatwire.recordings.leads import unique_names
from beatwire.recordings.signals import Signal, Signals, of_digital
from beatwire.recordings.signs import lost_sign, signed
from beatwire.recordings.stretches import Stretch, in_time

_LINEAR = {"SB": 8, "UB": 8, "SS": 16, "US": 16, "SL": 32, "UL": 32, "SV": 64, "UV": 64}  # bits; others are logarithms
_NAME = re.compile(r"((?:ECG )?lead |MDC_ECG_LEAD_)?([^\s(,]+)(?:,.*| \(.*\))?", re.IGNORECASE)


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
        missing = error.name if isinstance(error, AttributeError) else None
        got = f"a file without {missing}" if missing else (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"{where}: expected a DICOM waveform; got: {got}") from None


def _signals(where: str, path: Path) -> Signals:
    import pydicom

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
    found: dict[str, list[Stretch]] = {}
    for k in original or range(len(groups)):
        group = groups[k]
        raw, behind = _raw(where, opened, k)
        if behind:
            notes.append(f"left out: {behind} bytes behind the samples that group {k} states")
        rate_hz = float(getattr(group, "SamplingFrequency", None) or 0)
        if not rate_hz > 0:
            raise UserError(f"{where}: expected a sampling rate of group {k}; got {rate_hz:g} Hz")
        begin_s = float(getattr(group, "MultiplexGroupTimeOffset", None) or 0) / 1000
        padding = _padding(group, _order(opened))
        channels = group.ChannelDefinitionSequence
        names = unique_names([_name(channel, row) for row, channel in enumerate(channels)])
        if len(channels) != raw.shape[1]:
            raise UserError(f"{where}: expected {raw.shape[1]} channels in group {k}; it describes {len(channels)}")
        for row, (name, channel) in enumerate(zip(names, channels, strict=True)):
            digital, bits = raw[:, row], int(getattr(channel, "WaveformBitsStored", None) or 0)
            if raw.dtype.kind == "i" and bits < 8 * raw.dtype.itemsize and lost_sign(digital, bits, padding):
                digital = signed(digital.astype(np.int64), bits, padding)
                notes.append(f"{name} of group {k}: numbers of {bits} bits were written without their sign: restored")
            signal = _signal(name, channel, digital, rate_hz, padding)
            skew_s = float(getattr(channel, "ChannelTimeSkew", None) or 0)
            skew_s += float(getattr(channel, "ChannelSampleSkew", None) or 0) / rate_hz
            found.setdefault(name, []).append(Stretch(begin_s + skew_s, k, signal))
    first_s = min(part.begin_s for parts in found.values() for part in parts)
    signals = []
    for name, parts in found.items():
        one, said = in_time(where, [part._replace(begin_s=part.begin_s - first_s) for part in parts], name, "group")
        signals.append(one)
        notes += said
    return Signals(where, path.stem, tuple(signals), tuple(notes))


def _raw(where: str, opened: Any, k: int) -> tuple[Any, int]:
    """Return the samples of a group as they are stored, [n, channels], and the number of bytes behind them."""
    from pydicom.waveforms.numpy_handler import multiplex_array

    group = opened.WaveformSequence[k]
    stored, bits = str(group.WaveformSampleInterpretation), int(group.WaveformBitsAllocated)
    if stored not in _LINEAR:
        got = {"MB": "of the mu-law (MB)", "AB": "of the A-law (AB)"}.get(stored, repr(stored))
        raise UserError(f"{where}: expected samples on a linear scale; got those {got}")
    if bits != _LINEAR[stored]:
        raise UserError(
            f"{where}: expected {_LINEAR[stored]} bits for samples stored as {stored} in group {k}; got {bits}"
        )
    count, channels = int(group.NumberOfWaveformSamples), int(group.NumberOfWaveformChannels)
    expected, held = count * channels * bits // 8, len(group.WaveformData)
    if held < expected:
        content = f"{count} samples of {channels} channel{'s'[: channels > 1]} in group {k}"
        raise UserError(f"{where}: expected {expected} bytes ({content}); got {held}")
    raw = multiplex_array(opened, k, as_raw=True)
    behind = max(0, held - expected - expected % 2)  # DICOM writes an even number of bytes
    return raw if _order(opened) == "little" else raw.byteswap(), behind


def _order(opened: Any) -> Literal["little", "big"]:
    """Return the order of the bytes of a file."""
    return "big" if opened.original_encoding[1] is False else "little"


def _name(channel: Any, row: int) -> str:
    """Return the name of a channel: that of its lead, if it is one."""
    source = (getattr(channel, "ChannelSourceSequence", None) or [None])[0]
    meaning = str(getattr(source, "CodeMeaning", None) or getattr(channel, "ChannelLabel", None) or "")
    found = _NAME.fullmatch(meaning.strip())
    return found[2] if found and (found[1] or is_ecg(found[2])) else meaning.strip() or f"lead {row}"


def _signal(name: str, channel: Any, raw: Any, rate_hz: float, padding: int | None) -> Signal:
    """Return the signal of a channel."""
    sensitivity = getattr(channel, "ChannelSensitivity", None)
    unit = (getattr(channel, "ChannelSensitivityUnitsSequence", None) or [None])[0]
    code = getattr(unit, "CodeValue", None) or getattr(unit, "CodeMeaning", None)
    uv = uv_per_unit_of(str(code or "")) if sensitivity is not None else 0.0
    gain = float(sensitivity or 0) * float(getattr(channel, "ChannelSensitivityCorrectionFactor", None) or 1)
    offset = float(getattr(channel, "ChannelBaseline", None) or 0)
    return of_digital(raw, name, rate_hz, gain, offset, uv, padding)


def _padding(group: Any, order: Literal["little", "big"]) -> int | None:
    """Return the sample that stands for no value; None if there is none."""
    value = getattr(group, "WaveformPaddingValue", None)
    if value is None:
        return None
    if isinstance(value, bytes):  # of an even number, as all of DICOM
        size = int(group.WaveformBitsAllocated) // 8
        return int.from_bytes(value[:size], order, signed=str(group.WaveformSampleInterpretation)[:1] == "S")
    return int(np.asarray(value).ravel()[0])
