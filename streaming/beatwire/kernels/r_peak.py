"""Body that marks R: where in the wave around a peak of the response the beat is said to be.

R is marked on the first lead that speaks there, so that of all leads it is where that lead alone has it. A narrow
wavelet finds the wave: of several humps the largest. A wide one then says where in it: near that place the largest
response to the wave as a whole, so that a steep beginning does not draw R to itself. What is said depends on samples
within ``before`` and ``after`` of the peak and half a wavelet, and R lies between these two.
"""

from __future__ import annotations

from beatwire.kernels.nms import largest, place_of
from beatwire.kernels.ricker import filter_block, unroll_held
from beatwire.kernels.team import WIDTH, member, wait
from beatwire.records import I16, I32, I64

EIGHT = 8
SHARE = 4  # a lead speaks when its magnitude is a quarter of a lead's share of the response


def mark(rings: I16, base: int, c: int, value: int, marking: I64, taps: I32, work: I32) -> int:
    """Return the sample of R of the peak ``value`` of the response at ``c``.

    Parameters
    ----------
    rings : int16 [leads, R]
    marking : int64 [5]
        In samples: reach before and after the peak, how far the wide wavelet moves R, the box of the response; and
        the shift of its magnitude.
    taps : int32 [2, half + 1]
        Of the narrow wavelet and of the wide one, from the centre outwards.
    work : int32 [2 or more, capacity]
        Scratch for the reach, two wavelets' halves and ``EIGHT``.
    """
    first = max(base, c - int(marking[0]))
    reach = c + int(marking[1]) + 1 - first
    leads, half = rings.shape[0], taps.shape[1] - 1
    speaks = value // (SHARE * leads * int(marking[3]))
    x, a = work[0], work[1]
    for j in range(member(), EIGHT, WIDTH):
        x[reach + 2 * half + j] = 0
    lead = 0
    while True:
        unroll_held(rings[lead], base, first - half, reach + 2 * half, x)
        high = respond_to(x, reach, taps[0], a)
        lead += 1
        if lead == leads or high >> int(marking[4]) >= speaks:
            break
    at = place_of(high, a[:reach])
    begin = max(0, at - int(marking[2]))
    n = min(reach, at + int(marking[2]) + 1) - begin
    high = respond_to(x[begin:], n, taps[1], a)
    return first + begin + place_of(high, a[:n])


def respond_to(x: I32, n: int, taps: I32, a: I32) -> int:
    """Write the magnitude of ``n`` responses, the first one at ``x[half]``, and return the largest.

    A few more are worked out, what follows in ``x`` is zero: eight at a time are done as soon as one. ``x`` says the
    same to a second look, whatever ``filter_block`` makes of it.
    """
    more = (n + EIGHT - 1) // EIGHT * EIGHT
    filter_block(x, more, taps, a)
    for j in range(member(), more, WIDTH):
        a[j] = abs(a[j])
    wait()
    return largest(a, n)
