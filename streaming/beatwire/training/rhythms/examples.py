"""Examples for the judges of the rhythm: features of each decision, labelled by annotations and comments.

In:  records of the references of alarms (``evaluation.bedside``), and recordings of noise
Out: :class:`RhythmExamples`

Fibrillation: a block is fibrillation if 90 % of the last 4 s are marked so, in a stretch of at least 5 s; blocks at the
border of a stretch are left out. Atrial fibrillation: by comment; by rhythm marks, where four fifths of the last
minute are; windows with atrial flutter, or partly in AF, are left out. Records without rhythm marks are in sinus rhythm
with ectopic beats, except where consecutive normal beats are irregular: nobody has marked their rhythm.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.evaluation.bedside.fibrillation import LEAST_S, spans_of
from beatwire.evaluation.bedside.watched import person_of
from beatwire.evaluation.records import AnnotatedRecord
from beatwire.kernels.rhythms.atrial import MINUTE_S
from beatwire.recordings.wfdb.annotations import ENDING
from beatwire.records import F32, I64, TickBeats
from beatwire.records.classification import Judges
from beatwire.records.columns import ORDERED_KIND, ORDERED_SAMPLE
from beatwire.records.events import BEAT, BLOCK
from beatwire.stages.judging import rhythm
from beatwire.training.references import run_references

LEFT_OUT = -1  # label of a decision that is not used
_NOT_AF = frozenset({"sinus", "normal", "noisy"})
_FILLED_S, _LEAST_FILLED_S, _BORDER_S = 4.0, 3.6, 2.0
_IN_AF, _NOT_IN_AF = 0.8, 0.1  # share of a minute
_IRREGULAR, _MOST_IRREGULAR, _FEWEST_NORMAL = 0.1, 0.35, 8


@dataclass(frozen=True)
class RhythmExamples:
    """The decisions of one record.

    person, folder, name, samples   of the record; ``samples`` per lead
    kind                            int64 [d], ``BLOCK`` (fibrillation) or ``BEAT`` (atrial fibrillation)
    features                        float32 [d, FEATURES]
    label                           int64 [d], 1, 0 or ``LEFT_OUT``
    """

    person: str
    folder: str
    name: str
    samples: int
    kind: I64
    features: F32
    label: I64


def read_examples(
    paths: Iterable[Path], judges_path: Path, judges: Judges, progress: Callable[[str], None], ending: str = ENDING
) -> list[RhythmExamples]:
    """Run each record through the graph with the companion models of the detector, and label its decisions.

    Parameters
    ----------
    paths
        Records without suffix.
    judges_path, judges
        Of the graph: any, as features do not depend on them.
    ending
        Of the annotation files.
    """
    examples = []
    fixed, changed = {"rhythm": judges_path, "classes": None, "ventricular": None}, {"with_ventricular": False}
    for one in run_references(paths, lambda alerting: alerting.compared, fixed, changed, ending):
        path = one.path
        progress(f"{path.parent.name}/{path.name}")
        kind, features, label = decisions_of(one.tick, judges, one.annotated, one.comments, one.samples)
        examples.append(
            RhythmExamples(person_of(path), path.parent.name, path.name, one.samples, kind, features, label)
        )
    return examples


def decisions_of(
    tick: TickBeats, judges: Judges, annotated: AnnotatedRecord | None, comments: tuple[str, ...], samples: int
) -> tuple[I64, F32, I64]:
    """Return kind, features and label of each decision about a recording whose beats are one tick."""
    state, _ = rhythm.step(rhythm.State(judges, keeps_features=True), tick)
    assert state.judged is not None
    kind, at = tick.events[:, ORDERED_KIND], tick.events[:, ORDERED_SAMPLE]
    decided = ~np.isnan(state.judged.logit) & (at <= samples)
    rate_hz = tick.aligned.banks[0].rate_hz
    label = np.where(
        kind == BLOCK, label_blocks(at, rate_hz, annotated, comments), label_beats(at, rate_hz, annotated, comments)
    )
    decided &= (kind == BLOCK) | (kind == BEAT)
    return kind[decided], state.judged.features[decided], label[decided]


def label_blocks(end: I64, rate_hz: float, annotated: AnnotatedRecord | None, comments: tuple[str, ...]) -> I64:
    """Label the blocks that end at samples ``end``."""
    label = np.zeros(len(end), np.int64)
    if "Ventricular_Flutter_Fib" in comments and "True alarm" in comments:
        return label + LEFT_OUT  # where it began is not marked
    for first, last in spans_of(annotated) if annotated is not None else []:
        filled = np.minimum(end, last) - np.maximum(end - _FILLED_S * rate_hz, first)
        inside = filled >= _LEAST_FILLED_S * rate_hz
        near = (filled > -_BORDER_S * rate_hz) & (label != 1)
        label[near] = LEFT_OUT
        if last - first >= LEAST_S * rate_hz:
            label[inside] = 1
    return label


def label_beats(at: I64, rate_hz: float, annotated: AnnotatedRecord | None, comments: tuple[str, ...]) -> I64:
    """Label the minutes that end at samples ``at``."""
    if annotated is None:
        known = 1 if "af" in comments else 0 if _NOT_AF.intersection(comments) or not comments else LEFT_OUT
        return np.full(len(at), known, np.int64)
    if not len(annotated.beat):
        return np.full(len(at), LEFT_OUT, np.int64)
    first = np.maximum(0, at - int(MINUTE_S * rate_hz))
    if not annotated.rhythms:
        return np.where(_is_irregular(first, at, annotated), LEFT_OUT, 0)
    af, flutter = (_share(first, at, annotated, name) for name in ("AFIB", "AFL"))
    label = np.where(af > _IN_AF, 1, np.where(af < _NOT_IN_AF, 0, LEFT_OUT))
    return np.where(flutter > 0, LEFT_OUT, label)


def _share(first: I64, end: I64, annotated: AnnotatedRecord, name: str) -> Any:
    """Return the share of each stretch that has a rhythm."""
    covered = np.zeros(len(end))
    for r in annotated.rhythms:
        if r.name == name:
            covered += np.maximum(0, np.minimum(end, r.last) - np.maximum(first, r.first))
    return covered / np.maximum(1, end - first)


def _is_irregular(first: I64, end: I64, annotated: AnnotatedRecord) -> Any:
    """Return in which stretches consecutive normal beats are irregular, or too few to say."""
    beat, normal = annotated.beat, np.array([c == "N" for c in annotated.beat_class])
    rr = np.diff(beat).astype(np.float64)
    unlike = np.abs(np.diff(rr)) > _IRREGULAR * np.minimum(rr[1:], rr[:-1])
    counted = normal[:-2] & normal[1:-1] & normal[2:]
    counted[1:] &= normal[:-3]  # the pause after an ectopic beat is no irregularity
    sums = [np.concatenate([[0], np.cumsum(values)]) for values in (counted, counted & unlike)]
    a = np.searchsorted(beat[:-2], first)
    b = np.maximum(a, np.searchsorted(beat[2:], end))
    n, irregular = (s[b] - s[a] for s in sums)
    return (n < _FEWEST_NORMAL) | (irregular > _MOST_IRREGULAR * n)
