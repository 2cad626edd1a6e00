"""Draw the bridges of a ring: lines over gaps of all leads that are too long to be filled in.

A bridge is a straight line between the samples on both sides of its gap, without their hum; the hum that is subtracted
afterwards is added, as in holes that are filled in (``kernels.intake.filling``), and a span is measured without its
bridges. If a lead has no value on one side it has none in between.

Invariant: a bridge is a function of the two samples and of the sines, in integers, and does not depend on the pass.
"""

from beatwire.kernels.intake.filling import remember, without_hum
from beatwire.kernels.intake.holes import NO_VALUE
from beatwire.kernels.intake.sines import LAG, hum_at, wrapped
from beatwire.records import I16, I32, I64, U8
from beatwire.records.columns import QUIET_LANE, QUIET_START, QUIET_STOP
from beatwire.records.hum import HumFilter


def first_row(quiet: I64, lane: int) -> int:
    """Return the first row of ``Fresh.quiet`` whose lane is at least ``lane``."""
    low = 0
    high = quiet.shape[0]
    while low < high:
        middle = (low + high) // 2
        if quiet[middle, QUIET_LANE] < lane:
            low = middle + 1
        else:
            high = middle
    return low


def bridge(
    ring: I16, k: int, begin: int, quiet: I64, row: int, end: int, hum_filter: HumFilter, sines: I32, filled: U8
) -> None:
    """Draw the bridges, of rows ``[row, end)`` of a lane, whose turn is span ``k``, before hum is taken out of it.

    And note which samples of the span are in bridges. ``begin`` is the first span of the pass. A bridge is drawn when
    the sine at its end is known, before the span of its end, or at last before that of its first sample.
    """
    span = hum_filter.tables.shape[1]
    while row < end:
        a, b = int(quiet[row, QUIET_START]), int(quiet[row, QUIET_STOP])
        turn = min(a // span, b // span - 1)
        if turn > k:
            return
        if k == max(begin, turn):
            draw_line(ring, k, a, b, hum_filter, sines)
        else:
            for c in range(max(a, (k + 1) * span), min(b, (k + 2) * span)):
                if ring[c % ring.shape[0]] != NO_VALUE:
                    ring[c % ring.shape[0]] = wrapped(int(ring[c % ring.shape[0]]) + hum_at(c, hum_filter, sines))
        for c in range(max(a, k * span), min(b, (k + 1) * span)):
            if ring[c % ring.shape[0]] != NO_VALUE:
                remember(c, span, sines, filled)
        row += 1


def draw_line(ring: I16, k: int, a: int, b: int, hum_filter: HumFilter, sines: I32) -> None:
    """Draw samples ``[a, b)`` when hum is in the ring from span ``k`` on.

    The sines of spans ``k`` and ``k + 1`` are known. A bridge that ends behind them ends in the sample as it came.
    """
    size, span = ring.shape[0], hum_filter.tables.shape[1]
    if ring[(a - 1) % size] == NO_VALUE or ring[b % size] == NO_VALUE:
        return
    known = (k + LAG) * span
    begin = without_hum(ring, a - 1, k * span, hum_filter, sines)
    end = without_hum(ring, b, b if b < known else b + 1, hum_filter, sines)
    for c in range(a, b):
        value = begin + (end - begin) * (c - a + 1) // (b - a + 1)
        ring[c % size] = wrapped(value + hum_at(c, hum_filter, sines)) if c < known else value
