"""Samples without a value: they are marked with ``NO_VALUE`` in a ring, and a lead is absent where it has some.

Short holes are filled in before any stage sees them (``kernels.intake.filling``).
"""

from beatwire.kernels.extremes import lowest
from beatwire.kernels.team import WIDTH, fewest, member, wait
from beatwire.records import I16, I32

NO_VALUE = -32768  # of int16: no sample of a device has it
SLOPE_PART = 10  # a slope is taken over so many parts of the longest hole, 4 ms
MOST = 32767


def reach_of(hole: int) -> int:
    """Return over how many samples a slope is taken beside a hole, if the longest one that is filled is ``hole``."""
    return max(1, hole // SLOPE_PART)


def has_absent(ring: I16, base: int, first: int, n: int) -> bool:
    """Return True if a sample ``[first, first + n)`` of a ring, from ``base`` on, has no value; all members call it."""
    begin = max(base, first)
    n -= begin - first
    return n > 0 and lowest(ring, begin, n) == NO_VALUE


def present_lead(leads: I16, base: int, first: int, n: int, begin: int) -> int:
    """Return the first lead from ``begin`` on that has values at all samples ``[first, first + n)``; -1: none has.

    The only lead of a stream has values everywhere. All members call it.
    """
    if leads.shape[0] == 1:
        return 0 if begin == 0 else -1
    for lead in range(begin, leads.shape[0]):
        if not has_absent(leads[lead], base, first, n):
            return lead
    return -1


def hold_absent(samples: I32, n: int, centre: int, near: int) -> bool:
    """Replace what has no value in ``samples[:n]`` by the sample next to it towards ``centre``; all members call it.

    Returns
    -------
    bool
        False, and nothing is replaced, if a sample within ``near`` of the centre has no value.
    """
    low = least = MOST
    for j in range(member(), n, WIDTH):
        value = int(samples[j])
        least = min(least, value)
        if abs(j - centre) <= near:
            low = min(low, value)
    if fewest(least) > NO_VALUE:
        return True
    if fewest(low) == NO_VALUE:
        return False
    wait()
    if member() == 0:
        for j in range(centre + 1, n):
            if samples[j] == NO_VALUE:
                samples[j] = samples[j - 1]
        for j in range(centre - 1, -1, -1):
            if samples[j] == NO_VALUE:
                samples[j] = samples[j + 1]
    wait()
    return True
