"""Take the jumps of an electrode, and the pulses of a pacemaker, out of the response of a lead.

When an electrode is touched, or a shock is given, the signal jumps, and may stay there: the response of a large step
would hide the beats of 0.3 s. A pacemaker's pulse jumps up and back within milliseconds: where it does not capture, its
response would be taken for a beat.

A jump is a difference of two neighbouring samples that is larger than the limit of its stream, is the largest nearby,
and stands alone: near it few differences are larger than a ``SHARE`` of it. The slopes of a QRS complex never do, so a
stream that is larger than it states loses no beat. Where a device repeats samples its slopes are few steps: they count
for more (``counted``). With a jump go the differences beside it: the other edge of a pulse, and the ringing of the
device's filter.

Invariant: what is taken from a response is a function of the samples that the response depends on. Of a jump at the end
of these, what follows is not known yet; it stands alone if it does so before, by as much as ``EARLY_SHARE``.
"""

from beatwire.kernels.intake.holes import MOST, NO_VALUE
from beatwire.kernels.team import WIDTH, member, most, narrow, wait
from beatwire.records import I16, I32, I64
from beatwire.records.columns import JUMP_AFTER, JUMP_LIMIT
from beatwire.records.detection import LevelLimits

MOST_EARLY = 2  # other differences before a jump: an edge that is filtered takes three samples
LARGE = 4  # times the limit: a jump that is larger may have more others, as the pulse of a pacemaker has that rings
FINE = 3  # samples that are looked at behind a jump: with fewer a QRS complex has as few large differences as an edge
SHARE = 5
EARLY_SHARE = 10
PIECE = 64  # samples that are looked through at a time
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
    column = begin % ring.shape[0]
    head = min(n, ring.shape[0] - column)
    old, new = ring[column : column + head], ring[: n - head]
    largest = narrow(abs(int(new[0]) - int(old[head - 1])) if n > head else 0)
    for j in range(member(), head - 1, WIDTH):
        largest = max(largest, abs(narrow(int(old[j + 1]) - int(old[j]))))
    for j in range(member(), n - head - 1, WIDTH):
        largest = max(largest, abs(narrow(int(new[j + 1]) - int(new[j]))))
    return bool(most(largest) > limit)


def difference(ring: I16, base: int, s: int) -> int:
    """Return sample ``s`` minus the one before it; 0 if one of them has no value."""
    size = ring.shape[0]
    if s <= base:
        return 0
    old, new = int(ring[(s - 1) % size]), int(ring[s % size])
    return 0 if old == NO_VALUE or new == NO_VALUE else new - old


def most_others(after: int, jump: int, limit: int) -> int:
    """Return how many other differences may be nearly as large as a jump."""
    if after < FINE:
        return 0
    return after - 2 if abs(jump) > LARGE * limit else max(MOST_EARLY, 2 * after // 5)


def most_early(after: int) -> int:
    """Return how many differences before a jump may be nearly as large while what follows is not known."""
    return MOST_EARLY if after >= FINE else 0


def counted(others: int, held: int, after: int) -> int:
    """Return for how many a difference near a jump counts, behind ``others`` and then ``held`` equal samples.

    The first may be the other edge of a pulse, of less than 12 ms, or of a signal at the end of its range.
    """
    return 1 + 3 * held if others > 0 or 5 * (held + 1) >= 3 * after else 1


def beside_jump(after: int) -> tuple[int, int]:
    """Return how many differences before a jump, and after it, go with it: no two jumps share one."""
    before = 2 * after // 5
    return (before, after - before) if after >= FINE else (0, 0)


def judge_jump(ring: I16, base: int, s: int, jump: int, last: int, after: int, limit: int) -> tuple[bool, int]:
    """Judge the difference at sample ``s``; samples up to ``last`` are known.

    Returns whether it stands alone, and up to which sample it does by what is known until then; ``s - 1``: it never
    does.
    """
    size, most, most_before = abs(jump), most_others(after, jump, limit), most_early(after)
    others = early = held = 0  # held: equal samples between two differences
    for k in range(1, BEFORE * after + 1):
        other = abs(difference(ring, base, s - k))
        others += counted(others, held, after) if other > size // SHARE else 0
        early += counted(early, held, after) if other > size // EARLY_SHARE else 0
        held = held + 1 if other == 0 else 0
        if other >= size or (others > most and early > most_before):
            return False, s - 1
    seen, known, held = s, min(s + after, last), 0
    while seen < known:
        other = abs(difference(ring, base, seen + 1))
        if other > size:
            break
        others += counted(others, held, after) if other > size // SHARE else 0
        held = held + 1 if other == 0 else 0
        seen += 1
    return seen == s + after and others <= most, seen if early <= most_before else s - 1


def stands_alone(ring: I16, base: int, begin: int, end: int, last: int, after: int, limit: int, early: bool) -> bool:
    """Return True if a jump at the samples ``[begin, end)`` stands alone; with ``early``: or does by what is known.

    Samples up to ``last`` are known. All members call it.
    """
    found = 0
    for s in range(begin + member(), end, WIDTH):
        jump = difference(ring, base, s)
        if abs(jump) > limit:
            alone, seen = judge_jump(ring, base, s, jump, last, after, limit)
            found = max(found, int(alone or (early and seen >= s)))
    return bool(most(found) > 0)


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
    before, behind = beside_jump(after)
    wait()
    begin = max(base + 1, first - half + 1 - behind)
    while begin < stop:
        end = min(stop, begin + PIECE)
        some = has_jump(ring, base, begin - 1, end - begin + 1, limit)
        some = some and stands_alone(ring, base, begin, end, stop - 1, after, limit, True)
        if some and member() == 0:
            for s in range(begin, end):
                jump = difference(ring, base, s)
                if abs(jump) <= limit:
                    continue
                alone, seen = judge_jump(ring, base, s, jump, stop - 1, after, limit)
                if not alone and seen < s:
                    continue
                for q in range(max(base + 1, s - before), min(s + behind + 1, stop)):
                    part, step = difference(ring, base, q), 0  # step: the response to one at q, a sum of taps
                    lowest = -half if alone else max(-half, q + half - seen - 1)  # later responses depend on more
                    for k in range(half, lowest, -1):
                        step += int(taps[abs(k)])
                        last = q - k + half  # the last sample that the response depends on
                        taken = alone if last >= s + after else s <= last <= seen
                        if taken and first <= q - k < first + n:
                            r[q - k - first] -= part * step
        begin = end
    wait()


def take_out_steps(ring: I16, jumps: I64, base: int, first: int, n: int, samples: I32) -> None:
    """Take the jumps out of the samples ``[first, first + n)`` of a lead, ``samples[:n]``; what is before them stays.

    Twice ``JUMP_AFTER`` samples behind them are known.
    """
    limit, after = int(jumps[JUMP_LIMIT]), int(jumps[JUMP_AFTER])
    before, behind = beside_jump(after)
    begin, stop, offset = max(base, first), first + n, 0
    wait()
    some = stands_alone(ring, base, begin + 1 - behind, stop + before, stop + before + after, after, limit, False)
    if some and member() == 0:
        done = begin
        for s in range(begin + 1 - behind, stop + before):
            jump = difference(ring, base, s)
            if abs(jump) > limit and judge_jump(ring, base, s, jump, s + after, after, limit)[0]:
                done = lower(samples, first, done, s - before, offset)
                while done < min(stop, s + behind + 1):
                    offset += difference(ring, base, done) if done > begin else 0
                    done = lower(samples, first, done, done + 1, offset)
        lower(samples, first, done, stop, offset)
    wait()


def lower(samples: I32, first: int, begin: int, stop: int, offset: int) -> int:
    """Lower samples ``[begin, stop)`` by an offset; return where the next begin."""
    for s in range(begin, stop):
        if samples[s - first] != NO_VALUE:
            samples[s - first] -= offset
    return max(begin, stop)
