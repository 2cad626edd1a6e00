"""Annotated WFDB records: samples, beats by AAMI class, spans excluded from matching, rhythms.

Beat symbols: N = ``N L R e j``, S = ``A a J S``, V = ``V E``, F = ``F``, Q = ``/ f Q ?``; other symbols are not beats.
Ventricular flutter is excluded from the matching of beats: between ``[`` and ``]``, and six spans of MIT-BIH record
207 that are not marked so. A record of that database has its name, rate and length: others may be called 207, too. One
that cannot be read raises ``UserError``.
"""

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings import Recording, read_recording
from beatwire.recordings.places import check_folder
from beatwire.recordings.wfdb.annotations import ENDING, beats_within, read_annotations
from beatwire.records import I64

_SYMBOLS = {"N": "NLRej", "S": "AaJS", "V": "VE", "F": "F", "Q": "/fQ?"}
CLASS_OF = {symbol: name for name, symbols in _SYMBOLS.items() for symbol in symbols}
# First and last second of each span of flutter in MIT-BIH record 207.
FLUTTER_207_S = ((40.7, 51.0), (54.8, 60.4), (242.1, 246.4), (247.9, 261.5), (269.5, 280.9), (1540.8, 1638.7))
PACED = frozenset({"102", "104", "107", "217"})  # of the MIT-BIH Arrhythmia Database; EC57 excludes them
_MITDB = 360.0, 650_000  # rate and samples of its records
_QTDB = re.compile(r"sel(e?\d+)"), 250.0, 900.0  # names, rate and seconds, nearly, of those of the QT Database
PACED_SHARE = 0.05  # any other record is paced if more of its beats are paced or fused with paced ones
_SUBJECT = {"202": "201"}  # MIT-BIH records 201 and 202 are of one person


@dataclass(frozen=True)
class Rhythm:
    """A rhythm from sample ``first`` to ``last``, both included; the name as annotated, without the parenthesis."""

    name: str
    first: int
    last: int


@dataclass(frozen=True)
class AnnotatedRecord:
    """A recording with its annotations.

    beat        int64 [b], sample index of every annotated beat, ascending
    beat_class  str [b], AAMI class of each beat
    excluded    int64 [k, 2], first and last sample of each span excluded from matching
    rhythms     in order; empty for a record without rhythm annotations
    paced       True for a record of a paced heart, whose figures are summed separately
    """

    recording: Recording
    beat: I64
    beat_class: tuple[str, ...]
    excluded: I64
    rhythms: tuple[Rhythm, ...] = ()
    paced: bool = False

    @property
    def subject(self) -> str:
        """The person: records of one person are resampled together."""
        return subject_of(self.recording.name, self.recording.rate_hz, self.recording.samples.shape[1])


def subject_of(name: str, rate_hz: float, samples: int) -> str:
    """Return the person of a record with so many samples a lead.

    The QT Database has excerpts of other databases: their names there, behind ``sel``.

    >>> subject_of("202", 360.0, 650_000), subject_of("202", 250.0, 1000), subject_of("sel100", 250.0, 225_000)
    ('201', '202', '100')
    """
    if (rate_hz, samples) == _MITDB:
        return _SUBJECT.get(name, name)
    form, of_qtdb_hz, seconds = _QTDB
    excerpt = form.fullmatch(name)
    return excerpt[1] if excerpt and rate_hz == of_qtdb_hz and abs(samples / rate_hz - seconds) < 1 else name


def record_seed(name: str, seed: int) -> int:
    """Return the random seed of a record: the same in any folder and any order."""
    return zlib.crc32(f"{seed}:{name}".encode())


def find_records(folder: Path, ending: str = ENDING) -> list[str]:
    """Return the sorted names of the WFDB records with annotations of this ending in a folder.

    Raises
    ------
    UserError
        There is no such folder, or it has no such record.
    """
    check_folder(folder)
    listed = folder / "RECORDS"
    names = {p.stem for p in folder.glob(f"*.{ending}")}
    if not names:
        raise UserError(f"{folder}: expected WFDB records with annotations (.{ending}); there are none")
    if listed.exists():
        names |= {line.strip() for line in listed.read_text(encoding="utf-8").splitlines() if line.strip()}
    return sorted(names)


def read_annotated(folder: Path, name: str, ending: str = ENDING) -> AnnotatedRecord:
    """Read a record and its annotations; ``ending`` is that of their files.

    Raises
    ------
    UserError
        The record or its annotations cannot be read, or no beat is annotated.
    """
    record = annotate(read_recording(folder / f"{name}.hea"), folder / name, ending)
    if not len(record.beat):
        raise UserError(f"{name}.{ending}: expected annotated beats; there are none")
    return record


def annotate(recording: Recording, path: Path, ending: str = ENDING) -> AnnotatedRecord:
    """Return a recording with the annotations of the record at ``path``, which may have no beats.

    Raises
    ------
    UserError
        The annotations cannot be read.
    """
    name = path.name
    at, symbols, texts = read_annotations(path, recording.rate_hz, ending)
    is_beat = np.array([s in CLASS_OF for s in symbols], bool)
    samples = recording.samples.shape[1]
    last, of_mitdb = samples - 1, (recording.rate_hz, samples) == _MITDB
    return AnnotatedRecord(
        recording=recording,
        beat=beats_within(path, at[is_beat], samples, ending),
        beat_class=tuple(CLASS_OF[s] for s in symbols if s in CLASS_OF),
        excluded=_flutter(name == "207" and of_mitdb, symbols, at, recording.rate_hz, last),
        rhythms=_rhythms(symbols, at, texts, last),
        paced=(name in PACED and of_mitdb) or sum(s in "/f" for s in symbols) > PACED_SHARE * int(is_beat.sum()),
    )


def _flutter(is_207: bool, symbols: list[str], at: I64, rate_hz: float, last: int) -> I64:
    """Return the spans int64 [k, 2] from ``[`` to ``]``, or to the end of the record without ``]``."""
    spans: list[tuple[int, int]] = []
    begin: int | None = None
    for symbol, sample in zip(symbols, at.tolist(), strict=True):
        if symbol == "[":
            begin = sample
        elif symbol == "]" and begin is not None:
            spans.append((begin, sample))
            begin = None
    if begin is not None:
        spans.append((begin, last))
    if is_207:
        spans += [(int(a * rate_hz), int(b * rate_hz)) for a, b in FLUTTER_207_S]
    return np.array(sorted(spans), np.int64).reshape(-1, 2)


def _rhythms(symbols: list[str], at: I64, notes: list[str], last: int) -> tuple[Rhythm, ...]:
    """Return the rhythms; each lasts until the next rhythm annotation."""
    marks = [
        (int(sample), note.strip("\x00 ").lstrip("("))
        for symbol, sample, note in zip(symbols, at, notes, strict=True)
        if symbol == "+" and note.startswith("(")
    ]
    ends = [*(sample - 1 for sample, _ in marks[1:]), last][: len(marks)]
    return tuple(Rhythm(name, first, end) for (first, name), end in zip(marks, ends, strict=True))


def readable_records(
    folder: Path, names: Sequence[str] | None, failed: dict[str, str], ending: str, progress: Callable[[str], None]
) -> Iterator[tuple[str, AnnotatedRecord]]:
    """Yield each record that can be read, with its name; add the others to ``failed``."""
    for name in find_records(folder, ending) if names is None else names:
        progress(name)
        try:
            record = read_annotated(folder, name, ending)
        except UserError as reason:
            failed[name] = str(reason)
        else:
            yield name, record
