"""Bodies that describe a peak of the response in numbers without scale, for the trees that judge it.

The height against the level, the response around the peak, the widths that Ricker wavelets of 8,
22 and 32 ms see, the slope of the signal, and the peaks of the last ten seconds (``kernels.peak_history``). Of
several leads, sizes and responses are added, as the response itself is: a lead that says nothing
changes nothing.

Bodies are written for a team (``kernels.team``): what is a sum or an extreme of integers is shared
by its members, the look back is one member's.
"""

from __future__ import annotations

from beatwire.kernels.nms import largest, least
from beatwire.kernels.peak_features import (
    ACROSS,
    AFTER_60,
    AFTER_120,
    AGAIN,
    BEFORE_120,
    BY_8,
    BY_22,
    BY_32,
    COMPACT,
    LEFT_45,
    LEFT_75,
    MS8,
    MS45,
    MS60,
    MS75,
    MS120,
    MS230,
    OF_LARGEST,
    OF_LEAST,
    RIGHT,
    RIGHT_45,
    RIGHT_75,
    SIZE,
    SLOPE,
    TALL,
    VALLEY_LEFT,
    VALLEY_RIGHT,
)
from beatwire.kernels.peak_history import look_back, look_far_back
from beatwire.kernels.ring import unroll
from beatwire.kernels.team import WIDTH, added, member, most, narrow, wait
from beatwire.records import F32, F64, I16, I32, I64


def wave(x: I32, centre: int, taps: I32, half: int) -> int:
    """Return the magnitude of a wavelet's response; its ``2 half + 1`` taps stand at the beginning of ``taps``."""
    part = x[centre - half : centre + half + 1]
    total = narrow(0)
    for k in range(member(), 2 * half + 1, WIDTH):
        total = narrow(total + int(taps[k]) * int(part[k]))
    return abs(added(total))


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
        for j in range(5):
            w8 += wave(line, reach + (j - 2) * box // 2, taps[0], int(half[0]))
        own = 0
        for j in range(3):
            own += wave(line, reach + (j - 1) * box, taps[1], int(half[1]))
            w32 += wave(line, reach + (j - 1) * box, taps[2], int(half[2]))
        w22 += own
        if member() == 0:
            scratch[ACROSS + lead] = own
        wait()
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
