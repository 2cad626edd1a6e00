"""The times of the data records of EDF+ and BDF+ files: their order, and the gaps between them.

In:  the time of each data record as it is written, and the seconds of one
Out: the times in seconds; the records behind gaps

A record that begins where the samples before it end, to what is lost in rounding the times, is behind no gap. The error
of rounding does not add up: what differs by more, counted from the last gap, is a gap. That of the duration does.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from beatwire.errors import UserError
from beatwire.recordings.record import LONGEST_GAP_S

LEAST_GAP = 0.01  # in data records: a file that is called continuous has gaps if one is longer
LEAST_GAP_OF_D = 0.001  # less is none
LEAST_GAP_S = 0.004  # a sample of 250 Hz: of long records less than the share above is none
_MOST_ROUNDED = 0.5  # of a data record
_EXACT = 1e-6  # of the last digit
_FIELD = 8  # characters of the duration in a header: one that fills it has lost digits

_TIME = re.compile(rb"[+-]?\d+\.?\d{0,12}")


class RecordTimes(NamedTuple):
    """The times of data records.

    onsets_s     of each, NaN if it has none; empty if they are not kept
    duration_s   of each
    rounded_s    by which the distance of two may be wrong, as they are written with few digits; 0 if they are exact
    cut_s        by which the duration may be wrong, likewise
    """

    onsets_s: Sequence[float]
    duration_s: float
    rounded_s: float = 0.0
    cut_s: float = 0.0


def record_times(written: Sequence[bytes], duration_s: float) -> RecordTimes:
    """Return the times of data records from their texts.

    >>> record_times([b"+0", b"+0.33", b"+0.67", b""], 0.333333)
    RecordTimes(onsets_s=[0.0, 0.33, 0.67, nan], duration_s=0.333333, rounded_s=0.01, cut_s=1e-06)
    """
    digits = max((len(text.partition(b".")[2]) for text in written if _TIME.fullmatch(text)), default=0)
    parts = duration_s * 10.0**digits
    is_exact = abs(parts - round(parts)) <= _EXACT * max(1.0, parts)
    rounded_s = 0.0 if is_exact else min(10.0**-digits, _MOST_ROUNDED * duration_s)
    stated = repr(duration_s)
    cut_s = 10.0 ** -len(stated.partition(".")[2]) if len(stated) >= _FIELD and "e" not in stated else 0.0
    return RecordTimes([_seconds(text) for text in written], duration_s, rounded_s, cut_s)


def in_order(where: str, times: RecordTimes, *, has_to: bool) -> tuple[RecordTimes, tuple[str, ...]]:
    """Return the times of data records, none if they are not kept or not in order, and a note.

    Raises
    ------
    UserError
        They have to be there and in order, and are not.
    """
    onsets, none = times.onsets_s, times._replace(onsets_s=[])
    unknown = np.flatnonzero(np.isnan(onsets))
    if has_to and (not onsets or len(unknown)):
        got = f"none in record {unknown[0] + 1}" if onsets else "no such signal"
        raise UserError(f"{where}: expected annotations with the times of its data records; got {got}")
    if not has_to and len(unknown):
        return none, _said_of_others(times)
    if not has_to and len(set(onsets)) < 2:  # not kept
        return none, ()
    back_s = max(LEAST_GAP_OF_D * times.duration_s, times.rounded_s * (1 + _EXACT) + times.cut_s)
    for number, (a, b) in enumerate(pairwise(onsets), 2):
        if not -back_s <= b - a - times.duration_s <= LONGEST_GAP_S - times.duration_s:
            got = f"{a:g} s then {b:g} s (records {number - 1} and {number})"
            expected = "data records in the order of time, less than a day apart"
            if has_to:
                raise UserError(f"{where}: expected {expected}; got {got}")
            return none, (f"read without gaps, in the order of the file: expected {expected}; got {got}",)
    return times, ()


def _said_of_others(times: RecordTimes) -> tuple[str, ...]:
    """Return a note if some data records have no time, and the times of the others are not those of one row."""
    known = np.flatnonzero(np.isfinite(times.onsets_s))
    onsets = np.array(times.onsets_s)[known]
    if len(set(onsets)) < 2:  # not kept
        return ()
    late = np.abs(np.diff(onsets) - np.diff(known) * times.duration_s)
    at = np.flatnonzero(late > LEAST_GAP * times.duration_s + times.rounded_s + times.cut_s * np.diff(known))
    if not len(at):
        return ()
    a, b = known[at[0]], known[at[0] + 1]
    got = f"{times.onsets_s[a]:g} s then {times.onsets_s[b]:g} s (records {a + 1} and {b + 1}), and none in others"
    return (f"read without gaps: expected the time of each data record of {times.duration_s:g} s; got {got}",)


def gaps_in(times: RecordTimes, *, has_to: bool) -> dict[int, float]:
    """Return the seconds of each gap by the number of the record behind it, from 0.

    A file whose times do not have to be kept has gaps only if one of them is long.
    """
    least, rounded_s = min(LEAST_GAP_S, LEAST_GAP_OF_D * times.duration_s), times.rounded_s * (1 + _EXACT)
    gaps, first = {}, 0
    for number, (a, b) in enumerate(pairwise(times.onsets_s), 1):
        gap_s, behind = b - a - times.duration_s, b - times.onsets_s[first] - (number - first) * times.duration_s
        if gap_s > least and max(gap_s, behind - (number - first) * times.cut_s) > rounded_s + times.cut_s:
            gaps[number], first = max(gap_s, behind), number
    return gaps if has_to or max(gaps.values(), default=0.0) > LEAST_GAP * times.duration_s else {}


def _seconds(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
