"""Take the hum of the mains out of the samples of a ring: a steady sine of 50 or 60 Hz.

Samples are cut into spans of about 0.4 s, counted from sample 0 of the stream. Of each span the complex amplitude at
both frequencies is measured. Where those of ``SPANS`` spans are one sine (``kernels.intake.one_sine``), whose phase
advances evenly since no mains has exactly its frequency, that sine is continued and subtracted from the span after the
next one. QRS complexes are at another phase in each span, so hum is taken out from about a twentieth of their height
on. A signal without hum stays as it is.

A span is measured as it came: hum is put back into the spans that are not measured yet before the samples of a pass
are placed, and taken out afterwards. In between short holes are filled in, and gaps are bridged, span by span: the sine
of a span is known when the second one before it is measured (``kernels.intake.filling``, ``kernels.intake.bridges``).

Invariant: what is subtracted from a sample is a function of the samples of its lead from ``SPANS + LAG`` spans before
on, in integers and in sums, products, quotients and roots of float64: equal for every cut and on every backend.
"""

import math

from beatwire.kernels.extremes import least_and_largest
from beatwire.kernels.intake.bridges import bridge, first_row
from beatwire.kernels.intake.converter import are_limits, is_limited
from beatwire.kernels.intake.filling import fill, forget_filled, is_filled
from beatwire.kernels.intake.holes import MOST, NO_VALUE
from beatwire.kernels.intake.one_sine import SPANS, UNKNOWN, continue_sine
from beatwire.kernels.intake.sines import LAG, add_sine
from beatwire.kernels.team import WIDTH, added, member, narrow, part, parts, wait
from beatwire.records import F64, I16, I32, I64, U8, Bool
from beatwire.records.columns import HUM_FILLED, HUM_OF, QUIET_STOP
from beatwire.records.detection import FreshLanes
from beatwire.records.hum import Hum, HumFilter

LEAST_SHARE = 2  # one of so many parts of a span is known, or it is not measured
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
            forget(hum.amplitudes[lane, lead], sines, hum.filled[lane, lead])
        else:
            for k in range(measured(start, base, hum_filter), (start - 1) // hum_filter.tables.shape[1] + 1):
                if sines[k % LAG, HUM_OF] > 0:
                    add_sine(x[lane, lead], base, start, k, 1, hum_filter, sines[k % LAG])
    wait()


def take_out_hum(
    i: int, fresh: FreshLanes, marked: Bool, quiet: I64, uv_per_unit: F64, hum_filter: HumFilter, hum: Hum, x: I16
) -> None:
    """Measure the spans of lane ``fresh.lane[i]`` that are final, and take hum out of all that were not before.

    Parameters
    ----------
    marked : bool [n]
        Samples that became final may have no value: short holes among them are filled in.
    quiet : int64 [q, 3]
        Gaps among them, which are bridged, as ``Fresh.quiet``.
    uv_per_unit : float64 [n]
        Microvolts a unit; 0: not calibrated.
    x : int16 [lanes, leads, R], read and written
        Rings behind the placements of the pass.
    """
    nanovolts = int(math.floor(1000.0 * uv_per_unit[i] + 0.5))
    lane, base, start, stop = int(fresh.lane[i]), int(fresh.base[i]), int(fresh.start[i]), int(fresh.stop[i])
    begin, end = measured(start, base, hum_filter), measured(stop, base, hum_filter)
    span, is_marked = hum_filter.tables.shape[1], bool(marked[i])
    first, last = first_row(quiet, lane), first_row(quiet, lane + 1)
    for lead in range(part(), x.shape[1], parts()):
        ring, amplitudes, sines = x[lane, lead], hum.amplitudes[lane, lead], hum.sines[lane, lead]
        filled, row = hum.filled[lane, lead], first
        for k in range(begin, (stop - 1) // span + 1):
            while row < last and quiet[row, QUIET_STOP] <= k * span:
                row += 1
            if is_marked or row < last:
                if member() == 0:
                    bridge(ring, k, begin, quiet, row, last, hum_filter, sines, filled)
                    fill(ring, max(start, k * span), min(stop, (k + 1) * span), hum_filter, sines, filled)
                wait()
            if k < end:
                measure(ring, base, k, hum_filter, nanovolts, sines[k % LAG], filled, amplitudes)
            if sines[k % LAG, HUM_OF] > 0:
                add_sine(ring, base, stop, k, -1, hum_filter, sines[k % LAG])
            wait()
            if k < end and member() == 0:
                continue_sine(k, amplitudes, hum_filter, sines[k % LAG])
            wait()


def forget(amplitudes: I32, sines: I32, filled: U8) -> None:
    """Begin a lane without hum."""
    if member() == 0:
        for which in range(amplitudes.shape[0]):
            for k in range(SPANS):
                amplitudes[which, k] = 0
        for k in range(LAG):
            sines[k, HUM_OF] = sines[k, HUM_FILLED] = 0
        for byte in range(filled.shape[0]):
            filled[byte] = 0
    wait()


def measured(stop: int, base: int, hum_filter: HumFilter) -> int:
    """Return the first span that is not measured when samples up to ``stop`` are final."""
    span: int = hum_filter.tables.shape[1]
    return max(base, stop) // span


def measure(
    ring: I16, base: int, k: int, hum_filter: HumFilter, nanovolts: int, sine: I32, filled: U8, amplitudes: I32
) -> None:
    """Write the amplitudes of span ``k``, in column ``k % SPANS``.

    They are zero if the lead stands at a limit of its converter: there is no sine, and without what looks like one it
    could not be seen that it does.
    """
    tables = hum_filter.tables
    span = tables.shape[1]
    first = k * span
    least = largest = 0
    if first >= base:
        least, largest = least_and_largest(ring, first, span)
    if least == NO_VALUE or sine[HUM_FILLED] > 0:
        if member() == 0:
            measure_holed(ring, base, k, hum_filter, nanovolts, filled, amplitudes)
        wait()
        return
    known = first >= base and not is_limited(ring, first, span, least, largest, nanovolts)
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


def measure_holed(
    ring: I16, base: int, k: int, hum_filter: HumFilter, nanovolts: int, filled: U8, amplitudes: I32
) -> None:
    """Write the amplitudes of a span of which samples have no value, or were filled in or bridged.

    Straight lines stand for them, and hum is as large there as in the others. The amplitudes are ``UNKNOWN`` if fewer
    than one of ``LEAST_SHARE`` samples are known.
    """
    span, size = hum_filter.tables.shape[1], ring.shape[0]
    first = k * span
    known = known_in(ring, first, span, filled, nanovolts) if first >= base else 0
    for which in range(hum_filter.tables.shape[0]):
        table, total, a, end = hum_filter.tables[which], 0, first, first + span
        before = 0
        while known > 0 and a < end:
            b = a
            while b < end and (ring[b % size] == NO_VALUE or is_filled(filled, b)):
                b += 1
            after = int(ring[b % size]) if b < end else before
            if a == first:
                before = after
            for c in range(a, min(b + 1, end)):
                total += (before + (after - before) * (c - a + 1) // (b - a + 1)) * int(table[c - first])
            before, a = after, b + 1
        total -= before * int(hum_filter.sums[which])
        amplitude = math.floor(total * hum_filter.scale * span / max(1, known) + 0.5)
        amplitudes[which, k % SPANS] = amplitude if known >= 0 else UNKNOWN
    forget_filled(filled, first, span)


def known_in(ring: I16, first: int, span: int, filled: U8, nanovolts: int) -> int:
    """Return how many samples of a span are known; 0 if they stand at a limit, -1 if too few are."""
    known = high = low = 0
    least, largest = MOST, -MOST
    for a in range(first, first + span):
        value = int(ring[a % ring.shape[0]])
        if value != NO_VALUE and not is_filled(filled, a):
            known += 1
            high = 1 if value > largest else high + int(value == largest)
            low = 1 if value < least else low + int(value == least)
            least, largest = min(least, value), max(largest, value)
    if are_limits(least, low, largest, high, known, nanovolts):
        return 0
    return known if LEAST_SHARE * known >= span else -1


def correlate(samples: I16, table: I16, n: int) -> int:
    """Return the sum of ``n`` products, ``BLOCK`` at most; all members call it."""
    some = narrow(0)
    for j in range(member(), n, WIDTH):
        some = narrow(some + narrow(int(samples[j]) * int(table[j])))
    return int(added(some))
