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
LEAST = 1.0  # amplitude of hum, in units of the device
ALIKE = 4  # the power of each span is at most so many times that of the newest one, and at least its share
FINE_BITS = 4
FINE = 1 << FINE_BITS  # amplitudes are stored in so many parts of a unit
BEND_BITS = 12
BEND = 1 << BEND_BITS  # changes of amplitudes in half a sample are stored in so many parts of that
RANGE = 65535  # values of a sample: they wrap around, once, so that what was subtracted can be put back
MOST = 32767


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
        for k in range(SPANS):
            for which in range(amplitudes.shape[1]):
                amplitudes[k, which] = 0
        for k in range(LAG):
            sines[k, HUM_OF] = 0
    wait()


def measured(stop: int, base: int, hum_filter: HumFilter) -> int:
    """Return the first span that is not measured when samples up to ``stop`` are final."""
    span: int = hum_filter.tables.shape[1]
    return max(base, stop - hum_filter.margin) // span


def measure(ring: I16, base: int, k: int, hum_filter: HumFilter, nanovolts: int, amplitudes: I32) -> None:
    """Write the amplitudes of span ``k``, ``amplitudes[k % SPANS]``.

    They are zero if one of its samples has no value, and if the lead stands at a limit of its converter: there is no
    sine, and without what looks like one it could not be seen that it does.
    """
    tables = hum_filter.tables
    span = tables.shape[1]
    first, row = k * span, amplitudes[k % SPANS]
    known = first >= base
    if known:
        least, largest = least_and_largest(ring, first, span)
        known = least != NO_VALUE and not is_limited(ring, first, span, least, largest, nanovolts)
    column = first % ring.shape[0]
    head = min(span, ring.shape[0] - column)
    old, new = ring[column : column + head], ring[: span - head]
    offset = int(old[0])  # which the tables do not quite cancel
    for which in range(tables.shape[0]):
        total = 0
        if known:
            total = correlate(old, tables[which], head) - offset * int(hum_filter.sums[which])
            if head < span:
                total += correlate(new, tables[which, head:], span - head)
        if member() == 0:
            row[which] = math.floor(total * hum_filter.scale + 0.5)
    wait()


def correlate(samples: I16, table: I16, n: int) -> int:
    """Return the sum of ``n`` products, which fits 32 bits; all members call it."""
    total = narrow(0)
    for j in range(member(), n, WIDTH):
        total = narrow(total + narrow(int(samples[j]) * int(table[j])))
    return int(added(total))


def continue_sine(k: int, amplitudes: I32, hum_filter: HumFilter, sine: I32) -> None:
    """Write the sine that fits the spans up to ``k``, continued by ``LAG`` spans; none if no sine fits them."""
    power = 0.0
    sine[HUM_OF] = 0
    for which in range(0, hum_filter.tables.shape[0], 2):
        if are_alike(amplitudes, which, k % SPANS):
            power = max(power, write_sine(k, amplitudes, which, power, hum_filter, sine))


def are_alike(amplitudes: I32, which: int, newest: int) -> bool:
    """Return True if no span has much more power at a frequency, or much less, than that of row ``newest``."""
    power, row = squared(amplitudes[newest], which), 0
    if power < (LEAST * FINE) * (LEAST * FINE):
        return False
    while row < SPANS:
        other = squared(amplitudes[row], which)
        if power > ALIKE * other or other > ALIKE * power:
            return False
        row += 1
    return True


def write_sine(k: int, amplitudes: I32, which: int, least: float, hum_filter: HumFilter, sine: I32) -> float:
    """Write the sine of one frequency if there is one of more power than ``least``; return its power, or 0."""
    span = hum_filter.tables.shape[1]
    power = re = im = turn_re = turn_im = 0.0
    for age in range(SPANS - 1):  # how the phase advances from span to span
        a, b = amplitudes[(k - age) % SPANS], amplitudes[(k - age - 1) % SPANS]
        turn_re += float(a[which]) * float(b[which]) + float(a[which + 1]) * float(b[which + 1])
        turn_im += float(a[which + 1]) * float(b[which]) - float(a[which]) * float(b[which + 1])
    size = math.sqrt(turn_re * turn_re + turn_im * turn_im)
    if size == 0.0:
        return 0.0
    turn_re, turn_im = turn_re / size, turn_im / size
    for age in range(SPANS - 1, -1, -1):
        row = amplitudes[(k - age) % SPANS]
        re, im = re * turn_re - im * turn_im + float(row[which]), re * turn_im + im * turn_re + float(row[which + 1])
        power += squared(row, which)
    together = re * re + im * im
    if together < COHERENCE * SPANS * power or together <= least:
        return 0.0
    for _ in range(LAG):
        re, im = re * turn_re - im * turn_im, re * turn_im + im * turn_re
    re, im = re / SPANS, im / SPANS
    # The small angle by which the phase advances more than that of the exact frequency does, in half a sample.
    bend = (turn_im * hum_filter.turns[which] - turn_re * hum_filter.turns[which + 1]) * BEND / (2.0 * span)
    sine[HUM_OF] = which + 1
    sine[HUM_RE], sine[HUM_IM] = math.floor(re + 0.5), math.floor(im + 0.5)
    sine[HUM_BEND_RE], sine[HUM_BEND_IM] = math.floor(-im * bend + 0.5), math.floor(re * bend + 0.5)
    return together


def squared(row: I32, which: int) -> float:
    """Return the power of an amplitude, ``row[which : which + 2]``."""
    return float(row[which]) * float(row[which]) + float(row[which + 1]) * float(row[which + 1])


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
    which, shift = int(sine[HUM_OF]) - 1, hum_filter.bits + FINE_BITS
    cosines, sines = hum_filter.tables[which, at:], hum_filter.tables[which + 1, at:]
    re, im, bend_re, bend_im = int(sine[HUM_RE]), int(sine[HUM_IM]), int(sine[HUM_BEND_RE]), int(sine[HUM_BEND_IM])
    middle, half = 2 * at + 1 - hum_filter.tables.shape[1], 1 << (shift - 1)
    for j in range(member(), n, WIDTH):  # all that is computed fits 32 bits
        value, off = narrow(int(samples[j])), narrow(2 * j + middle)
        now_re, now_im = (
            narrow(re + (narrow(bend_re * off) >> BEND_BITS)),
            narrow(im + (narrow(bend_im * off) >> BEND_BITS)),
        )
        hum = narrow(narrow(now_re * int(cosines[j])) + narrow(now_im * int(sines[j])) + half) >> shift
        changed = narrow(value + sign * hum)
        changed -= RANGE * (changed > MOST) - RANGE * (changed < -MOST)
        samples[j] = value if value == NO_VALUE else changed
