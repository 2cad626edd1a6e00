"""Columns of integer tables by name: ``ints[i, CHUNK_FIRST]``.

Constants and not an enumeration, because kernels read them: Numba compiles a global integer as a constant.
"""

from __future__ import annotations

# ``PeakTable.peaks``: sample, response f, median of the last five block maxima, 80 % quantile of the last ten, and the
# sum of the least f within ``right`` samples on both sides.
PEAK_SAMPLE, PEAK_RESPONSE, PEAK_MEDIAN, PEAK_QUANTILE, PEAK_VALLEYS = range(5)
PEAK_COLUMNS = 5

# ``PeakTable.bounds``: largest and least of the last five block maxima (-1: no block is complete), and the number of
# leads that have a level.
BOUND_MOST, BOUND_LEAST, BOUND_LEADS = range(3)
BOUND_COLUMNS = 3

# ``PeakTable.blocks``: the sample after a block, and its largest f.
BLOCK_END, BLOCK_MAXIMUM = range(2)
BLOCK_COLUMNS = 2

# ``BeatSettings.durations``, samples: margin of quiet stretches, longest interval, age of the oldest interval of the
# median.
QUIET_MARGIN, LONGEST_RR, RATE_WINDOW = range(3)

# ``BeatSettings.marking``: how far R may lie before and after a peak, how far the wide wavelet may move it, and the
# length of the box of the response, in samples; then the shift of its magnitude.
MARK_BEFORE, MARK_AFTER, MARK_NEAR, MARK_BOX, MARK_SHIFT = range(5)

# ``Fresh.quiet``: a stretch of a lane in which no beat may be.
QUIET_LANE, QUIET_START, QUIET_STOP = range(3)

# ``LaneBeats.ints``: R, peak of the response, 1 if the lane began since the last beat.
BEAT_R, BEAT_PEAK, BEAT_RESTART = range(3)
BEAT_INTS = 3

# ``LaneBeats.floats``: RR and median RR in samples, response, quality, expected errors.
BEAT_RR, BEAT_MEDIAN_RR, BEAT_RESPONSE, BEAT_QUALITY, BEAT_ERRORS = range(5)
BEAT_FLOATS = 5

# Limits of the rules by bank, samples: without a beat until it is an asystole, and a pause; for which an interval
# counts as one more beat.
ASYSTOLE_SAMPLES, PAUSE_SAMPLES, MISSED_SAMPLES = range(3)

# ``Transitions.rows``.
TRANSITION_SLOT, TRANSITION_SESSION, TRANSITION_RULE, TRANSITION_STATE, TRANSITION_ONSET, TRANSITION_AT = range(6)
TRANSITION_COLUMNS = 6
