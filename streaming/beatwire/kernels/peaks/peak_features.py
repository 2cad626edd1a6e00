"""The features of a candidate peak, and how a lane's past peaks are stored. No bodies.

Each candidate peak of the response is described by 42 scale-free features, and in streams of several leads by 5 more.
Heights are ratios, widths are relative to the response, times are in seconds or relative to intervals. The features are
computed in ``kernels.peaks.peak_shape``, ``kernels.peaks.peak_history`` and ``kernels.peaks.lead_agreement``.

The state of a lane are three arrays:

``log[lane]``, int64 ``[LOG_COLUMNS]``
    The number of peaks stored so far, the sample of the last of them, the sample after the last pulse of a pacemaker
    (``kernels.peaks.pacing``; 0: none), the number of block maxima stored so far, and the maxima of the last
    ``PAST_BLOCKS`` blocks.
``sample[lane, k % PAST_PEAKS]``, int16
    The sample of peak ``k`` (``kernels.short_times``).
``past[lane, k % PAST_PEAKS]``, uint16 ``[PAST_COLUMNS]`` (``kernels.peaks.stored_peak``)
    Peak ``k``: its height, its widths, its valleys and the probability that its classification is wrong; in streams of
    several leads also the response of each lead (``kernels.peaks.lead_agreement``).

Invariant: features depend on this state and on the rings alone. No classification by the trees is fed back into them.
"""

PAST_PEAKS = 46  # more than the peaks that are 0.22 s apart in 10 s
PAST_BLOCKS = 5  # block maxima whose median is the level of a peak (``kernels.detection.nms``)

# Columns of ``log``.
PEAK_COUNT, LAST_PEAK, AFTER_PULSE, BLOCK_COUNT, BLOCK_MAXIMA = range(5)
LOG_COLUMNS = BLOCK_MAXIMA + PAST_BLOCKS

# Columns of ``past``; the response of lead ``l`` stands in column ``PAST_COLUMNS + l``.
PAST_HEIGHT, PAST_W8, PAST_W22, PAST_W32, PAST_VALLEYS, PAST_RISK = range(6)
PAST_COLUMNS = 6

# Parts of the float64 scratch: two lists of ``MEDIAN_SIZE`` values, then the response of each lead.
MEDIAN_SIZE = 9
LEAD_RESPONSES = 2 * MEDIAN_SIZE
ABSENT = -1.0  # response of a lead that has no value at the peak

# Spans of time: ``spans[MS45]`` is 45 ms in samples, ``spans[LOOKBACK]`` ten seconds.
SPAN_S = (0.22, 0.008, 0.045, 0.06, 0.075, 0.12, 0.23, 0.4, 0.7, 1.5, 10.0)
MS220, MS8, MS45, MS60, MS75, MS120, MS230, MS400, MS700, MS1500, LOOKBACK = range(len(SPAN_S))

# In the comments, ``height`` is the response at a peak, the level the median of the last five block maxima, a high peak
# one above half of the level. Model files contain these names, and a model is refused if they differ.
NAMES = (
    "height",  # height over the level
    "of_largest",  # height over the largest of the last five block maxima
    "of_least",  # height over the least of them
    "before_120",  # largest response from 230 to 120 ms before the peak, over its height
    "after_60",  # largest response from 60 to 120 ms after it
    "after_120",  # largest response from 120 to 220 ms after it
    "left_45",  # response 45 ms before it
    "right_45",  # response 45 ms after it
    "left_75",  # response 75 ms before it
    "right_75",  # response 75 ms after it
    "valley_left",  # least response in the 220 ms before it
    "valley_right",  # least response in the 220 ms after it
    "again",  # from 120 ms on, when the response first exceeds 0.7 of the height again, over 220 ms
    "w8",  # magnitude of a Ricker wavelet of 8 ms, averaged around the peak, over the response
    "w22",  # the same of 22 ms
    "w32",  # the same of 32 ms
    "w22_of_last",  # w22 over that of the last high peak
    "w32_of_last",  # w32 over that of the last high peak
    "w8_of_last",  # w8 over that of the last high peak
    "w32_of_median",  # w32 over the median of the last nine high peaks
    "slope",  # steepest slope (over 16 ms) of the signal within 60 ms, over its swing there
    "compact",  # swing of the signal within 60 ms over its swing from 230 ms before to 220 ms after
    "size",  # swing of the signal within 60 ms over the response
    "since_half",  # seconds since the last high peak
    "half",  # its height over this height
    "before_half",  # seconds between it and the high peak before
    "rr_ratio",  # since_half over before_half
    "since_third",  # seconds since the last peak above 0.3 of the level
    "third",  # its height over this height
    "interval",  # median interval of the last high peaks, seconds
    "irregular",  # their mean deviation from it, over it
    "phase",  # since_half over interval
    "doubt",  # mean distance of the last 16 peaks from being either 0 or the level
    "middling",  # peaks between 0.15 and 0.55 of the level in ten seconds
    "peaks",  # peaks in ten seconds
    "halves",  # high peaks in ten seconds
    "of_recent",  # height over the largest of the last 1.5 s, at most 1
    "before_400",  # largest peak of the last 400 ms over this height
    "before_700",  # largest peak from 700 to 400 ms ago over this height
    "noise",  # median of the valleys of the last eight peaks, both sides added, over this height
    "noise_of_level",  # the same over the level
    "spread",  # level over the least of the last five block maxima
    "first_lead",  # response of the first lead over its mean at recent high peaks
    "lowest_lead",  # the same of the lead where it is lowest
    "highest_lead",  # the same of the lead where it is highest
    "even",  # the same, mean over the leads
    "turned",  # sum over the leads of how much their shares of the response differ from their usual shares
)
FEATURES = len(NAMES)
(
    HEIGHT, OF_LARGEST, OF_LEAST, BEFORE_120, AFTER_60, AFTER_120, LEFT_45, RIGHT_45, LEFT_75, RIGHT_75, VALLEY_LEFT,
    VALLEY_RIGHT, AGAIN, W8, W22, W32, W22_OF_LAST, W32_OF_LAST, W8_OF_LAST, W32_OF_MEDIAN, SLOPE, COMPACT, SIZE,
    SINCE_HALF, HALF, BEFORE_HALF, RR_RATIO, SINCE_THIRD, THIRD, INTERVAL, IRREGULAR, PHASE, DOUBT, MIDDLING, PEAKS,
    HALVES, OF_RECENT, BEFORE_400, BEFORE_700, NOISE, NOISE_OF_LEVEL, SPREAD, FIRST_LEAD, LOWEST_LEAD, HIGHEST_LEAD,
    EVEN, TURNED,
) = range(FEATURES)  # fmt: skip

NO_PEAK_S = 9.0  # value of a feature in seconds where there is no such peak in the lookback
