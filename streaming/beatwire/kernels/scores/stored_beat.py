"""How a beat of the last minute is stored: its time, interval, latents and reconstruction error in few bits.

In:    a number of a beat
Out:   the integer that stands for it
State: none

An interval is a whole number of samples, so it is stored without loss.
"""

import math

from numpy import float32

TICKS = 1024  # of a second: a minute of them is less than ``short_times.SHORT_RANGE``
LONGEST = (1 << 15) - 1  # samples of an interval: 5 s at any rate are less
LATENT_PARTS = 512  # stored latents are integers of 1/512, so of at most 64
CLOSENESS_PARTS = 255  # stored closeness of a beat is in 1/255, and at least that: of an error of at most 11


def samples_of(rr_s: float, rate_hz: float) -> int:
    """Return an interval in samples; one that is too long is the longest that can be stored."""
    return int(math.floor(min(float(LONGEST), rr_s * rate_hz) + 0.5))


def seconds_of(rr: int, rate_hz: float) -> float32:
    """Return a stored interval in seconds."""
    return float32(abs(int(rr)) / rate_hz)


def tick_of(time_s: float) -> int:
    """Return a time in ``1 / TICKS`` of a second."""
    return int(math.floor(TICKS * time_s + 0.5))


def in_parts(latent: float) -> int:
    """Return a latent in ``1 / LATENT_PARTS``; one that is too large is the largest that can be stored."""
    return int(math.floor(min(32767.0, max(-32767.0, LATENT_PARTS * float(latent))) + 0.5))


def closeness_of(error: float) -> int:
    """Return how close a reconstruction is, in ``1 / CLOSENESS_PARTS``: one over the root of the error."""
    return int(math.floor(min(float(CLOSENESS_PARTS), max(1.0, CLOSENESS_PARTS * math.exp(-0.5 * error))) + 0.5))
