"""Bodies that determine the class of each beat: normal, supraventricular, ventricular or unknown.

In:    the beats of a tick; the events of a tick, by stream and in order
Out:   ``BeatClasses``
State: ``ClassHistory``, by slot

Work item ``i`` is the run of events of one stream, as in ``kernels.alerts.rules``. A typical beat, one that comes in
time and looks like the normal beat, is normal. Of any other the logits are sums of boosted trees: that it is
ventricular, and that it is supraventricular if it is not ventricular. A supraventricular beat is premature against the
intervals of its own last minute: a steady fast rhythm and a slow change of rate are not.

A class is decided with its beat: it depends on samples up to 0.30 s after R and on no later beat. No class is fed back:
it is a function of the beats of the last 35 s and the medians of their intervals. No score is used: it may differ in
its last digits from cut to cut and between backends, and a class may not.
"""

import math

from numpy import float64

from beatwire.kernels.classes.beat_shape import EXPONENT, QRS_BEGIN, QRS_END, UNKNOWN, likeness
from beatwire.kernels.classes.class_features import (
    LAST_USUAL,
    NAMES,
    RATIO_LAST,
    RATIO_MEDIAN,
    RATIO_USUAL,
    ratio,
    write_context,
    write_intervals,
    write_shape,
    write_timing,
)
from beatwire.kernels.classes.class_rhythm import EARLY
from beatwire.kernels.classes.normal_beat import (
    BLOCK,
    COUNT,
    SHARE,
    drop_before,
    find_normal,
    forget,
    measure_normal,
    store_beat,
)
from beatwire.kernels.classes.stored_shape import store_shape
from beatwire.kernels.peaks.classify import evaluate_trees
from beatwire.kernels.peaks.risk import beat_probability
from beatwire.records import F32, F64, I16, I64
from beatwire.records.beat_classes import BeatClasses, ClassBeats, ClassHistory, ClassScratch, ClassSettings
from beatwire.records.classification import Trees
from beatwire.records.columns import ORDERED_BANK, ORDERED_KIND, ORDERED_SAMPLE, ORDERED_SLOT, ORDERED_VALUE
from beatwire.records.events import BEAT, RESTART

N, S, V, Q = range(4)  # classes of beats; Q: cannot tell
LETTERS = ("N", "S", "V", "Q")
VENTRICULAR, SUPRAVENTRICULAR = range(2)  # rows of the trees, and of ``ClassSettings.least``
TYPICAL_PROBABILITY = 0.999
# Limits of a typical beat.
IN_TIME, LIKE_NORMAL, SURE = 0.1, 0.98, 0.9
LEAST_QUALITY = 0.5  # below it a beat is more likely none
IN_TURN = 0.92  # of the usual interval; a beat that comes later is not supraventricular

# Measures of a beat that other judgements read: the probabilities of the two sets of trees, then features. Those of a
# typical beat are not computed: it has usual ones.
P_V, P_S = range(2)
MEASURED_NAMES = (
    "match", "like last", "duration", "normal duration", "sharpness", "size", "qrs apart", "share of normal",
    "least whole", "slope spread", "rr over median of 30 s", "largest sharpness", "least sharpness",
    "least t towards qrs", "least deflection",
)  # fmt: skip
FIRST_MEASURED = 2
MEASURED_FEATURES = tuple(NAMES.index(name) for name in MEASURED_NAMES)
TYPICAL_MEASURES = (1.0, 1.0, 8.0, 8.0, 0.3, 1.0, 0.0, 1.0, 1.0, 2.0, 1.0, 0.3, 0.3, 0.1, 1.0)
MEASURED = FIRST_MEASURED + len(MEASURED_NAMES)
MATCH, DURATION, NORMAL_DURATION, SIZE = (
    FIRST_MEASURED + MEASURED_NAMES.index(name) for name in ("match", "duration", "normal duration", "size")
)


def is_typical(b: int, match: float, beats: ClassBeats, features: F32) -> bool:
    """Return True if beat ``b`` comes in time, as the beat before did, and looks like the normal beat in every lead."""
    in_time = (
        abs(float64(features[RATIO_MEDIAN]) - 1.0) < IN_TIME
        and abs(float64(features[RATIO_LAST]) - 1.0) < IN_TIME
        and float64(features[RATIO_USUAL]) > EARLY
        and float64(features[LAST_USUAL]) > EARLY
    )
    return bool(in_time and match > LIKE_NORMAL and float64(beats.quality[b]) > SURE)


def match_normal(slot: int, leads: int, history: ClassHistory, shape: I16) -> tuple[float, float]:
    """Return the mean and the least of the leads' correlations with the normal QRS complex; 1 and -1 without one.

    ``shape`` [SHAPE_LEADS, COLUMNS] is that of the beat.
    """
    if not history.known[slot, SHARE] > 0.0:
        return 1.0, -1.0
    mean, least = 0.0, 1.0
    for lead in range(leads):
        found = likeness(shape[lead], history.normal[slot, lead], QRS_BEGIN, QRS_END)
        mean += found / leads
        least = min(least, found)
    return mean, least


def store(b: int, slot: int, sample: int, match: float, beats: ClassBeats, history: ClassHistory) -> None:
    """Store beat ``b`` as the last one of its slot."""
    place = store_beat(slot, sample, history)
    rr = float64(beats.rr_s[b])
    history.rr_s[slot, place] = max(0.0, rr)
    history.ratio[slot, place] = ratio(rr, float64(beats.median_rr_s[b]))
    history.usual[slot] = 1.0 if math.isnan(beats.prematurity[b]) else 1.0 - float64(beats.prematurity[b])
    history.match[slot, place] = match
    for lead in range(history.shape.shape[2]):
        store_shape(beats.shape[b, lead], history.shape[slot, place, lead])


def decide(v: float, if_not_v: float, usual: float, least: F64) -> tuple[int, float]:
    """Return the class and its probability.

    Parameters
    ----------
    v, if_not_v
        Probability that the beat is ventricular, and that it is supraventricular if it is not.
    usual
        Its interval over the usual one.
    """
    s = (1.0 - v) * if_not_v if usual < IN_TURN else 0.0
    if v >= least[VENTRICULAR]:
        return V, v
    if s >= least[SUPRAVENTRICULAR]:
        return S, s
    return N, 1.0 - v - s


def probability_of(row: int, trees: Trees, features: F32) -> float:
    """Return the probability by one of the two sets of trees."""
    logit = evaluate_trees(trees.feature[row], trees.threshold[row], trees.leaf[row], features)
    return beat_probability(logit, trees.probability)


def classify_beats(
    i: int, run: I64, events: I64, beats: ClassBeats, settings: ClassSettings, trees: Trees,
    history: ClassHistory, work: ClassScratch, classes: BeatClasses,
) -> None:  # fmt: skip
    """Determine the class of each beat of one stream.

    Parameters
    ----------
    events : int64 [e, 6]
        Columns ``ORDERED_SLOT``, ... of ``records.columns``.
    trees
        Row 0: whether a beat is ventricular; row 1: whether one that is not is supraventricular.
    history
        Read and written.
    classes
        Written.
    """
    for e in range(run[i], run[i + 1]):
        slot, kind, sample = int(events[e, ORDERED_SLOT]), int(events[e, ORDERED_KIND]), int(events[e, ORDERED_SAMPLE])
        if kind == RESTART:
            forget(slot, history)
        elif kind == BEAT:
            of_bank = int(events[e, ORDERED_BANK])
            length, leads = settings.block[of_bank], int(settings.leads[of_bank])
            b, block = int(events[e, ORDERED_VALUE]), sample // length
            last = int(history.ring[slot, BLOCK])
            if last != block:
                history.ring[slot, BLOCK] = block
                if (block - last - 1) * length >= settings.memory[of_bank]:  # a pause may be longer than short times
                    history.ring[slot, COUNT] = 0
                drop_before(slot, int(block * length - settings.memory[of_bank]), history)
                find_normal(slot, leads, history, work)
            drop_before(slot, int(sample - settings.memory[of_bank]), history)
            measure_normal(slot, leads, history, classes.normal[b])
            classes.beat_class[b], classes.probability[b] = classify_beat(
                b, slot, sample, leads, beats, settings.least, trees, history, work, classes.measures[b]
            )


def write_measures(measures: F32, features: F32, v: float, s: float) -> None:
    """Write the measures of a beat that is not typical."""
    measures[P_V] = v
    measures[P_S] = s
    for k in range(len(MEASURED_FEATURES)):
        measures[FIRST_MEASURED + k] = features[MEASURED_FEATURES[k]]


def write_typical(measures: F32) -> None:
    """Write the measures of a typical beat, or of one without a shape."""
    measures[P_V] = measures[P_S] = 0.0
    for k in range(len(MEASURED_FEATURES)):
        measures[FIRST_MEASURED + k] = TYPICAL_MEASURES[k]


def classify_beat(
    b: int, slot: int, sample: int, leads: int, beats: ClassBeats, least: F64, trees: Trees, history: ClassHistory,
    work: ClassScratch, measures: F32,
) -> tuple[int, float]:  # fmt: skip
    """Return the class of beat ``b`` and its probability; write its measures, and store it in the history."""
    features = work.features[b if len(work.features) > 1 else 0]
    write_typical(measures)
    if beats.shape[b, 0, EXPONENT] == UNKNOWN:
        store(b, slot, sample, 1.0, beats, history)
        return Q, math.nan
    match, worst = match_normal(slot, leads, history, beats.shape[b])
    write_timing(b, slot, beats, history, features)
    found, probability = N, TYPICAL_PROBABILITY
    if not is_typical(b, worst, beats, features):
        write_intervals(b, slot, beats, history, features)
        write_context(b, slot, leads, beats, history, work, features)
        write_shape(b, slot, leads, beats, history, work, features)
        v, s = probability_of(VENTRICULAR, trees, features), probability_of(SUPRAVENTRICULAR, trees, features)
        write_measures(measures, features, v, s)
        found, probability = decide(v, s, float64(features[RATIO_USUAL]), least)
        if float64(beats.quality[b]) < LEAST_QUALITY:
            found, probability = Q, math.nan
    store(b, slot, sample, match, beats, history)
    return found, probability
