"""Bodies that compare past peaks in height and shape, where waves of another size than the level may be beats.

In:    the past peaks of a lane
Out:   whether two are alike; the height of the highest of the last
State: none
"""

from beatwire.kernels.peaks.peak_features import (
    LOOKBACK,
    PAST_HEIGHT,
    PAST_PEAKS,
    PAST_W8,
    PAST_W22,
    PAST_W32,
    PEAK_COUNT,
    SPAN_S,
)
from beatwire.kernels.short_times import until
from beatwire.records import F32, I64
from beatwire.records.classification import PeakMemory

LONGEST_S = 2.0  # an interval of a heart
SMALLER = 0.5  # times the highest of this time: what is below it is a T wave
ALIKE = 1.35  # quotient of the heights of two beats, at most


def is_alike(one: float, other: float, most: float) -> bool:
    """Return True if two numbers differ by a factor of ``most`` at most."""
    return one <= most * other and other <= most * one


def has_widths(w8: float, w22: float, w32: float, past: F32, most_w8: float, most_w22: float, most_w32: float) -> bool:
    """Return True if the widths of a peak differ from those of a past one by these factors at most."""
    alike: bool = (
        is_alike(w8, float(past[PAST_W8]), most_w8)
        and is_alike(w22, float(past[PAST_W22]), most_w22)
        and is_alike(w32, float(past[PAST_W32]), most_w32)
    )
    return alike


def samples_of(seconds: float, spans: I64) -> int:
    """Return a time in samples; ``spans`` are ``peak_features.SPAN_S`` in samples."""
    return int(seconds * float(spans[LOOKBACK]) / SPAN_S[LOOKBACK])


def highest_wave(c: int, spans: I64, memory: PeakMemory) -> float:
    """Return the height of the highest past peak of the ``LONGEST_S`` before sample ``c``; 0: there is none."""
    past, total, longest = memory.past, int(memory.log[PEAK_COUNT]), samples_of(LONGEST_S, spans)
    at, highest = total % PAST_PEAKS, 0.0
    for _ in range(min(total, PAST_PEAKS)):
        at = PAST_PEAKS - 1 if at == 0 else at - 1
        if until(c, int(memory.sample[at])) > longest:
            break
        highest = max(highest, abs(float(past[at, PAST_HEIGHT])))
    return highest
