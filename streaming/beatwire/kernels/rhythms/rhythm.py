"""Bodies that judge the rhythm of streams: rates over their full number of beats, fibrillation, atrial fibrillation.

In:    the events of a tick, by stream and in order, and the beats that they name
Out:   ``Judged``
State: ``RhythmMemory``: 64 beats, 3 blocks, and slopes and artefacts of 15 of each slot

A block is judged by its description and those of the two before it (``kernels.rhythms.fibrillation``), and by the beats
of six seconds that end ``fibrillation.MARGIN_S`` before it: later beats may not be decided yet. Whether it is at rest
follows from the blocks of half a minute (``kernels.rhythms.rest``). A beat is judged by the last 64 beats of a minute
(``kernels.rhythms.atrial``), once in 8 s. Scores are not read, so that no judgement waits for the model.
"""

import math

from beatwire.kernels.classes.normal_beat import NORMAL_MEASURES
from beatwire.kernels.peaks.classify import evaluate_trees
from beatwire.kernels.rhythms.atrial import DOUBTFUL_SHARE, FIRST_NORMAL
from beatwire.kernels.rhythms.atrial import write_features as write_atrial_features
from beatwire.kernels.rhythms.beat_ring import BEATS, DOUBTFUL, HAS_DENIED, LONGEST, NOISY, UNKNOWN, UNSURE
from beatwire.kernels.rhythms.fibrillation import BLOCKS as JUDGED_BLOCKS
from beatwire.kernels.rhythms.fibrillation import write_features as write_fibrillation_features
from beatwire.kernels.rhythms.flutter import BLIND, BUSY, FLAT, POSSIBLE, REST, SATURATED, STILL, TOO_FAST, WAVES
from beatwire.kernels.rhythms.rest import COLUMNS as PAST_COLUMNS
from beatwire.kernels.rhythms.rest import has_artefact, is_at_rest, is_busy, is_too_fast
from beatwire.kernels.rhythms.wave_shape import ABSENT, CONSTANT, DESCRIBED, KIND_MASK, LIMITED
from beatwire.records import F32, F64, I32, I64, U8, U16
from beatwire.records.classification import JudgeTrees
from beatwire.records.columns import NO_BLOCK, ORDERED_BANK, ORDERED_KIND, ORDERED_SAMPLE, ORDERED_SLOT, ORDERED_VALUE
from beatwire.records.events import BEAT, BLOCK, DENIED, RESTART
from beatwire.records.rhythm import Judged, RhythmBeats, RhythmMemory

FEATURES = 32  # room for those of either judge

# Columns of ``RhythmMemory.numbers``:
#   COUNT        beats since the restart
#   LAST         sample of the last one
#   BLOCKS       blocks since the restart or the last one without a description, at most 3
#   FIRST_BLOCK  the last three descriptions, the newest first
#   AF_BITS      the last decisions about atrial fibrillation, the newest lowest
#   LAST_DENIED  sample after the last denied peak, 0: there was none
COUNT, LAST, BLOCKS, FIRST_BLOCK = range(4)
AF_BITS = FIRST_BLOCK + JUDGED_BLOCKS
LAST_DENIED = AF_BITS + 1
NUMBERS = LAST_DENIED + 1

DOUBTFUL_ERRORS = 0.5  # expected in ten seconds
LEAST_QUALITY = 0.9

FIBRILLATION, ATRIAL = 0, 1  # rows of the trees
POSSIBLE_LOGIT = -2.0  # of a block that may be fibrillation: it begins no alert, but keeps one on
MOST_INTERVALS = 16
SPANS = 3  # medians of so many kinds: of 16, 8 and 4 intervals
MOST_ERRORS = 1.0  # expected in ten seconds: with more, no rate is known
MOST_ERRORS_16 = 2.0  # of 16 intervals
SLOW_S = 1.0  # a longer typical interval may be that of a heart whose beats are missed in noise
AF_EVERY_S = 8.0
AF_DECISIONS, AF_NEEDED = 4, 2  # atrial fibrillation: two of the last four decisions
AF_CERTAIN = 3  # two of so many: there, no beat is supraventricular (two of four would look back beyond the horizon)
MOST_DOUBTFUL = 0.5  # share of the beats of a minute: with more, and ``MOST_ERRORS``, there is no atrial fibrillation


def judge_rhythm(
    i: int, run: I64, events: I64, beats: RhythmBeats, rates_hz: F64, trees: JudgeTrees,
    memory: RhythmMemory, judged: Judged,
) -> None:  # fmt: skip
    """Judge the blocks and beats of one stream.

    Parameters
    ----------
    run : int64 [runs + 1]
        First event of each stream.
    events : int64 [e, 6]
        Columns ``ORDERED_SLOT``, ... of ``records.columns``.
    rates_hz : float64 [banks]
    memory
        Read and written.
    judged
        Written.
    """
    slot = int(events[run[i], ORDERED_SLOT])
    intervals, flags, numbers = memory.interval[slot], memory.flags[slot], memory.numbers[slot]
    past = memory.past[slot]
    several = judged.features.shape[0] > 1
    for e in range(run[i], run[i + 1]):
        kind, sample, value = (
            int(events[e, ORDERED_KIND]),
            int(events[e, ORDERED_SAMPLE]),
            int(events[e, ORDERED_VALUE]),
        )
        rate_hz = rates_hz[events[e, ORDERED_BANK]]
        features = judged.features[e if several else 0]
        judged.logit[e] = math.nan
        for column in range(events.shape[1]):
            judged.events[e, column] = events[e, column]
        if kind == RESTART:
            for column in range(NUMBERS):
                numbers[column] = 0
            for column in range(PAST_COLUMNS):
                past[column] = 0
        elif kind == BLOCK:
            logit = judge_block(sample, value, rate_hz, intervals, flags, numbers, trees, features)
            judged.logit[e] = logit
            judged.events[e, ORDERED_VALUE] = kind_of_block(value, logit, past)
        elif kind == DENIED and value == NO_BLOCK:
            numbers[LAST_DENIED] = sample + 1
        elif kind == BEAT:
            store_beat(sample, value, beats, intervals, flags, numbers)
            write_medians(
                beats.most_errors[value], rate_hz, intervals, flags, numbers, judged.rhythm.typical_rr_s[value]
            )
            errors = float(beats.expected_errors[value])
            for k in range(NORMAL_MEASURES):
                features[FIRST_NORMAL + k] = beats.normal[value, k]
            judged.logit[e] = judge_beat(sample, errors, rate_hz, intervals, flags, numbers, trees, features)
            judged.rhythm.atrial[value] = is_atrial(int(numbers[AF_BITS]), AF_DECISIONS)
            judged.rhythm.certain[value] = is_atrial(int(numbers[AF_BITS]), AF_CERTAIN)
            judged.rhythm.possible[value] = numbers[AF_BITS] != 0


def store_beat(sample: int, b: int, beats: RhythmBeats, intervals: U16, flags: U8, numbers: I64) -> None:
    """Store beat ``b`` of the tick."""
    flag = 0 if beats.rr_s[b] > 0.0 else UNKNOWN
    if beats.expected_errors[b] > DOUBTFUL_ERRORS:
        flag |= DOUBTFUL
    if beats.most_errors[b] >= MOST_ERRORS:
        flag |= NOISY
    if beats.quality[b] < LEAST_QUALITY:
        flag |= UNSURE
    if numbers[LAST_DENIED] > numbers[LAST] + 1:
        flag |= HAS_DENIED
    at = int(numbers[COUNT]) % BEATS
    intervals[at] = min(LONGEST, sample - int(numbers[LAST]))
    numbers[LAST] = sample
    flags[at] = flag
    numbers[COUNT] += 1


def write_medians(errors: float, rate_hz: float, intervals: U16, flags: U8, numbers: I64, medians: F64) -> None:
    """Write the median of the last 16, 8 and 4 intervals in seconds; NaN if there are fewer, or too many errors.

    A slow rate is not known either if most of its beats are noisy, or have a peak before them that may be one more.
    """
    count = int(numbers[COUNT])
    known = 0
    while known < MOST_INTERVALS and known < count - 1 and flags[(count - 1 - known) % BEATS] & UNKNOWN == 0:
        known += 1
    for k in range(SPANS):
        n = MOST_INTERVALS >> k
        limit = MOST_ERRORS_16 if k == 0 else MOST_ERRORS
        medians[k] = math.nan
        if known >= n and not errors >= limit:
            median_s = median_interval(n, count, intervals) / rate_hz
            if median_s <= SLOW_S or not are_noisy(n, count, flags):
                medians[k] = median_s


def are_noisy(n: int, count: int, flags: U8) -> bool:
    """Return True if more than half of the beats of the last ``n`` intervals are noisy or have a denied peak before."""
    noisy = 0
    for k in range(n + 1):
        noisy += int(flags[(count - 1 - k) % BEATS]) & (NOISY | HAS_DENIED) > 0
    return 2 * noisy > n + 1


def median_interval(n: int, count: int, intervals: U16) -> float:
    """Return the median of the last ``n`` intervals in samples, ``n`` even, by counting."""
    lower = upper = 0
    for p in range(n):
        value = int(intervals[(count - 1 - p) % BEATS])
        below = 0
        for q in range(n):
            below += int(intervals[(count - 1 - q) % BEATS]) < value
        if below <= n // 2 - 1:
            lower = max(lower, value)
        if below <= n // 2:
            upper = max(upper, value)
    return 0.5 * (lower + upper)


def judge_block(
    end: int, value: int, rate_hz: float, intervals: U16, flags: U8, numbers: I64, trees: JudgeTrees, features: F32
) -> float:
    """Return the logit that fibrillation fills the last blocks; NaN if the block has no description."""
    if value & DESCRIBED == 0:
        numbers[BLOCKS] = 0
        return math.nan
    known = int(numbers[BLOCKS])
    for k in range(JUDGED_BLOCKS - 1, 0, -1):
        numbers[FIRST_BLOCK + k] = numbers[FIRST_BLOCK + k - 1] if known > 0 else value
    numbers[FIRST_BLOCK] = value
    numbers[BLOCKS] = min(JUDGED_BLOCKS, known + 1)
    write_fibrillation_features(
        end, rate_hz, numbers[FIRST_BLOCK : FIRST_BLOCK + JUDGED_BLOCKS], int(numbers[COUNT]), int(numbers[LAST]),
        intervals, flags, features,
    )  # fmt: skip
    return evaluate_trees(
        trees.feature[FIBRILLATION], trees.threshold[FIBRILLATION], trees.leaf[FIBRILLATION], features
    )


def kind_of_block(value: int, logit: float, past: I32) -> int:
    """Return the kind of a block, the sum of what holds: ``FLAT``, ``WAVES``, ``REST`` and so on of ``flutter``."""
    kind = SATURATED if value & LIMITED > 0 else 0
    if value & ABSENT > 0:
        kind |= BLIND
    if value & KIND_MASK == FLAT:
        if value & CONSTANT > 0:
            kind |= STILL
        return kind | FLAT if kind & BLIND > 0 or has_artefact(past) else kind | FLAT | REST
    if value & DESCRIBED > 0:
        if is_at_rest(value, past):
            kind |= REST
        else:
            if is_busy(value, past):
                kind |= BUSY
            if is_too_fast(value, past):
                kind |= TOO_FAST
    if logit > POSSIBLE_LOGIT:
        kind |= POSSIBLE
    return kind | WAVES if logit > 0.0 else kind


def judge_beat(
    sample: int,
    errors: float,
    rate_hz: float,
    intervals: U16,
    flags: U8,
    numbers: I64,
    trees: JudgeTrees,
    features: F32,
) -> float:
    """Decide about atrial fibrillation at the first beat of every ``AF_EVERY_S``; return the logit, NaN: undecided."""
    count = int(numbers[COUNT])
    if count < 2:
        return math.nan
    every = int(AF_EVERY_S * rate_hz)
    passed = sample // every - (sample - int(intervals[(count - 1) % BEATS])) // every
    if passed == 0:
        return math.nan
    bits = (int(numbers[AF_BITS]) << min(passed, AF_DECISIONS)) & ((1 << AF_DECISIONS) - 1)
    logit = math.nan
    if write_atrial_features(rate_hz, count, intervals, flags, features):
        logit = evaluate_trees(trees.feature[ATRIAL], trees.threshold[ATRIAL], trees.leaf[ATRIAL], features)
        noisy = errors >= MOST_ERRORS and features[DOUBTFUL_SHARE] > MOST_DOUBTFUL
        bits |= int(logit > 0.0 and not noisy)
    numbers[AF_BITS] = bits
    return logit


def is_atrial(bits: int, last: int) -> bool:
    """Return True if enough of the ``last`` decisions were for atrial fibrillation."""
    decisions = 0
    for k in range(last):
        decisions += (bits >> k) & 1
    return decisions >= AF_NEEDED
