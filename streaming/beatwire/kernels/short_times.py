"""Times that are stored in 32 bits, or in 16: samples of a stream, or ticks of a second.

A time is known by its lower 32 bits and by another one that is less than half of their range from it: three days of
ticks of 1/8192 s, 25 of samples at 1000 Hz. Who compares over longer pauses has to know of them.

In 16 bits are times that are compared with a later one of the same list, less than ``SHORT_RANGE`` after them.
"""

TIME_BITS = 32
RANGE = 1 << TIME_BITS
HALF = 1 << 31
SHORT_RANGE = 1 << 16
SHORT_HALF = 1 << 15


def shortened(time: int) -> int:
    """Return the lower 32 bits of a time, as an int32."""
    return ((time + HALF) & (RANGE - 1)) - HALF


def since(time: int, stored: int) -> int:
    """Return how long a time is after one that is stored, less than ``HALF``."""
    return shortened(time - stored)


def shortest(time: int) -> int:
    """Return the lower 16 bits of a time, as an int16."""
    return ((time + SHORT_HALF) & (SHORT_RANGE - 1)) - SHORT_HALF


def until(time: int, stored: int) -> int:
    """Return how long a time is after one that is stored in 16 bits, less than ``SHORT_RANGE``."""
    return (time - stored) & (SHORT_RANGE - 1)
