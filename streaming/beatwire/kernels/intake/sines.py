"""A sine of hum at the samples of a span: its values, added and subtracted (``kernels.intake.hum``).

Invariant: what is added to a sample is a function of the sine and of its place in the span, in integers of 32 bits;
subtracting it gives the sample again.
"""

from beatwire.kernels.intake.holes import MOST, NO_VALUE
from beatwire.kernels.team import WIDTH, member, narrow
from beatwire.records import I16, I32
from beatwire.records.columns import HUM_BEND_IM, HUM_BEND_RE, HUM_IM, HUM_OF, HUM_RE
from beatwire.records.hum import HumFilter

LAG = 2  # spans from the last one that is measured to the one from which hum is taken
TABLE_BITS = 7  # tables are cosines and sines times two to this power
FINE_BITS = 4
FINE = 1 << FINE_BITS  # amplitudes are stored in so many parts of a unit
SHIFT = TABLE_BITS + FINE_BITS  # of a product of both
BEND_BITS = 12
BEND = 1 << BEND_BITS  # changes of amplitudes in half a sample are stored in so many parts of that
RANGE = 65535  # values of a sample: they wrap around, once, so that what was subtracted can be put back


def add_sine(ring: I16, base: int, stop: int, k: int, sign: int, hum_filter: HumFilter, sine: I32) -> None:
    """Add a sine, or subtract it, to the samples of span ``k`` in ``[base, stop)`` that have a value."""
    span = hum_filter.tables.shape[1]
    first = max(base, k * span)
    at, n, column = first - k * span, min(stop, (k + 1) * span) - first, first % ring.shape[0]
    head = min(n, ring.shape[0] - column)
    add_from(at, sign, hum_filter, sine, ring[column : column + head], head)
    add_from(at + head, sign, hum_filter, sine, ring, n - head)


def add_from(at: int, sign: int, hum_filter: HumFilter, sine: I32, samples: I16, n: int) -> None:
    """Add a sine from its point ``at`` on, or subtract it, to the first ``n`` samples."""
    which = int(sine[HUM_OF]) - 1
    cosines, sines = hum_filter.tables[which, at:], hum_filter.tables[which + 1, at:]
    offsets = hum_filter.offsets[at:]
    re, im, bend_re, bend_im = int(sine[HUM_RE]), int(sine[HUM_IM]), int(sine[HUM_BEND_RE]), int(sine[HUM_BEND_IM])
    for j in range(member(), n, WIDTH):  # all that is computed fits 32 bits
        value = narrow(int(samples[j]))
        hum = point_of(re, im, bend_re, bend_im, int(offsets[j]), int(cosines[j]), int(sines[j]))
        changed = narrow(value + sign * hum)
        changed -= RANGE * (changed > MOST) - RANGE * (changed < -MOST)  # ``wrapped``, which is slower
        samples[j] = value if value == NO_VALUE else changed


def point_of(re: int, im: int, bend_re: int, bend_im: int, off: int, cosine: int, sine: int) -> int:
    """Return the value of a sine, which is bent by ``off`` half samples, where the tables have these values."""
    now_re = narrow(re + (narrow(bend_re * off) >> BEND_BITS))
    now_im = narrow(im + (narrow(bend_im * off) >> BEND_BITS))
    hum = narrow(now_re * cosine) + narrow(now_im * sine)
    return narrow(narrow(hum + (1 << (SHIFT - 1))) >> SHIFT)


def wrapped(value: int) -> int:
    """Return a sum of a sample and of hum as a sample."""
    return (value + MOST) % RANGE - MOST


def hum_at(a: int, hum_filter: HumFilter, sines: I32) -> int:
    """Return the hum of sample ``a``; ``sines`` has those of its span and of a neighbour."""
    k = a // hum_filter.tables.shape[1]
    at, sine = a - k * hum_filter.tables.shape[1], sines[k % LAG]
    which = int(sine[HUM_OF]) - 1
    if which < 0:
        return 0
    return point_of(
        int(sine[HUM_RE]), int(sine[HUM_IM]), int(sine[HUM_BEND_RE]), int(sine[HUM_BEND_IM]),
        int(hum_filter.offsets[at]), int(hum_filter.tables[which, at]), int(hum_filter.tables[which + 1, at]),
    )  # fmt: skip
