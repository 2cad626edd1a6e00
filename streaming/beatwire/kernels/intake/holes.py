"""Fill in the short holes of a ring: samples without a value that are marked with ``NO_VALUE``.

A hole of one lead, of at most ``hole`` samples and with a value on both sides, is filled with the cubic that continues
the signal with its slopes on both sides (Hermite). So a QRS complex whose R is missing keeps its R: over 40 ms around R
a straight line loses four times as many beats. A longer hole stays marked: the lead is absent there.

Invariant: what is filled in is a function of the samples around, in integers, and does not depend on which stretch is
filled first.
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


def fill(ring: I16, first: int, stop: int, known: int, hole: int) -> None:
    """Fill in the holes that begin in samples ``[first, stop)`` of a ring.

    Parameters
    ----------
    known
        Sample after the last one in the ring; a hole that reaches it is longer than ``hole``. Where there are samples
        from ``stop`` on, they are at least ``hole`` and its reach.
    """
    size = ring.shape[0]
    a = first
    while a < stop:
        b = a
        while b < known and b - a <= hole and ring[b % size] == NO_VALUE:
            b += 1
        if a < b < known and b - a <= hole and ring[(a - 1) % size] != NO_VALUE:
            fill_one(ring, a, b, known, reach_of(hole))
        a = max(b, a + 1)


def fill_one(ring: I16, a: int, b: int, known: int, reach: int) -> None:
    """Fill in samples ``[a, b)`` with a cubic; slopes are taken over at most ``reach`` samples."""
    size = ring.shape[0]
    n = b - a + 1
    y0, y1 = int(ring[(a - 1) % size]), int(ring[b % size])
    k0 = k1 = 0
    while k0 < reach and ring[(a - 2 - k0) % size] != NO_VALUE:
        k0 += 1
    while k1 < reach and b + 1 + k1 < known and ring[(b + 1 + k1) % size] != NO_VALUE:
        k1 += 1
    rise0 = y0 - int(ring[(a - 1 - k0) % size])
    rise1 = int(ring[(b + k1) % size]) - y1
    if k0 == 0:
        k0, rise0 = n, y1 - y0
    if k1 == 0:
        k1, rise1 = n, y1 - y0
    parts = n * n * n * k0 * k1
    for j in range(1, n):
        left = n - j
        line = j * j * (n + 2 * left) * (y1 - y0) * k0 * k1
        bend = n * j * left * (left * rise0 * k1 - j * rise1 * k0)
        value = y0 + (line + bend + parts // 2) // parts
        ring[(a + j - 1) % size] = min(MOST, max(-MOST, value))


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
