"""What a peak is described by, and what of a lane's peaks is remembered: names and places, no bodies.

Heights are ratios of integers, widths relative to the response, times in seconds or relative to intervals
(``kernels.peak_shape``, ``kernels.peak_history``, ``kernels.lead_agreement``).

Of a lane is remembered: ``seen[lane]``, int64 ``[SEEN]``: how many peaks were described, how many
blocks of the level were taken, the maxima of the last five of these, then the sample of peak ``k`` at
``FIRST + k % KEPT``; ``facts[lane, k % KEPT]``, float32 ``[FACTS]``: its height, widths, least
response on both sides, the probability that what is said of it is wrong, and where there are several leads what each
says of it (``kernels.lead_agreement``). Nothing else is kept.
"""

from __future__ import annotations

KEPT = 48
BLOCKS = 5
TAKEN, MAXIMA = 1, 2
FIRST = MAXIMA + BLOCKS
SEEN = FIRST + KEPT
HEIGHT, W8, W22, W32, VALLEY, RISK = range(6)
FACTS = 6
ROOM = 9  # of the scratch, for what a median is taken of; twice
ACROSS = 2 * ROOM  # from there on what each lead says of the peak

SPAN_S = (0.22, 0.008, 0.045, 0.06, 0.075, 0.12, 0.23, 0.4, 0.7, 1.5, 10.0)
RIGHT, MS8, MS45, MS60, MS75, MS120, MS230, MS400, MS700, MS1500, BACK = range(len(SPAN_S))

NAMES = (
    "height", "of_largest", "of_least", "before_120", "after_60", "after_120", "left_45", "right_45", "left_75",
    "right_75", "valley_left", "valley_right", "again", "w8", "w22", "w32", "w22_of_last", "w32_of_last",
    "w8_of_last", "w32_of_median", "slope", "compact", "size", "since_half", "half", "before_half", "rr_ratio",
    "since_third", "third", "interval", "irregular", "phase", "doubt", "middling", "peaks", "halves", "of_recent",
    "before_400", "before_700", "noise", "noise_of_level", "spread", "first_lead", "lowest_lead", "highest_lead",
    "even", "turned",
)  # fmt: skip
FEATURES = len(NAMES)
(
    TALL, OF_LARGEST, OF_LEAST, BEFORE_120, AFTER_60, AFTER_120, LEFT_45, RIGHT_45, LEFT_75, RIGHT_75, VALLEY_LEFT,
    VALLEY_RIGHT, AGAIN, BY_8, BY_22, BY_32, BY_22_OF_LAST, BY_32_OF_LAST, BY_8_OF_LAST, BY_32_OF_MEDIAN, SLOPE,
    COMPACT, SIZE, SINCE_HALF, HALF, BEFORE_HALF, RR_RATIO, SINCE_THIRD, THIRD, INTERVAL, IRREGULAR, PHASE, DOUBT,
    MIDDLING, PEAKS, HALVES, OF_RECENT, BEFORE_400, BEFORE_700, NOISE, NOISE_OF_LEVEL, SPREAD, FIRST_LEAD,
    LOWEST, HIGHEST, EVEN, TURNED,
) = range(FEATURES)  # fmt: skip

FAR = 9.0
