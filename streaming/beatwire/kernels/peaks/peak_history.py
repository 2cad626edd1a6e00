"""Bodies that compare a peak with the peaks of the ten seconds before it, and store it among them.

In:    a peak, and the lane's past peaks (``kernels.peaks.peak_features``)
Out:   features of the peak; the lane's past peaks with this one

A past peak that is ``TIMES`` as large as the level, and as the peak, is one of a disturbance: it hides what is near,
but it is no heartbeat to compare with. One member of a team calls these.
"""

from beatwire.kernels.detection.level import TIMES
from beatwire.kernels.peaks.peak_features import (
    ABSENT,
    BEFORE_400,
    BEFORE_700,
    BEFORE_HALF,
    DOUBT,
    HALF,
    HALVES,
    INTERVAL,
    IRREGULAR,
    LAST_PEAK,
    LEAD_RESPONSES,
    LOOKBACK,
    MEDIAN_SIZE,
    MIDDLING,
    MS400,
    MS700,
    MS1500,
    NO_PEAK_S,
    NOISE,
    NOISE_OF_LEVEL,
    OF_RECENT,
    PAST_COLUMNS,
    PAST_HEIGHT,
    PAST_PEAKS,
    PAST_VALLEYS,
    PAST_W8,
    PAST_W22,
    PAST_W32,
    PEAK_COUNT,
    PEAKS,
    PHASE,
    RR_RATIO,
    SINCE_HALF,
    SINCE_THIRD,
    SPAN_S,
    SPREAD,
    THIRD,
    VALLEY_LEFT,
    VALLEY_RIGHT,
    W8,
    W8_OF_LAST,
    W22,
    W22_OF_LAST,
    W32,
    W32_OF_LAST,
    W32_OF_MEDIAN,
)
from beatwire.kernels.peaks.stored_peak import NO_SIZE, size_of, stored_size, stored_width, width_of
from beatwire.kernels.short_times import SHORT_RANGE, shortest, until
from beatwire.records import F32, F64, I64, U16
from beatwire.records.classification import PeakMemory

EMPTY = 1e300  # fills a list of ``MEDIAN_SIZE``: above every value whose median is computed
RECENT_PEAKS = 16  # peaks of ``doubt``
RECENT_VALLEYS = 8  # peaks of ``noise``; at most ``MEDIAN_SIZE``
FEWEST_INTERVALS = 3  # for ``interval``, ``irregular`` and ``phase``
LEAST_WIDTH = 0.001  # of a divisor


def lower_median(values: F64, n: int) -> float:
    """Sort the first ``MEDIAN_SIZE`` values and return the lower median of the first ``n``; the others are ``EMPTY``.

    The nine values are sorted by the sorting network with the fewest comparisons (25; Codish, Cruz-Filipe, Frank and
    Schneider-Kamp, 2014). It has no branches, and all values stay in registers.
    """
    a, b, c = values[0], values[1], values[2]
    d, e, f = values[3], values[4], values[5]
    g, h, i = values[6], values[7], values[8]
    a, d = min(a, d), max(a, d)
    b, h = min(b, h), max(b, h)
    c, f = min(c, f), max(c, f)
    e, i = min(e, i), max(e, i)
    a, h = min(a, h), max(a, h)
    c, e = min(c, e), max(c, e)
    d, i = min(d, i), max(d, i)
    f, g = min(f, g), max(f, g)
    a, c = min(a, c), max(a, c)
    b, d = min(b, d), max(b, d)
    e, f = min(e, f), max(e, f)
    h, i = min(h, i), max(h, i)
    b, e = min(b, e), max(b, e)
    d, g = min(d, g), max(d, g)
    f, h = min(f, h), max(f, h)
    a, b = min(a, b), max(a, b)
    c, e = min(c, e), max(c, e)
    d, f = min(d, f), max(d, f)
    g, i = min(g, i), max(g, i)
    c, d = min(c, d), max(c, d)
    e, f = min(e, f), max(e, f)
    g, h = min(g, h), max(g, h)
    b, c = min(b, c), max(b, c)
    d, e = min(d, e), max(d, e)
    f, g = min(f, g), max(f, g)
    values[0], values[1], values[2] = a, b, c
    values[3], values[4], values[5] = d, e, f
    values[6], values[7], values[8] = g, h, i
    return float(values[(n - 1) // 2])


def clear_list(values: F64) -> None:
    """Empty a list of ``MEDIAN_SIZE`` values."""
    for j in range(MEDIAN_SIZE):
        values[j] = EMPTY


def mean_deviation(values: F64, n: int, centre: float) -> float:
    """Return the mean distance of ``values[:n]`` from ``centre``, divided by ``centre``."""
    total = 0.0
    for i in range(n):
        total += abs(values[i] - centre)
    return total / n / centre


def is_disturbance(other: float, height: float, level: float) -> bool:
    """Return True if a past peak of height ``other`` is one of a disturbance, beside a peak of ``height``."""
    return other > TIMES * max(height, level)


def compare_with_recent_peaks(
    c: int, height: float, level: float, spans: I64, memory: PeakMemory, numbers: F64, features: F32
) -> None:
    """Write the features that compare a peak with the last high peaks and the last peaks before it.

    Parameters
    ----------
    c, height
        Sample and response of the peak.
    level
        Of the response; a high peak is above half of it.
    spans : int64 [11]
        ``peak_features.SPAN_S`` in samples.
    memory
        The lane's past peaks.
    numbers : float64 [PAST_PEAKS]
        Scratch: two lists.
    features : float32 [FEATURES], read and written
        Holds the widths of the peak.
    """
    rate = float(spans[LOOKBACK]) / SPAN_S[LOOKBACK]
    intervals, valleys = numbers, numbers[MEDIAN_SIZE:]
    clear_list(intervals)
    clear_list(valleys)
    last_high = -1  # row of the last high peak
    since_last = gap_before = count = peaks = 0
    doubt = near = 0.0
    past, total = memory.past, int(memory.log[PEAK_COUNT])
    at = total % PAST_PEAKS
    for _ in range(min(total, PAST_PEAKS)):
        at = PAST_PEAKS - 1 if at == 0 else at - 1
        gap = until(c, int(memory.sample[at]))
        if gap > spans[LOOKBACK] or (count == MEDIAN_SIZE and peaks >= RECENT_PEAKS):
            break
        other = size_of(past[at, PAST_HEIGHT])
        relative = other / level
        if gap <= spans[MS400]:
            near = max(near, other)
        if is_disturbance(other, height, level):
            continue
        if peaks < RECENT_VALLEYS:
            valleys[peaks] = size_of(past[at, PAST_VALLEYS])
        if peaks < RECENT_PEAKS:
            doubt += min(relative, max(0.0, 1.0 - relative))
        peaks += 1
        if relative > 0.5:
            if last_high < 0:
                last_high = at
                since_last = gap
            elif count < MEDIAN_SIZE:
                intervals[count] = (gap - gap_before) / rate
                count += 1
            gap_before = gap
    write_last_high_peak(last_high, since_last / rate, height, past, features)
    features[BEFORE_HALF] = intervals[0] if count > 0 else NO_PEAK_S
    features[RR_RATIO] = float(features[SINCE_HALF]) / float(features[BEFORE_HALF])
    features[INTERVAL] = features[IRREGULAR] = features[PHASE] = 1.0
    if count >= FEWEST_INTERVALS:
        median = lower_median(intervals, count)
        features[INTERVAL] = median
        features[IRREGULAR] = mean_deviation(intervals, count, median)
        features[PHASE] = float(features[SINCE_HALF]) / median
    features[DOUBT] = doubt / max(1, min(RECENT_PEAKS, peaks))
    features[BEFORE_400] = near / height
    noise = lower_median(valleys, min(peaks, RECENT_VALLEYS)) if peaks > 0 else 0.0
    features[NOISE] = noise / height
    features[NOISE_OF_LEVEL] = noise / level


def write_last_high_peak(last: int, since_s: float, height: float, past: U16, features: F32) -> None:
    """Write the features that compare a peak with the last high peak, row ``last`` of ``past``; -1: there is none."""
    features[SINCE_HALF] = NO_PEAK_S
    features[HALF] = 0.0
    features[W8_OF_LAST] = features[W22_OF_LAST] = features[W32_OF_LAST] = 1.0
    if last >= 0:
        row = past[last]
        features[SINCE_HALF] = since_s
        features[HALF] = size_of(row[PAST_HEIGHT]) / height
        features[W8_OF_LAST] = float(features[W8]) / max(LEAST_WIDTH, width_of(row[PAST_W8]))
        features[W22_OF_LAST] = float(features[W22]) / max(LEAST_WIDTH, width_of(row[PAST_W22]))
        features[W32_OF_LAST] = float(features[W32]) / max(LEAST_WIDTH, width_of(row[PAST_W32]))


def compare_with_all_peaks(
    c: int, height: float, level: float, least_maximum: float, spans: I64, memory: PeakMemory, numbers: F64,
    features: F32,
) -> None:  # fmt: skip
    """Write the features that compare a peak with all peaks of the last ten seconds.

    ``least_maximum`` is the least of the last five block maxima; the other parameters are those of
    ``compare_with_recent_peaks``.
    """
    rate = float(spans[LOOKBACK]) / SPAN_S[LOOKBACK]
    last_third = -1  # row of the last peak above 0.3 of the level
    since_third = peaks = high_peaks = middling = widths = 0
    recent = later = 0.0
    clear_list(numbers)
    past, total = memory.past, int(memory.log[PEAK_COUNT])
    at = total % PAST_PEAKS
    for _ in range(min(total, PAST_PEAKS)):
        at = PAST_PEAKS - 1 if at == 0 else at - 1
        gap = until(c, int(memory.sample[at]))
        if gap > spans[LOOKBACK]:
            break
        other = size_of(past[at, PAST_HEIGHT])
        relative = other / level
        if gap <= spans[MS1500]:
            recent = max(recent, other)
            if gap > spans[MS400] and gap <= spans[MS700]:
                later = max(later, other)
        if is_disturbance(other, height, level):
            continue
        peaks += 1
        middling += (relative > 0.15) & (relative < 0.55)
        if last_third < 0 and relative > 0.3:
            last_third = at
            since_third = gap
        if relative > 0.5:
            high_peaks += 1
            if widths < MEDIAN_SIZE:
                numbers[widths] = width_of(past[at, PAST_W32])
                widths += 1
    features[SINCE_THIRD] = since_third / rate if last_third >= 0 else NO_PEAK_S
    features[THIRD] = size_of(past[last_third, PAST_HEIGHT]) / height if last_third >= 0 else 0.0
    features[MIDDLING] = float(middling)
    features[PEAKS] = float(peaks)
    features[HALVES] = float(high_peaks)
    features[OF_RECENT] = height / max(height, recent)
    features[BEFORE_700] = later / height
    features[SPREAD] = level / least_maximum
    usual_width = max(LEAST_WIDTH, lower_median(numbers, widths)) if widths > 0 else LEAST_WIDTH
    features[W32_OF_MEDIAN] = float(features[W32]) / usual_width if widths > 0 else 1.0


def forget_peaks(c: int, spans: I64, log: I64) -> None:
    """Forget the past peaks if the last one is too long before sample ``c``.

    So neighbours are near enough for short times: who looks at the peaks before one in the lookback stops at the first
    that is not, and that one is less than ``SHORT_RANGE`` away. Above 3276 Hz this is less than the lookback.
    """
    forget_before(c, int(spans[LOOKBACK]), PEAK_COUNT, LAST_PEAK, log)


def forget_before(c: int, lookback: int, count: int, last: int, log: I64) -> None:
    """Forget a list with short times, its length in column ``count`` of ``log``, if it ends too long before ``c``."""
    if c - log[last] > min(lookback, SHORT_RANGE - 1 - lookback):
        log[count] = 0


def store_peak(c: int, height: int, memory: PeakMemory, numbers: F64, features: F32) -> None:
    """Store the peak at sample ``c`` and the response of its leads (``numbers``) in the memory of the lane."""
    log, past = memory.log, memory.past
    place = int(log[PEAK_COUNT]) % PAST_PEAKS
    row = past[place]
    row[PAST_HEIGHT] = stored_size(height)
    row[PAST_W8] = stored_width(float(features[W8]))
    row[PAST_W22] = stored_width(float(features[W22]))
    row[PAST_W32] = stored_width(float(features[W32]))
    left, right = float(features[VALLEY_LEFT]), float(features[VALLEY_RIGHT])
    row[PAST_VALLEYS] = stored_size(int(1.0 * height * left + 1.0 * height * right + 0.5))
    for lead in range(past.shape[1] - PAST_COLUMNS):
        response = numbers[LEAD_RESPONSES + lead]
        row[PAST_COLUMNS + lead] = NO_SIZE if response == ABSENT else stored_size(int(response))
    memory.sample[place] = shortest(c)
    log[LAST_PEAK] = c
    log[PEAK_COUNT] += 1
