"""Take the hum of the mains out of the samples of a ring: a steady sine of 50 or 60 Hz.

Samples are cut into spans of about 0.4 s, counted from sample 0 of the stream. Of each span the complex amplitude at
both frequencies is measured. Where those of ``SPANS`` spans are one sine, whose phase advances evenly since no mains
has exactly its frequency, that sine is continued and subtracted from the span after the next one. QRS complexes are at
another phase in each span, so hum is taken out from about a twentieth of their height on. A signal without hum stays
as it is.

A hole is filled in from the samples beside it, and a span is measured as it came: hum is put back into the spans that
are not measured yet before the samples of a pass are placed, and taken out afterwards.

Invariant: what is subtracted from a sample is a function of the samples of its lead from ``SPANS + LAG`` spans before
on, in integers and in sums, products, quotients and roots of float64: equal for every cut and on every backend.
"""

import math

from beatwire.kernels.extremes import least_and_largest
from beatwire.kernels.intake.converter import is_limited
from beatwire.kernels.intake.holes import NO_VALUE
from beatwire.kernels.team import WIDTH, added, member, narrow, part, parts, wait
from beatwire.records import F64, I16, I32
from beatwire.records.columns import HUM_BEND_IM, HUM_BEND_RE, HUM_IM, HUM_OF, HUM_RE
from beatwire.records.detection import FreshLanes
from beatwire.records.hum import Hum, HumFilter

SPANS = 6  # that must be one sine
LAG = 2  # spans from the last one that is measured to the one from which hum is taken
COHERENCE = 0.9  # of the power of the spans: the share of the one sine
SLACK = 0.01  # of that power: more than is rounded away
LEAST = 1  # amplitude of hum, in units of the device
ALIKE = 4  # the power of each span is at most so many times that of the newest one, and at least its share
TABLE_BITS = 7  # tables are cosines and sines times two to this power
FINE_BITS = 4
FINE = 1 << FINE_BITS  # amplitudes are stored in so many parts of a unit
SHIFT = TABLE_BITS + FINE_BITS  # of a product of both
BEND_BITS = 12
BEND = 1 << BEND_BITS  # changes of amplitudes in half a sample are stored in so many parts of that
RANGE = 65535  # values of a sample: they wrap around, once, so that what was subtracted can be put back
MOST = 32767
BLOCK = 511  # products of a sample and a table whose sum fits 32 bits


def put_back_hum(i: int, fresh: FreshLanes, hum_filter: HumFilter, hum: Hum, x: I16) -> None:
    """Add the hum again to the spans of lane ``fresh.lane[i]`` that were not measured before this pass.

    Parameters
    ----------
    x : int16 [lanes, leads, R], read and written
        Rings before the placements of the pass.
    """
    lane, base, start = int(fresh.lane[i]), int(fresh.base[i]), int(fresh.start[i])
    for lead in range(part(), x.shape[1], parts()):
        sines = hum.sines[lane, lead]
        if start == base:
            forget(hum.amplitudes[lane, lead], sines)
        else:
            for k in range(measured(start, base, hum_filter), (start - 1) // hum_filter.tables.shape[1] + 1):
                if sines[k % LAG, HUM_OF] > 0:
                    add_sine(x[lane, lead], base, start, k, 1, hum_filter, sines[k % LAG])
    wait()


def take_out_hum(i: int, fresh: FreshLanes, uv_per_unit: F64, hum_filter: HumFilter, hum: Hum, x: I16) -> None:
    """Measure the spans of lane ``fresh.lane[i]`` that are final, and take hum out of all that were not before.

    Parameters
    ----------
    uv_per_unit : float64 [n]
        Microvolts a unit; 0: not calibrated.
    x : int16 [lanes, leads, R], read and written
        Rings behind the placements of the pass.
    """
    nanovolts = int(math.floor(1000.0 * uv_per_unit[i] + 0.5))
    lane, base, start, stop = int(fresh.lane[i]), int(fresh.base[i]), int(fresh.start[i]), int(fresh.stop[i])
    begin, end = measured(start, base, hum_filter), measured(stop, base, hum_filter)
    for lead in range(part(), x.shape[1], parts()):
        ring, amplitudes, sines = x[lane, lead], hum.amplitudes[lane, lead], hum.sines[lane, lead]
        for k in range(begin, (stop - 1) // hum_filter.tables.shape[1] + 1):
            if k < end:
                measure(ring, base, k, hum_filter, nanovolts, amplitudes)
            if sines[k % LAG, HUM_OF] > 0:
                add_sine(ring, base, stop, k, -1, hum_filter, sines[k % LAG])
            wait()
            if k < end and member() == 0:
                continue_sine(k, amplitudes, hum_filter, sines[k % LAG])
            wait()


def forget(amplitudes: I32, sines: I32) -> None:
    """Begin a lane without hum."""
    if member() == 0:
        for which in range(amplitudes.shape[0]):
            for k in range(SPANS):
                amplitudes[which, k] = 0
        for k in range(LAG):
            sines[k, HUM_OF] = 0
    wait()


def measured(stop: int, base: int, hum_filter: HumFilter) -> int:
    """Return the first span that is not measured when samples up to ``stop`` are final."""
    span: int = hum_filter.tables.shape[1]
    return max(base, stop - hum_filter.margin) // span


def measure(ring: I16, base: int, k: int, hum_filter: HumFilter, nanovolts: int, amplitudes: I32) -> None:
    """Write the amplitudes of span ``k``, in column ``k % SPANS``.

    They are zero if one of its samples has no value, and if the lead stands at a limit of its converter: there is no
    sine, and without what looks like one it could not be seen that it does.
    """
    tables = hum_filter.tables
    span = tables.shape[1]
    first = k * span
    known = first >= base
    if known:
        least, largest = least_and_largest(ring, first, span)
        known = least != NO_VALUE and not is_limited(ring, first, span, least, largest, nanovolts)
    begin = first % ring.shape[0]
    offset = int(ring[begin])  # which the tables do not quite cancel
    for which in range(tables.shape[0]):
        total, done, column = 0, 0, begin
        while known and done < span:
            n = min(span - done, ring.shape[0] - column, BLOCK)
            total += correlate(ring[column : column + n], tables[which, done:], n)
            done, column = done + n, 0 if column + n == ring.shape[0] else column + n
        if member() == 0:
            total -= offset * int(hum_filter.sums[which])
            amplitudes[which, k % SPANS] = math.floor(total * hum_filter.scale + 0.5) if known else 0
    wait()


def correlate(samples: I16, table: I16, n: int) -> int:
    """Return the sum of ``n`` products, ``BLOCK`` at most; all members call it."""
    some = narrow(0)
    for j in range(member(), n, WIDTH):
        some = narrow(some + narrow(int(samples[j]) * int(table[j])))
    return int(added(some))


def continue_sine(k: int, amplitudes: I32, hum_filter: HumFilter, sine: I32) -> None:
    """Write the sine that fits the spans up to ``k``, continued by ``LAG`` spans; none if no sine fits them."""
    power = 0.0
    sine[HUM_OF] = 0
    for which in range(0, hum_filter.tables.shape[0], 2):
        re, im = amplitudes[which], amplitudes[which + 1]
        may_be, whole, turn_re, turn_im = compare(re, im, k % SPANS)
        if may_be:
            power = max(power, write_sine(re, im, k, which, whole, turn_re, turn_im, power, hum_filter, sine))


def compare(re: I32, im: I32, newest: int) -> tuple[bool, float, float, float]:
    """Return if the spans may be one sine, their power, and the sum of the products of neighbours, conjugated.

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


def write_sine(
    re: I32, im: I32, k: int, which: int, whole: float, turn_re: float, turn_im: float, least: float,
    hum_filter: HumFilter, sine: I32,
) -> float:  # fmt: skip
    """Write the sine of one frequency if there is one of more power than ``least``; return its power, or 0.

    ``whole``, ``turn_re`` and ``turn_im`` are of ``compare``.
    """
    size = math.sqrt(turn_re * turn_re + turn_im * turn_im)
    if size == 0.0:
        return 0.0
    turn_re, turn_im = turn_re / size, turn_im / size
    x = y = 0.0
    for age in range(SPANS - 1, -1, -1):
        row = (k - age) % SPANS
        x, y = x * turn_re - y * turn_im + float(re[row]), x * turn_im + y * turn_re + float(im[row])
    power = x * x + y * y
    if power < COHERENCE * SPANS * whole or power <= least:
        return 0.0
    for _ in range(LAG):
        x, y = x * turn_re - y * turn_im, x * turn_im + y * turn_re
    x, y = x / SPANS, y / SPANS
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
        value, off = narrow(int(samples[j])), int(offsets[j])
        now_re = narrow(re + (narrow(bend_re * off) >> BEND_BITS))
        now_im = narrow(im + (narrow(bend_im * off) >> BEND_BITS))
        hum = narrow(now_re * int(cosines[j])) + narrow(now_im * int(sines[j]))
        changed = narrow(value + sign * narrow(narrow(hum + (1 << (SHIFT - 1))) >> SHIFT))
        changed -= RANGE * (changed > MOST) - RANGE * (changed < -MOST)
        samples[j] = value if value == NO_VALUE else changed
