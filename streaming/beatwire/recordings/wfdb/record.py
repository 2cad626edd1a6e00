"""The signals of a WFDB record on the disk. The sizes of its files are checked against its header before they are read.

Checksums are compared when all is read; that one differs is a note.
The baseline of each signal is subtracted from its digital values. A signal whose gain is 0 or absent is not calibrated.
Each signal has its own rate: the samples that it has in a frame times the frames per second.

A record of segments is one recording: each segment is read by its own header, on one scale. Its leads are those of the
layout (a first segment of length 0), or of all segments; a lead has no value in a segment that lacks it, nor in a gap.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.kinds import uv_per_unit_of
from beatwire.recordings.leads import unique_names
from beatwire.recordings.record import check_rate
from beatwire.recordings.signals import Signal, Signals
from beatwire.recordings.stretches import joined
from beatwire.recordings.wfdb.files import INVALID, SignalFile
from beatwire.recordings.wfdb.header import DEFAULT_HZ, Header, SignalLine, beside, read_header
from beatwire.records import F64

_SHOWN = 3  # files in a note
_LONGER_S = 1.0  # by which a signal file may be longer than its header states


def open_wfdb(record: Path, fs: float | None) -> Signals:
    """Open a WFDB record; ``record`` is its path without ``.hea``.

    Raises
    ------
    UserError
        A file is missing, damaged or shorter than its header states.
    """
    where = record.name
    header = read_header(record.with_name(f"{where}.hea"))
    notes: tuple[str, ...] = ()
    rate_hz = header.rate_hz
    if rate_hz is None:
        rate_hz = fs or DEFAULT_HZ
        notes = (f"its header states no rate: {rate_hz:g} Hz" + ("" if fs else ", the default of WFDB"),)
    if rate_hz <= 0:
        check_rate(f"{where}.hea", rate_hz)
    if header.segments:
        signals, more, segments = _of_segments(record, header, rate_hz)
        return Signals(where, where, signals, notes + more, remarks=partial(_damaged, segments))
    if not header.signals:
        raise UserError(f"{where}: expected signals; its header states none")
    segment = _Segment(header, rate_hz)
    return Signals(where, where, segment.signals(rate_hz), notes + segment.notes, remarks=partial(_damaged, [segment]))


class _Segment:
    """A header without segments, and the signal files that it names."""

    def __init__(self, header: Header, rate_hz: float, frames: int | None = None) -> None:
        self.header = header
        groups: dict[str, list[int]] = {}
        for k, line in enumerate(header.signals):
            groups.setdefault(line.file, []).append(k)
        self.files: list[SignalFile] = []
        self._places: dict[int, tuple[SignalFile, int]] = {}  # of a signal: its file, and its first column there
        stated = frames if header.frames is None else header.frames
        held: dict[str, int] = {}
        self.notes: tuple[str, ...] = ()
        for name, rows in groups.items():
            if name == "~":
                continue
            file = SignalFile(header.path.stem, beside(header.path, name), [header.signals[k] for k in rows], stated)
            self.files.append(file)
            held[name] = file.frames
            if file.held > file.frames + _LONGER_S * rate_hz:
                self.notes += (f"its header states {file.frames} samples; {name} holds {file.held}",)
            column = 0
            for k in rows:
                self._places[k] = file, column
                column += header.signals[k].frame
        self.frames = stated if stated is not None else max(held.values(), default=0)
        if len(set(held.values())) > 1:
            each = ", ".join(f"{name} {frames}" for name, frames in held.items())
            self.notes += (f"its header states no length, and its files hold several, in samples: {each}",)
        self._skew = max((line.skew for line in header.signals), default=0)

    def signals(self, rate_hz: float) -> tuple[Signal, ...]:
        """Return the signals; ``rate_hz`` is the number of frames per second."""
        return tuple(self._signal(k, line, rate_hz) for k, line in enumerate(self.header.signals))

    def _signal(self, k: int, line: SignalLine, rate_hz: float) -> Signal:
        unit = uv_per_unit_of(line.unit)
        uv = unit / abs(line.gain) if unit and line.gain else unit and 0.0

        def read(first: int, last: int) -> F64:
            return self._values(k, line, first, last)

        return Signal(line.name, rate_hz * line.frame, self.frames * line.frame, uv, read)

    def _values(self, k: int, line: SignalLine, first: int, last: int) -> F64:
        """Return the samples ``[first, last)`` of a signal, without its baseline."""
        out = np.full(last - first, np.nan)
        if k not in self._places:
            return out
        file, column = self._places[k]
        begin, end = first // line.frame, -(-last // line.frame)
        if begin >= file.held:
            return out
        frames = file.read(begin, min(end + self._skew, file.held))[line.skew :, column : column + line.frame]
        digital = frames.reshape(-1)[first - begin * line.frame :][: last - first]
        values = digital - float(line.baseline)
        if line.gain < 0:
            values = -values
        if line.format in INVALID:
            values[digital == INVALID[line.format]] = np.nan
        out[: len(values)] = values
        return out


def _of_segments(
    record: Path, master: Header, rate_hz: float
) -> tuple[tuple[Signal, ...], tuple[str, ...], list[_Segment]]:
    """Return the signals of a record of segments, notes, and its segments."""
    where, notes = record.name, []
    segments: list[_Segment] = []
    layout: tuple[str, ...] = ()
    pieces: dict[str, list[tuple[int, Signal]]] = {}
    start = 0
    for number, (name, frames) in enumerate(master.segments):
        if name == "~":
            start += frames
            continue
        header = read_header(beside(master.path, f"{name}.hea"))
        if header.segments:
            raise UserError(f"{where}: expected segments without segments of their own; got {name}")
        if header.rate_hz is not None and abs(header.rate_hz / rate_hz - 1) > 1e-3:
            raise UserError(f"{where}: expected segments of {rate_hz:g} Hz; {name} has {header.rate_hz:g} Hz")
        names = unique_names([line.name or f"lead {k}" for k, line in enumerate(header.signals)])
        if number == 0 and frames == 0:  # the layout: names of all leads, no samples
            layout = names
            pieces.update({lead: [] for lead in names})
            continue
        if not frames:
            continue
        segment = _Segment(header, rate_hz, frames)
        segments.append(segment)
        if segment.frames < frames:
            raise UserError(f"{where}: expected {frames} samples in segment {name}; its header states {segment.frames}")
        if segment.frames > frames:
            notes.append(f"segment {name}: {segment.frames - frames} samples at its end are not part of the record")
        signals = segment.signals(rate_hz)
        names = _as_spelled(names, layout or tuple(pieces))
        if not layout:
            before = {lead: parts[0][1].uv_per_value is not None for lead, parts in pieces.items()}
            names, more = _as_before(name, names, [signal.uv_per_value is not None for signal in signals], before)
            notes += more
        for lead, signal in zip(names, signals, strict=True):
            cut = Signal(
                lead, signal.rate_hz, round(frames * signal.rate_hz / rate_hz), signal.uv_per_value, signal.read
            )
            pieces.setdefault(lead, []).append((start, cut))
        start += frames
    if master.frames is not None and start != master.frames:
        notes.append(f"its segments have {start} samples, not {master.frames}, as its header states")
    if not any(pieces.values()):
        raise UserError(f"{where}: expected segments with signals; there are none")
    strange = [lead for lead in pieces if layout and lead not in layout]
    if strange:
        notes.append(f"not in its layout: {', '.join(strange)}")
    whole = tuple(_one(lead, parts, rate_hz, start) for lead, parts in pieces.items() if parts)
    rates = [one.name for one in whole if len({p.rate_hz for _, p in pieces[one.name]}) > 1]
    if rates:
        notes.append(f"of several rates, brought to the highest by linear interpolation: {', '.join(rates)}")
    return whole, tuple(notes), segments


def _damaged(segments: Sequence[_Segment]) -> tuple[str, ...]:
    """Return a note about the signal files, read by now, whose samples differ from the checksums of their headers."""
    names = list(dict.fromkeys(f.path.name for one in segments for f in one.files if not f.is_as_stated()))
    if not names:
        return ()
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    return (f"damaged, or not as its header says: the checksums of {shown} differ from those that are stated",)


def _one(name: str, parts: Sequence[tuple[int, Signal]], rate_hz: float, frames: int) -> Signal:
    """Return the signal of a lead in all segments; places and ``frames`` are in frames."""
    frame = round(max(part.rate_hz for _, part in parts) / rate_hz)
    return joined([(start * frame, part) for start, part in parts], name, rate_hz * frame, frames * frame)


def _as_spelled(names: tuple[str, ...], before: Sequence[str]) -> tuple[str, ...]:
    """Return the leads of a segment as those before are spelled, where they differ in case alone.

    >>> _as_spelled(("v1", "II", "v5"), ["II", "V1", "V5", "v5"])
    ('V1', 'II', 'v5')
    """
    folded = [name.casefold() for name in before]
    spelled = [
        before[folded.index(name.casefold())] if folded.count(name.casefold()) == 1 and name not in before else name
        for name in names
    ]
    return tuple(s if spelled.count(s) == 1 else name for s, name in zip(spelled, names, strict=True))


def _as_before(
    name: str, names: tuple[str, ...], are_volts: Sequence[bool], before: Mapping[str, bool]
) -> tuple[tuple[str, ...], list[str]]:
    """Return the leads of a segment by the names of those before it, and a note where it names one otherwise.

    Without a layout all segments should have the same signals in one order. So a lead that none before it has takes the
    place of the one at its number, if the segment has no lead of that name and both are voltages, or neither is.
    """
    result, notes, places = list(names), [], list(before)
    for k, lead in enumerate(names):
        at = places[k] if k < len(places) else lead
        if lead not in before and at not in names and before[at] == are_volts[k]:
            result[k] = at
            notes.append(f"segment {name}: {lead} is taken as {at}, the lead at its place")
    return tuple(result), notes
