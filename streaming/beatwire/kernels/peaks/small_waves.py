"""Bodies that find waves far smaller than the beats so far that have their shape: a gain may have fallen.

In:    a peak below a fifth of the level, and the past peaks of a lane
Out:   whether it may be a beat; the height of such waves, which is the level of the peaks from there on
State: none

An electrode that dries, or an amplifier that is switched, makes beats smaller at once. The level of the blocks follows
in seconds. Until then one such wave is no beat, but where beats are overdue, one that is as wide as these were at every
scale ends the silence (``kernels.alerts.resized_waves``). P waves of a heart that stands still are wider. Behind
``ROW`` waves of that shape and of one height theirs is the level.

Small waves are stored, too, where no peak was high for ``OVERDUE_S``: what comes earlier may be a T wave or a P wave.
Whether one is stored depends on the level of the blocks alone.
"""

from beatwire.kernels.peaks.alike_waves import ALIKE, LONGEST_S, SMALLER, has_widths, is_alike, samples_of
from beatwire.kernels.peaks.peak_features import (
    LOOKBACK,
    PAST_HEIGHT,
    PAST_PEAKS,
    PAST_W8,
    PAST_W22,
    PAST_W32,
    PEAK_COUNT,
    W8,
    W22,
    W32,
)
from beatwire.kernels.short_times import until
from beatwire.records import F32, I64
from beatwire.records.classification import PeakMemory
from beatwire.records.columns import PEAK_BESIDE, PEAK_SAMPLE, SHRUNK

ROW = 2
SMALL, SMALLEST = 5, 30  # times as large are beats; a gain that changes by less is followed at once
HIGH = 2  # peaks above the level over this are beats to compare with
OVERDUE_S = 1.0
COMPARED, NEEDED = 4, 2  # last high peaks, and how many of them must be alike
ALIKE_W8, ALIKE_W22, ALIKE_W32 = 1.25, 1.15, 1.2  # quotients of two waves, at most


def is_overdue(c: int, height: int, level: int, spans: I64, memory: PeakMemory) -> bool:
    """Return True if a peak at sample ``c`` is small and none before it is high, for ``OVERDUE_S``."""
    if SMALL * height >= level:
        return False
    earliest = samples_of(OVERDUE_S, spans)
    past, total = memory.past, int(memory.log[PEAK_COUNT])
    at = total % PAST_PEAKS
    for _ in range(min(total, PAST_PEAKS)):
        at = PAST_PEAKS - 1 if at == 0 else at - 1
        if until(c, int(memory.sample[at])) >= earliest:
            return True
        if HIGH * past[at, PAST_HEIGHT] > level:
            return False
    return True


def resembles_high(c: int, level: int, w8: float, w22: float, w32: float, spans: I64, memory: PeakMemory) -> bool:
    """Return True if a wave has the shape of the last high peaks before sample ``c``."""
    past, total = memory.past, int(memory.log[PEAK_COUNT])
    at, compared, alike = total % PAST_PEAKS, 0, 0
    for _ in range(min(total, PAST_PEAKS)):
        at = PAST_PEAKS - 1 if at == 0 else at - 1
        if compared == COMPARED or until(c, int(memory.sample[at])) > spans[LOOKBACK]:
            break
        if HIGH * past[at, PAST_HEIGHT] <= level:
            continue
        compared += 1
        alike += int(has_widths(w8, w22, w32, past[at], ALIKE_W8, ALIKE_W22, ALIKE_W32))
    return alike >= NEEDED


def mark_shrunk(peak: I64, level: int, features: F32, spans: I64, memory: PeakMemory) -> None:
    """Mark a small peak if it has the shape of the last high ones.

    Parameters
    ----------
    peak : int64 [PEAK_COLUMNS]
        Written.
    level
        Of the response.
    features : float32 [FEATURES]
        The widths of the peak are read.
    spans : int64 [11]
        ``peak_features.SPAN_S`` in samples.
    memory
        The lane's past peaks.
    """
    w8, w22, w32 = float(features[W8]), float(features[W22]), float(features[W32])
    if peak[PEAK_BESIDE] == 0 and resembles_high(int(peak[PEAK_SAMPLE]), level, w8, w22, w32, spans, memory):
        peak[PEAK_BESIDE] = SHRUNK


def level_of_small(c: int, level: int, highest: float, spans: I64, memory: PeakMemory) -> int:
    """Return the height of the last of ``ROW`` small waves before sample ``c`` that may be beats; 0: there are fewer.

    They have the shape of the high peaks before them, and one height. Other waves may be among them.

    Parameters
    ----------
    level
        The largest that is known of the blocks.
    highest
        As ``highest_wave`` returns it.
    spans, memory
        As of ``mark_shrunk``.
    """
    if SMALL * highest >= level or SMALLEST * highest < level:  # as a rule
        return 0
    past, total, earliest = memory.past, int(memory.log[PEAK_COUNT]), ROW * samples_of(LONGEST_S, spans)
    at, count, found = total % PAST_PEAKS, 0, 0.0
    for _ in range(min(total, PAST_PEAKS)):
        at = PAST_PEAKS - 1 if at == 0 else at - 1
        height = abs(float(past[at, PAST_HEIGHT]))
        if until(c, int(memory.sample[at])) > earliest or HIGH * height > level:
            break
        if height < SMALLER * highest or (count > 0 and not is_alike(height, found, ALIKE)):
            continue
        w8, w22, w32 = float(past[at, PAST_W8]), float(past[at, PAST_W22]), float(past[at, PAST_W32])
        if resembles_high(c, level, w8, w22, w32, spans, memory):
            count += 1
            if count == 1:
                found = height
            if count == ROW:
                return int(found)
    return 0
