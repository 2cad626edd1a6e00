"""Bodies that describe a peak of the response in numbers without scale, for the trees that judge it.

The height against the level, the response around the peak, the widths that Ricker wavelets of 8,
22 and 32 ms see, the slope of the signal, and the peaks of the last ten seconds. Heights are
ratios of integers, widths relative to the response, times in seconds or relative to intervals. Of
several leads, sizes and responses are added, as the response itself is: a lead that says nothing
changes nothing.

Of a lane is remembered: ``seen[lane]``, int64 ``[SEEN]``: how many peaks were described, how many
blocks of the level were taken, the maxima of the last five of these, then the sample of peak ``k`` at
``FIRST + k % KEPT``; ``facts[lane, k % KEPT]``, float32 ``[FACTS]``: its height, widths, least
response on both sides, the probability that what is said of it is wrong, and where there are several leads what each
says of it (``kernels.across``). Nothing else is kept.

Bodies are written for a team (``kernels.team``): what is a sum or an extreme of integers is shared
by its members, the look back is one member's.
"""

from __future__ import annotations

from streaming.kernels.nms import largest, least
from streaming.kernels.ring import unroll
from streaming.kernels.team import WIDTH, added, member, most, wait
from streaming.records import F32, F64, I16, I32, I64

KEPT = 48
BLOCKS = 5
TAKEN, MAXIMA = 1, 2
FIRST = MAXIMA + BLOCKS
SEEN = FIRST + KEPT
HEIGHT, W8, W22, W32, VALLEY, RISK = range(6)
FACTS = 6
ACROSS = 30  # of the scratch, from there on what each lead says of the peak

SPAN_S = (0.22, 0.008, 0.045, 0.06, 0.075, 0.12, 0.23, 0.4, 0.7, 1.5, 10.0)
RIGHT, MS8, MS45, MS60, MS75, MS120, MS230, MS400, MS700, MS1500, BACK = range(len(SPAN_S))

NAMES = (
    "height", "of_largest", "of_least", "before_120", "after_60", "after_120", "left_45", "right_45", "left_75",
    "right_75", "valley_left", "valley_right", "again", "w8", "w22", "w32", "w22_of_last", "w32_of_last",
    "w8_of_last", "w32_of_median", "slope", "compact", "size", "since_half", "half", "before_half", "rr_ratio",
    "since_third", "third", "interval", "irregular", "phase", "doubt", "middling", "peaks", "halves", "of_recent",
    "before_400", "before_700", "noise", "noise_of_level", "spread", "first_lead", "lowest_lead", "highest_lead",
    "even", "turned",
)  # fmt: skip
FEATURES = len(NAMES)
(
    TALL, OF_LARGEST, OF_LEAST, BEFORE_120, AFTER_60, AFTER_120, LEFT_45, RIGHT_45, LEFT_75, RIGHT_75, VALLEY_LEFT,
    VALLEY_RIGHT, AGAIN, BY_8, BY_22, BY_32, BY_22_OF_LAST, BY_32_OF_LAST, BY_8_OF_LAST, BY_32_OF_MEDIAN, SLOPE,
    COMPACT, SIZE, SINCE_HALF, HALF, BEFORE_HALF, RR_RATIO, SINCE_THIRD, THIRD, INTERVAL, IRREGULAR, PHASE, DOUBT,
    MIDDLING, PEAKS, HALVES, OF_RECENT, BEFORE_400, BEFORE_700, NOISE, NOISE_OF_LEVEL, SPREAD, FIRST_LEAD,
    LOWEST, HIGHEST, EVEN, TURNED,
) = range(FEATURES)  # fmt: skip

FAR = 9.0


def wave(x: I32, centre: int, taps: I32, half: int) -> int:
    """Return the magnitude of a wavelet's response; its ``2 half + 1`` taps stand at the beginning of ``taps``."""
    part = x[centre - half : centre + half + 1]
    total = 0
    for k in range(2 * half + 1):
        total += int(taps[k]) * int(part[k])
    return abs(total)


def middle(values: F64, n: int) -> float:
    """Return the lower median of ``values[:n]``, which is sorted on the way."""
    for i in range(1, n):
        value = values[i]
        j = i - 1
        while j >= 0 and values[j] > value:
            values[j + 1] = values[j]
            j -= 1
        values[j + 1] = value
    return float(values[(n - 1) // 2])


def scatter(values: F64, n: int, centre: float) -> float:
    """Return the mean distance of ``values[:n]`` from ``centre``, relative to it."""
    total = 0.0
    for i in range(n):
        total += abs(values[i] - centre)
    return total / n / centre


def around(f: I32, at: int, v: float, span: I64, out: F32) -> None:
    """Describe the response on both sides of the peak at ``f[at]``."""
    ms45, ms60, ms75, ms120 = int(span[MS45]), int(span[MS60]), int(span[MS75]), int(span[MS120])
    right, ms230 = int(span[RIGHT]), int(span[MS230])
    before = largest(f[at - ms230 :], ms230 - ms120 + 1)
    soon = largest(f[at + ms60 :], ms120 - ms60)
    later = largest(f[at + ms120 :], right - ms120 + 1)
    valley_left = least(f[at - right :], right + 1)
    valley_right = least(f[at:], right + 1)
    again = at + ms120
    while again < at + right and 10 * int(f[again]) <= 7 * int(f[at]):
        again += 1
    if member() == 0:
        out[BEFORE_120] = before / v
        out[AFTER_60] = soon / v
        out[AFTER_120] = later / v
        out[LEFT_45] = int(f[at - ms45]) / v
        out[RIGHT_45] = int(f[at + ms45]) / v
        out[LEFT_75] = int(f[at - ms75]) / v
        out[RIGHT_75] = int(f[at + ms75]) / v
        out[VALLEY_LEFT] = valley_left / v
        out[VALLEY_RIGHT] = valley_right / v
        out[AGAIN] = (again - at) / float(right)
    wait()


def look(
    x: I16, base: int, c: int, v: float, box: int, span: I64, taps: I32, half: I64, line: I32, scratch: F64, out: F32
) -> None:
    """Describe what wavelets see around the peak at ``c``; ``x`` [leads, R] are rings, ``v`` its mean response.

    The wavelets' magnitudes are added over the leads: a lead counts as much as it says.
    """
    reach, n = int(span[MS230]), int(span[MS230]) + int(span[RIGHT]) + 1
    w8 = w22 = w32 = 0
    for lead in range(x.shape[0]):
        lay_out(x[lead], base, c - reach, n, line)
        for j in range(member(), 5, WIDTH):
            w8 += wave(line, reach + (j - 2) * box // 2, taps[0], int(half[0]))
        own = 0
        for j in range(member(), 3, WIDTH):
            own += wave(line, reach + (j - 1) * box, taps[1], int(half[1]))
            w32 += wave(line, reach + (j - 1) * box, taps[2], int(half[2]))
        own = added(own)
        w22 += own
        if member() == 0:
            scratch[ACROSS + lead] = own
        wait()
    w8, w32 = added(w8), added(w32)
    if member() == 0:
        out[BY_8] = w8 / (5.0 * v)
        out[BY_22] = w22 / (3.0 * v)
        out[BY_32] = w32 / (3.0 * v)
    wait()


def look_closely(x: I16, base: int, c: int, v: float, span: I64, line: I32, out: F32) -> None:
    """Describe the samples around the peak at ``c``: see ``look``.

    A lead's steepest slope, swing within 60 ms and swing of the whole surroundings are added over the leads.
    """
    reach, n = int(span[MS230]), int(span[MS230]) + int(span[RIGHT]) + 1
    near, lag = int(span[MS60]), int(span[MS8])
    steep = size = whole = 0
    for lead in range(x.shape[0]):
        lay_out(x[lead], base, c - reach, n, line)
        middle_part = line[reach - near :]
        low, high = least(middle_part, 2 * near + 1), largest(middle_part, 2 * near + 1)
        size += high - low
        whole += largest(line, n) - least(line, n)
        slope = 0
        early, late = line[reach - near - lag :], line[reach - near + lag :]
        for j in range(member(), 2 * near + 1, WIDTH):
            slope = max(slope, abs(int(late[j]) - int(early[j])))
        steep += most(slope)
        wait()
    if member() == 0:
        out[SLOPE] = steep / float(max(1, size))
        out[COMPACT] = size / float(max(1, whole))
        out[SIZE] = 1000.0 * size / v
    wait()


def lay_out(ring: I16, base: int, first: int, n: int, out: I32) -> None:
    """Copy samples ``[first, first + n)`` of a ring; before the lane's first sample that is held."""
    early = min(n, max(0, base - first))
    value = int(ring[base % ring.shape[0]])
    for j in range(member(), early, WIDTH):
        out[j] = value
    unroll(ring, first + early, n - early, out[early:])


def look_back(c: int, v: float, level: float, span: I64, seen: I64, facts: F32, scratch: F64, out: F32) -> None:
    """Compare a peak of height ``v`` with the beats and peaks before it; ``out`` holds its widths.

    One member does this.
    """
    rate = float(span[BACK]) / SPAN_S[BACK]
    intervals, valleys = scratch, scratch[9:]
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


def outline(
    c: int, value: int, median: int, base: int, scale: float, box: int, span: I64, taps: I32, half: I64, x: I16,
    f: I32, seen: I64, facts: F32, line: I32, scratch: F64, out: F32,
) -> None:  # fmt: skip
    """Write those ``FEATURES`` of the peak at sample ``c`` that tell whether it is ordinary, and what is remembered.

    Parameters
    ----------
    median
        Of the last five block maxima; above zero.
    scale
        Mean magnitude of the response that one unit of ``f`` is: ``2**shift / (2 box + 1)``.
    taps, half : int32 [3, n], int64 [3]
        Wavelets of 8, 22 and 32 ms: ``2 half + 1`` taps each.
    x, f : int16 [leads, R], int32 [R]
        Rings of the lane's samples and response.
    seen, facts
        The lane's memory.
    line, scratch : int32 [capacity], float64 [KEPT]
    out : float32 [FEATURES] or more, written
    """
    v = float(value)
    first = c - int(span[MS230])
    early = max(0, base - first)
    for j in range(member(), early, WIDTH):
        line[j] = 0
    unroll(f, first + early, int(span[MS230]) + int(span[RIGHT]) + 1 - early, line[early:])  # type: ignore[arg-type]
    around(line, int(span[MS230]), v, span, out)
    look(x, base, c, v * scale, box, span, taps, half, line, scratch, out)
    if member() == 0:
        out[TALL] = v / median
        look_back(c, v, float(median), span, seen, facts, scratch, out)
    wait()


def detail(
    c: int, value: int, median: int, most_of: int, least_of: int, base: int, scale: float, span: I64, x: I16,
    seen: I64, facts: F32, line: I32, scratch: F64, out: F32,
) -> None:  # fmt: skip
    """Write the other ``FEATURES``; arguments as of ``outline``, the largest and least of the block maxima besides."""
    v = float(value)
    look_closely(x, base, c, v * scale, span, line, out)
    if member() == 0:
        out[OF_LARGEST] = v / most_of
        out[OF_LEAST] = v / least_of
        look_far_back(c, v, float(median), float(least_of), span, seen, facts, scratch, out)
    wait()


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
