"""Take the jumps of an electrode out of the response of a lead: steps that are larger than any of a heart.

When an electrode is touched, or a shock is given, the signal jumps by many times the size of a beat, and may stay
there. The response of such a step would hide the beats of 0.3 s.

A jump is the difference of two neighbouring samples that is larger than the limit of its stream and stands alone: near
it at most ``MOST_OTHERS`` differences are larger than a ``SHARE`` of it. The slopes of a QRS complex never do, so a
stream that is larger than it states loses no beat.

Invariant: what is taken from a response is a function of the samples that the response depends on. Of a jump at the end
of these, what follows is not known yet; it stands alone if it does so before, by as much as ``EARLY_SHARE``.
"""

from beatwire.kernels.extremes import least_and_largest
from beatwire.kernels.intake.holes import MOST, NO_VALUE
from beatwire.kernels.team import WIDTH, member, most, wait
from beatwire.records import I16, I32, I64
from beatwire.records.columns import JUMP_AFTER, JUMP_LIMIT
from beatwire.records.detection import LevelLimits

MOST_OTHERS = 2  # an edge that is filtered takes three samples; a pulse has two edges
FINE = 3  # samples that are looked at behind a jump: with fewer a QRS complex has as few large differences as an edge
SHARE = 5
EARLY_SHARE = 10
BEFORE = 2  # times as many samples are looked at before a jump as after it


def limit_of_jumps(i: int, limits: LevelLimits, after: int, jumps: I64) -> int:
    """Return the difference of two samples of lane ``i`` above which it may be a jump, and store it in its ``jumps``.

    ``after`` samples are looked at behind a jump; this is stored, too.
    """
    uv = limits.uv_per_unit[i]
    limit = int(min(2.0 * MOST + 2.0, limits.jump / uv if uv > 0.0 else limits.jump_raw))
    if member() == 0:
        jumps[JUMP_LIMIT], jumps[JUMP_AFTER] = limit, after
    return limit


def has_jump(ring: I16, base: int, first: int, n: int, limit: int) -> bool:
    """Return True if two neighbours of the samples ``[first, first + n)`` of a ring differ by more than ``limit``.

    Samples before ``base`` do not count. All members call it.
    """
    begin = max(base, first)
    n -= begin - first
    least, largest = least_and_largest(ring, begin, n)
    if largest - least <= limit:
        return False
    column = begin % ring.shape[0]
    head = min(n, ring.shape[0] - column)
    old, new = ring[column : column + head], ring[: n - head]
    largest = abs(int(new[0]) - int(old[head - 1])) if n > head else 0
    for j in range(member(), head - 1, WIDTH):
        largest = max(largest, abs(int(old[j + 1]) - int(old[j])))
    for j in range(member(), n - head - 1, WIDTH):
        largest = max(largest, abs(int(new[j + 1]) - int(new[j])))
    return bool(most(largest) > limit)


def difference(ring: I16, base: int, s: int) -> int:
    """Return sample ``s`` minus the one before it; 0 if one of them has no value."""
    size = ring.shape[0]
    if s <= base:
        return 0
    old, new = int(ring[(s - 1) % size]), int(ring[s % size])
    return 0 if old == NO_VALUE or new == NO_VALUE else new - old


def stands_alone(ring: I16, base: int, s: int, jump: int, after: int) -> bool:
    """Return True if few of the differences around the one at sample ``s`` are nearly as large."""
    least = abs(jump) // SHARE
    others = count_others(ring, base, s - BEFORE * after, s, least) + count_others(
        ring, base, s + 1, s + after + 1, least
    )
    return others <= most_others(after)


def most_others(after: int) -> int:
    """Return how many other differences may be nearly as large as a jump."""
    return MOST_OTHERS if after >= FINE else 0


def count_others(ring: I16, base: int, first: int, stop: int, least: int) -> int:
    """Return how many differences at samples ``[first, stop)`` are larger than ``least``."""
    count = 0
    for s in range(first, stop):
        count += abs(difference(ring, base, s)) > least
    return count


def take_out_jumps(ring: I16, base: int, first: int, n: int, taps: I32, after: int, limit: int, r: I32) -> None:
    """Take the jumps out of the responses ``r[:n]`` of a lead, the first of which is of sample ``first``.

    Parameters
    ----------
    ring
        Of the lane's samples; those up to ``first + n - 1 + half`` are read.
    after
        Samples that are looked at behind a jump.
    limit
        See ``limit_of_jumps``.
    """
    half = taps.shape[0] - 1
    stop = first + n + half
    wait()
    if member() == 0:
        for s in range(max(base + 1, first - half + 1), stop):
            jump = difference(ring, base, s)
            if abs(jump) <= limit:
                continue
            alone = s + after < stop and stands_alone(ring, base, s, jump, after)
            early = count_others(ring, base, s - BEFORE * after, s, abs(jump) // EARLY_SHARE) <= most_others(after)
            step = 0  # response to a step at s: the sum of the taps from there on
            for k in range(half, -half, -1):
                step += int(taps[abs(k)])
                if first <= s - k < first + n and (alone if s + after <= s - k + half else early):
                    r[s - k - first] -= jump * step
    wait()


def take_out_steps(ring: I16, jumps: I64, base: int, first: int, n: int, samples: I32) -> None:
    """Take the jumps out of the samples ``[first, first + n)`` of a lead, ``samples[:n]``; what is before them stays.

    ``JUMP_AFTER`` samples behind them are known.
    """
    limit, after = int(jumps[JUMP_LIMIT]), int(jumps[JUMP_AFTER])
    wait()
    if member() == 0:
        offset = 0
        for s in range(max(base, first) + 1, first + n):
            jump = difference(ring, base, s)
            if abs(jump) > limit and stands_alone(ring, base, s, jump, after):
                offset += jump
            if samples[s - first] != NO_VALUE:
                samples[s - first] -= offset
    wait()
