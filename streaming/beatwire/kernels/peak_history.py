"""Bodies that compare a peak with the peaks of the ten seconds before it, and remember it (``kernels.peak_features``).

One member of a team does this.
"""

from __future__ import annotations

from beatwire.kernels.peak_features import (
    ACROSS,
    BACK,
    BEFORE_400,
    BEFORE_700,
    BEFORE_HALF,
    BY_8,
    BY_8_OF_LAST,
    BY_22,
    BY_22_OF_LAST,
    BY_32,
    BY_32_OF_LAST,
    BY_32_OF_MEDIAN,
    DOUBT,
    FACTS,
    FAR,
    FIRST,
    HALF,
    HALVES,
    HEIGHT,
    INTERVAL,
    IRREGULAR,
    KEPT,
    MIDDLING,
    MS400,
    MS700,
    MS1500,
    NOISE,
    NOISE_OF_LEVEL,
    OF_RECENT,
    PEAKS,
    PHASE,
    ROOM,
    RR_RATIO,
    SINCE_HALF,
    SINCE_THIRD,
    SPAN_S,
    SPREAD,
    THIRD,
    VALLEY,
    VALLEY_LEFT,
    VALLEY_RIGHT,
    W8,
    W22,
    W32,
)
from beatwire.records import F32, F64, I64

BEYOND = 1e300  # any number that a median is taken of


def middle(values: F64, n: int) -> float:
    """Return the lower median of ``values[:n]``, behind which ``BEYOND`` stands (``vacate``): they are sorted for it.

    ``ROOM`` values, nine, are put in order by the shortest network: nothing that is done depends on them, and between
    reading and writing them a machine needs no memory.
    """
    a, b, c = values[0], values[1], values[2]
    d, e, f = values[3], values[4], values[5]
    g, h, i = values[6], values[7], values[8]
    a, d = min(a, d), max(a, d)
    b, h = min(b, h), max(b, h)
    c, f = min(c, f), max(c, f)
    e, i = min(e, i), max(e, i)
    a, h = min(a, h), max(a, h)
    c, e = min(c, e), max(c, e)
    d, i = min(d, i), max(d, i)
    f, g = min(f, g), max(f, g)
    a, c = min(a, c), max(a, c)
    b, d = min(b, d), max(b, d)
    e, f = min(e, f), max(e, f)
    h, i = min(h, i), max(h, i)
    b, e = min(b, e), max(b, e)
    d, g = min(d, g), max(d, g)
    f, h = min(f, h), max(f, h)
    a, b = min(a, b), max(a, b)
    c, e = min(c, e), max(c, e)
    d, f = min(d, f), max(d, f)
    g, i = min(g, i), max(g, i)
    c, d = min(c, d), max(c, d)
    e, f = min(e, f), max(e, f)
    g, h = min(g, h), max(g, h)
    b, c = min(b, c), max(b, c)
    d, e = min(d, e), max(d, e)
    f, g = min(f, g), max(f, g)
    values[0], values[1], values[2] = a, b, c
    values[3], values[4], values[5] = d, e, f
    values[6], values[7], values[8] = g, h, i
    return float(values[(n - 1) // 2])


def vacate(values: F64) -> None:
    """Make room for ``ROOM`` values."""
    for j in range(ROOM):
        values[j] = BEYOND


def scatter(values: F64, n: int, centre: float) -> float:
    """Return the mean distance of ``values[:n]`` from ``centre``, relative to it."""
    total = 0.0
    for i in range(n):
        total += abs(values[i] - centre)
    return total / n / centre


def look_back(c: int, v: float, level: float, span: I64, seen: I64, facts: F32, scratch: F64, out: F32) -> None:
    """Compare a peak of height ``v`` with the beats and peaks before it; ``out`` holds its widths.

    One member does this.
    """
    rate = float(span[BACK]) / SPAN_S[BACK]
    intervals, valleys = scratch, scratch[ROOM:]
    vacate(intervals)
    vacate(valleys)
    last = -1  # row of the last peak above half of the level
    since_last = before = count = peaks = 0
    doubt = near = 0.0
    total = int(seen[0])
    at = total % KEPT
    for _ in range(min(total, KEPT)):
        at = KEPT - 1 if at == 0 else at - 1
        gap = c - int(seen[FIRST + at])
        if gap > span[BACK] or (count == 9 and peaks >= 16):
            break
        height = float(facts[at, HEIGHT])
        h = height / level
        if peaks < 8:
            valleys[peaks] = float(facts[at, VALLEY])
        if peaks < 16:
            doubt += min(h, max(0.0, 1.0 - h))
        peaks += 1
        if gap <= span[MS400]:
            near = max(near, height)
        if h > 0.5:
            if last < 0:
                last = at
                since_last = gap
            elif count < 9:
                intervals[count] = (gap - before) / rate
                count += 1
            before = gap
    out[SINCE_HALF] = FAR
    out[HALF] = 0.0
    out[BY_8_OF_LAST] = out[BY_22_OF_LAST] = out[BY_32_OF_LAST] = 1.0
    if last >= 0:
        row = facts[last]
        out[SINCE_HALF] = since_last / rate
        out[HALF] = float(row[HEIGHT]) / v
        out[BY_8_OF_LAST] = float(out[BY_8]) / max(0.001, float(row[W8]))
        out[BY_22_OF_LAST] = float(out[BY_22]) / max(0.001, float(row[W22]))
        out[BY_32_OF_LAST] = float(out[BY_32]) / max(0.001, float(row[W32]))
    out[BEFORE_HALF] = intervals[0] if count > 0 else FAR
    out[RR_RATIO] = float(out[SINCE_HALF]) / float(out[BEFORE_HALF])
    out[INTERVAL] = out[IRREGULAR] = out[PHASE] = 1.0
    if count >= 3:
        usual = middle(intervals, count)
        out[INTERVAL] = usual
        out[IRREGULAR] = scatter(intervals, count, usual)
        out[PHASE] = float(out[SINCE_HALF]) / usual
    out[DOUBT] = doubt / max(1, min(16, peaks))
    out[BEFORE_400] = near / v
    noise = middle(valleys, min(peaks, 8)) if peaks > 0 else 0.0
    out[NOISE] = noise / v
    out[NOISE_OF_LEVEL] = noise / level


def look_far_back(
    c: int, v: float, level: float, lowest: float, span: I64, seen: I64, facts: F32, scratch: F64, out: F32
) -> None:
    """Describe a peak of height ``v`` by all peaks of the last ten seconds; ``out`` holds its widths.

    One member does this.
    """
    rate = float(span[BACK]) / SPAN_S[BACK]
    first = -1  # row of the last peak above 0.3 of the level
    since_first = peaks = halves = middling = wide = 0
    recent = later = 0.0
    vacate(scratch)
    total = int(seen[0])
    at = total % KEPT
    for _ in range(min(total, KEPT)):
        at = KEPT - 1 if at == 0 else at - 1
        gap = c - int(seen[FIRST + at])
        if gap > span[BACK]:
            break
        height = float(facts[at, HEIGHT])
        h = height / level
        peaks += 1
        middling += (h > 0.15) & (h < 0.55)
        if gap <= span[MS1500]:
            recent = max(recent, height)
            if gap > span[MS400] and gap <= span[MS700]:
                later = max(later, height)
        if first < 0 and h > 0.3:
            first = at
            since_first = gap
        if h > 0.5:
            halves += 1
            if wide < 9:
                scratch[wide] = float(facts[at, W32])
                wide += 1
    out[SINCE_THIRD] = since_first / rate if first >= 0 else FAR
    out[THIRD] = float(facts[first, HEIGHT]) / v if first >= 0 else 0.0
    out[MIDDLING] = float(middling)
    out[PEAKS] = float(peaks)
    out[HALVES] = float(halves)
    out[OF_RECENT] = v / max(v, recent)
    out[BEFORE_700] = later / v
    out[SPREAD] = level / lowest
    out[BY_32_OF_MEDIAN] = float(out[BY_32]) / max(0.001, middle(scratch, wide)) if wide > 0 else 1.0


def remember(c: int, value: int, seen: I64, facts: F32, scratch: F64, out: F32) -> None:
    """Put a peak that was described into the lane's memory."""
    row = facts[int(seen[0]) % KEPT]
    row[HEIGHT] = value
    row[W8] = out[BY_8]
    row[W22] = out[BY_22]
    row[W32] = out[BY_32]
    row[VALLEY] = 1.0 * value * float(out[VALLEY_LEFT]) + 1.0 * value * float(out[VALLEY_RIGHT])  # in float64
    for lead in range(facts.shape[1] - FACTS):
        row[FACTS + lead] = scratch[ACROSS + lead]
    seen[FIRST + int(seen[0]) % KEPT] = c
    seen[0] += 1
