"""Bodies that a card runs in another way. Each writes what the body writes that it replaces, which is its reference.

``unroll`` reads a stretch of a ring four samples at a time: a load takes hundreds of cycles, and four of them overlap.

The filter computes five neighbouring responses at a time: a tap and a sample are read once for them, and the sums stay
in registers. The body adds four taps at a time and reads and writes each sum again. ``respond`` of 64 samples of
100,000 lanes takes 336 us by the body and 187 us by four neighbours. Five, because threads five samples apart use all
32 banks of shared memory, and threads four apart use eight.
"""

from collections.abc import Callable
from typing import Any

from beatwire.kernels.detection import ricker
from beatwire.kernels.detection.ricker import unroll_held
from beatwire.kernels.intake import ring
from beatwire.kernels.team import WIDTH, member, narrow, wait
from beatwire.records import I16, I32

FIVE = 5


def unroll(ring: Any, first: int, n: int, out: I32) -> None:
    """Copy samples ``[first, first + n)`` of one ring to ``out[:n]``; see ``ring.unroll``."""
    size, last = ring.shape[0], n - 1
    column = first % size
    for j in range(member(), n, 4 * WIDTH):
        at = j + WIDTH, j + 2 * WIDTH, j + 3 * WIDTH
        a, b = ring[wrapped(column + j, size)], ring[wrapped(column + min(at[0], last), size)]
        c, d = ring[wrapped(column + min(at[1], last), size)], ring[wrapped(column + min(at[2], last), size)]
        out[j] = a
        if at[0] < n:
            out[at[0]] = b
        if at[1] < n:
            out[at[1]] = c
        if at[2] < n:
            out[at[2]] = d
    wait()


def wrapped(column: int, size: int) -> int:
    """Return the column of a ring for an index below ``2 size``."""
    return column - size if column >= size else column


def five_responses(x: I32, at: int, taps: I32) -> tuple[int, int, int, int, int]:
    """Return the responses at ``x[at]`` to ``x[at + 4]``."""
    h0, h1, h2, h3, h4 = narrow(x[at]), narrow(x[at + 1]), narrow(x[at + 2]), narrow(x[at + 3]), narrow(x[at + 4])
    l0, l1, l2, l3, l4 = h0, h1, h2, h3, h4
    t = narrow(taps[0])
    r0, r1, r2, r3, r4 = narrow(t * h0), narrow(t * h1), narrow(t * h2), narrow(t * h3), narrow(t * h4)
    for k in range(1, taps.shape[0]):
        t = narrow(taps[k])
        l0, l1, l2, l3, l4 = narrow(x[at - k]), l0, l1, l2, l3
        h0, h1, h2, h3, h4 = h1, h2, h3, h4, narrow(x[at + 4 + k])
        r0 = narrow(r0 + t * narrow(l0 + h0))
        r1 = narrow(r1 + t * narrow(l1 + h1))
        r2 = narrow(r2 + t * narrow(l2 + h2))
        r3 = narrow(r3 + t * narrow(l3 + h3))
        r4 = narrow(r4 + t * narrow(l4 + h4))
    return r0, r1, r2, r3, r4


def filter_block(x: I32, n: int, taps: I32, out: I32) -> None:
    """Filter ``x[: n + 2 half]`` into ``out[:n]``; both have room for four more."""
    half = taps.shape[0] - 1
    for j in range(FIVE * member(), n, FIVE * WIDTH):
        out[j], out[j + 1], out[j + 2], out[j + 3], out[j + 4] = five_responses(x, half + j, taps)
    wait()  # members read what their neighbours wrote


def magnitude(rings: I16, base: int, first: int, n: int, taps: I32, shift: int, work: I32) -> None:
    """Compute ``a[first : first + n]`` of one lane into the last row of ``work`` [3, capacity]."""
    half = taps.shape[0] - 1
    x, total = work[0], work[2]
    for lead in range(rings.shape[0]):
        unroll_held(rings[lead], base, first - half, n + 2 * half, x)
        for j in range(FIVE * member(), n, FIVE * WIDTH):
            r0, r1, r2, r3, r4 = five_responses(x, half + j, taps)
            if lead == 0:
                total[j], total[j + 1], total[j + 2], total[j + 3], total[j + 4] = 0, 0, 0, 0, 0
            total[j] = narrow(int(total[j]) + (abs(r0) >> shift))
            total[j + 1] = narrow(int(total[j + 1]) + (abs(r1) >> shift))
            total[j + 2] = narrow(int(total[j + 2]) + (abs(r2) >> shift))
            total[j + 3] = narrow(int(total[j + 3]) + (abs(r3) >> shift))
            total[j + 4] = narrow(int(total[j + 4]) + (abs(r4) >> shift))
        wait()


BODIES: dict[Callable[..., Any], Callable[..., Any]] = {
    ring.unroll: unroll,
    ricker.filter_block: filter_block,
    ricker.magnitude: magnitude,
}
