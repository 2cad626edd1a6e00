"""Columns of integer tables by name: ``ints[i, CHUNK_FIRST]``; the prefix names the table.

Constants and not an enumeration, because kernels read them: Numba compiles a global integer as a constant.
"""

# ``Chunks.ints``: position and length of the stream id in the payload and its hash; session, first sample, device time
# of it; number of leads, lead-off mask; position of the samples in the payload and samples of each lead; arrival;
# hash of the names of the leads.
CHUNK_ID_AT, CHUNK_ID_SIZE, CHUNK_ID_HASH, CHUNK_SESSION, CHUNK_FIRST, CHUNK_TIME_US = range(6)
CHUNK_LEADS, CHUNK_LEAD_OFF, CHUNK_AT, CHUNK_COUNT, CHUNK_ARRIVED_US, CHUNK_LEAD_NAMES = range(6, 12)
CHUNK_COLUMNS = 12

# ``Chunks.floats``: sampling rate, microvolts per unit, and of a message that cannot be read the number that is wrong.
CHUNK_RATE_HZ, CHUNK_UV_PER_UNIT, CHUNK_WRONG = range(3)
CHUNK_FLOATS = 3

# Rows that ``kernels.intake.align`` writes of placed samples; ``Placement.place`` has the first six columns.
# lane, first sample, count (negative: a bridge), position in the payload (negative: see ``kernels.intake.align``),
# bytes from lead to lead, lead-off mask, pass, bank.
PLACE_LANE, PLACE_FIRST, PLACE_COUNT, PLACE_AT, PLACE_STRIDE, PLACE_LEAD_OFF, PLACE_PASS, PLACE_BANK = range(8)
PLACEMENT_COLUMNS, PLACE_COLUMNS = 6, 8

# Rows that ``kernels.intake.align`` writes of lanes with new samples [start, stop) in a pass; ``nanovolts`` of one
# unit.
FRESH_LANE, FRESH_SLOT, FRESH_START, FRESH_STOP, FRESH_BASE, FRESH_SESSION, FRESH_NANOVOLTS = range(7)
FRESH_PASS, FRESH_BANK = 7, 8
FRESH_COLUMNS = 9

# ``Fresh.quiet``: a lane and a stretch [start, stop) of it in which no beat may be.
QUIET_LANE, QUIET_START, QUIET_STOP = range(3)
QUIET_COLUMNS = 3

# ``Aligned.events`` and ``Aligned.clocks``.
EVENT_PASS, EVENT_SLOT, EVENT_KIND, EVENT_SAMPLE, EVENT_VALUE, EVENT_SESSION, EVENT_BANK = range(7)
EVENT_COLUMNS = 7

# ``Aligned.limits``: the same columns, and the arrival of the first chunk that is decided by the limits.
LIMITS_ARRIVED_US = 7
LIMITS_COLUMNS = 8

# ``TickBeats.events``: the events of a tick in the order of each stream. With a restart a stream may come to another
# bank, so an event has the bank that its stream is in then.
ORDERED_SLOT, ORDERED_SESSION, ORDERED_KIND, ORDERED_SAMPLE, ORDERED_VALUE, ORDERED_BANK = range(6)
ORDERED_COLUMNS = 6

# ``PeakTable.peaks``: sample, response f, median of the last five block maxima, 80 % quantile of the last ten, the sum
# of the least f within ``right`` samples on both sides, the largest f that beats may have, and 1 if it stands beside a
# disturbance, ``RESEMBLING`` if none of a heart is as large but it has the shape of one before, ``SHRUNK`` if it is far
# smaller than the beats but has their shape. Then its source: 0, all leads together; ``k + 1``, lead ``k`` alone;
# ``OVERRULED``: a peak of all leads where one alone is better, which only a fast rhythm may make a beat.
PEAK_SAMPLE, PEAK_RESPONSE, PEAK_MEDIAN, PEAK_QUANTILE, PEAK_VALLEYS, PEAK_CEILING, PEAK_BESIDE, PEAK_SOURCE = range(8)
PEAK_COLUMNS = 8
OVERRULED = -1
RESEMBLING, SHRUNK = 2, 3

# ``Rings.jumps``: no sample from here on may be a jump as far as is known, the limit of jumps in units, and how many
# samples are looked at behind one (``kernels.detection.jumps``).
JUMP_STOP, JUMP_LIMIT, JUMP_AFTER = range(3)
JUMP_COLUMNS = 3

# ``Hum.sines``: 1 + the row of ``HumFilter.tables``, or 0 for none; the complex amplitude in the middle of a span, and
# how it changes from there (``kernels.intake.hum``).
HUM_OF, HUM_RE, HUM_IM, HUM_BEND_RE, HUM_BEND_IM, HUM_FILLED = range(6)
HUM_COLUMNS = 6

# ``PeakTable.bounds``: largest and least of the last five block maxima (-1: no block is complete), the number of leads
# that have a level, and a bit for each lead that is muted at the peak (``kernels.detection.lead_levels``).
BOUND_MOST, BOUND_LEAST, BOUND_LEADS, BOUND_MUTED = range(4)
BOUND_COLUMNS = 4

# ``PeakTable.blocks``: the sample after a block, and its largest f.
BLOCK_END, BLOCK_MAXIMUM = range(2)
BLOCK_COLUMNS = 2
NO_BLOCK = -1  # in ``ListedBlocks.kind``: the row is a denied peak
RESIZED = -2  # the same, of another size than beats, but of their shape

# ``BeatSettings.durations``, samples: margin of quiet stretches, longest interval, age of the oldest interval of the
# median.
QUIET_MARGIN, LONGEST_RR, RATE_WINDOW = range(3)

# ``BeatSettings.marking``: how far R may lie before and after a peak, how far the wide wavelet may move it, and the
# length of the box of the response, in samples; then the shift of its magnitude.
MARK_BEFORE, MARK_AFTER, MARK_NEAR, MARK_BOX, MARK_SHIFT = range(5)

# ``LaneBeats.ints``: R, peak of the response, 1 if the lane began since the last beat.
BEAT_R, BEAT_PEAK, BEAT_RESTART = range(3)
BEAT_INTS = 3

# ``Peaks.logits``: the logit of a beat, the errors that the trees expect, those that are left, and the trees' logit.
PEAK_LOGIT, PEAK_DISTURBANCE, PEAK_ERRORS, PEAK_OF_TREES = range(4)
LOGIT_COLUMNS = 4

# ``LaneBeats.floats``: RR and median RR in samples, response, quality, expected errors, disturbance.
BEAT_RR, BEAT_MEDIAN_RR, BEAT_RESPONSE, BEAT_QUALITY, BEAT_ERRORS, BEAT_DISTURBANCE = range(6)
BEAT_FLOATS = 6

# Limits of the rules by row of their table and by bank, samples: without a beat until it is an asystole, and a pause;
# for which an interval counts as one more beat; without a signal that can be judged, and for long; of a block.
ASYSTOLE_SAMPLES, PAUSE_SAMPLES, MISSED_SAMPLES = range(3)
UNJUDGED_SAMPLES, LONG_UNJUDGED_SAMPLES, BLOCK_SAMPLES = range(3, 6)
ECTOPY_SAMPLES = 6  # in which ventricular beats are counted
LONGEST_SAMPLES = 7  # of an interval in which a beat is missing
VENTRICULAR_HOLD_SAMPLES = 8  # for which ventricular tachycardia goes on after its rule last held

# ``Transitions.rows``.
TRANSITION_SLOT, TRANSITION_SESSION, TRANSITION_RULE, TRANSITION_STATE, TRANSITION_ONSET, TRANSITION_AT = range(6)
TRANSITION_LIMITS = 6  # row of the table of limits by which it was decided
TRANSITION_BEAT = 7  # row of the beat that decided it, ``NO_BEAT``: none did
NO_BEAT = -1
TRANSITION_STRETCH = 8  # restarts of the stream in the tick up to it
TRANSITION_COLUMNS = 9
