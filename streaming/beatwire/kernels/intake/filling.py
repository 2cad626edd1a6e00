"""Fill in the short holes of a ring: samples without a value that are marked with ``NO_VALUE``.

A hole of one lead, of at most ``hole`` samples and with a value on both sides, is filled with the cubic that continues
the signal with its slopes on both sides (Hermite). So a QRS complex whose R is missing keeps its R: over 40 ms around R
a straight line loses four times as many beats. The cubic is that of the signal without hum, whose slopes are steeper;
the hum that is subtracted afterwards is added. A longer hole stays marked, and the lead is absent there, unless all
leads have it (``kernels.intake.bridges``).

Which samples were filled in is remembered until their span is measured, by a bit each: what is measured of a span
does not depend on the sine that was assumed in its holes, or there were no end of what that sine depends on.

Invariant: what is filled in is a function of the samples around and of the sines, in integers, and does not depend on
which stretch is filled first.
"""

from beatwire.kernels.intake.holes import MOST, NO_VALUE, reach_of
from beatwire.kernels.intake.sines import LAG, hum_at, wrapped
from beatwire.records import I16, I32, U8
from beatwire.records.columns import HUM_FILLED
from beatwire.records.hum import HumFilter


def fill(ring: I16, first: int, stop: int, hum_filter: HumFilter, sines: I32, filled: U8) -> None:
    """Fill in the holes that begin in samples ``[first, stop)`` of a span, before hum is taken out of it.

    There are samples from ``stop`` on, at least the longest hole and its reach, or no hole reaches ``stop``.
    """
    size, hole = ring.shape[0], int(hum_filter.hole)
    a = first
    while a < stop:
        b = a
        while b - a <= hole and ring[b % size] == NO_VALUE:
            b += 1
        if a < b and b - a <= hole and ring[(a - 1) % size] != NO_VALUE:
            fill_one(ring, a, b, hum_filter, sines, filled)
        a = max(b, a + 1)


def fill_one(ring: I16, a: int, b: int, hum_filter: HumFilter, sines: I32, filled: U8) -> None:
    """Fill in samples ``[a, b)``; slopes are taken over at most so many samples as the longest hole reaches."""
    size, span, reach = ring.shape[0], hum_filter.tables.shape[1], reach_of(int(hum_filter.hole))
    humming = a - a % span  # hum is in the ring from here on
    n = b - a + 1
    y0, y1 = without_hum(ring, a - 1, humming, hum_filter, sines), without_hum(ring, b, humming, hum_filter, sines)
    k0 = k1 = 0
    while k0 < reach and ring[(a - 2 - k0) % size] != NO_VALUE:
        k0 += 1
    while k1 < reach and ring[(b + 1 + k1) % size] != NO_VALUE:
        k1 += 1
    rise0 = y0 - without_hum(ring, a - 1 - k0, humming, hum_filter, sines)
    rise1 = without_hum(ring, b + k1, humming, hum_filter, sines) - y1
    if k0 == 0:
        k0, rise0 = n, y1 - y0
    if k1 == 0:
        k1, rise1 = n, y1 - y0
    parts = n * n * n * k0 * k1
    for j in range(1, n):
        left, c = n - j, a + j - 1
        line = j * j * (n + 2 * left) * (y1 - y0) * k0 * k1
        bend = n * j * left * (left * rise0 * k1 - j * rise1 * k0)
        value = min(MOST, max(-MOST, y0 + (line + bend + parts // 2) // parts))
        ring[c % size] = wrapped(value + hum_at(c, hum_filter, sines))
        remember(c, span, sines, filled)


def without_hum(ring: I16, a: int, humming: int, hum_filter: HumFilter, sines: I32) -> int:
    """Return a sample without its hum, which it has from sample ``humming`` on."""
    value = int(ring[a % ring.shape[0]])
    return wrapped(value - hum_at(a, hum_filter, sines)) if a >= humming else value


def remember(a: int, span: int, sines: I32, filled: U8) -> None:
    """Remember that sample ``a`` was filled in."""
    sines[a // span % LAG, HUM_FILLED] += 1
    byte = (a >> 3) & (filled.shape[0] - 1)
    filled[byte] = int(filled[byte]) | (1 << (a & 7))


def is_filled(filled: U8, a: int) -> bool:
    """Return True if sample ``a`` was filled in, of those that are not measured yet."""
    return bool((int(filled[(a >> 3) & (filled.shape[0] - 1)]) >> (a & 7)) & 1)


def forget_filled(filled: U8, first: int, n: int) -> None:
    """Forget which of ``n`` samples were filled in."""
    for a in range(first, first + n):
        byte = (a >> 3) & (filled.shape[0] - 1)
        filled[byte] = int(filled[byte]) & ~(1 << (a & 7))
