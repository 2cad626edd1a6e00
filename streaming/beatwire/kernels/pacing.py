"""Bodies that recognise the pulse of a pacemaker that no QRS complex follows: such a peak is no beat.

In:    the features of a peak, and the past peaks of its lane
Out:   whether the peak is a pulse alone
State: none

A pulse lasts for a millisecond or two. In the samples of a monitor it is the impulse response of the monitor's filter:
large at 8 ms, with a swing that is large for its response, and over after 75 ms. No QRS complex is so short. A pulse
that a QRS complex follows within 0.22 s stays a beat: it hides the complex. Without three other peaks of half the
height in ten seconds pulses are taken for beats too: they are so large that the detector, whose level follows them,
may not see QRS complexes beside them.
"""

from __future__ import annotations

from numpy import float64

from beatwire.kernels.peak_features import (
    AFTER_60,
    AFTER_120,
    BEFORE_120,
    LOOKBACK,
    PAST_HEIGHT,
    PAST_PEAKS,
    PAST_W8,
    PEAK_COUNT,
    PEAK_SAMPLES,
    RIGHT_75,
    SIZE,
    W8,
)
from beatwire.records import F32, I64

# Limits of a pulse alone. Two of the beats of mitdb, svdb and qtdb are within them, of 350,000 with one lead and two.
LEAST_W8, LEAST_SIZE = 1.25, 0.34375
MOST_AT_75, MOST_AFTER_60, MOST_AFTER_120, MOST_BEFORE_120 = 0.125, 0.3125, 0.25, 0.3125
# Other peaks in ten seconds: their number, their height over that of the pulse, and what no pulse has.
FEWEST_OTHERS, LEAST_OF_PULSE, MOST_W8 = 3, 0.5, 1.0


def may_be_pulse(features: F32) -> bool:
    """Return True if by its basic features a peak may be a pulse alone."""
    may: bool = (
        features[W8] > LEAST_W8
        and features[RIGHT_75] < MOST_AT_75
        and features[AFTER_60] < MOST_AFTER_60
        and features[AFTER_120] < MOST_AFTER_120
        and features[BEFORE_120] < MOST_BEFORE_120
    )
    return may


def is_pulse(c: int, height: float, spans: I64, log: I64, past: F32, features: F32) -> bool:
    """Return True if the peak at sample ``c`` that was stored last is a pulse alone; all its features are known."""
    if not may_be_pulse(features) or features[SIZE] < LEAST_SIZE:
        return False
    count, others = int(log[PEAK_COUNT]), 0
    for back in range(1, min(PAST_PEAKS, count)):
        at = (count - 1 - back) % PAST_PEAKS
        if c - int(log[PEAK_SAMPLES + at]) > spans[LOOKBACK]:
            break
        other = past[at]
        is_high = float64(other[PAST_HEIGHT]) > LEAST_OF_PULSE * height
        if is_high and other[PAST_W8] < MOST_W8:
            others += 1
    return others >= FEWEST_OTHERS
