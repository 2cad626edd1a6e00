"""Compute the response of one lead: a Ricker wavelet, its magnitude, and a short box, in integers.

Overlap-save: the ring keeps the past, so a block of new samples is filtered together with the overlap before it and
every response is stored once. Taps are integers and sums are exact, so the response of a sample is the same number for
every cut, every order and on every machine.

With ``r = sum_k taps[k] x[j - half + k]`` per lead and ``a[j] = sum over leads |r| >> shift``,
``f[j]`` is the sum of ``a`` over ``[j - box, j + box]``. Before a lane's first sample the first
sample is held; before its first ``a`` there is zero. ``f`` is known up to ``stop - half - box``.
"""

from beatwire.kernels.detection.jumps import has_jump, limit_of_jumps, take_out_jumps, take_out_steps
from beatwire.kernels.intake.ring import store, unroll
from beatwire.kernels.team import BLOCK, WIDTH, member, part, parts, wait
from beatwire.records import I16, I32, I64
from beatwire.records.columns import JUMP_AFTER, JUMP_LIMIT, JUMP_STOP
from beatwire.records.detection import FreshLanes, LevelLimits, ResponseFilter, Rings


def filter_block(x: I32, n: int, taps: I32, out: I32) -> None:
    """Filter ``x[: n + 2 half]`` into ``out[:n]`` with ``taps`` from the centre outwards, four of them at a time."""
    half = taps.shape[0] - 1
    centre = int(taps[0])
    x0 = x[half : half + n]
    for j in range(member(), n, WIDTH):
        out[j] = centre * int(x0[j])
    k = 1
    while k + 3 <= half:
        t0, t1, t2, t3 = int(taps[k]), int(taps[k + 1]), int(taps[k + 2]), int(taps[k + 3])
        lo = half - k
        hi = half + k
        l0, l1, l2, l3 = x[lo : lo + n], x[lo - 1 : lo - 1 + n], x[lo - 2 : lo - 2 + n], x[lo - 3 : lo - 3 + n]
        h0, h1, h2, h3 = x[hi : hi + n], x[hi + 1 : hi + 1 + n], x[hi + 2 : hi + 2 + n], x[hi + 3 : hi + 3 + n]
        for j in range(member(), n, WIDTH):
            out[j] += (
                t0 * (int(l0[j]) + int(h0[j]))
                + t1 * (int(l1[j]) + int(h1[j]))
                + t2 * (int(l2[j]) + int(h2[j]))
                + t3 * (int(l3[j]) + int(h3[j]))
            )
        k += 4
    while k <= half:
        t0 = int(taps[k])
        l0, h0 = x[half - k : half - k + n], x[half + k : half + k + n]
        for j in range(member(), n, WIDTH):
            out[j] += t0 * (int(l0[j]) + int(h0[j]))
        k += 1


def unroll_held(ring: I16, base: int, first: int, n: int, out: I32) -> None:
    """Copy samples ``[first, first + n)`` of a ring; samples before ``base``, the lane's first, have its value."""
    missing = min(n, max(0, base - first))
    unroll(ring, first + missing, n - missing, out[missing:])
    if missing > 0:
        for j in range(member(), missing, WIDTH):
            out[j] = out[missing]
        wait()


def unroll_steady(ring: I16, jumps: I64, base: int, first: int, n: int, out: I32) -> None:
    """Copy samples ``[first, first + n)`` of a ring, as ``unroll_held`` does, without the jumps of the lane.

    ``jumps`` are the columns of ``Rings.jumps``.
    """
    unroll_held(ring, base, first, n, out)
    after = int(jumps[JUMP_AFTER])
    if first < jumps[JUMP_STOP] and has_jump(ring, base, first - after, n + 2 * after, int(jumps[JUMP_LIMIT])):
        take_out_steps(ring, jumps, base, first, n, out)


def magnitude(rings: I16, base: int, first: int, n: int, taps: I32, shift: int, work: I32) -> None:
    """Compute ``a[first : first + n]`` of one lane into the last row of ``work`` [3, capacity]."""
    half = taps.shape[0] - 1
    x, r = work[0], work[1]
    for lead in range(rings.shape[0]):
        unroll_held(rings[lead], base, first - half, n + 2 * half, x)
        filter_block(x, n, taps, r)
        add_magnitudes(r, n, shift, lead, work[2])


def steady_magnitude(
    rings: I16, base: int, first: int, n: int, response_filter: ResponseFilter, limit: int, work: I32
) -> None:
    """Compute ``a[first : first + n]`` of a lane with jumps, as ``magnitude`` does of one without."""
    taps = response_filter.taps
    half = taps.shape[0] - 1
    x, r = work[0], work[1]
    for lead in range(rings.shape[0]):
        unroll_held(rings[lead], base, first - half, n + 2 * half, x)
        filter_block(x, n, taps, r)
        take_out_jumps(rings[lead], base, first, n, taps, response_filter.after, limit, r)
        add_magnitudes(r, n, response_filter.shift, lead, work[2])


def add_magnitudes(r: I32, n: int, shift: int, lead: int, total: I32) -> None:
    """Add ``abs(r[:n]) >> shift``, of a lead, to the total of the leads before it."""
    if lead == 0:
        for j in range(member(), n, WIDTH):
            total[j] = abs(int(r[j])) >> shift
    else:
        for j in range(member(), n, WIDTH):
            total[j] += abs(int(r[j])) >> shift
    wait()


def sum_box(a: I32, n: int, box: int, out: I32) -> None:
    """Write ``out[j] = a[j] + ... + a[j + 2 box]`` for ``n`` outputs, by a running sum over each member's part."""
    first, stop = n * member() // WIDTH, n * (member() + 1) // WIDTH
    total = 0
    for j in range(first, first + 2 * box):
        total += int(a[j])
    old, new, sums = a[first:stop], a[2 * box + first : 2 * box + stop], out[first:stop]
    for j in range(1, stop - first):
        sums[j] = int(new[j]) - int(old[j - 1])
    if stop > first:
        sums[0] = total + int(new[0])
    for j in range(1, stop - first):
        sums[j] += sums[j - 1]
    wait()


def box_sums(x: I16, lowest: int, at: int, n: int, response_filter: ResponseFilter, limit: int, work: I32) -> bool:
    """Compute ``f[at : at + n]`` of leads ``x`` [leads, R] into the second row of ``work``.

    Returns True if there may be jumps; ``limit`` is their limit, see ``kernels.detection.jumps``.
    """
    box = response_filter.box
    early = max(0, lowest - (at - box))
    first, count, half = at - box + early, n + 2 * box - early, response_filter.taps.shape[0] - 1
    jumps, reach = False, half + response_filter.after
    for lead in range(x.shape[0]):
        jumps = jumps or has_jump(x[lead], lowest, first - reach, count + half + reach, limit)
    if jumps:
        steady_magnitude(x, lowest, first, count, response_filter, limit, work)
    else:
        magnitude(x, lowest, first, count, response_filter.taps, response_filter.shift, work)
    if early > 0:
        whole = work[0]
        for j in range(member(), early, WIDTH):
            whole[j] = 0
        for j in range(member(), n + 2 * box - early, WIDTH):
            whole[early + j] = work[2, j]
        wait()
        sum_box(whole, n, box, work[1])
    else:
        sum_box(work[2], n, box, work[1])
    return jumps


def respond(
    i: int, fresh: FreshLanes, response_filter: ResponseFilter, limits: LevelLimits, rings: Rings, work: I32
) -> None:
    """Extend the response of lane ``i`` to its new samples.

    Parameters
    ----------
    rings
        ``x`` is read, ``f`` and ``jumps`` are written.
    work : int32 [3, capacity]
        Scratch for ``BLOCK + 4 (half + box)`` samples: small enough for the fastest cache.
    """
    lane = fresh.lane[i]
    delay = response_filter.taps.shape[0] - 1 + response_filter.box
    lowest, jumps = int(fresh.base[i]), rings.jumps[lane]
    limit = limit_of_jumps(i, limits, response_filter.after, jumps)
    at = max(lowest, int(fresh.start[i]) - delay) + part() * BLOCK
    end = int(fresh.stop[i]) - delay
    while at < end:
        n = min(BLOCK, end - at)
        if box_sums(rings.x[lane], lowest, at, n, response_filter, limit, work) and member() == 0:
            jumps[JUMP_STOP] = fresh.stop[i]
        store(work[1], n, rings.f[lane], at)
        at += parts() * BLOCK
