"""The training data of the beat classes: features of the beats that the streamed graph finds, with annotated classes.

In:  folders of annotated WFDB records
Out: one :class:`ClassRecord` per record, with its beats on the first lead, the second lead, and both

A record without annotated beats is used by the comment in its header: beats in atrial fibrillation are not S, those of
a normal recording are neither S nor V, and those of a recording that is too noisy for people are not V. (Some are, but
few.) Its beats are not judged; which of them are called S or V is.

A database with fewer than one abnormal beat in a thousand is of normal people; V trees are trained without them.

A record of the training data of the detector is processed by the companion that was not trained on it: so its beats are
found as those of other people are.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from beatwire.evaluation.beats.match import inside, pair
from beatwire.evaluation.bedside.watched import comments_of, ecg_leads
from beatwire.evaluation.records import AnnotatedRecord, find_records, read_annotated
from beatwire.evaluation.result import NO_BEAT, WIDE_S, missed_classes
from beatwire.evaluation.streamed import Streamed
from beatwire.kernels.classes.beat_class import LEAST_QUALITY
from beatwire.model.rhythm import load_rhythm_judges
from beatwire.offline.analyze import LONG_PASS_S
from beatwire.offline.analyzer import Analyzer
from beatwire.pipeline.settings import Settings
from beatwire.recordings import Recording, read_recording
from beatwire.recordings.wfdb.annotations import ENDING, annotation_file
from beatwire.records import F32, I64, Bool, TickBeats
from beatwire.stages.judging import beat_class, rhythm
from beatwire.training.folds import Folds
from beatwire.training.progress import Progress

IN_AF, NORMAL, NOISY = "not S", "neither", "not V"  # labels of beats that are not annotated
HEALTHY = 0.001  # share of abnormal beats below which a database is of normal people
BY_COMMENT = {"af": IN_AF, "normal": NORMAL, "noisy": NOISY}
FIRST, SECOND, BOTH = slice(0, 1), slice(1, 2), slice(0, 2)


@dataclass(frozen=True, slots=True)
class ClassExamples:
    """The beats found on some leads of a record.

    several   whether these are two leads
    judged    True: the figures are of these leads; False: they are training data only
    features  float32 [b, FEATURES], NaN of typical beats
    label     str [b], annotated class, ``NO_BEAT`` where none is annotated, or a label of ``BY_COMMENT``
    use       bool [b], not in an excluded span
    fibrillating  bool [b], in atrial fibrillation as a judge says that has not seen the record: it is not S
    missed    str [m], classes of annotated beats that were not found
    annotated whether beats of the record are annotated
    healthy   whether the database is of normal people
    """

    several: bool
    judged: bool
    features: F32
    label: np.ndarray
    use: Bool
    fibrillating: Bool
    missed: np.ndarray
    annotated: bool = True
    healthy: bool = False

    @property
    def typical(self) -> Bool:
        """Beats that are normal without the trees: bool [b]."""
        return np.isnan(self.features[:, 0])


@dataclass(frozen=True, slots=True)
class ClassRecord:
    """A record with its examples, and the fold in which it is held out.

    paced    True: the record of a paced heart, which is in no training data
    comment  in the header of a record without annotated beats, a key of ``BY_COMMENT``, or empty
    """

    database: str
    name: str
    samples: int
    paced: bool
    examples: list[ClassExamples]
    fold: int
    comment: str = ""


def read_class_records(folders: Sequence[Path], progress: Progress, ending: str = ENDING) -> list[ClassRecord]:
    """Read every record of the folders; folds are assigned by :class:`Folds`.

    Raises
    ------
    UserError
        A folder has no record with annotated beats or with a comment of ``BY_COMMENT``, or a record cannot be read.
    """
    graph = Streamed()
    held_out = graph.held_out()
    names = [(folder, path) for folder in folders for path in _records_of(folder, ending)]
    records, folds = [], Folds()
    for done, (folder, path) in enumerate(names):
        progress(done / len(names), f"{folder.name} {path.name}")
        annotated, comment = _read(path, ending)
        recording = annotated.recording
        name, samples = recording.name, recording.samples.shape[1]
        companion = held_out.get((name, samples), graph)
        assert isinstance(companion, Streamed)
        found, fold = list(examples_of(annotated, companion, comment)), folds.of(str(folder), annotated.subject)
        records.append(ClassRecord(folder.name, name, samples, annotated.paced, found, fold, comment))
    return _marked(records)


def _marked(records: Sequence[ClassRecord]) -> list[ClassRecord]:
    """Return the records, those of databases of normal people marked as such."""
    beats, abnormal = Counter[str](), Counter[str]()
    for r in records:
        label = r.examples[0].label if not r.comment else np.zeros(0, "U1")
        beats[r.database] += len(label)
        abnormal[r.database] += int(np.isin(label, ["S", "V", "F"]).sum())
    healthy = {name for name, n in beats.items() if n and abnormal[name] < HEALTHY * n}
    return [
        replace(r, examples=[replace(one, healthy=True) for one in r.examples]) if r.database in healthy else r
        for r in records
    ]


def _records_of(folder: Path, ending: str) -> list[Path]:
    """Return the records of a folder: those with annotations, or if it has none, those with a known comment."""
    if folder.is_dir() and not any(folder.glob(f"*.{ending}")):
        found = [p.with_suffix("") for p in sorted(folder.glob("*.hea")) if _comment_of(p.with_suffix(""))]
        if found:
            return found
    return [folder / name for name in find_records(folder, ending)]


def _comment_of(path: Path) -> str:
    """Return the key of ``BY_COMMENT`` in the header of a record; empty if there is none."""
    return next((comment for comment in comments_of(path) if comment in BY_COMMENT), "")


def _read(path: Path, ending: str) -> tuple[AnnotatedRecord, str]:
    """Read a record; without annotations it has no beats, and its comment is returned."""
    if annotation_file(path, ending).exists():
        return read_annotated(path.parent, path.name, ending), ""
    recording = ecg_leads(read_recording(path.with_name(f"{path.name}.hea")))
    none = np.zeros(0, np.int64)
    return AnnotatedRecord(recording, none, (), none.reshape(0, 2)), _comment_of(path)


def examples_of(record: AnnotatedRecord, graph: Streamed, comment: str = "") -> Iterator[ClassExamples]:
    """Yield the examples of a record: of its first lead, and of its second one and both if it has two."""
    settings = replace(Settings(), pass_s=LONG_PASS_S, model=graph.model, trees=graph.trees, with_classes=False)
    recording = record.recording
    for leads in (FIRST, SECOND, BOTH)[: 1 if len(recording.samples) == 1 else 3]:
        samples = np.ascontiguousarray(recording.samples[leads])
        part = Recording(recording.name, recording.rate_hz, recording.leads[leads], recording.uv_per_unit, samples)
        beats = Analyzer(settings).analyze(part, recording.name)[0].beats
        classes, features = beat_class.classify(beat_class.State(None), beats, keep_features=True)
        fibrillating = in_fibrillation(replace(beats, normal_measures=classes.normal), graph.rhythm)
        features[np.isnan(features[:, -1])] = np.nan
        if comment:
            label = np.full(len(beats.sample), BY_COMMENT[comment])
            likely = beats.quality >= LEAST_QUALITY
            yield ClassExamples(
                leads is BOTH, False, features, label, likely, fibrillating, np.zeros(0, "U1"), annotated=False
            )
        else:
            label, use, missed = label_beats(record, beats.sample)
            yield ClassExamples(leads is BOTH, leads is not SECOND, features, label, use, fibrillating, missed)


def in_fibrillation(beats: TickBeats, judges: Path | None) -> Bool:
    """Return which beats of a record are in atrial fibrillation, bool [b]; None: by the shipped judges."""
    judged = rhythm.step(rhythm.State(load_rhythm_judges(judges)), beats)[1].rhythm
    assert judged is not None
    return judged.certain


def label_beats(record: AnnotatedRecord, sample: I64) -> tuple[np.ndarray, Bool, np.ndarray]:
    """Return the annotated class of each beat found, whether it counts, and the classes of annotated beats not found.

    Parameters
    ----------
    sample
        int64 [b], R of the beats found.
    """
    partner = pair(record.beat, sample, round(WIDE_S * record.recording.rate_hz))
    classes = np.array([*record.beat_class, NO_BEAT])
    excluded = np.where(partner >= 0, inside(record.beat[partner], record.excluded), inside(sample, record.excluded))
    return classes[partner], ~excluded, np.array(missed_classes(record, partner))
