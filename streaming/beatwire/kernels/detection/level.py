"""Bodies that find the level of a lead: how large the response of its beats is, without disturbances.

In:    the largest ``f`` of parts of blocks
Out:   the level: the median of the last ``LEVEL_BLOCKS`` block maxima and the 80 % quantile of the last ``KEPT_BLOCKS``
State: int64 ``maxima[MAXIMA_COLUMNS]`` of a lead

Blocks are aligned to the absolute sample index; those count that begin at or after the lane's first sample. A
disturbance (an electrode that is touched, a shock) may be a thousand times as large as a beat, so *disturbed* blocks
are left out: those above ``TIMES`` the usual maximum, that of the quieter stretches of the last five blocks, and in a
calibrated stream those larger than any beat. If only disturbed blocks are known, the level is the usual maximum. While
no level is known from blocks it is the largest ``f`` so far, or 0 (unknown) if that is larger than any beat.

Columns of the state::

    MAXIMA_ABSORBED  f before this sample is in the maxima
    MAXIMA_BEGUN     maximum of the block that has begun
    MAXIMA_PART      maximum of the quarter of a block that has begun
    MAXIMA_COMPLETE  number of complete blocks kept
    MAXIMA_MEDIAN, MAXIMA_QUANTILE  the level
    MAXIMA_KNOWN     1 if it is known from blocks
    MAXIMA_CUT       the block maxima of the level are at most that
    MAXIMA_QUARTER   the quarter of a block that has begun, counted from sample 0
    FIRST_MAXIMUM    the maximum of block b is number b % KEPT_BLOCKS from here on (``kept``)
    FIRST_QUARTER    the same of quarter q % 4 of block q // 4, number q % KEPT_QUARTERS

Maxima are int32 and at least 0: two of them share an int64.
"""

from beatwire.records import I64
from beatwire.records.detection import LevelLimits

KEPT_BLOCKS = 10  # block maxima of a lane: 20 s, of which the quantile is taken
LEVEL_BLOCKS = 5  # of these for the median: 10 s
QUARTERS = 4  # of a block: a stretch of so many, wherever it begins, has a beat
KEPT_QUARTERS = QUARTERS * LEVEL_BLOCKS
FEWEST_BLOCKS = 3  # the second quietest stretch of so many is usual (a silence of 2.5 s is not), the quietest of fewer
LARGEST_BEAT = 5  # times the level: a ventricular beat may be as large beside large beats
TIMES = 6  # no beat is so many times as large as the usual ones; a gain that changes by five is followed at once
NO_CUT = 1 << 31  # above every response, which is int32

(
    MAXIMA_ABSORBED, MAXIMA_BEGUN, MAXIMA_PART, MAXIMA_COMPLETE, MAXIMA_MEDIAN, MAXIMA_QUANTILE, MAXIMA_KNOWN,
    MAXIMA_CUT, MAXIMA_QUARTER, FIRST_MAXIMUM,
) = range(10)  # fmt: skip
PAIR_BITS = 32
LOWER = (1 << PAIR_BITS) - 1
FIRST_QUARTER = FIRST_MAXIMUM + KEPT_BLOCKS // 2
MAXIMA_COLUMNS = FIRST_QUARTER + KEPT_QUARTERS // 2


def kept(maxima: I64, first: int, number: int) -> int:
    """Return a maximum of a block or of a quarter; ``first`` is the column where these begin."""
    return (int(maxima[first + (number >> 1)]) >> (PAIR_BITS * (number & 1))) & LOWER


def keep(maxima: I64, first: int, number: int, value: int) -> None:
    """Store a maximum of a block or of a quarter."""
    shift = PAIR_BITS * (number & 1)
    pair = int(maxima[first + (number >> 1)])
    maxima[first + (number >> 1)] = (pair & ~(LOWER << shift)) | (value << shift)


def begin_level(maxima: I64, first: int, block: int) -> None:
    """Begin the state of a lead with sample ``first``: nothing is known."""
    for column in range(FIRST_MAXIMUM):
        maxima[column] = 0
    maxima[MAXIMA_ABSORBED] = first
    maxima[MAXIMA_QUARTER] = quarter_of(first, block)


def forget_blocks(maxima: I64) -> None:
    """Forget the blocks of a lead."""
    maxima[MAXIMA_COMPLETE] = maxima[MAXIMA_MEDIAN] = maxima[MAXIMA_QUANTILE] = maxima[MAXIMA_KNOWN] = 0


def quarter_of(sample: int, block: int) -> int:
    """Return the quarter that a sample is in, counted from sample 0."""
    number = sample // block
    offset = sample - number * block
    quarter = QUARTERS * offset // block
    if (quarter + 1) * block // QUARTERS <= offset:
        quarter += 1
    return QUARTERS * number + quarter


def end_of(quarter: int, block: int) -> int:
    """Return the sample after a quarter."""
    number = quarter // QUARTERS
    return number * block + (quarter - QUARTERS * number + 1) * block // QUARTERS


def rank(maxima: I64, last: int, n: int, k: int, cut: int) -> int:
    """Return the ``k``-th largest (from 1) of the ``n`` block maxima up to block ``last`` that are at most ``cut``.

    If there are fewer it is -1.
    """
    found = -1
    bound = cut + 1
    while k > 0:
        found = -1
        same = 0
        at = last % KEPT_BLOCKS
        for _ in range(n):
            value = kept(maxima, FIRST_MAXIMUM, at)
            at = KEPT_BLOCKS - 1 if at == 0 else at - 1
            if value < bound:
                same = 1 if value > found else same + (value == found)
                found = max(found, value)
        if found < 0:
            return found
        k -= same
        bound = found
    return found


def three_largest(maxima: I64, last: int, n: int, cut: int) -> tuple[int, int, int, int]:
    """Return how many of the ``n`` block maxima up to block ``last`` are at most ``cut``, and the largest of these.

    They come in descending order, and are -1 where there are fewer than three.
    """
    count = 0
    one = two = three = -1
    at = last % KEPT_BLOCKS
    for _ in range(n):
        value = kept(maxima, FIRST_MAXIMUM, at)
        at = KEPT_BLOCKS - 1 if at == 0 else at - 1
        count += value <= cut
        value = value if value <= cut else -1
        one, value = max(one, value), min(one, value)
        two, value = max(two, value), min(two, value)
        three = max(three, value)
    return count, one, two, three


def count_undisturbed(maxima: I64, last: int, n: int, cut: int) -> int:
    """Return how many of the ``n`` block maxima up to block ``last`` are at most ``cut``."""
    count = 0
    at = last % KEPT_BLOCKS
    for _ in range(n):
        count += kept(maxima, FIRST_MAXIMUM, at) <= cut
        at = KEPT_BLOCKS - 1 if at == 0 else at - 1
    return count


def quietest(maxima: I64, last: int, n: int) -> tuple[int, int]:
    """Return the two smallest of the maxima of stretches in the ``n`` blocks up to ``last``.

    A stretch is as long as a block, which has four quarters, and begins with any of them.
    """
    first = second = NO_CUT
    one = two = three = 0  # maxima of the quarters after, the latest of them last
    at = (QUARTERS * (last + 1) - 1) % KEPT_QUARTERS
    for k in range(QUARTERS * n):
        value = kept(maxima, FIRST_QUARTER, at)
        at = KEPT_QUARTERS - 1 if at == 0 else at - 1
        if k >= QUARTERS - 1:
            maximum = max(max(0, value), max(one, max(two, three)))
            if maximum < first:
                first, second = maximum, first
            else:
                second = min(second, maximum)
        one, two, three = value, one, two
    return first, second


def cut_of(quietest: int, usual: int, low: int, high: int) -> int:
    """Return the maximum above which a block is disturbed.

    Parameters
    ----------
    quietest, usual
        Maximum of the quietest stretch, 0: of fewer than ``LEVEL_BLOCKS`` blocks; and of one as quiet as others.
    low, high
        The least and the largest response that beats may have. If the usual maximum is below ``low`` the others may be
        beats beside a silence. If everything is above ``high``, the stream is smaller than it states. So it is if beats
        are above and below ``high``: no stretch is then half as quiet as the others, as beside a disturbance.
    """
    cut = TIMES * usual if usual >= low else NO_CUT
    if quietest > high:
        return cut
    of_beats = usual <= high or 2 * quietest >= usual
    return min(cut, ceiling(usual, high) if of_beats else high)


def ceiling(level: int, high: int) -> int:
    """Return the largest response that beats of a level may have, if those of any heart have ``high`` at most.

    Of a stream that states ten times its size the usual beats are near ``high``, and a large one is above it.
    """
    return max(high, LARGEST_BEAT * level)


def take_part(maxima: I64, value: int, end: int, block: int, whole: bool, low: int, high: int) -> None:
    """Take the largest ``f`` of samples up to ``end`` of the quarter that has begun.

    Parameters
    ----------
    whole
        False: the block is none that counts.
    low, high
        As ``cut_of`` takes them.
    """
    quarter = int(maxima[MAXIMA_QUARTER])
    number = quarter // QUARTERS
    maxima[MAXIMA_ABSORBED] = end
    maxima[MAXIMA_PART] = max(int(maxima[MAXIMA_PART]), value)
    maxima[MAXIMA_BEGUN] = max(int(maxima[MAXIMA_BEGUN]), value)
    if maxima[MAXIMA_KNOWN] == 0:
        so_far = max(int(maxima[MAXIMA_MEDIAN]), int(maxima[MAXIMA_BEGUN]))
        maxima[MAXIMA_MEDIAN] = maxima[MAXIMA_QUANTILE] = so_far if so_far <= high else 0
    if end < end_of(quarter, block):
        return
    keep(maxima, FIRST_QUARTER, quarter % KEPT_QUARTERS, int(maxima[MAXIMA_PART]))
    maxima[MAXIMA_PART] = 0
    maxima[MAXIMA_QUARTER] = quarter + 1
    if end < (number + 1) * block:
        return
    if whole:
        keep(maxima, FIRST_MAXIMUM, number % KEPT_BLOCKS, int(maxima[MAXIMA_BEGUN]))
        maxima[MAXIMA_COMPLETE] = min(KEPT_BLOCKS, int(maxima[MAXIMA_COMPLETE]) + 1)
        find_level(maxima, number, low, high)
    maxima[MAXIMA_BEGUN] = 0


def find_level(maxima: I64, number: int, low: int, high: int) -> None:
    """Compute the level from the blocks up to block ``number``."""
    n = int(maxima[MAXIMA_COMPLETE])
    recent = min(n, LEVEL_BLOCKS)
    first, second = quietest(maxima, number, recent)
    usual = first if recent < FEWEST_BLOCKS else second
    cut = cut_of(0 if recent < LEVEL_BLOCKS else first, usual, low, high)
    known, one, two, three = three_largest(maxima, number, recent, cut)
    maxima[MAXIMA_CUT] = cut
    maxima[MAXIMA_KNOWN] = int(known > 0 or usual <= cut)
    if known > 0:
        maxima[MAXIMA_MEDIAN] = one if known < 2 else two if known < 4 else three  # number known // 2
        known, one, two, three = three_largest(maxima, number, n, cut)
        maxima[MAXIMA_QUANTILE] = one if known < 2 else two if known < 7 else three  # a fifth of the others are larger
    else:
        maxima[MAXIMA_MEDIAN] = maxima[MAXIMA_QUANTILE] = usual if usual <= cut else 0


def least_of(i: int, limits: LevelLimits) -> int:
    """Return the least response of lane ``i`` that beats may have."""
    uv = limits.uv_per_unit[i]
    return max(1, int(min(float(NO_CUT), limits.least / uv if uv > 0.0 else limits.least_raw)))


def most_of(i: int, limits: LevelLimits) -> int:
    """Return the largest response of lane ``i`` that beats may have; ``NO_CUT`` if it is not calibrated."""
    uv = limits.uv_per_unit[i]
    return max(1, int(min(float(NO_CUT), limits.most / uv))) if uv > 0.0 else NO_CUT
