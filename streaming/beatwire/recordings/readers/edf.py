"""EDF, EDF+ and BDF files, by the package ``edfio``.

Each signal has its own rate. The signal of annotations is no lead. The times of data records that it holds show the
gaps; in a discontinuous file (EDF+D, BDF+D) they have to be there, and in order. A file that is shorter than its header
states is refused, and one that is longer is read to its end. A header that is filled with zeros, or has
decimal commas, is read as if it were right.
"""

import io
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.columns.kinds import uv_per_unit_of
from beatwire.recordings.readers.record_times import gaps_in, in_order, record_times
from beatwire.recordings.record import LONGEST_GAP_S
from beatwire.recordings.remarks import gaps_note
from beatwire.recordings.signals import Signal, Signals, of_digital
from beatwire.recordings.stretches import part_of, placed

_WIDTHS = (16, 80, 8, 8, 8, 8, 8, 80, 8)  # bytes of the fields of a signal; the last is its samples in a record
_RESERVED = 32  # bytes behind them
_HEAD = (8, 80, 80, 8, 8, 8, 44, 8, 8, 4)  # bytes of the fields of a file
_ANNOTATIONS = " Annotations"  # of EDF or BDF: the end of a label
_RANGE, _DIGITAL = 104, 120  # bytes of a signal before its physical range, and before its digital one


class _Records(NamedTuple):
    """The data records of a file.

    stated     number in the header; -1 if the file was not closed
    held       whole ones in the file
    duration   of one, in seconds
    samples    in one, of each signal
    labels     of the signals
    width      bytes of a sample
    """

    stated: int
    held: int
    duration_s: float
    samples: list[int]
    labels: list[str]
    width: int

    @property
    def bytes_each(self) -> int:
        """Bytes of a data record."""
        return self.width * sum(self.samples)


def read(path: Path) -> Signals:
    """Open a file of this format.

    Raises
    ------
    UserError
        The file is damaged or shorter than its header states, or its data records are not in the order of time.
    """
    import edfio

    where = path.name
    try:
        with path.open("rb") as file:
            written = file.read(256)
            more = 256 * _count(where, written[252:256])
            written += file.read(more)
        if len(written) < 256 + more:
            got = f"{len(written)} bytes of a header of {256 + more}"
            raise UserError(f"{where}: expected an EDF or BDF file; got: {got}")
        head, notes = _with_ranges(_corrected(written))
        records = _records(where, head, path.stat().st_size)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            load = edfio.read_bdf if head[:1] == b"\xff" else edfio.read_edf
            source = path if head == written else io.BytesIO(head + path.read_bytes()[len(head) :])
            opened = load(source, header_encoding="latin-1")
            found = [_signal(one) for one in opened.signals if one.sampling_frequency > 0]
            signals, unsigned = [one for one, _ in found], [one.name for one, is_unsigned in found if is_unsigned]
        has_to = head[192:197].upper() in (b"EDF+D", b"BDF+D")
        onsets = _onsets(path, head, records, of_any=has_to)
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{where}: expected an EDF or BDF file; got: {_first_line(error)}") from None
    if unsigned:
        notes += (f"read as numbers without a sign, by their digital range: {', '.join(unsigned)}",)
    if records.stated < 0:
        notes += (f"its header states no length: it holds {records.held * records.duration_s:.4g} s",)
    elif records.stated < records.held:
        notes += (
            f"its header states {records.stated} data records of {records.duration_s:g} s; it holds {records.held}",
        )
    if rest := path.stat().st_size - len(head) - records.held * records.bytes_each:
        notes += (f"left out: {rest} bytes behind its last whole data record",)
    times, said = in_order(where, record_times(onsets, records.duration_s), has_to=has_to)
    gaps = gaps_in(times, has_to=has_to)
    if gaps:
        signals = [_with_gaps(where, signal, times.onsets_s, [*gaps], records) for signal in signals]
        seconds = sum(gaps.values())
        said += (gaps_note(len(gaps), seconds),)
    return Signals(where, path.stem, tuple(signals), (*notes, *said), many=True)


def _corrected(head: bytes) -> bytes:
    """Return a header with blanks from the zero in a field on, points for the commas of numbers, and its own length."""
    count, at, clean = int(_text(head[252:256])), 0, bytearray()
    for width in (*_HEAD, *(width for width in (*_WIDTHS, _RESERVED) for _ in range(count))):
        clean += _text(head[at : at + width]).ljust(width)
        at += width
    for begin, end in ((244, 252), (256 + _RANGE * count, 256 + _DIGITAL * count)):
        clean[begin:end] = clean[begin:end].replace(b",", b".")
    clean[184:192] = b"%-8d" % (256 * (count + 1))
    return bytes(clean)


def _with_ranges(head: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return a header in which every signal has a range, and notes: one that is not of numbers is empty, 0 to 0."""
    clean, count, notes = bytearray(head), int(head[252:256]), []
    for k in range(count):
        label, unit = (head[at : at + size].decode("latin-1").strip() for at, size in (
            (256 + 16 * k, 16), (256 + 96 * count + 8 * k, 8)
        ))  # fmt: skip
        for begin, kind in ((_RANGE, "physical"), (_DIGITAL, "digital")):
            places = [256 + at * count + 8 * k for at in (begin, begin + 8)]
            stated = [head[at : at + 8].decode("latin-1").strip() for at in places]
            values = [_finite(text) for text in stated]
            if None in values and uv_per_unit_of(_in_utf8(unit)) is not None and not label.endswith(_ANNOTATIONS):
                notes.append(f"{label}: expected numbers as its {kind} range; got {stated[0]!r} to {stated[1]!r}")
            for at, text, value in zip(places, stated, values, strict=True):
                right = "0" if None in values else f"{value:.0f}" if kind == "digital" else text
                if right != text:
                    clean[at : at + 8] = right.encode("latin-1")[:8].ljust(8)
    return bytes(clean), tuple(notes)


def _finite(text: str) -> float | None:
    """Return the number of a text; None if it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _records(where: str, head: bytes, size: int) -> _Records:
    """Return what the header states of its data records; raise UserError if it is none, or the file holds fewer."""
    stated = _number(where, head[236:244], "number of its data records", int)
    seconds = _number(where, head[244:252], "duration of its data records", float)
    if not 0 < seconds < LONGEST_GAP_S:
        raise UserError(f"{where}: expected a duration of its data records above 0 s; got {seconds:g} s")
    count = int(head[252:256])
    width = 3 if head[:1] == b"\xff" else 2
    at = 256 + count * sum(_WIDTHS[:-1])
    labels = [head[256 + 16 * k : 272 + 16 * k].decode("latin-1").strip() for k in range(count)]
    fields = [head[at + 8 * k : at + 8 * k + 8] for k in range(count)]
    samples = [
        int(_number(where, field, f"samples of {label!r} in a data record", _count_of))
        for label, field in zip(labels, fields, strict=True)
    ]
    held = (size - len(head)) // max(1, sum(samples) * width)
    if held < max(1, stated):
        raise UserError(f"{where}: expected {max(1, int(stated))} data records of {seconds:g} s; got {held}")
    return _Records(int(stated), held, seconds, samples, labels, width)


def _count(where: str, field: bytes) -> int:
    """Return the number of signals in a header."""
    text = _text(field).strip()
    if not text.isdigit() or int(text) == 0:
        raise UserError(f"{where}: expected an EDF or BDF file; got: {field!r} signals, by its header")
    return int(text)


def _number(where: str, field: bytes, of: str, kind: Callable[[bytes], float]) -> float:
    try:
        return kind(field)
    except ValueError:
        raise UserError(f"{where}: expected the {of} in its header; got {field!r}") from None


def _count_of(field: bytes) -> int:
    """Return a number that is not negative."""
    if not field.strip().isdigit():
        raise ValueError
    return int(field)


def _signal(signal: Any) -> tuple[Signal, bool]:
    """Return a signal as it is stored, without gaps, and whether its numbers are read without a sign."""
    low, high = signal.physical_range
    first, last = signal.digital_range
    gain = (high - low) / (last - first) if last != first else 0.0
    digital, half = signal.digital, 1 << (15 if signal.digital.dtype.itemsize == 2 else 23)
    is_unsigned = 0 <= min(first, last) < half <= max(first, last) <= 2 * half and bool((digital < 0).any())
    if is_unsigned:
        digital = digital.view(np.uint16) if half == 1 << 15 else digital & 2 * half - 1
    uv = uv_per_unit_of(_in_utf8(signal.physical_dimension))
    name = _in_utf8(signal.label)
    return of_digital(digital, name, signal.sampling_frequency, gain, low - first * gain, uv), is_unsigned


def _onsets(path: Path, head: bytes, records: _Records, *, of_any: bool) -> list[bytes]:
    """Return the time of each data record as it is written; an empty list if the file keeps none.

    It is that of the first annotation without a text. With ``of_any``, where no data record has such a one, it is that
    of the first annotation.
    """
    annotations = next((k for k, label in enumerate(records.labels) if label.endswith(_ANNOTATIONS)), None)
    if annotations is None:
        return []
    at = records.width * sum(records.samples[:annotations])
    onsets, firsts = [], []
    with path.open("rb") as file:
        for number in range(records.held):
            file.seek(len(head) + number * records.bytes_each + at)
            content = file.read(records.width * records.samples[annotations])
            lists = [part.split(b"\x14") for part in content.strip(b"\0").split(b"\0")]
            empty = next((texts[0] for texts in lists if len(texts) > 1 and not texts[1]), b"")
            onsets.append(empty.split(b"\x15")[0])
            firsts.append(lists[0][0].split(b"\x15")[0])
    return firsts if of_any and not any(onsets) else onsets


def _with_gaps(where: str, signal: Signal, onsets: Sequence[float], behind: list[int], records: _Records) -> Signal:
    """Return a signal with its data records at their times; ``behind`` are those behind gaps."""
    each = signal.length // records.held
    parts = [
        (onsets[first] - onsets[0], part_of(signal, first * each, last * each))
        for first, last in pairwise([0, *behind, len(onsets)])
    ]
    return placed(where, parts, signal.name)


def _text(field: bytes) -> bytes:
    """Return a field of a header up to the zero that may end it."""
    return field.lstrip(b"\0").partition(b"\0")[0]


def _in_utf8(text: str) -> str:
    """Return a text whose bytes, read as Latin-1, are UTF-8.

    >>> _in_utf8("\u00c2\u00b5V"), _in_utf8("\u00b5V")
    ('\u00b5V', '\u00b5V')
    """
    try:
        return text.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return text


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
