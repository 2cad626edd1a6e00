"""``beatwire train detector``: learned acceptance from annotated records, split by record, the same every time.

1. Every record is rendered and surveyed (``training.renditions``): the peaks that the running detector
   would see, each a beat or not.
2. Five ensembles, each grown from the records of four fifths, say how sure the peaks of the other
   records are: no peak is classified by trees that saw its record. The figures and the calibration are
   from these, and they are kept beside the detector (``NAME.foldK``), so that a record that was
   learned from can be classified by trees that never saw it.
3. The ensemble that ships is grown from all records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.evaluation.match import Counts, count, pair
from beatwire.evaluation.records import Annotated, find_records, read_annotated
from beatwire.kernels import classify
from beatwire.model.checkpoint import fold_path
from beatwire.model.trees import both, calibrate, flatten, save_trees
from beatwire.recordings import read_recording
from beatwire.records import F32, F64, I64, Bool
from beatwire.training.detector_card import detector_card
from beatwire.training.lessons import ALL_LEADS, Lesson, lessons_of
from beatwire.training.renditions import JUDGED_ON, Noises

FOLDS = 5
MATCH_S = 0.15
WAYS = ("by_rule", "by_trees", "all_leads")
Progress = Callable[[float, str], None]  # share done, what is being done


def _silent(done: float, what: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How an ensemble is grown; ``lean`` is added to its logits: misses are worse than what is too much.

    lean, lean_several: of the trees for one lead and for several
    """

    trees: int = 150
    leaves: int = 31
    depth: int = 6
    fewest: int = 50
    lean: float = 1.0
    lean_several: float = 0.75
    rate: float = 0.1
    features: float = 0.6
    ridge: float = 5.0
    seed: int = 0


@dataclass(frozen=True)
class Pupil:
    """A record and all that is learned from it."""

    database: str
    record: Annotated
    lessons: list[Lesson]
    fold: int


def train_detector(
    folders: Sequence[Path],
    out: Path,
    *,
    noise: Sequence[Path] = (),
    growth: Growth = Growth(),
    progress: Progress = _silent,
) -> dict[str, Any]:
    """Train, calibrate, measure and write ``out`` (NAME.safetensors) with its config, card and metrics.

    Parameters
    ----------
    folders
        of WFDB records with beat annotations; a record is a subject, a folder a database.
    noise
        WFDB records of noise without a heart in them, known by their names (``bw``, ``ma``).
        Electrode motion is simulated.

    Returns
    -------
    dict
        the metrics, as written to ``NAME.metrics.json``.

    Raises
    ------
    UserError
        a folder without annotated records, fewer than five records, a wrong file name.
    """
    if out.suffix != ".safetensors":
        raise UserError(f"--out: expected NAME.safetensors; got {out}")
    pupils = read_pupils(folders, noise, growth.seed, lambda done, what: progress(0.5 * done, what))
    if len(pupils) < FOLDS:
        raise UserError(f"{folders[0]}: expected at least {FOLDS} annotated records; got {len(pupils)}")
    return learn(pupils, out, growth, lambda done, what: progress(0.5 + 0.5 * done, what))


def learn(pupils: Sequence[Pupil], out: Path, growth: Growth, progress: Progress) -> dict[str, Any]:
    """Grow, calibrate, measure and write; return the metrics."""
    folds = []
    for fold in range(FOLDS):
        progress(fold / (FOLDS + 1), f"fold {fold + 1} of {FOLDS}")
        folds.append(grow_both([p for p in pupils if p.fold != fold], growth))
    progress(FOLDS / (FOLDS + 1), "all records")
    everything = grow_both(pupils, growth)
    classified = {
        (k, j): logits_of(folds[pupil.fold], lesson, growth)
        for k, pupil in enumerate(pupils)
        for j, lesson in enumerate(pupil.lessons)
    }
    metrics: dict[str, Any] = {"settings": asdict(growth), "databases": figures(pupils, classified)}
    about = {"settings": asdict(growth), "databases": sorted({p.database for p in pupils})}
    chances = {"probability": probability(pupils, classified)}
    for fold, trees in enumerate(folds):
        unseen = {p.record.recording.name: p.record.recording.samples.shape[1] for p in pupils if p.fold == fold}
        save_trees(fold_path(out, fold), nodes_of(trees, growth) | chances, about | {"left_out": unseen})
    ensemble = save_trees(out, nodes_of(everything, growth) | chances, about)
    metrics["model"] = ensemble.name
    out.with_suffix(".metrics.json").write_text(json.dumps(metrics, indent=1) + "\n")
    out.with_suffix(".card.md").write_text(detector_card(ensemble.name, metrics))
    progress(1.0, "done")
    return metrics


def read_pupils(folders: Sequence[Path], noise: Sequence[Path], seed: int, progress: Progress) -> list[Pupil]:
    """Read, render and survey every record of the folders; folds are dealt out in turn within each database."""
    noises = Noises({path.stem: _read_noise(path) for path in noise})
    names = [(folder, number, name) for folder in folders for number, name in enumerate(find_records(folder))]
    pupils = []
    for done, (folder, number, name) in enumerate(names):
        progress(done / len(names), f"{folder.name} {name}")
        record = read_annotated(folder, name)
        pupils.append(Pupil(folder.name, record, lessons_of(record, noises, seed), number % FOLDS))
    return pupils


def _read_noise(path: Path) -> tuple[F64, float]:
    recording = read_recording(path if path.suffix else path.with_suffix(".hea"))
    return recording.samples.astype(np.float64), recording.rate_hz


Judged = dict[tuple[int, int], F64]  # (record, lesson) -> logits of its peaks, by trees that did not see the record


def logits_of(trees: Pair, lesson: Lesson, growth: Growth) -> F64:
    """Return the logits of a lesson's peaks, as the stage works them out but for what a lane begins with."""
    found = lesson.survey
    logits: F64 = np.empty(len(found.at))
    for booster, lean, mine in zip(
        trees, (growth.lean, growth.lean_several), (~found.several, found.several), strict=True
    ):
        if mine.any():
            logits[mine] = booster.predict(found.features[mine], raw_score=True) + lean
    logits[found.typical] = classify.TYPICAL_LOGIT
    return logits


Pair = tuple[Any, Any]  # boosters for one lead and for several
Rows = tuple[F32, Bool, F64]  # features [r, .], whether each is a beat, weight


def grow_both(pupils: Sequence[Pupil], growth: Growth) -> Pair:
    """Grow the trees for one lead and, from all leads together, those for several."""
    return grow(rows(pupils, several=False), growth), grow(rows(pupils, several=True), growth)


def nodes_of(trees: Pair, growth: Growth) -> dict[str, Any]:
    """Return the arrays of both ensembles."""
    return both(flatten(trees[0], growth.lean), flatten(trees[1], growth.lean_several))


def rows(pupils: Sequence[Pupil], *, several: bool) -> Rows:
    """Return what an ensemble is grown from: peaks that are not typical."""
    parts = []
    for pupil in pupils:
        for lesson in pupil.lessons:
            if several != (lesson.lead == ALL_LEADS):
                continue
            use = lesson.use & ~lesson.survey.typical
            parts.append((lesson.survey.features[use], lesson.is_beat[use], lesson.weight[use]))
    x, y, weight = zip(*parts, strict=True)
    return np.concatenate(x), np.concatenate(y), np.concatenate(weight)


def grow(learned: Rows, growth: Growth) -> Any:
    """Grow an ensemble, the same every time."""
    try:
        import lightgbm
    except ImportError as error:
        raise UserError("train detector: expected LightGBM; install beatwire[train]") from error
    x, y, weight = learned
    settings = {
        "objective": "binary", "num_leaves": growth.leaves, "max_depth": growth.depth,
        "learning_rate": growth.rate, "min_data_in_leaf": growth.fewest, "feature_fraction": growth.features,
        "lambda_l2": growth.ridge, "max_bin": 127, "seed": growth.seed, "deterministic": True,
        "force_row_wise": True, "verbosity": -1,
    }  # fmt: skip
    return lightgbm.train(settings, lightgbm.Dataset(x, y, weight=weight), growth.trees)


def counts(pupil: Pupil, lesson: Lesson, accepted: Bool) -> Counts:
    """Match accepted peaks with the beats of a lesson."""
    at: I64 = lesson.survey.at[accepted]
    partner = pair(lesson.beat, at, int(MATCH_S * pupil.record.recording.rate_hz))
    return count(lesson.beat, at, partner, pupil.record.excluded)


def figures(pupils: Sequence[Pupil], classified: Judged) -> dict[str, Any]:
    """F1 of every database (paced records apart), the rule beside the trees, and the clean records one by one."""
    found: dict[str, Any] = {}
    for k, pupil in enumerate(pupils):
        group = "paced" if pupil.record.paced else pupil.database
        one = found.setdefault(group, {"records": {}, "by_rule": {}, "by_trees": {}, "all_leads": {}})
        for j, lesson in enumerate(pupil.lessons):
            if lesson.name not in JUDGED_ON or lesson.lead not in (0, ALL_LEADS):
                continue
            trees = counts(pupil, lesson, classified[k, j] > 0)
            told = {"all_leads": trees} if lesson.lead else {"by_rule": counts(pupil, lesson, lesson.by_rule)}
            for by, these in (told if lesson.lead else told | {"by_trees": trees}).items():
                one[by][lesson.name] = one[by].get(lesson.name, Counts()) + these
            if lesson.name == JUDGED_ON[0] and lesson.lead == 0:
                one["records"][pupil.record.recording.name] = round(trees.f1, 3)
    for one in found.values():
        for by in WAYS:
            one[by] = {
                name: {"f1": round(c.f1, 3), "se": round(c.se, 3), "ppv": round(c.ppv, 3)}
                for name, c in one[by].items()
            }
    return found


def probability(pupils: Sequence[Pupil], classified: Judged) -> F64:
    """Calibrate: how often a peak of a logit was a beat, on first leads as they are and in every rendition."""
    parts = [
        (classified[k, j], lesson.is_beat, np.where(lesson.counts, lesson.plain, 0.0))
        for k, pupil in enumerate(pupils)
        for j, lesson in enumerate(pupil.lessons)
    ]
    logit, right, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    return calibrate(logit, right.astype(np.float64), weight)
