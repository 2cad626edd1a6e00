"""Body that marks waves far smaller than the beats so far that have their shape: a gain may have fallen.

In:    a peak below a fifth of the level, and the past peaks of a lane
Out:   whether it may be a beat
State: none

An electrode that dries, or an amplifier that is switched, makes beats smaller at once. The level follows in seconds.
Until then such waves are no beats, but where beats are overdue, one that is as wide as these were at every scale ends
the silence (``kernels.alerts.resized_waves``). P waves of a heart that stands still are wider.
"""

from beatwire.kernels.peaks.large_waves import has_widths
from beatwire.kernels.peaks.peak_features import LOOKBACK, PAST_HEIGHT, PAST_PEAKS, PEAK_COUNT, SPAN_S, W8, W22, W32
from beatwire.kernels.peaks.stored_peak import size_of
from beatwire.kernels.short_times import until
from beatwire.records import F32, I64
from beatwire.records.classification import PeakMemory
from beatwire.records.columns import PEAK_BESIDE, PEAK_SAMPLE, SHRUNK

SMALL = 5  # times as large are beats; a gain that changes by less is followed at once
HIGH = 2  # peaks above the level over this are beats to compare with
OVERDUE_S = 1.0  # since the last of these: what comes earlier may be a T wave or a P wave
COMPARED, NEEDED = 4, 2  # last high peaks, and how many of them must be alike
ALIKE_W8, ALIKE_W22, ALIKE_W32 = 1.25, 1.15, 1.2  # quotients of two waves, at most


def is_overdue(c: int, height: int, level: int, spans: I64, memory: PeakMemory) -> bool:
    """Return True if a peak at sample ``c`` is small and the last high one was long ago."""
    if SMALL * height >= level:
        return False
    earliest = int(OVERDUE_S * float(spans[LOOKBACK]) / SPAN_S[LOOKBACK])
    past, total = memory.past, int(memory.log[PEAK_COUNT])
    at = total % PAST_PEAKS
    for _ in range(min(total, PAST_PEAKS)):
        at = PAST_PEAKS - 1 if at == 0 else at - 1
        gap = until(c, int(memory.sample[at]))
        if gap > spans[LOOKBACK]:
            return False
        if HIGH * size_of(past[at, PAST_HEIGHT]) > level:
            return gap >= earliest
    return False


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
    c, past, total = int(peak[PEAK_SAMPLE]), memory.past, int(memory.log[PEAK_COUNT])
    at, compared, alike = total % PAST_PEAKS, 0, 0
    for _ in range(min(total, PAST_PEAKS)):
        at = PAST_PEAKS - 1 if at == 0 else at - 1
        if compared == COMPARED or until(c, int(memory.sample[at])) > spans[LOOKBACK]:
            break
        if HIGH * size_of(past[at, PAST_HEIGHT]) <= level:
            continue
        compared += 1
        alike += int(has_widths(w8, w22, w32, past[at], ALIKE_W8, ALIKE_W22, ALIKE_W32))
    if alike >= NEEDED and peak[PEAK_BESIDE] == 0:
        peak[PEAK_BESIDE] = SHRUNK
