"""Find the one sine that the amplitudes of ``SPANS`` spans are, and continue it (``kernels.intake.hum``).

A span of which too little is known is left out: nothing is assumed of it. So a sine depends on ``SPANS`` spans only.

Invariant: a sine is a function of the amplitudes, in integers and in sums, products, quotients and roots of float64.
"""

import math

from beatwire.kernels.intake.sines import BEND, FINE, LAG
from beatwire.records import I32
from beatwire.records.columns import HUM_BEND_IM, HUM_BEND_RE, HUM_FILLED, HUM_IM, HUM_OF, HUM_RE
from beatwire.records.hum import HumFilter

SPANS = 6  # that must be one sine
LEAST_SPANS = 4  # of them that must be known
UNKNOWN = -(1 << 31)  # amplitude of a span of which too little is known
COHERENCE = 0.9  # of the power of the spans: the share of the one sine
SLACK = 0.01  # of that power: more than is rounded away
LEAST = 1  # amplitude of hum, in units of the device
ALIKE = 4  # the power of each span is at most so many times that of the newest one, and at least its share


def continue_sine(k: int, amplitudes: I32, hum_filter: HumFilter, sine: I32) -> None:
    """Write the sine that fits the spans up to ``k``, continued by ``LAG`` spans; none if no sine fits them."""
    power, missing = 0.0, False
    sine[HUM_OF] = sine[HUM_FILLED] = 0
    for row in range(SPANS):
        missing |= amplitudes[0, row] == UNKNOWN
    for which in range(0, hum_filter.tables.shape[0], 2):
        re, im = amplitudes[which], amplitudes[which + 1]
        if missing:
            may_be, whole, turn_re, turn_im = compare_known(re, im, k)
        else:
            may_be, whole, turn_re, turn_im = compare(re, im, k % SPANS)
        if may_be:
            power = max(power, write_sine(re, im, k, which, whole, turn_re, turn_im, power, hum_filter, sine))


def compare(re: I32, im: I32, newest: int) -> tuple[bool, float, float, float]:
    """Return if known spans may be one sine, their power, and the sum of the products of neighbours, conjugated.

    All spans are looked at without a branch, since what noise does cannot be predicted. No span of a sine has much more
    power than the newest one, or much less. If one sine has ``COHERENCE`` of the power, the squared differences of
    neighbours add up to at most four times the rest, and the sum of their products is at least ``least``.
    """
    power = squared(re, im, newest)
    alike = power >= LEAST * FINE * LEAST * FINE
    whole = turn_re = turn_im = 0  # integers: exact, in any order
    before = SPANS - 1
    for row in range(SPANS):
        other = squared(re, im, row)
        alike = alike & (power <= ALIKE * other) & (other <= ALIKE * power)
        whole += other
        turn_re += int(re[row]) * int(re[before]) + int(im[row]) * int(im[before])
        turn_im += int(im[row]) * int(re[before]) - int(re[row]) * int(im[before])
        before = row
    oldest = (newest + 1) % SPANS  # which does not follow the newest one
    turn_re -= int(re[oldest]) * int(re[newest]) + int(im[oldest]) * int(im[newest])
    turn_im -= int(im[oldest]) * int(re[newest]) - int(re[oldest]) * int(im[newest])
    least = (2.0 * COHERENCE - 1.0 - SLACK) * whole - 0.5 * (power + squared(re, im, oldest))
    x, y = float(turn_re), float(turn_im)
    return alike & (x * x + y * y >= least * least), float(whole), x, y


def compare_known(re: I32, im: I32, k: int) -> tuple[bool, float, float, float]:
    """Return the same as ``compare`` of spans up to ``k`` of which some are unknown, and have no neighbours.

    They cannot be one sine if fewer than ``LEAST_SPANS`` are known.
    """
    known = whole = turn_re = turn_im = power = 0
    alike, before = True, -1
    for age in range(SPANS):
        row = (k - age) % SPANS
        if re[row] == UNKNOWN:
            before = -1
            continue
        other = squared(re, im, row)
        power = other if known == 0 else power  # of the newest one
        alike = alike and power <= ALIKE * other and other <= ALIKE * power
        whole, known = whole + other, known + 1
        if before >= 0:
            turn_re += int(re[row]) * int(re[before]) + int(im[row]) * int(im[before])
            turn_im += int(im[before]) * int(re[row]) - int(re[before]) * int(im[row])
        before = row
    may_be = alike and power >= LEAST * FINE * LEAST * FINE and known >= LEAST_SPANS
    return may_be, float(whole), float(turn_re), float(turn_im)


def write_sine(
    re: I32, im: I32, k: int, which: int, whole: float, turn_re: float, turn_im: float, least: float,
    hum_filter: HumFilter, sine: I32,
) -> float:  # fmt: skip
    """Write the sine of one frequency if there is one of more power than ``least``; return its power, or 0.

    ``whole``, ``turn_re`` and ``turn_im`` are of ``compare``, or of ``compare_known``.
    """
    size = math.sqrt(turn_re * turn_re + turn_im * turn_im)
    if size == 0.0:
        return 0.0
    turn_re, turn_im = turn_re / size, turn_im / size
    x = y = 0.0
    known = 0
    for age in range(SPANS - 1, -1, -1):
        row = (k - age) % SPANS
        x, y = x * turn_re - y * turn_im, x * turn_im + y * turn_re
        if re[row] != UNKNOWN:
            x, y, known = x + float(re[row]), y + float(im[row]), known + 1
    power = x * x + y * y
    if power < COHERENCE * known * whole or power <= least:
        return 0.0
    for _ in range(LAG):
        x, y = x * turn_re - y * turn_im, x * turn_im + y * turn_re
    x, y = x / known, y / known
    # The small angle by which the phase advances more than that of the exact frequency does, in half a sample.
    exact_re, exact_im = float(hum_filter.turns[which]), float(hum_filter.turns[which + 1])
    bend = (turn_im * exact_re - turn_re * exact_im) * BEND / (2.0 * hum_filter.tables.shape[1])
    sine[HUM_OF] = which + 1
    sine[HUM_RE], sine[HUM_IM] = math.floor(x + 0.5), math.floor(y + 0.5)
    sine[HUM_BEND_RE], sine[HUM_BEND_IM] = math.floor(-y * bend + 0.5), math.floor(x * bend + 0.5)
    return power


def squared(re: I32, im: I32, row: int) -> int:
    """Return the power of an amplitude."""
    return int(re[row]) * int(re[row]) + int(im[row]) * int(im[row])
