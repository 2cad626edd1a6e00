"""The last beats of a stream, as the judges of the rhythm read them: a ring of intervals and one of flags."""

BEATS = 64  # of a stream
LONGEST = (1 << 16) - 1  # samples, of a slow beat; a longer interval is stored as this
# Flags: its interval is unknown; half an error is expected around it; it may be no beat; an error or more is expected;
# the trees call a peak in its interval a beat, the network does not.
UNKNOWN, DOUBTFUL, UNSURE, NOISY, HAS_DENIED = 1, 2, 4, 8, 16
