"""Measurements of one record: counts of beats, timing errors, delays, scores by class, confidence, alarms.

In:  an annotated record and what a detector found in it
Out: :class:`RecordResult`; the results of all records are an :class:`Evaluation`
"""

from dataclasses import dataclass, field

import numpy as np

from beatwire.evaluation.alarms import AlarmCounts, count_alarms, count_load
from beatwire.evaluation.beats.confidence import ConfidenceOutcome
from beatwire.evaluation.beats.detection import Detected
from beatwire.evaluation.beats.match import Counts, count, inside, pair, timing_ms
from beatwire.evaluation.beats.misfits import misfits
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.records import F64, I64

NO_BEAT = "-"  # the class of a false detection
WIDE_S, NARROW_S = 0.150, 0.050  # tolerances of a match: that of EC57, and one that requires an exact R peak
LEARNING_S = 300.0  # EC57 excludes the first five minutes; figures with and without them are reported


@dataclass(frozen=True)
class RecordResult:
    """Measurements of one record.

    wide, narrow, after_5min  counts within 150 ms and 50 ms, and within 150 ms after the first five minutes
    timing_ms                 float64 [tp], detected minus annotated
    delay_ms                  float64 [m], from the R peak to the newest sample that the decision used
    beat_class                str [c], of each detection outside excluded spans, ``NO_BEAT`` where none is annotated
    score                     float64 [c], NaN where not scored
    map_xy                    float64 [c, 2], or empty
    rr_ms                     float64 [m], of all detections, NaN where there is none, or empty
    found_class               str [c], the class that was given to each of these beats, or empty
    missed                    classes of the annotated beats outside excluded spans that were not found
    load                      by rule, how many alarms about the heart of medium or high priority there were
    remarks                   where its annotations do not fit its signal
    held_out                  True if the detector was replaced by one that was not trained on this record
    """

    name: str
    subject: str
    paced: bool
    seconds: float
    lead: str
    wide: Counts
    narrow: Counts
    after_5min: Counts
    excluded_s: float
    timing_ms: F64
    delay_ms: F64
    beat_class: tuple[str, ...]
    score: F64
    confidence: ConfidenceOutcome
    alarms: dict[str, AlarmCounts]
    map_xy: F64 = field(default_factory=lambda: np.empty((0, 2)))
    rr_ms: F64 = field(default_factory=lambda: np.empty(0))
    found_class: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    load: dict[str, int] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    held_out: bool = False


@dataclass(frozen=True)
class Evaluation:
    """Results of a run, and for each record that failed the reason."""

    results: tuple[RecordResult, ...]
    failed: dict[str, str] = field(default_factory=dict)
    condition: str = "as recorded"


def measure_record(record: AnnotatedRecord, detected: Detected, lead: str) -> RecordResult:
    """Compare the beats and alarms of one record with its annotations."""
    recording = record.recording
    rate_hz = recording.rate_hz
    partner = pair(record.beat, detected.sample, round(WIDE_S * rate_hz))
    narrow = pair(record.beat, detected.sample, round(NARROW_S * rate_hz))
    first_5min = np.array([[-(1 << 62), int(LEARNING_S * rate_hz) - 1]], np.int64)
    counted = ~inside(detected.sample, record.excluded)
    included = (partner < 0) | ~inside(record.beat[partner], record.excluded)  # of a pair the annotation decides
    counted = np.where(partner >= 0, included, counted)
    scores = detected.score if len(detected.score) else np.full(len(detected.sample), np.nan)
    delay: F64 = np.empty(0)
    if len(detected.decided):
        delay = (detected.decided - detected.sample).astype(np.float64) * (1e3 / rate_hz)
    narrow_counts = count(record.beat, detected.sample, narrow, record.excluded)
    return RecordResult(
        name=recording.name,
        subject=record.subject,
        paced=record.paced,
        seconds=recording.seconds,
        lead=lead,
        wide=count(record.beat, detected.sample, partner, record.excluded),
        narrow=narrow_counts,
        after_5min=count(record.beat, detected.sample, partner, np.concatenate([record.excluded, first_5min])),
        excluded_s=_covered(record.excluded) / rate_hz,
        timing_ms=timing_ms(record.beat, detected.sample[counted], partner[counted], rate_hz),
        delay_ms=delay,
        beat_class=tuple(record.beat_class[k] if k >= 0 else NO_BEAT for k in partner[counted]),
        score=scores[counted],
        confidence=ConfidenceOutcome.of(record, detected, partner),
        alarms=count_alarms(record, detected.alarms),
        map_xy=detected.map_xy[counted] if len(detected.map_xy) else detected.map_xy,
        rr_ms=detected.rr_ms,
        found_class=tuple(detected.beat_class[counted].tolist()) if len(detected.beat_class) else (),
        missed=missed_classes(record, partner),
        load=count_load(detected.alarms, recording.samples.shape[1]),
        remarks=misfits(record.beat, detected.sample, record.excluded, rate_hz, NARROW_S, narrow_counts.f1),
    )


def missed_classes(record: AnnotatedRecord, partner: I64) -> tuple[str, ...]:
    """Return the classes of the annotated beats outside excluded spans that no detection is paired with."""
    lost = ~inside(record.beat, record.excluded)
    lost[partner[partner >= 0]] = False
    return tuple(record.beat_class[k] for k in np.flatnonzero(lost))


def _covered(spans: I64) -> int:
    """Return the number of samples in at least one of the spans, int64 [k, 2]."""
    total, reached = 0, -1
    for first, last in spans[np.argsort(spans[:, 0])].tolist() if len(spans) else []:
        total += max(0, last - max(first, reached + 1) + 1)
        reached = max(reached, last)
    return total
