"""Bodies that find the beats of a fast rhythm: those that non-maximum suppression hides behind their neighbours.

In:    the peaks of a lane in order, and the rings of its responses and samples
Out:   further peaks, each a beat between two that are alike
State: int64, columns ``FAST_...`` of a lane

A peak of ``kernels.detection.nms`` is the largest response of 0.25 s, so above 240 beats a minute only some beats are
peaks. A wave before a peak is a *link* to it if it is as high, as wide and of the same form, and if the response falls
between them. A peak is *linked* if one link after the other, all of one length, leads to the peak before it. After
enough links in a row the rhythm is fast: then each response that is the largest of a shorter time, and linked to the
beat before it, is a beat too. A T wave is no link: it is lower in the response, of another form, and not in the middle.

In a fast rhythm the detector is unsure of peaks, although every beat is linked. So for ``FORGIVEN`` behind it the
errors that are expected are those of the peaks since, not those of ten seconds.

The rhythm is no longer fast when a link is missing, and at most ``EXPIRES`` after the last peak with enough links. So
what is found depends on the samples of ``EXPIRES`` and of the links before, and not on older ones.
"""

from beatwire.kernels.detection.r_peak import mark_r
from beatwire.kernels.extremes import highest, lowest
from beatwire.kernels.intake.holes import has_absent
from beatwire.kernels.team import WIDTH, added, fewest, member, narrow
from beatwire.records import I16, I32, I64
from beatwire.records.detection import Rings
from beatwire.records.selection import BeatSettings

# Columns of ``BeatSettings.links``, samples: the shortest and longest link, around a peak nothing is higher for so
# long, half of the wave that is compared, what a fast rhythm lasts without linked peaks, the longest way between two
# peaks, and how long the risks of a fast rhythm are forgiven. ``LINK_S`` are their seconds.
SHORTEST, LONGEST, APART, HALF_WAVE, EXPIRES, FARTHEST, FORGIVEN = range(7)
LINK_S = (0.16, 0.30, 0.14, 0.07, 8.0, 1.0, 10.0)
DECIDE = len(LINK_S)  # samples until a response and what ``kernels.detection.nms`` compares it with are known
REACH_S = LINK_S[FARTHEST] + LINK_S[APART]  # of responses before a peak
NEEDED = 6  # links in a row: the rhythm is fast
MOST_LINKS = 5  # from a peak to the one before
SPREAD = 15  # per cent by which links may differ in length
LEAST_LEVEL = 30  # per cent of the median of block maxima: lower peaks are left out
LEAST_FIRST, LEAST_NEXT = 70, 50  # per cent of the lower response to the higher: in links to a peak, in a fast rhythm
DEEPEST = 50  # per cent of the lower response that remain between
DOUBTFUL = -1  # links to a peak before which a wave is as high, but they are not certain
MOST_DOUBTS = 3  # peaks in a row that may be linked: it is not certain that every beat is counted
# Of a beat in a fast rhythm: the least quality and the most errors expected; errors expected after ``MOST_DOUBTS``.
LEAST_QUALITY, MOST_ERRORS, DOUBT_ERRORS = 0.95, 0.25, 3.0
LEAST_ALIKE = 0.64  # square of the correlation of two waves


# Columns of a lane:
#   FAST_LAST        sample after the last peak, 0: none
#   FAST_LINKS       links in a row up to it, at most ``NEEDED``
#   FAST_DOUBTS      peaks in a row up to it that may be linked, at most ``MOST_DOUBTS``
#   FAST_WAY, FAST_PARTS  samples and links from the peak before to it
#   FAST_UNTIL       the rhythm is fast up to this sample, 0: it is not
#   FAST_AT          the last beat of a fast rhythm
#   FAST_LEVEL       level of the last peak
#   FAST_RISK_AT     ``FAST_AT`` when the last risk was added
#   FAST_RISK, FAST_RISK_OF_TREES  the sums of the risks since, in 1 / ``RISK_UNITS``, and of those by the trees
(
    FAST_LAST, FAST_LINKS, FAST_DOUBTS, FAST_WAY, FAST_PARTS, FAST_UNTIL, FAST_AT, FAST_LEVEL, FAST_RISK_AT, FAST_RISK,
    FAST_RISK_OF_TREES,
) = range(11)  # fmt: skip
FAST_COLUMNS = 11
RISK_UNITS = 1_000_000


def add_risk(rhythm: I64, risk: float, of_trees: float) -> None:
    """Add a peak's risk, and that by the trees, to those since the last beat of a fast rhythm; one member calls it."""
    if rhythm[FAST_RISK_AT] != rhythm[FAST_AT]:
        rhythm[FAST_RISK_AT] = rhythm[FAST_AT]
        rhythm[FAST_RISK] = rhythm[FAST_RISK_OF_TREES] = 0
    rhythm[FAST_RISK] += int(RISK_UNITS * risk)
    rhythm[FAST_RISK_OF_TREES] += int(RISK_UNITS * of_trees)


def expected_errors(c: int, errors: float, linked: bool, since: int, rhythm: I64, links: I64) -> float:
    """Return the errors that are expected at the peak ``c``, which is ``linked`` to a fast rhythm or not; NaN: unknown.

    Behind a fast rhythm they are those of the peaks since, this one included, whose risks were added: the sum in column
    ``since``.
    """
    if linked:
        if not errors <= MOST_ERRORS:  # or unknown, which the smaller of two numbers would be on some machines
            errors = MOST_ERRORS
        return errors
    if rhythm[FAST_DOUBTS] == MOST_DOUBTS and not errors > DOUBT_ERRORS:
        return DOUBT_ERRORS
    if rhythm[FAST_AT] == 0 or c - rhythm[FAST_AT] > links[FORGIVEN]:
        return errors
    most = MOST_ERRORS + float(rhythm[since]) / RISK_UNITS
    if errors > most:
        errors = most
    return errors


def store_links(rhythm: I64, c: int, links: int, settings: I64) -> None:
    """Store the peak ``c``, and decide whether the rhythm is fast from it on; one member calls it."""
    way, parts = c + 1 - int(rhythm[FAST_LAST]), int(rhythm[FAST_PARTS])
    one, other = way * parts, int(rhythm[FAST_WAY]) * links  # of one length if these are equal
    if links <= 0 or parts <= 0 or 100 * abs(one - other) > SPREAD * other:
        rhythm[FAST_LINKS] = 0
    rhythm[FAST_LINKS] = min(NEEDED, int(rhythm[FAST_LINKS]) + max(0, links))
    rhythm[FAST_DOUBTS] = min(MOST_DOUBTS, int(rhythm[FAST_DOUBTS]) + 1) if links < 0 or links > 1 else 0
    rhythm[FAST_LAST], rhythm[FAST_WAY], rhythm[FAST_PARTS] = c + 1, way, links
    if rhythm[FAST_UNTIL] > 0 and (c > rhythm[FAST_UNTIL] or c - rhythm[FAST_AT] > settings[LONGEST]):
        rhythm[FAST_UNTIL] = 0
    if rhythm[FAST_LINKS] == NEEDED:
        rhythm[FAST_UNTIL] = c + settings[EXPIRES]


def continues(
    c: int, height: int, rhythm: I64, rings: Rings, lane: int, base: int, settings: BeatSettings, work: I32
) -> bool:
    """Return True if in a fast rhythm the peak ``c`` is linked to the last beat."""
    way = c - int(rhythm[FAST_AT])
    if rhythm[FAST_UNTIL] == 0 or way < settings.links[SHORTEST] or way > settings.links[LONGEST]:
        return False
    return is_link(c - way, c, height, LEAST_NEXT, rings, lane, base, settings, work)


def first_of(value: int, f: I32, first: int, n: int) -> int:
    """Return the first sample of ``[first, first + n)`` whose response is ``value``."""
    size = f.shape[0]
    found = narrow(n)
    for j in range(member(), n, WIDTH):
        found = min(found, narrow(j) if f[(first + j) % size] == value else narrow(n))
    return first + fewest(int(found))


def are_near(one: int, other: int, least: int) -> bool:
    """Return True if the lower of two responses is at least ``least`` per cent of the higher."""
    return 100 * min(one, other) >= least * max(one, other)


def are_alike(x: I16, base: int, a: int, b: int, half: int) -> bool:
    """Return True if the waves around samples ``a`` and ``b`` of int16 [leads, R] are correlated."""
    if min(a, b) - half < base:
        return False
    size, n = x.shape[1], 2 * half + 1
    both = one = other = 0
    for lead in range(x.shape[0]):
        ring = x[lead]
        if has_absent(ring, base, a - half, n) or has_absent(ring, base, b - half, n):
            continue
        sa = sb = ab = aa = bb = 0
        for j in range(member(), n, WIDTH):
            p, q = int(ring[(a - half + j) % size]), int(ring[(b - half + j) % size])
            sa += p
            sb += q
            ab += p * q
            aa += p * p
            bb += q * q
        sa, sb = added(sa), added(sb)
        both += n * added(ab) - sa * sb
        one += n * added(aa) - sa * sa
        other += n * added(bb) - sb * sb
    share = float(both)
    return both > 0 and share * share >= LEAST_ALIKE * float(one) * float(other)


def stands_out(p: int, c: int, height: int, f: I32, base: int, apart: int, least: int) -> bool:
    """Return True if the response at ``p`` is a maximum, as high as that at ``c``, and falls between them."""
    value = int(f[p % f.shape[0]])
    if not are_near(value, height, least) or highest(f, max(base, p - apart), apart) > value:
        return False
    way = c - p
    if 2 * way > 3 * apart and are_near(highest(f, p + 2 * way // 5, way // 5 + 1), value, least):
        return False  # a beat may be in the middle: the rhythm is faster than can be counted
    return highest(f, p, apart + 1) <= value and 100 * lowest(f, p, way) <= DEEPEST * min(value, height)


def is_link(
    p: int, c: int, height: int, least: int, rings: Rings, lane: int, base: int, settings: BeatSettings, work: I32
) -> bool:
    """Return True if the response at ``p`` is a link to the peak ``c`` of response ``height``."""
    f = rings.f[lane]
    if not stands_out(p, c, height, f, base, int(settings.links[APART]), least):
        return False
    return have_like_waves(p, int(f[p % f.shape[0]]), c, height, rings, lane, base, settings, work)


def have_like_waves(
    a: int, height_a: int, b: int, height_b: int, rings: Rings, lane: int, base: int, settings: BeatSettings, work: I32
) -> bool:
    """Return True if the waves around R of the peaks at ``a`` and ``b``, of these responses, are alike."""
    x = rings.x[lane]
    before = after = 0
    for k in range(2):  # a loop: with a copy of ``mark_r`` for each peak a card's compiler takes a minute longer
        c, height = a, height_a
        if k > 0:
            c, height = b, height_b
        before, after = after, mark_r(x, rings.jumps[lane], base, c, height, settings.marking, settings.taps, work)
    return are_alike(x, base, before, after, int(settings.links[HALF_WAVE]))


def links_to(
    last: int, c: int, height: int, rings: Rings, lane: int, base: int, settings: BeatSettings, work: I32
) -> int:
    """Return the links from the peak ``last`` to the peak ``c``; 0: it is not linked; ``DOUBTFUL``: it may be.

    Parameters
    ----------
    last
        Sample of the peak before, -1: there is none.
    height
        Response at ``c``.
    work : int32 [2 or more, capacity]
        Scratch, see ``kernels.detection.r_peak.mark_r``.
    """
    shortest, longest = int(settings.links[SHORTEST]), int(settings.links[LONGEST])
    if last < 0 or c - last > settings.links[FARTHEST] or c - last < shortest:
        return 0
    f, at, links, higher = rings.f[lane], c, 0, height
    while links < MOST_LINKS:
        begin = max(last, at - longest)
        if at - shortest < begin:
            return DOUBTFUL
        value = highest(f, begin, at - shortest + 1 - begin)
        if not are_near(value, height, LEAST_FIRST):
            return 0 if links == 0 else DOUBTFUL
        p = first_of(value, f, begin, at - shortest + 1 - begin)
        if not stands_out(p, at, higher, f, base, int(settings.links[APART]), LEAST_FIRST):
            return 0 if links == 0 else DOUBTFUL
        if not is_link(p, at, higher, LEAST_FIRST, rings, lane, base, settings, work):
            return 0 if p == last else DOUBTFUL
        links += 1
        length = at - p
        shortest, longest = (100 - SPREAD) * length // 100, (100 + SPREAD) * length // 100 + 1
        if p == last:
            return links
        at, higher = p, value
    return DOUBTFUL


def next_link(
    begin: int, stop: int, last: int, rings: Rings, lane: int, base: int, settings: BeatSettings, work: I32
) -> int:
    """Return the first sample of ``[begin, stop)`` that is a beat linked to the one at ``last``; ``stop``: none is.

    The responses of ``APART`` after ``stop`` are known.
    """
    f, apart = rings.f[lane], int(settings.links[APART])
    before = int(f[last % f.shape[0]])
    a = max(begin, last + int(settings.links[SHORTEST]))
    end = min(stop, last + int(settings.links[LONGEST]) + 1)
    while a < end:
        n = min(apart + 1, end - a)
        value = highest(f, a, n)
        p = first_of(value, f, a, n)
        a += n
        if (
            highest(f, p - apart, apart) >= value
            or highest(f, p + 1, apart) > value
            or not are_near(value, before, LEAST_NEXT)
        ):
            continue
        if 100 * lowest(f, last, p - last) > DEEPEST * min(value, before):
            continue
        if have_like_waves(last, before, p, value, rings, lane, base, settings, work):
            return p
    return stop
