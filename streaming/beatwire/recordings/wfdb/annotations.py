"""The annotations of a WFDB record, at the sampling rate of its recording.

An annotation file counts frames of its record, unless it states a clock of its own. A lead may have several samples in
a frame. Both are converted here.
"""

import re
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.wfdb.header import DEFAULT_HZ, read_header
from beatwire.records import I64

_SKIP, _AUX = 59, 63  # kinds of words: two words follow, which are an interval; so many letters follow
ENDING = "atr"  # of the reference annotations of PhysioNet


class Annotations(NamedTuple):
    """Annotations in the order of time.

    at       int64 [n], sample indices
    symbol   str [n], of WFDB
    note     str [n], their additional texts
    """

    at: I64
    symbol: list[str]
    note: list[str]


def checked_ending(ending: str) -> str:
    """Return the ending of annotation files without its point.

    Raises
    ------
    UserError
        It cannot be one, or names signals or headers.

    >>> checked_ending(".qrs"), checked_ending("atr")
    ('qrs', 'atr')
    """
    plain = ending.removeprefix(".")
    if re.fullmatch(r"\w{1,16}", plain) is None or plain in ("hea", "dat", "mat"):
        raise UserError(f"--annotations: expected the ending of annotation files, such as atr or qrs; got {ending!r}")
    return plain


def annotation_file(record: Path, ending: str) -> Path:
    """Return the path of the annotation file of a record, whose path is without ending."""
    return record.with_name(f"{record.name}.{ending}")


def beats_within(record: Path, at: I64, samples: int, ending: str = ENDING) -> I64:
    """Return the places of annotated beats in a recording of so many samples.

    Raises
    ------
    UserError
        A beat is before its first sample or after its last, by more than rounding: it is not of this recording.
    """
    outside = at[(at < 0) | (at > samples)]
    if len(outside):
        name = annotation_file(record, ending).name
        raise UserError(
            f"{name}: expected beats within the {samples} samples of the record; got {len(outside)} elsewhere, "
            f"the first at {outside[0]}"
        )
    return np.minimum(at, samples - 1)


def read_annotations(record: Path, rate_hz: float, ending: str = ENDING) -> Annotations:
    """Read the annotation file of a record; annotations that are not in the order of time are put in order.

    Parameters
    ----------
    record
        Its path without ending.
    rate_hz
        The sampling rate of the recording that the annotations are for.
    ending
        Of the annotation file.

    Raises
    ------
    UserError
        There is no such file, or it is damaged or cut off.
    """
    import wfdb

    path = annotation_file(record, ending)
    if not path.is_file():
        raise UserError(f"{path.name}: expected WFDB annotations; there is no such file")
    _check_end(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = wfdb.rdann(str(record), ending)
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"{path.name}: expected WFDB annotations; got {reason}") from None
    header = record.with_name(f"{record.name}.hea")
    clock_hz = float(found.fs or 0) or (read_header(header).rate_hz if header.exists() else None) or DEFAULT_HZ
    at = np.asarray(found.sample, np.int64)
    if clock_hz != rate_hz:
        at = np.rint(at * (rate_hz / clock_hz)).astype(np.int64)
    order = np.argsort(at, kind="stable")
    return Annotations(at[order], [str(found.symbol[k]) for k in order], [str(found.aux_note[k]) for k in order])


def _check_end(path: Path) -> None:
    """Raise UserError if an annotation file is cut off before its end mark, or holds others behind it."""
    content = path.read_bytes()
    words, at = np.frombuffer(content, "<u2", len(content) // 2).tolist(), 0
    while at < len(words) and words[at]:
        kind, number = words[at] >> 10, words[at] & 1023
        at += {_SKIP: 3, _AUX: 1 + (number + 1) // 2}.get(kind, 1)
    if at >= len(words):
        raise UserError(f"{path.name}: expected annotations and their end mark; it is cut off at byte {len(content)}")
    if any(content[2 * at :]):
        got = f"{len(content) - 2 * at - 2} more bytes"
        raise UserError(f"{path.name}: expected nothing behind the end mark at byte {2 * at}; got {got}")
