"""Bodies that judge whether the last beats of a stream are ventricular: a tachycardia, or a run of three or more.

In:    the events of a tick, by stream and in order, and the beats that they name, with the measures of their classes
Out:   ``Ventricular``
State: ``VentricularMemory``: the last eight beats of each slot, of the last twelve seconds, and more of the last four

A beat alone may be noise, or a wide beat of a supraventricular rhythm. The judges are sums of boosted trees over the
last eight beats: how likely each is ventricular, how alike they are, how wide, how fast, and how sure the detector is
of them. The judge of runs also reads the extremes of the last three beats: one that looks normal makes them no run.
No score is read, so no judgement waits for the model.
"""

import math

from numpy import float64

from beatwire.kernels.classes.beat_class import FIRST_MEASURED, MEASURED_NAMES, P_S, P_V
from beatwire.kernels.peaks.classify import evaluate_trees
from beatwire.records import F32, I64
from beatwire.records.classification import JudgeTrees
from beatwire.records.columns import ORDERED_BANK, ORDERED_KIND, ORDERED_SAMPLE, ORDERED_SLOT, ORDERED_VALUE
from beatwire.records.events import BEAT, RESTART
from beatwire.records.ventricular import Ventricular, VentricularBeats, VentricularMemory

PAST, RECENT = 8, 4  # beats
# Columns of ``VentricularMemory.beats``: the probabilities ``P_V`` and ``P_S`` of a beat, then these.
QUALITY, ERRORS, RR = range(FIRST_MEASURED, FIRST_MEASURED + 3)
COLUMNS = FIRST_MEASURED + 3
# Columns of ``VentricularMemory.recent``: the other measures of a beat, then the median interval.
MEDIAN_RR = len(MEASURED_NAMES)
RECENT_COLUMNS = MEDIAN_RR + 1
WINDOW_S = 12.0  # older beats are forgotten
JUDGES = 2
TACHYCARDIA, RUN = range(JUDGES)  # rows of the trees
MEANS = 8  # of the measures, as many have means among the features
# Columns of ``recent`` of which more is read.
LIKE_LAST, DURATION = MEASURED_NAMES.index("like last"), MEASURED_NAMES.index("duration")
WHOLE, SPREAD, LATE, LARGEST_SHARPNESS, LEAST_SHARPNESS, T_TOWARDS_QRS, DEFLECTION = range(MEANS, len(MEASURED_NAMES))

NAMES_OF_BOTH = (
    *(f"v of the last but {back}" for back in range(5)),
    "mean v of 8", "ventricular of 8", "least v of 3", "mean s of 5",
    "mean rr of 4", "range of rr of 4", "mean rr of 8", "median rr",
    *(f"mean {name} of 4" for name in MEASURED_NAMES[:MEANS]), "least like last of 4", "least duration of 4",
    "mean quality of 5", "least quality of 8", "errors", "largest errors of 8",
)  # fmt: skip
NAMES_OF_RUN = (
    "largest whole of 3", "mean whole of 3", "least slope spread of 3", "largest rr over median of 30 s of 3",
    "largest sharpness of leads of 3", "mean least sharpness of 3", "largest least sharpness of 3",
    "largest t towards qrs of 3", "largest deflection of 3",
)  # fmt: skip
NAMES = (*NAMES_OF_BOTH, *NAMES_OF_RUN)
FEATURES_OF_BOTH, FEATURES = len(NAMES_OF_BOTH), len(NAMES)  # the judge of tachycardia reads those of both alone
FIRST_OF_RR = 9
FIRST_OF_MEASURES = 13
FIRST_OF_LEAST = FIRST_OF_MEASURES + MEANS
RUN_BEATS = 3

LIKELY = 0.4  # probability from which on a beat counts as ventricular
POSSIBLE = 0.05  # if no beat of the last three is that likely, there is no run
USUAL_RR_S = 0.8  # where no interval is known


def judge_ventricular(
    i: int, run: I64, events: I64, beats: VentricularBeats, window: I64, trees: JudgeTrees,
    memory: VentricularMemory, features: F32, found: Ventricular,
) -> None:  # fmt: skip
    """Judge the beats of one stream.

    Parameters
    ----------
    run : int64 [runs + 1]
        First event of each stream.
    events : int64 [e, 6]
        Columns ``ORDERED_SLOT``, ... of ``records.columns``.
    window : int64 [banks]
        ``WINDOW_S`` in samples.
    memory
        Read and written.
    features : float32 [1 or b, FEATURES]
        Of each beat that was judged if there are so many rows.
    found
        Written.
    """
    slot = int(events[run[i], ORDERED_SLOT])
    past, recent = memory.beats[slot], memory.recent[slot]
    for e in range(run[i], run[i + 1]):
        kind = int(events[e, ORDERED_KIND])
        if kind == RESTART:
            memory.kept[slot] = 0
        elif kind == BEAT:
            b, sample = int(events[e, ORDERED_VALUE]), int(events[e, ORDERED_SAMPLE])
            oldest = int(sample - window[events[e, ORDERED_BANK]])
            count = forget(oldest, int(memory.kept[slot]), past, recent, memory.sample[slot]) + 1
            memory.sample[slot, count - 1] = sample
            store(b, past[count - 1], recent[min(count, RECENT) - 1], beats)
            memory.kept[slot] = count
            found.mean_rr_s[b] = mean_interval(past, count, 4)
            found.tachycardia[b] = found.run[b] = math.nan
            if most_of(past, count, P_V, RUN_BEATS) >= POSSIBLE:
                own = features[b if len(features) > 1 else 0]
                write_features(past, recent, count, own)
                found.tachycardia[b] = logit_of(TACHYCARDIA, trees, own)
                found.run[b] = logit_of(RUN, trees, own) if count >= RUN_BEATS else math.nan


def logit_of(row: int, trees: JudgeTrees, features: F32) -> float:
    """Return the logit by one of the two judges."""
    return evaluate_trees(trees.feature[row], trees.threshold[row], trees.leaf[row], features)


def forget(oldest: int, count: int, past: F32, recent: F32, sample: I64) -> int:
    """Remove the beats before a sample, and one more if there is no room for another; return how many remain."""
    first = 1 if count == PAST else 0
    while first < count and sample[first] < oldest:
        first += 1
    for k in range(first, count):
        sample[k - first] = sample[k]
    move_up(past, first, count)
    few = min(count, RECENT)
    move_up(recent, few - min(count - first, RECENT - 1), few)
    return count - first


def move_up(rows: F32, first: int, count: int) -> None:
    """Move the rows from ``first`` on to the beginning."""
    if first > 0:
        for k in range(first, count):
            for column in range(rows.shape[1]):
                rows[k - first, column] = rows[k, column]


def store(b: int, row: F32, recent: F32, beats: VentricularBeats) -> None:
    """Store beat ``b`` of the tick in a row of ``beats`` and one of ``recent``."""
    row[P_V], row[P_S] = beats.measures[b, P_V], beats.measures[b, P_S]
    row[QUALITY] = beats.quality[b]
    row[ERRORS] = 1.0 if math.isnan(beats.expected_errors[b]) else beats.expected_errors[b]
    row[RR] = max(0.0, beats.rr_s[b])
    for k in range(len(MEASURED_NAMES)):
        recent[k] = beats.measures[b, FIRST_MEASURED + k]
    recent[MEDIAN_RR] = beats.median_rr_s[b] if beats.median_rr_s[b] > 0.0 else USUAL_RR_S


def value(past: F32, count: int, column: int, back: int) -> float:
    """Return a column of the last beat but ``back``."""
    return float64(past[count - 1 - back, column])


def mean_of(past: F32, count: int, column: int, n: int) -> float:
    """Return the mean of a column over the last ``n`` beats, or as many as there are."""
    total, n = 0.0, min(n, count)
    for back in range(n):
        total += value(past, count, column, back)
    return total / n


def least_of(past: F32, count: int, column: int, n: int) -> float:
    """Return the least value of a column in the last ``n`` beats."""
    least = value(past, count, column, 0)
    for back in range(1, min(n, count)):
        least = min(least, value(past, count, column, back))
    return least


def most_of(past: F32, count: int, column: int, n: int) -> float:
    """Return the largest value of a column in the last ``n`` beats."""
    most = value(past, count, column, 0)
    for back in range(1, min(n, count)):
        most = max(most, value(past, count, column, back))
    return most


def mean_interval(past: F32, count: int, n: int) -> float:
    """Return the mean of those of the last ``n`` intervals that are known, in seconds; NaN if none is."""
    total, known = 0.0, 0
    for back in range(min(n, count)):
        rr = value(past, count, RR, back)
        if rr > 0.0:
            total += rr
            known += 1
    return total / known if known > 0 else math.nan


def write_features(past: F32, recent: F32, count: int, features: F32) -> None:
    """Write the features of the last beats in the order of ``NAMES``."""
    likely, few = 0, min(count, RECENT)
    for back in range(min(PAST, count)):
        likely += value(past, count, P_V, back) > LIKELY
    for back in range(5):
        features[back] = value(past, count, P_V, back) if back < count else 0.0
    features[5] = mean_of(past, count, P_V, PAST)
    features[6] = likely
    features[7] = least_of(past, count, P_V, 3) if count >= 3 else 0.0
    features[8] = mean_of(past, count, P_S, 5)
    write_intervals(past, count, value(recent, few, MEDIAN_RR, 0), features[FIRST_OF_RR:])
    for k in range(MEANS):
        features[FIRST_OF_MEASURES + k] = mean_of(recent, few, k, RECENT)
    out = features[FIRST_OF_LEAST:]
    out[0] = least_of(recent, few, LIKE_LAST, RECENT)
    out[1] = least_of(recent, few, DURATION, RECENT)
    out[2] = mean_of(past, count, QUALITY, 5)
    out[3] = least_of(past, count, QUALITY, PAST)
    out[4] = value(past, count, ERRORS, 0)
    out[5] = most_of(past, count, ERRORS, PAST)
    write_extremes(recent, few, features[FEATURES_OF_BOTH:])


def write_extremes(past: F32, count: int, out: F32) -> None:
    """Write the features of ``NAMES_OF_RUN``: how near to normal the most normal of the last three beats is."""
    out[0] = most_of(past, count, WHOLE, RUN_BEATS)
    out[1] = mean_of(past, count, WHOLE, RUN_BEATS)
    out[2] = least_of(past, count, SPREAD, RUN_BEATS)
    out[3] = most_of(past, count, LATE, RUN_BEATS)
    out[4] = most_of(past, count, LARGEST_SHARPNESS, RUN_BEATS)
    out[5] = mean_of(past, count, LEAST_SHARPNESS, RUN_BEATS)
    out[6] = most_of(past, count, LEAST_SHARPNESS, RUN_BEATS)
    out[7] = most_of(past, count, T_TOWARDS_QRS, RUN_BEATS)
    out[8] = most_of(past, count, DEFLECTION, RUN_BEATS)


def write_intervals(past: F32, count: int, median_rr: float, out: F32) -> None:
    """Write mean and range of the last four intervals, the mean of eight, and the median interval of the stream."""
    mean = mean_interval(past, count, 4)
    least, most = math.inf, 0.0
    for back in range(min(4, count)):
        rr = value(past, count, RR, back)
        if rr > 0.0:
            least, most = min(least, rr), max(most, rr)
    mean_of_8 = mean_interval(past, count, PAST)
    out[0] = USUAL_RR_S if math.isnan(mean) else mean
    out[1] = (most - least) / mean if most > 0.0 else 0.0
    out[2] = USUAL_RR_S if math.isnan(mean_of_8) else mean_of_8
    out[3] = median_rr
