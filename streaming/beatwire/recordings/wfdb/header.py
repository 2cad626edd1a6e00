"""The header of a WFDB record: its rate and length, its signals or its segments.

Read here, not by the ``wfdb`` package, which drops the letter of ``µV`` and replaces a gain of 0 by 200. The format:
https://physionet.org/physiotools/wag/header-5.htm. What a header leaves out is what that page says: 250 Hz, a baseline
equal to the ADC zero, millivolts.
"""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath

from beatwire.errors import UserError, reason
from beatwire.recordings.download import download_hint

DEFAULT_HZ = 250.0  # of a header without a rate
_FORMAT = re.compile(r"(\d+)((?:[x:+]-?\d+)*)")
_GAIN = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)?(?:\(([-+]?\d+)(?:\.0*)?\))?(?:/(\S+))?")
_RATE = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)(?:/\S*)?(?:\(.*)?")


@dataclass(frozen=True)
class SignalLine:
    """One signal of a header.

    file       name of its signal file, ``~`` if it has none
    format     number of the format of that file
    frame      its samples in each frame
    skew       frames by which it begins later in the file than the others
    offset     bytes before the first sample in the file; samples, in a FLAC file
    gain       digital units per unit; 0 if it is not calibrated
    baseline   digital value of 0
    unit       of the gain
    initial    value before the first sample, for format 8
    checksum   sum of all samples, modulo 2^16; None if it is not stated (0 states none)
    name       its description; empty if there is none
    """

    file: str
    format: str
    frame: int
    skew: int
    offset: int
    gain: float
    baseline: int
    unit: str
    initial: int
    checksum: int | None
    name: str


@dataclass(frozen=True)
class Header:
    """A header.

    path       of the header file
    rate_hz    frames per second; None if it is not stated
    frames     length in frames; None if it is not stated (a length of 0 states none)
    signals    of a record without segments
    segments   name and frames of each segment, in order; empty for a record without segments
    """

    path: Path
    rate_hz: float | None
    frames: int | None
    signals: tuple[SignalLine, ...]
    segments: tuple[tuple[str, int], ...] = ()


def read_header(path: Path) -> Header:
    """Read the header file of a record or of a segment.

    Raises
    ------
    UserError
        It does not exist or cannot be read, a line is not as the format says, or a name leads out of its folder.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        hint = download_hint(path.parent)
        raise UserError(f"{path.stem}: expected a WFDB record; there is no {path.name}{hint}") from None
    except OSError as error:
        raise UserError(f"{path.name}: expected a WFDB header that can be read; {reason(error)}") from None
    lines = [(number, line.split()) for number, line in enumerate(_text(content).splitlines(), 1)]
    lines = [(number, words) for number, words in lines if words and not words[0].startswith("#")]
    if not lines:
        raise UserError(f"{path.name}: expected a WFDB header; the file is empty")
    number, words = lines[0]
    record = re.fullmatch(r"([^/]+)(?:/(\d+))?", words[0])
    if record is None or len(words) < 2 or not words[1].isdecimal():
        raise UserError(f"{path.name}: expected a WFDB header (record, number of signals); got {_shown(words)!r}")
    rate = _RATE.fullmatch(words[2]) if len(words) > 2 else None
    if len(words) > 2 and rate is None:
        raise UserError(f"{path.name}: line {number}: expected a rate in Hz; got {words[2][:40]!r}")
    if len(words) > 3 and not words[3].isdecimal():
        raise UserError(f"{path.name}: line {number}: expected a number of samples; got {words[3][:40]!r}")
    rate_hz = None if rate is None else float(rate[1])
    frames = (int(words[3]) or None) if len(words) > 3 else None
    count = int(words[1]) if record[2] is None else int(record[2])
    kind = "signals" if record[2] is None else "segments"
    if len(lines) - 1 < count:
        raise UserError(f"{path.name}: expected {count} {kind}; got {len(lines) - 1}")
    more = lines[1 + count :]
    if record[2] is None:
        files = {words[0] for _, words in lines[1 : 1 + count]} - {"~"}
        more = [(n, words) for n, words in more if words[0] in files and _FORMAT.fullmatch(" ".join(words[1:2]))]
    else:
        more = [(n, words) for n, words in more if len(words) == 2 and words[1].isdecimal()]
    if more:
        got = f"line {more[0][0]} is another one ({_shown(more[0][1])!r})"
        raise UserError(f"{path.name}: expected {count} {kind}, as its first line says; {got}")
    if record[2] is None:
        signals = tuple(_signal(path, *line) for line in lines[1 : 1 + count])
        return Header(path, rate_hz, frames, signals)
    return Header(path, rate_hz, frames, (), tuple(_segment(path, *line) for line in lines[1 : 1 + count]))


def beside(header: Path, name: str) -> Path:
    """Return the path of a file that a header names.

    Raises
    ------
    UserError
        The name is not that of a file in the folder of the header or below.
    """
    parts = PurePosixPath(name).parts
    outside = PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive or ".." in parts or "\\" in name
    if outside or not parts or "\0" in name:
        raise UserError(f"{header.name}: expected the name of a file in its folder; got {name[:40]!r}")
    return header.parent / name


def _signal(path: Path, number: int, words: list[str]) -> SignalLine:
    """Return the signal of a line."""
    where = f"{path.name}: line {number}"
    form = _FORMAT.fullmatch(words[1]) if len(words) > 1 else None
    if form is None:
        raise UserError(f"{where}: expected a file and its format; got {_shown(words)!r}")
    modifiers = dict(re.findall(r"([x:+])(-?\d+)", form[2]))
    gain = _GAIN.fullmatch(words[2]) if len(words) > 2 else None
    if len(words) > 2 and gain is None:
        raise UserError(f"{where}: expected a gain; got {words[2][:40]!r}")
    numbers = []  # resolution, ADC zero, initial value, checksum, block size
    for word in words[3:8]:
        if re.fullmatch(r"[-+]?\d+", word) is None:
            raise UserError(f"{where}: expected a whole number; got {word[:40]!r}")
        numbers.append(int(word))
    zero = numbers[1] if len(numbers) > 1 else 0
    frame, skew, offset = (int(modifiers.get(mark, 0)) for mark in "x:+")
    if frame < 0 or skew < 0 or offset < 0:
        raise UserError(f"{where}: expected a format without negative numbers; got {words[1]!r}")
    if words[0] != "~":
        beside(path, words[0])
    return SignalLine(
        file=words[0], format=form[1], frame=frame or 1, skew=skew, offset=offset,
        gain=float(gain[1]) if gain and gain[1] else 0.0, baseline=int(gain[2]) if gain and gain[2] else zero,
        unit=gain[3] if gain and gain[3] else "mV", initial=numbers[2] if len(numbers) > 2 else zero,
        checksum=(numbers[3] or None) if len(numbers) > 3 else None, name=" ".join(words[8:]),
    )  # fmt: skip


def _segment(path: Path, number: int, words: list[str]) -> tuple[str, int]:
    """Return the name and the length of the segment of a line."""
    if len(words) < 2 or not words[1].isdecimal():
        raise UserError(f"{path.name}: line {number}: expected a segment and its length; got {_shown(words)!r}")
    if words[0] != "~":
        beside(path, words[0])
    return words[0], int(words[1])


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _shown(words: list[str]) -> str:
    return " ".join(words)[:40]
