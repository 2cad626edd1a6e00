"""EDF, EDF+ and BDF files, by the package ``edfio``.

Each signal has its own rate. The signal of annotations is no lead. In a discontinuous file (EDF+D, BDF+D) the times of
its data records show the gaps. A file that is shorter than its header states is refused, and one that is longer is read
to its end. A header that is filled with zeros, or has decimal commas, is read as if it were right.
"""

import io
import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from beatwire.errors import UserError
from beatwire.recordings.columns.kinds import uv_per_unit_of
from beatwire.recordings.signals import Signal, Signals, joined, of_digital

_LONGEST_GAP_S = 86400.0  # a day without samples is another recording
_WIDTHS = (16, 80, 8, 8, 8, 8, 8, 80, 8)  # bytes of the fields of a signal; the last is its samples in a record
_RANGE = (104, 120)  # bytes of a signal before its physical range, and with it


class _Records(NamedTuple):
    """The data records of a file.

    stated     number in the header; -1 if the file was not closed
    held       whole ones in the file
    duration   of one, in seconds
    samples    in one, of each signal
    labels     of the signals
    """

    stated: int
    held: int
    duration_s: float
    samples: list[int]
    labels: list[str]


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
            written += file.read(256 * _count(where, written[252:256]))
        head = _corrected(written)
        records = _records(where, head, path.stat().st_size)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            load = edfio.read_bdf if head[:1] == b"\xff" else edfio.read_edf
            source = path if head == written else io.BytesIO(head + path.read_bytes()[len(head) :])
            opened = load(source, header_encoding="latin-1")
            signals = [_signal(one) for one in opened.signals if one.sampling_frequency > 0]
        discontinuous = head[192:197] in (b"EDF+D", b"BDF+D")
        onsets = _onsets(path, head, records) if discontinuous else []
    except UserError:
        raise
    except Exception as error:
        raise UserError(f"{where}: expected an EDF or BDF file; got: {_first_line(error)}") from None
    notes: tuple[str, ...] = ()
    if records.stated < 0:
        notes = (f"its header states no length: it holds {records.held * records.duration_s:.4g} s",)
    elif records.stated < records.held:
        notes = (
            f"its header states {records.stated} data records of {records.duration_s:g} s; it holds {records.held}",
        )
    if onsets:
        signals = [_with_gaps(signal, onsets, records) for signal in signals]
        gaps = [b - a - records.duration_s for a, b in pairwise(onsets) if b - a > records.duration_s * 1.001]
        if gaps:
            notes += (f"{len(gaps)} gap{'s'[: len(gaps) > 1]} in its times, {sum(gaps):.3g} s without samples",)
    return Signals(where, path.stem, tuple(signals), notes, many=True)


def _corrected(head: bytes) -> bytes:
    """Return a header with blanks for zeros, points for the commas of its numbers, and its own length."""
    clean, count = bytearray(head.replace(b"\0", b" ")), int(head[252:256].strip(b" \0"))
    for begin, end in ((244, 252), (256 + _RANGE[0] * count, 256 + _RANGE[1] * count)):
        clean[begin:end] = clean[begin:end].replace(b",", b".")
    clean[184:192] = b"%-8d" % (256 * (count + 1))
    return bytes(clean)


def _records(where: str, head: bytes, size: int) -> _Records:
    """Return what the header states of its data records; raise UserError if it is none, or the file holds fewer."""
    stated, seconds = _number(where, head[236:244], "number", int), _number(where, head[244:252], "duration", float)
    if not 0 < seconds < _LONGEST_GAP_S:
        raise UserError(f"{where}: expected a duration of its data records above 0 s; got {seconds:g} s")
    count = int(head[252:256])
    width = 3 if head[:1] == b"\xff" else 2
    at = 256 + count * sum(_WIDTHS[:-1])
    samples = [int(head[at + 8 * k : at + 8 * k + 8]) for k in range(count)]
    labels = [head[256 + 16 * k : 272 + 16 * k].decode("latin-1").strip() for k in range(count)]
    held = (size - len(head)) // max(1, sum(samples) * width)
    if held < max(1, stated):
        raise UserError(f"{where}: expected {max(1, int(stated))} data records of {seconds:g} s; got {held}")
    return _Records(int(stated), held, seconds, samples, labels)


def _count(where: str, field: bytes) -> int:
    """Return the number of signals in a header."""
    text = field.strip(b" \0")
    if not text.isdigit() or int(text) == 0:
        raise UserError(f"{where}: expected an EDF or BDF file; got: {field!r} signals, by its header")
    return int(text)


def _number(where: str, field: bytes, of: str, kind: Callable[[bytes], float]) -> float:
    try:
        return kind(field)
    except ValueError:
        raise UserError(f"{where}: expected the {of} of its data records in its header; got {field!r}") from None


def _signal(signal: Any) -> Signal:
    """Return a signal as it is stored, without gaps."""
    low, high = signal.physical_range
    first, last = signal.digital_range
    gain = (high - low) / (last - first) if last != first else 0.0
    return of_digital(
        signal.digital, signal.label, signal.sampling_frequency, gain, low - first * gain,
        uv_per_unit_of(signal.physical_dimension),
    )  # fmt: skip


def _onsets(path: Path, head: bytes, records: _Records) -> list[float]:
    """Return the time of each data record in seconds, from the first annotation in it."""
    width = 3 if head[:1] == b"\xff" else 2
    annotations = next((k for k, label in enumerate(records.labels) if label.endswith(" Annotations")), None)
    if annotations is None:
        raise UserError(f"{path.name}: expected annotations with the times of its data records; got no such signal")
    size, at = width * sum(records.samples), width * sum(records.samples[:annotations])
    onsets = []
    with path.open("rb") as file:
        for number in range(records.held):
            file.seek(len(head) + number * size + at)
            onset = file.read(width * records.samples[annotations]).split(b"\x14")[0].split(b"\x15")[0]
            try:
                onsets.append(float(onset))
            except ValueError:
                got = f"record {number + 1} has {onset[:20]!r}"
                raise UserError(f"{path.name}: expected the time of each data record; {got}") from None
    for number, (a, b) in enumerate(pairwise(onsets), 2):
        if not 0.999 * records.duration_s <= b - a <= _LONGEST_GAP_S:
            got = f"{a:g} s then {b:g} s (records {number - 1} and {number})"
            raise UserError(
                f"{path.name}: expected data records in the order of time, less than a day apart; got {got}"
            )
    return onsets


def _with_gaps(signal: Signal, onsets: list[float], records: _Records, rate_hz: float | None = None) -> Signal:
    """Return a signal with its data records at their times, to the sample of its own rate or another one."""
    each, rate_hz = signal.length // records.held, rate_hz or signal.rate_hz
    breaks = [k for k in range(1, len(onsets)) if onsets[k] - onsets[k - 1] > records.duration_s * 1.001]
    pieces: list[tuple[int, Signal]] = []
    end = 0
    for first, last in pairwise([0, *breaks, len(onsets)]):
        start = max(end, round((onsets[first] - onsets[0]) * rate_hz))
        pieces.append((start, _part(signal, first * each, last * each)))
        end = start + round((last - first) * each * rate_hz / signal.rate_hz)
    placed = joined(pieces, signal.name, rate_hz, end)
    return replace(placed, at=partial(_with_gaps, signal, onsets, records))


def _part(signal: Signal, begin: int, end: int) -> Signal:
    """Return the samples ``[begin, end)`` as a signal."""
    return Signal(
        signal.name, signal.rate_hz, end - begin, signal.uv_per_value,
        lambda first, last: signal.read(begin + first, begin + last),
    )  # fmt: skip


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
