"""Body that marks R: the sample of the wave around a peak of the response at which the beat is reported.

In:    a peak of the response, and the rings of its lane
Out:   the sample of R
State: none

R is marked on the first lead that has values there and is active at the peak, so with all leads it is the same as on
that lead alone. First a narrow wavelet selects the wave: of several humps the one with the largest magnitude. Then a
wide wavelet places R at the largest magnitude near that wave, so that a steep onset does not pull R towards itself.

Invariant: R lies between ``before`` and ``after`` the peak and depends on the samples between these and half a wavelet
beyond.
"""

from beatwire.kernels.detection.nms import largest, place_of
from beatwire.kernels.detection.ricker import filter_block, unroll_steady
from beatwire.kernels.intake.holes import has_absent
from beatwire.kernels.team import WIDTH, member, wait
from beatwire.records import I16, I32, I64
from beatwire.records.columns import MARK_AFTER, MARK_BEFORE, MARK_BOX, MARK_NEAR, MARK_SHIFT

PADDING = 8  # responses computed at once by vector instructions
ACTIVE_SHARE = 4  # a lead is active if its magnitude is a quarter of an even share of the response


def mark_r(
    rings: I16, jumps: I64, base: int, c: int, height: int, marking: I64, taps: I32, work: I32
) -> int:  # fmt: skip
    """Return the sample of R of the peak of the response at sample ``c``.

    Parameters
    ----------
    rings : int16 [leads, R]
        Of a lane whose first sample is ``base``.
    jumps : int64 [3]
        Columns of ``Rings.jumps``; jumps are taken out.
    height
        Response at ``c``.
    marking : int64 [5]
        Columns ``MARK_BEFORE``, ... of ``records.columns``.
    taps : int32 [2, half + 1]
        Of the narrow and of the wide wavelet, from the centre outwards.
    work : int32 [2 or more, capacity]
        Scratch for the reach, two halves of a wavelet and ``PADDING``.
    """
    first = max(base, c - int(marking[MARK_BEFORE]))
    reach = c + int(marking[MARK_AFTER]) + 1 - first
    leads, half = rings.shape[0], taps.shape[1] - 1
    absent, present = 0, leads
    if leads > 1:
        for k in range(leads):
            if has_absent(rings[k], base, first - half, reach + 2 * half):
                absent |= 1 << k
                present -= 1
        if present == 0:
            absent, present = 0, leads
    least_active = height // (ACTIVE_SHARE * present * int(marking[MARK_BOX]))
    x, magnitudes = work[0], work[1]
    for j in range(member(), PADDING, WIDTH):
        x[reach + 2 * half + j] = 0
    lead = begin = wavelet = 0
    n = reach
    while True:  # of each lead by the narrow wavelet, until one is active, and of that one by the wide wavelet
        if wavelet == 0:
            while (absent >> lead) & 1:
                lead += 1
            unroll_steady(rings[lead], jumps, base, first - half, reach + 2 * half, x)
            lead += 1
            present -= 1
        high = write_magnitudes(x[begin:], n, taps[wavelet], magnitudes)
        if wavelet == 0 and present > 0 and high >> int(marking[MARK_SHIFT]) < least_active:
            continue
        at = begin + place_of(high, magnitudes[:n])
        if wavelet > 0:
            return first + at
        begin = max(0, at - int(marking[MARK_NEAR]))
        n = min(reach, at + int(marking[MARK_NEAR]) + 1) - begin
        wavelet = 1


def write_magnitudes(x: I32, n: int, taps: I32, magnitudes: I32) -> int:
    """Write the magnitudes of ``n`` responses, the first at ``x[half]``, and return the largest.

    ``n`` is rounded up to a multiple of ``PADDING``, since one vector of responses costs as much as one response; the
    samples behind the last are zero.
    """
    padded = (n + PADDING - 1) // PADDING * PADDING
    filter_block(x, padded, taps, magnitudes)
    for j in range(member(), padded, WIDTH):
        magnitudes[j] = abs(magnitudes[j])
    wait()
    return largest(magnitudes, n)
