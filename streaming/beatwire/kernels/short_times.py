"""Times that are stored in 32 bits: samples of a stream, or ticks of a second.

A time is known by its lower 32 bits and by another one that is less than half of their range from it: three days of
ticks of 1/8192 s, 25 of samples at 1000 Hz. Who compares over longer pauses has to know of them.
"""

RANGE = 1 << 32
HALF = 1 << 31


def shortened(time: int) -> int:
    """Return the lower 32 bits of a time, as an int32."""
    return ((time + HALF) & (RANGE - 1)) - HALF


def since(time: int, stored: int) -> int:
    """Return how long a time is after one that is stored, less than ``HALF``."""
    return shortened(time - stored)
