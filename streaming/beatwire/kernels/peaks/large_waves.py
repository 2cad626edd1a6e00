"""Bodies that find the level of waves that are too large for the level of the blocks: a gain has changed.

In:    the past peaks of a lane
Out:   the height of a row of such waves, which is the level of the peaks from there on
State: none

One such wave is a disturbance. ``ROW`` in a row that have one height and one shape, at intervals of a heart, are beats:
an electrode was put back, or an amplifier was switched. The row ends where the next wave is late. The blocks would take
eight seconds and more to be as sure (``kernels.detection.level``).
"""

from beatwire.kernels.detection.level import ceiling
from beatwire.kernels.peaks.peak_features import (
    LOOKBACK,
    PAST_HEIGHT,
    PAST_PEAKS,
    PAST_W8,
    PAST_W22,
    PAST_W32,
    PEAK_COUNT,
    SPAN_S,
    W8,
    W22,
    W32,
)
from beatwire.kernels.peaks.stored_peak import size_of, width_of
from beatwire.kernels.short_times import until
from beatwire.kernels.team import member, wait
from beatwire.records import F32, I64, U16
from beatwire.records.classification import Candidate, PeakMemory
from beatwire.records.columns import (
    PEAK_BESIDE,
    PEAK_CEILING,
    PEAK_MEDIAN,
    PEAK_QUANTILE,
    PEAK_RESPONSE,
    PEAK_SAMPLE,
    RESEMBLING,
)

ROW = 3
LARGE = 4  # times the level; a gain that changes by less is followed at once
LONGEST_S, SHORTEST_S = 2.0, 0.25  # of the intervals
LATE = 1.5  # times the last interval
SMALLER = 0.5  # a wave below it is another one than those of the row: a T wave
# Quotients of two waves of a row, at most. Below 200 Hz W8 depends on where the samples of a QRS complex are.
ALIKE, ALIKE_W8, ALIKE_W22, ALIKE_W32 = 1.35, 2.0, 1.18, 1.25
STEEPEST = 1.6  # the same of heights while a gain rises


def is_alike(one: float, other: float, most: float) -> bool:
    """Return True if two numbers differ by a factor of ``most`` at most."""
    return one <= most * other and other <= most * one


def has_widths(w8: float, w22: float, w32: float, past: U16, most_w8: float, most_w22: float, most_w32: float) -> bool:
    """Return True if the widths of a peak differ from those of a past one by these factors at most."""
    alike: bool = (
        is_alike(w8, width_of(past[PAST_W8]), most_w8)
        and is_alike(w22, width_of(past[PAST_W22]), most_w22)
        and is_alike(w32, width_of(past[PAST_W32]), most_w32)
    )
    return alike


def are_alike(one: U16, other: U16) -> bool:
    """Return True if two past peaks have one height and one shape."""
    w8, w22, w32 = width_of(one[PAST_W8]), width_of(one[PAST_W22]), width_of(one[PAST_W32])
    return is_alike(size_of(one[PAST_HEIGHT]), size_of(other[PAST_HEIGHT]), ALIKE) and has_widths(
        w8, w22, w32, other, ALIKE_W8, ALIKE_W22, ALIKE_W32
    )


def mark_resembling(peak: I64, features: F32, spans: I64, memory: PeakMemory) -> None:
    """Mark a peak that is larger than those of any heart if one shortly before it has its shape: it may be a beat.

    The one before has its height, too, or that of the beats so far: the gain may have changed between them.
    """
    c, height, median = int(peak[PEAK_SAMPLE]), float(peak[PEAK_RESPONSE]), int(peak[PEAK_MEDIAN])
    if height <= ceiling(median, int(peak[PEAK_CEILING])) or median <= 0:  # as a rule
        return
    w8, w22, w32 = float(features[W8]), float(features[W22]), float(features[W32])
    longest = int(LONGEST_S * float(spans[LOOKBACK]) / SPAN_S[LOOKBACK])
    past, total = memory.past, int(memory.log[PEAK_COUNT])
    at, found = total % PAST_PEAKS, False
    for _ in range(min(total, PAST_PEAKS)):
        at = PAST_PEAKS - 1 if at == 0 else at - 1
        gap = until(c, int(memory.sample[at]))
        if gap > longest:
            break
        other = size_of(past[at, PAST_HEIGHT])
        may_be = is_alike(other, height, STEEPEST) or is_alike(other, float(median), STEEPEST)
        found = found or (
            may_be
            and gap > 0  # the peak itself
            and has_widths(w8, w22, w32, past[at], ALIKE_W8, ALIKE_W22, ALIKE_W32)
        )
    if found:
        peak[PEAK_BESIDE] = RESEMBLING


def level_of_row(c: int, median: int, spans: I64, memory: PeakMemory) -> int:
    """Return the height of the row of large waves before sample ``c``; 0 if there is none.

    Parameters
    ----------
    median
        The level of the blocks, above 0.
    spans : int64 [11]
        ``peak_features.SPAN_S`` in samples.
    memory
        The lane's past peaks.
    """
    rate = float(spans[LOOKBACK]) / SPAN_S[LOOKBACK]
    longest, shortest = int(LONGEST_S * rate), int(SHORTEST_S * rate)
    past, total = memory.past, int(memory.log[PEAK_COUNT])
    known, highest = min(total, PAST_PEAKS), 0.0
    at = total % PAST_PEAKS
    for _ in range(known):
        at = PAST_PEAKS - 1 if at == 0 else at - 1
        if until(c, int(memory.sample[at])) > longest:
            break
        highest = max(highest, size_of(past[at, PAST_HEIGHT]))
    if highest <= LARGE * median:  # as a rule
        return 0
    newest, count, before, late = -1, 0, 0, 0
    at = total % PAST_PEAKS
    for _ in range(known):
        at = PAST_PEAKS - 1 if at == 0 else at - 1
        gap = until(c, int(memory.sample[at]))
        if gap > (ROW + 1) * longest:
            break
        if size_of(past[at, PAST_HEIGHT]) < SMALLER * highest:
            continue
        if newest < 0:
            newest = at
        elif gap - before > longest or gap - before < shortest or not are_alike(past[newest], past[at]):
            break
        elif count == 1:
            late = int(LATE * (gap - before))
        before = gap
        count += 1
        if count == ROW:
            break
    if (
        count < ROW
        or until(c, int(memory.sample[newest])) > late
        or size_of(past[newest, PAST_HEIGHT]) <= LARGE * median
    ):
        return 0
    return int(size_of(past[newest, PAST_HEIGHT]))


def behind_row(candidate: Candidate, peak: I64, spans: I64, memory: PeakMemory) -> Candidate:
    """Return a candidate with the level of the row of large waves before it, and write it to its peak; else as it is.

    Parameters
    ----------
    peak : int64 [PEAK_COLUMNS]
        The median of the blocks is read; median and quantile are written.
    spans, memory
        As of ``level_of_row``.
    """
    if peak[PEAK_MEDIAN] <= 0:  # no level is known yet
        return candidate
    level = level_of_row(candidate.sample, int(peak[PEAK_MEDIAN]), spans, memory)
    if level == 0:
        return candidate
    wait()  # all members have read the median
    if member() == 0:
        peak[PEAK_MEDIAN] = peak[PEAK_QUANTILE] = level
    return Candidate(candidate.sample, candidate.height, level, level, level, candidate.muted)
