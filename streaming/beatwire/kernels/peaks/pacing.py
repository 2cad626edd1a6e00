"""Bodies that recognise the pulse of a pacemaker that no QRS complex follows, and find the level beside such pulses.

In:    the features of a peak, and the past peaks of its lane
Out:   whether the peak is a pulse alone, which is no beat; the level of peaks that are none
State: none

A pulse lasts for a millisecond or two. In the samples of a monitor it is the impulse response of the monitor's filter:
large at 8 ms, with a swing that is large for its response, and over after 75 ms. No QRS complex is so short. A pulse
that a QRS complex follows within 0.22 s stays a beat: it hides the complex. So does one without three other peaks in
ten seconds, unless both its W8 and its swing are large. A sharp pulse has no response (``kernels.detection.jumps``).

What is like a pulse is not stored among the past peaks, whether it is taken for a beat or not, and for ten seconds
after it the level is that of the past peaks and not of the response. Neither depends on other peaks, and which peaks
are candidates does not depend on it: so features reach back no further than without pulses.
"""

from beatwire.kernels.peaks.peak_features import (
    AFTER_60,
    AFTER_120,
    AFTER_PULSE,
    BEFORE_120,
    LOOKBACK,
    PAST_BLOCKS,
    PAST_HEIGHT,
    PAST_PEAKS,
    PAST_W8,
    PEAK_COUNT,
    RIGHT_75,
    SIZE,
    W8,
)
from beatwire.kernels.peaks.peak_history import clear_list
from beatwire.kernels.peaks.stored_peak import size_of, width_of
from beatwire.kernels.short_times import until
from beatwire.records import F32, F64, I64
from beatwire.records.classification import PeakMemory

# Limits of a pulse alone: of W8 and the swing either pair. Three of the beats of mitdb, svdb and qtdb are within them,
# of 350,000 with one lead and two. Between two samples a pulse is seen less well: its W8 may be as low as 0.85.
LEAST_W8, LEAST_SIZE = 1.25, 0.34375
LEAST_W8_OF_LARGE, LEAST_SIZE_OF_LARGE = 0.75, 0.375
MOST_AT_75, MOST_AFTER_60, MOST_AFTER_120, MOST_BEFORE_120 = 0.125, 0.3125, 0.25, 0.3125
# Other peaks in ten seconds: their number, and what no pulse has.
FEWEST_OTHERS, MOST_W8 = 3, LEAST_W8_OF_LARGE
FEWEST_WINDOWS = 3  # of two seconds with a past peak: of their maxima the level is the median


def may_be_pulse(features: F32) -> bool:
    """Return True if by its basic features a peak may be a pulse alone."""
    may: bool = (
        features[W8] > LEAST_W8_OF_LARGE
        and features[RIGHT_75] < MOST_AT_75
        and features[AFTER_60] < MOST_AFTER_60
        and features[AFTER_120] < MOST_AFTER_120
        and features[BEFORE_120] < MOST_BEFORE_120
    )
    return may


def is_like_pulse(features: F32) -> bool:
    """Return True if a peak is like a pulse alone; ``SIZE`` is known if by its basic features it may be one."""
    if not may_be_pulse(features) or features[SIZE] < LEAST_SIZE:
        return False
    large: bool = features[SIZE] >= LEAST_SIZE_OF_LARGE or features[W8] > LEAST_W8
    return large


def is_no_beat(c: int, features: F32, spans: I64, memory: PeakMemory) -> bool:
    """Return True if a peak at sample ``c`` that is like a pulse alone is no beat."""
    certain: bool = features[SIZE] >= LEAST_SIZE_OF_LARGE and features[W8] > LEAST_W8
    return certain or has_others(c, spans, memory)


def has_others(c: int, spans: I64, memory: PeakMemory) -> bool:
    """Return True if there are enough other peaks in the ten seconds before sample ``c``."""
    count = int(memory.log[PEAK_COUNT])
    others, at = 0, count % PAST_PEAKS
    for _ in range(min(PAST_PEAKS, count)):
        at = PAST_PEAKS - 1 if at == 0 else at - 1
        if until(c, int(memory.sample[at])) > spans[LOOKBACK]:
            break
        others += width_of(memory.past[at, PAST_W8]) < MOST_W8
    return others >= FEWEST_OTHERS


def follows_pulse(c: int, spans: I64, log: I64) -> bool:
    """Return True if there was a pulse in the ten seconds before sample ``c``."""
    after_pulse = int(log[AFTER_PULSE])
    return after_pulse > 0 and c - after_pulse < spans[LOOKBACK]


def write_window_maxima(c: int, spans: I64, memory: PeakMemory, maxima: F64) -> int:
    """Write the heights of the largest past peaks of each two seconds before sample ``c``; return their number.

    ``maxima`` [MEDIAN_SIZE] is as `peak_history.lower_median` takes it. A window without a peak is left out.
    """
    clear_list(maxima)
    n, window, highest = 0, 0, 0.0
    past, count = memory.past, int(memory.log[PEAK_COUNT])
    at = count % PAST_PEAKS
    for _ in range(min(PAST_PEAKS, count)):
        at = PAST_PEAKS - 1 if at == 0 else at - 1
        gap = until(c, int(memory.sample[at]))
        if gap > spans[LOOKBACK]:
            break
        of_peak = min(PAST_BLOCKS - 1, gap * PAST_BLOCKS // int(spans[LOOKBACK]))
        if of_peak > window and highest > 0.0:
            maxima[n] = highest
            n += 1
            highest = 0.0
        window = of_peak
        if width_of(past[at, PAST_W8]) < MOST_W8:
            highest = max(highest, size_of(past[at, PAST_HEIGHT]))
    if highest > 0.0:
        maxima[n] = highest
        n += 1
    return n
