"""The figures of an evaluation as one JSON object, as text, and as a page that stands by itself.

JSON: ``records`` (one object each; ``rr``: the intervals of all its detections), ``gross`` and ``gross_paced``
(``beats tp fn fp se ppv f1 se_50ms ppv_50ms f1_50ms``, per cent), the same after the first five minutes,
``timing_ms``, ``delay_ms``, ``auroc`` and ``average_precision`` (``V S F any``, each ``pooled mean low high records
beats``), ``false_positives_per_day`` (normal beats, and detections where there is no beat, at ``threshold`` and
above), ``flagged_percent`` (by promised share of normal beats, what part of N S V F is marked), ``alarms``,
``confidence``, ``map`` (where some beats of each class lie in the plane that people look at), ``failed``. A figure
that does not exist is null.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from beatwire.evaluation.alarms import AlarmCounts
from beatwire.evaluation.anomaly import FEWEST, GROUPS, auroc, separate
from beatwire.evaluation.confidence import confidence
from beatwire.evaluation.evaluate import FALSE, Evaluation, RecordResult
from beatwire.evaluation.match import Counts
from beatwire.records import F64
from beatwire.stages.score import ANOMALOUS
from beatwire.tables import rr_statistics

Json = dict[str, Any]
POINTS = 400
PROMISES = (0.01, 0.001)  # shares of normal beats; a score of 2 promises the first


def number(value: float, digits: int = 3) -> float | None:
    """Round, and put None in the place of NaN and infinity."""
    return round(float(value), digits) if math.isfinite(value) else None


def as_json(run: Evaluation, *, threshold: float = ANOMALOUS, draws: int = 1000) -> Json:
    """Put all figures of a run together.

    Parameters
    ----------
    run
        what :func:`evaluate` returned.
    threshold
        score from which on a beat is called anomalous; the monitor's by default.
    draws
        of the bootstrap by subject.
    """
    plain = [r for r in run.results if not r.paced]
    paced = [r for r in run.results if r.paced]
    return {
        "condition": run.condition,
        "records": [_record(r) | {"rr": own} for r, own in zip(run.results, intervals(run.results), strict=True)],
        "gross": gross(plain),
        "gross_paced": gross(paced),
        "gross_after_5min": _counts(_sum(plain, lambda r: r.settled)),
        "gross_paced_after_5min": _counts(_sum(paced, lambda r: r.settled)),
        "timing_ms": timing([r.timing_ms for r in plain]),
        "delay_ms": delay([r.delay_ms for r in run.results]),
        **_anomaly(plain, threshold, draws),
        "alarms": _alarms(run.results),
        "confidence": {k: number(v, 4) for k, v in confidence(r.classified for r in plain).items()},
        "map": _map(plain),
        "failed": [{"record": name, "reason": reason} for name, reason in run.failed.items()],
    }


def gross(results: Sequence[RecordResult]) -> Json:
    """Sum over records."""
    narrow = _sum(results, lambda r: r.narrow)
    return {
        **_counts(_sum(results, lambda r: r.wide)),
        "se_50ms": number(narrow.se),
        "ppv_50ms": number(narrow.ppv),
        "f1_50ms": number(narrow.f1),
    }


def _sum(results: Iterable[RecordResult], what: Callable[[RecordResult], Counts]) -> Counts:
    return sum((what(r) for r in results), Counts())


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
    """Errors of the R peak: of their size the median and 95 %, their mean, and the worst record's median."""
    some = [e for e in errors if len(e)]
    if not some:
        return {"median": None, "p95": None, "bias": None, "worst_record_median": None, "worst_record_p95": None}
    every = np.concatenate(some)
    return {
        "median": number(float(np.median(np.abs(every)))),
        "p95": number(float(np.percentile(np.abs(every), 95))),
        "bias": number(float(every.mean())),
        "worst_record_median": number(max(float(np.median(np.abs(e))) for e in some)),
        "worst_record_p95": number(max(float(np.percentile(np.abs(e), 95)) for e in some)),
    }


def delay(delays: Sequence[F64]) -> Json:
    """R peak to the newest sample that the decision about the beat needed, signal time."""
    every = np.concatenate([*delays, np.empty(0)])
    if len(every) == 0:
        return {"median": None, "p99": None, "max": None}
    return {
        "median": number(float(np.median(every))),
        "p99": number(float(np.percentile(every, 99))),
        "max": number(float(every.max())),
    }


def intervals(results: Sequence[RecordResult]) -> list[Json]:
    """Return the statistics of the intervals of each record; null where there are too few."""
    which = np.repeat(np.arange(len(results)), [len(r.rr_ms) for r in results])
    table = rr_statistics(which, np.concatenate([np.empty(0), *(r.rr_ms for r in results)])).drop(columns="beats")
    told = {int(k): {name: number(value, 2) for name, value in row.items()} for k, row in table.iterrows()}
    return [told.get(k, dict.fromkeys(table.columns)) for k in range(len(results))]


def _anomaly(results: Sequence[RecordResult], threshold: float, draws: int) -> Json:
    record = [r.name for r in results for _ in r.beat_class]
    classes = np.array([c for r in results for c in r.beat_class], str)
    score = np.concatenate([*(r.score for r in results), np.empty(0)])
    areas, precisions = separate(record, classes.tolist(), score, {r.name: r.subject for r in results}, draws=draws)
    flagged = score >= threshold
    seconds = sum(r.seconds for r in results)
    scored = ~np.isnan(score)

    def share(letter: str, promise: float) -> float | None:
        of_class = (classes == letter) & scored
        return number(100.0 * float(np.mean(score[of_class] >= -np.log10(promise)))) if of_class.any() else None

    wrong = float(flagged[(classes == "N") | (classes == FALSE)].sum())
    per_day = wrong * 86400.0 / seconds if seconds and scored.any() else float("nan")
    return {
        "auroc": {k: v.as_json() for k, v in areas.items()},
        "average_precision": {k: v.as_json() for k, v in precisions.items()},
        "threshold": threshold,
        "false_positives_per_day": number(per_day, 1),
        "flagged_percent": {f"{100 * p:g} %": {letter: share(letter, p) for letter in "NSVF"} for p in PROMISES},
        "not_scored": int((~scored).sum()),
        "unseen": sum(r.unseen for r in results),
    }


def _alarms(results: Sequence[RecordResult]) -> Json:
    rules = sorted({rule for r in results for rule in r.alarms})
    out: Json = {}
    for rule in rules:
        c = sum((r.alarms.get(rule, AlarmCounts()) for r in results), AlarmCounts())
        out[rule] = {"episodes": c.episodes, "found": c.found, "false": c.false}
    return out


def _map(results: Sequence[RecordResult]) -> Json:
    """Where beats of each class lie on the model's map: evenly chosen, at most ``POINTS`` of a class."""
    results = [r for r in results if len(r.place)]
    classes = np.array([c for r in results for c in r.beat_class], str)
    place = np.concatenate([np.empty((0, 2)), *(r.place for r in results)])
    out: Json = {}
    for letter in "NSVF":
        mine = place[(classes == letter) & ~np.isnan(place).any(axis=1)]
        out[letter] = mine[:: max(1, -(-len(mine) // POINTS))].round(2).tolist()
    return out


def _record(r: RecordResult) -> Json:
    return {
        "record": r.name,
        "lead": r.lead,
        "paced": r.paced,
        "seconds": number(r.seconds),
        "excluded_s": number(r.excluded_s),
        **gross([r]),
        "after_5min": _counts(r.settled),
        "timing_ms": timing([r.timing_ms]),
        "delay_ms": delay([r.delay_ms]),
        "confidence": {k: number(v, 4) for k, v in confidence([r.classified]).items()},
        "auroc": _own_areas(r),
        "unseen": r.unseen,
        "alarms": _alarms([r]),
    }


def _own_areas(r: RecordResult) -> Json:
    """Areas of one record, where it has enough beats of a kind."""
    classes = np.array(r.beat_class, str)
    out: Json = {}
    for group, letters in GROUPS.items():
        abnormal = np.isin(classes, list(letters))
        use = (abnormal | (classes == "N")) & ~np.isnan(r.score)
        few = min(int(abnormal[use].sum()), int((~abnormal[use]).sum())) < FEWEST
        out[group] = None if few else number(auroc(r.score[use], abnormal[use]), 5)
    return out
