"""Examples for the judge of ventricular runs: features of the last beats, and whether they are a run.

In:  records of the references of alarms (``evaluation.bedside``), and recordings of noise
Out: :class:`RunExamples`

A beat is one of a run if it and the two before it are annotated V, or if it lies in a stretch marked as ventricular
tachycardia. Beats just behind a run, fusion beats, stretches of flutter and runs in a paced heart are left out. If
experts called a bedside alarm of ventricular tachycardia true, it is only known that there is a run near the end of the
record (``UNMARKED``); if they called it false, that there is none.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from beatwire.evaluation.beats.match import inside, pair
from beatwire.evaluation.bedside.challenge import FALSE, LAST_S, TRUE
from beatwire.evaluation.bedside.watched import person_of
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.evaluation.result import WIDE_S
from beatwire.kernels.classes.beat_class import P_V
from beatwire.model.judges import no_judges
from beatwire.recordings.wfdb.annotations import ENDING
from beatwire.records import F32, F64, I64
from beatwire.stages.judging import ventricular
from beatwire.training.references import run_references

RUN, NONE, LEFT_OUT, UNMARKED = 1, 0, -1, -2
RUN_BEATS = 3
_BEHIND = 3  # beats behind a run that are left out
_VT_ALARM = "Ventricular_Tachycardia"
_NO_RUNS = frozenset({"sinus", "af", "normal", "noisy"})
_OTHER_RHYTHMS = frozenset({"N", "NSR", "SVTA", "AFIB", "NOISE", "NOD", "SBR"})
_BEGIN_S, _LEAST_VT_S = 3.0, 3.0  # of a marked stretch: its first beats are left out, and shorter ones
_BEFORE_END_S = 30.0  # of a record with a false alarm of ventricular tachycardia
_FLUTTER_BEFORE_S, _FLUTTER_BEHIND_S = 2.0, 8.0
_NEIGHBOURS = 20  # records of bedside alarms with so near numbers may be of one patient


@dataclass
class RunExamples:
    """The beats of one record.

    group      people, or records that may be of one person: they are in one fold
    folder, name, samples   of the record; ``samples`` per lead
    features   float32 [b, FEATURES]; NaN of beats that are not judged
    label      int64 [b], ``RUN``, ``NONE``, ``LEFT_OUT`` or ``UNMARKED``
    likely     float64 [b], least probability of V of the last beats: a first guess where a run is not marked
    """

    group: str
    folder: str
    name: str
    samples: int
    features: F32
    label: I64
    likely: F64


def read_run_examples(paths: Iterable[Path], ending: str = ENDING) -> Iterator[RunExamples]:
    """Run each record through the graph with companion models, and label its beats.

    Parameters
    ----------
    paths
        Records without suffix.
    ending
        Of the annotation files.
    """
    # The judges change no class.
    fixed, changed = {"rhythm": None, "ventricular": None}, {"with_ventricular": False}
    for one in run_references(paths, lambda alerting: alerting.labelled, fixed, changed, ending):
        _, features = ventricular.judge(ventricular.State(no_judges()), one.tick, keep_features=True)
        label = label_beats(one.tick.sample, one.rate_hz, one.samples, one.annotated, one.comments)
        assert one.tick.class_measures is not None
        likely = least_of_three(one.tick.class_measures[:, P_V])
        path = one.path
        yield RunExamples(group_of(path), path.parent.name, path.name, one.samples, features, label, likely)


def group_of(path: Path) -> str:
    """Return the person of a record; of bedside alarms, the neighbourhood of its number.

    >>> group_of(Path("cinc2015/v131l")) == group_of(Path("cinc2015/v134s"))
    True
    """
    number = re.sub(r"\D", "", path.name)
    if path.parent.name == "cinc2015" and number:
        return f"cinc2015/{int(number) // _NEIGHBOURS}"
    return person_of(path)


def least_of_three(probability: F32) -> F64:
    """Return the least of each beat's value and those of the two before; 0 of the first two beats."""
    out = np.zeros(len(probability))
    if len(out) >= RUN_BEATS:
        out[2:] = np.minimum(np.minimum(probability[2:], probability[1:-1]), probability[:-2])
    return out


def label_beats(
    at: I64, rate_hz: float, samples: int, annotated: AnnotatedRecord | None, comments: tuple[str, ...]
) -> I64:
    """Label the beats at samples ``at`` of a record with so many samples."""
    if FALSE in comments or TRUE in comments:
        return _label_alarm(at, rate_hz, samples, comments)
    if annotated is None:
        return np.full(len(at), NONE if not comments or _NO_RUNS.intersection(comments) else LEFT_OUT, np.int64)
    if annotated.paced:
        label = _label_by_beats(at, rate_hz, annotated)
        return np.where(label == RUN, LEFT_OUT, label)
    if "V" in annotated.beat_class or "N" in annotated.beat_class:
        return _label_by_beats(at, rate_hz, annotated)
    label = np.full(len(at), LEFT_OUT, np.int64)
    for r in annotated.rhythms:
        inner = (at >= r.first + _BEGIN_S * rate_hz) & (at < r.last)
        if r.name == "VT" and r.last - r.first >= _LEAST_VT_S * rate_hz:
            label[inner] = RUN
        elif r.name in _OTHER_RHYTHMS:
            label[inner] = NONE
    return label


def _label_alarm(at: I64, rate_hz: float, samples: int, comments: tuple[str, ...]) -> I64:
    """Label the beats of a bedside alarm that experts judged."""
    label = np.full(len(at), LEFT_OUT, np.int64)
    is_vt = _VT_ALARM in comments
    if FALSE in comments:
        label[at > samples - (_BEFORE_END_S if is_vt else LAST_S) * rate_hz] = NONE
    elif is_vt:
        label[at > samples - LAST_S * rate_hz] = UNMARKED
    return label


def _label_by_beats(at: I64, rate_hz: float, annotated: AnnotatedRecord) -> I64:
    """Label beats by the annotated classes of the beats that they match."""
    partner = pair(annotated.beat, at, round(WIDE_S * rate_hz))
    found = np.array([*annotated.beat_class, ""])[partner]
    label, run, behind = np.empty(len(at), np.int64), 0, _BEHIND
    for k, letter in enumerate(found.tolist()):
        if letter == "V":
            run += 1
        else:
            behind, run = 0 if run >= RUN_BEATS else behind, 0
        behind += 1
        label[k] = RUN if run >= RUN_BEATS else NONE if behind > _BEHIND else LEFT_OUT
        if label[k] == NONE and "F" in found[max(0, k - 2) : k + 1]:
            label[k] = LEFT_OUT
    if len(annotated.excluded):
        spans = annotated.excluded + np.array(
            [[-round(_FLUTTER_BEFORE_S * rate_hz), round(_FLUTTER_BEHIND_S * rate_hz)]]
        )
        label[inside(at, spans)] = LEFT_OUT
    return label
