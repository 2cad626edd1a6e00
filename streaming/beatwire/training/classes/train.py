"""``beatwire train classes``: the trees that determine the class of a beat, cross-validated by record.

1. The beats that the streamed graph finds in every record, and their features (``training.classes.examples``).
2. For each of five folds trees are trained on the records of the other four, and classify the beats of their fold.
   Figures and calibration are from these. The trees of the folds are written beside the shipped ones
   (``NAME.foldK``), so that a record of the training data can be evaluated with trees that were not trained on it.
3. For each database the trees that were trained on the others classify its beats: figures of another recorder.
4. The trees that ship are trained on all records. Records of paced hearts are in no training data.

Recordings without annotated beats are in the training data too, by the comment in their header: a beat in atrial
fibrillation is not S, one of a normal recording is neither, one of a noisy recording is not V.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.evaluation.result import NO_BEAT
from beatwire.kernels.peaks.risk import LOGIT_RANGE
from beatwire.model.classes import save_classes
from beatwire.records import F64
from beatwire.training.checks import require_own_names
from beatwire.training.classes.card import class_card
from beatwire.training.classes.examples import ClassRecord, read_class_records
from beatwire.training.classes.figures import HeldOut, called, figures
from beatwire.training.classes.forest import ClassForest, logits, train_forest
from beatwire.training.forest import Forest, arrays_of, calibrate
from beatwire.training.settings import FOLDS, ClassTreeSettings
from beatwire.training.task import Task


def train_classes(task: Task[ClassTreeSettings]) -> tuple[dict[str, Any], str]:
    """Train the trees of beat classes and their companions."""
    settings, progress = task.settings, task.part(0.5, 0.5)
    records = read_class_records(task.folders, task.part(0.0, 0.5), task.annotations)
    task.require_folds(r.fold for r in records)
    require_own_names((r.database, r.name) for r in records)
    databases = sorted({r.database for r in records if not r.comment})
    steps = FOLDS + len(databases) + 1

    def forest_of(rows: Sequence[ClassRecord], step: int, name: str) -> ClassForest:
        progress(step / steps, name)
        return train_forest((one for r in rows if not r.paced for one in r.examples), settings)

    def held_out_by(forest: ClassForest, rows: Sequence[ClassRecord]) -> dict[str, list[F64]]:
        return {r.name: [logits(forest, one) for one in r.examples] for r in rows}

    folds: list[ClassForest] = []
    held_out: dict[str, list[F64]] = {}
    across: dict[str, list[F64]] = {}
    for fold in range(FOLDS):
        folds.append(forest_of([r for r in records if r.fold != fold], fold, f"fold {fold + 1} of {FOLDS}"))
        held_out |= held_out_by(folds[-1], [r for r in records if r.fold == fold])
    for k, database in enumerate(databases if len(databases) > 1 else []):
        others = forest_of([r for r in records if r.database != database], FOLDS + k, f"without {database}")
        across |= held_out_by(others, [r for r in records if r.database == database])
    calibration = calibration_of(records, held_out)
    least = settings.least_v, settings.least_s
    metrics: dict[str, Any] = {
        "settings": asdict(settings),
        "by comment": sorted({r.database for r in records if r.comment}),
        "databases": figures(records, held_out, calibration, least),
        "across": figures([r for r in records if r.name in across], across, calibration, least),
        "unannotated": called(records, held_out, calibration, least),
    }
    metadata = {"settings": asdict(settings), "databases": sorted({r.database for r in records})}

    def save(path: Path, forest: ClassForest, more: dict[str, Any]) -> str:
        arrays = arrays_of(Forest(*forest), settings.of_v()) | {"probability": calibration}
        return save_classes(path, arrays, least, more).ensemble.name

    forests = [*folds, forest_of(records, steps - 1, "all records")]
    metrics["model"] = task.save_folds(
        save, forests, lambda fold: {r.name: r.samples for r in records if r.fold == fold}, metadata
    )
    return metrics, class_card(metrics["model"], metrics)


def calibration_of(records: Sequence[ClassRecord], held_out: HeldOut) -> F64:
    """Return the probability at each knot of a logit, of both boosters together, on leads that are judged.

    Without normal people: they would make every probability small.
    """
    logit, right = [], []
    for r in records:
        for one, rows in zip(r.examples, held_out[r.name], strict=True):
            use = one.use & ~one.typical & one.judged & (not r.paced) & (not one.healthy)
            v = use & np.isin(one.label, ["N", "S", "V", NO_BEAT])
            s = use & np.isin(one.label, ["N", "S"])
            logit += [rows[0, v], rows[1, s]]
            right += [one.label[v] == "V", one.label[s] == "S"]
    every = np.concatenate(logit)
    return calibrate(
        np.clip(every, -LOGIT_RANGE, LOGIT_RANGE), np.concatenate(right).astype(float), np.ones(len(every))
    )
