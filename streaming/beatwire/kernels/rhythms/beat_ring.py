"""The last beats of a stream, as the judges of the rhythm read them: a ring of samples and one of flags."""

BEATS = 64  # of a stream
# Flags: its interval is unknown; half an error is expected around it; it may be no beat; an error or more is expected.
UNKNOWN, DOUBTFUL, UNSURE, NOISY = 1, 2, 4, 8
