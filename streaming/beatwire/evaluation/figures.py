"""All figures of an evaluation as one JSON object. A figure that does not exist is null.

records                  an object per record; ``rr`` holds statistics of the RR intervals of all its detections
gross, gross_paced       ``beats tp fn fp se ppv f1 se_50ms ppv_50ms f1_50ms`` summed over records, percentages
gross_after_5min, gross_paced_after_5min   the same counts without the first five minutes
timing_ms, delay_ms      error of the R peak; delay from the R peak to the decision
auroc, average_precision ``V S F any``, each ``pooled mean low high records beats``
false_positives_per_day  normal beats and false detections with a score of at least ``ANOMALOUS``
flagged_percent          by nominal false-positive rate, the percentage of N, S, V and F beats that is marked
promise                  of normal beats with a score of 2 or more, by person, see ``evaluation.promise``
alarms                   by rule, ``episodes found false``
load                     alarms about the heart of medium and high priority: ``hours alarms``, and ``rules`` by rule
confidence               AUROC of the detector's confidence, by beat and by window of 10 s
map                      positions of a sample of beats of each class in the 2-D projection of the latents
unseen                   number of records evaluated by a model that was not trained on them
remarks                  ``record remark``, where annotations do not fit the signal
failed                   ``record reason``
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from beatwire.evaluation.alarms import AlarmCounts
from beatwire.evaluation.anomaly import GROUPS, MIN_BEATS, auroc, estimate_by_group
from beatwire.evaluation.beats.classes import LETTERS, class_figures, count_called, count_class
from beatwire.evaluation.beats.confidence import confidence_auroc
from beatwire.evaluation.beats.match import Counts
from beatwire.evaluation.promise import promise_by_person
from beatwire.evaluation.result import NO_BEAT, Evaluation, RecordResult
from beatwire.records import F64
from beatwire.stages.score import ANOMALOUS
from beatwire.tables import rr_statistics

Json = dict[str, Any]
MAP_POINTS = 400  # of each class: enough to see the shape, small enough for a page
NOMINAL_RATES = (0.01, 0.001)  # false-positive rates among normal beats; a score of 2 is the first


def number(value: float, digits: int = 3) -> float | None:
    """Return the rounded value, None in place of NaN and infinity."""
    return round(float(value), digits) if math.isfinite(value) else None


def as_json(evaluation: Evaluation, *, resamples: int = 1000) -> Json:
    """Return all figures of a run.

    Parameters
    ----------
    evaluation
        Result of :func:`evaluate`.
    resamples
        Number of bootstrap samples of the subjects.
    """
    results = evaluation.results
    unpaced = [r for r in results if not r.paced]
    paced = [r for r in results if r.paced]
    return {
        "condition": evaluation.condition,
        "records": [_record(r) | {"rr": rr} for r, rr in zip(results, rr_intervals(results), strict=True)],
        "gross": gross(unpaced),
        "gross_paced": gross(paced),
        "gross_after_5min": _counts(_sum(unpaced, lambda r: r.after_5min)),
        "gross_paced_after_5min": _counts(_sum(paced, lambda r: r.after_5min)),
        "timing_ms": timing([r.timing_ms for r in unpaced]),
        "delay_ms": delay([r.delay_ms for r in results]),
        **_anomaly(unpaced, resamples),
        "classes": class_figures(classes_of(unpaced)),
        "normal_called": count_called(*_given(unpaced)),
        "alarms": _alarms(results),
        "load": _load(results),
        "confidence": {k: number(v, 4) for k, v in confidence_auroc(r.confidence for r in unpaced).items()},
        "map": _map(unpaced),
        "remarks": [{"record": r.name, "remark": remark} for r in results for remark in r.remarks],
        "failed": [{"record": name, "reason": reason} for name, reason in evaluation.failed.items()],
    }


def _given(results: Sequence[RecordResult]) -> tuple[list[str], list[str]]:
    """Return the annotated class of each beat found, and the class that it was given, of records with classes."""
    classed = [r for r in results if len(r.found_class)]
    return [c for r in classed for c in r.beat_class], [c for r in classed for c in r.found_class]


def classes_of(results: Sequence[RecordResult]) -> list[tuple[str, dict[str, Counts]]]:
    """Return the name of each record whose beats have classes, and its counts of each class."""
    return [
        (r.name, {letter: count_class(letter, r.beat_class, r.found_class, r.missed) for letter in LETTERS})
        for r in results
        if len(r.found_class)
    ]


def gross(results: Sequence[RecordResult]) -> Json:
    """Return the counts and percentages summed over records."""
    narrow = _sum(results, lambda r: r.narrow)
    return {
        **_counts(_sum(results, lambda r: r.wide)),
        "se_50ms": number(narrow.se),
        "ppv_50ms": number(narrow.ppv),
        "f1_50ms": number(narrow.f1),
    }


def _sum(results: Iterable[RecordResult], counts_of: Callable[[RecordResult], Counts]) -> Counts:
    return sum((counts_of(r) for r in results), Counts())


def _counts(c: Counts) -> Json:
    return {
        "beats": c.beats,
        "tp": c.tp,
        "fn": c.fn,
        "fp": c.fp,
        "se": number(c.se),
        "ppv": number(c.ppv),
        "f1": number(c.f1),
    }


def timing(errors: Sequence[F64]) -> Json:
    """Return median and 95 % quantile of the absolute R peak error, its mean, and those of the worst record."""
    nonempty = [e for e in errors if len(e)]
    if not nonempty:
        return {"median": None, "p95": None, "bias": None, "worst_record_median": None, "worst_record_p95": None}
    every = np.concatenate(nonempty)
    return {
        "median": number(float(np.median(np.abs(every)))),
        "p95": number(float(np.percentile(np.abs(every), 95))),
        "bias": number(float(every.mean())),
        "worst_record_median": number(max(float(np.median(np.abs(e))) for e in nonempty)),
        "worst_record_p95": number(max(float(np.percentile(np.abs(e), 95)) for e in nonempty)),
    }


def delay(delays: Sequence[F64]) -> Json:
    """Return quantiles of the delay from the R peak to the newest sample that the decision used, in signal time."""
    every = np.concatenate([*delays, np.empty(0)])
    if len(every) == 0:
        return {"median": None, "p99": None, "max": None}
    return {
        "median": number(float(np.median(every))),
        "p99": number(float(np.percentile(every, 99))),
        "max": number(float(every.max())),
    }


def rr_intervals(results: Sequence[RecordResult]) -> list[Json]:
    """Return the statistics of the RR intervals of each record; null where there are too few."""
    row_of = np.repeat(np.arange(len(results)), [len(r.rr_ms) for r in results])
    table = rr_statistics(row_of, np.concatenate([np.empty(0), *(r.rr_ms for r in results)])).drop(columns="beats")
    by_row = {int(k): {name: number(value, 2) for name, value in row.items()} for k, row in table.iterrows()}
    return [by_row.get(k, dict.fromkeys(table.columns)) for k in range(len(results))]


def _anomaly(results: Sequence[RecordResult], resamples: int) -> Json:
    record = [r.name for r in results for _ in r.beat_class]
    classes = np.array([c for r in results for c in r.beat_class], str)
    score = np.concatenate([*(r.score for r in results), np.empty(0)])
    subject_of = {r.name: r.subject for r in results}
    areas, precisions = estimate_by_group(record, classes.tolist(), score, subject_of, resamples=resamples)
    marked = score >= ANOMALOUS
    seconds = sum(r.seconds for r in results)
    scored = ~np.isnan(score)

    def marked_percent(letter: str, rate: float) -> float | None:
        of_class = (classes == letter) & scored
        return number(100.0 * float(np.mean(score[of_class] >= -np.log10(rate)))) if of_class.any() else None

    false_positives = float(marked[(classes == "N") | (classes == NO_BEAT)].sum())
    per_day = false_positives * 86400.0 / seconds if seconds and scored.any() else float("nan")
    return {
        "auroc": {k: v.as_json() for k, v in areas.items()},
        "average_precision": {k: v.as_json() for k, v in precisions.items()},
        "threshold": ANOMALOUS,
        "false_positives_per_day": number(per_day, 1),
        "flagged_percent": {
            f"{100 * rate:g} %": {letter: marked_percent(letter, rate) for letter in "NSVF"} for rate in NOMINAL_RATES
        },
        "promise": promise_by_person(results),
        "not_scored": int((~scored).sum()),
        "unseen": sum(r.held_out for r in results),
    }


def _alarms(results: Sequence[RecordResult]) -> Json:
    rules = sorted({rule for r in results for rule in r.alarms})
    out: Json = {}
    for rule in rules:
        c = sum((r.alarms.get(rule, AlarmCounts()) for r in results), AlarmCounts())
        out[rule] = {"episodes": c.episodes, "found": c.found, "false": c.false}
    return out


def _load(results: Sequence[RecordResult]) -> Json:
    rules = sum((Counter(r.load) for r in results), Counter[str]())
    hours = sum(r.seconds for r in results) / 3600.0
    return {"hours": number(hours), "alarms": sum(rules.values()), "rules": dict(rules.most_common())}


def _map(results: Sequence[RecordResult]) -> Json:
    """Return the map positions of at most ``MAP_POINTS`` beats of each class, evenly chosen."""
    results = [r for r in results if len(r.map_xy)]
    classes = np.array([c for r in results for c in r.beat_class], str)
    map_xy = np.concatenate([np.empty((0, 2)), *(r.map_xy for r in results)])
    out: Json = {}
    for letter in "NSVF":
        points = map_xy[(classes == letter) & ~np.isnan(map_xy).any(axis=1)]
        out[letter] = points[:: max(1, -(-len(points) // MAP_POINTS))].round(2).tolist()
    return out


def _record(r: RecordResult) -> Json:
    return {
        "record": r.name,
        "lead": r.lead,
        "paced": r.paced,
        "seconds": number(r.seconds),
        "excluded_s": number(r.excluded_s),
        **gross([r]),
        "after_5min": _counts(r.after_5min),
        "timing_ms": timing([r.timing_ms]),
        "delay_ms": delay([r.delay_ms]),
        "confidence": {k: number(v, 4) for k, v in confidence_auroc([r.confidence]).items()},
        "auroc": _areas(r),
        "unseen": r.held_out,
        "alarms": _alarms([r]),
    }


def _areas(r: RecordResult) -> Json:
    """Return the AUROC of each group in one record, None with fewer than ``MIN_BEATS`` of either kind."""
    classes = np.array(r.beat_class, str)
    out: Json = {}
    for group, letters in GROUPS.items():
        abnormal = np.isin(classes, list(letters))
        use = (abnormal | (classes == "N")) & ~np.isnan(r.score)
        too_few = min(int(abnormal[use].sum()), int((~abnormal[use]).sum())) < MIN_BEATS
        out[group] = None if too_few else number(auroc(r.score[use], abnormal[use]), 5)
    return out
