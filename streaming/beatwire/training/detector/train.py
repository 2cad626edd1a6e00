"""``beatwire train detector``: the trees that accept or reject candidate peaks, cross-validated by record.

1. The candidate peaks of every record and its augmentations are found and labelled (``training.detector.examples``).
2. For each of five folds a forest is trained on the records of the other four. It classifies the peaks of its fold, so
   that no peak is classified by trees that were trained on its record. Figures and calibration are from these. The
   five forests are written beside the detector (``NAME.foldK``), so that a record of the training data can be
   evaluated with trees that were not trained on it.
3. The forest that ships is trained on all records.
"""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.evaluation.records import find_records, read_annotated
from beatwire.model.trees import save_trees
from beatwire.recordings.wfdb.annotations import ENDING
from beatwire.records import F64
from beatwire.training.checks import read_noises, require_own_names, require_seconds
from beatwire.training.detector.augmentation import RECORDED, NoiseBank
from beatwire.training.detector.card import detector_card
from beatwire.training.detector.examples import examples_of
from beatwire.training.detector.figures import HeldOutLogits, TrainingRecord, figures
from beatwire.training.folds import Folds
from beatwire.training.forest import Forest, arrays_of, calibrate, logits, train_forest
from beatwire.training.progress import Progress
from beatwire.training.settings import FOLDS, TreeSettings
from beatwire.training.task import Task

LEAST_RECORD_S = 10.0


def train_detector(task: Task[TreeSettings]) -> tuple[dict[str, Any], str]:
    """Train the trees of the detector and their companions."""
    settings, progress = task.settings, task.part(0.5, 0.5)
    records = read_training_records(task.folders, task.noise, settings.seed, task.part(0.0, 0.5), task.annotations)
    task.require_folds(r.fold for r in records)

    def forest_without(fold: int | None) -> Forest:
        return train_forest((examples for r in records if r.fold != fold for examples in r.examples), settings)

    forests = []
    for fold in range(FOLDS):
        progress(fold / (FOLDS + 1), f"fold {fold + 1} of {FOLDS}")
        forests.append(forest_without(fold))
    progress(FOLDS / (FOLDS + 1), "all records")
    forests.append(forest_without(None))
    held_out_logits = {
        (k, j): logits(forests[record.fold], examples, settings)
        for k, record in enumerate(records)
        for j, examples in enumerate(record.examples)
    }
    metrics: dict[str, Any] = {"settings": asdict(settings), "databases": figures(records, held_out_logits)}
    metadata = {"settings": settings.stored(), "databases": sorted({r.database for r in records})}
    calibration = {"probability": probability(records, held_out_logits)}
    arrays = [arrays_of(forest, settings) | calibration for forest in forests]
    ensemble = task.save_folds(save_trees, arrays, partial(held_out_of, records), metadata)
    metrics["model"] = ensemble.name
    return metrics, detector_card(ensemble.name, metrics)


def held_out_of(records: Sequence[TrainingRecord], fold: int) -> dict[str, int]:
    """Return the records of a fold and their numbers of samples."""
    return {r.record.recording.name: r.record.recording.samples.shape[1] for r in records if r.fold == fold}


def read_training_records(
    folders: Sequence[Path], noise: Sequence[Path], seed: int, progress: Progress, ending: str = ENDING
) -> list[TrainingRecord]:
    """Read every record of the folders with its examples; folds are assigned by :class:`Folds`."""
    noises = NoiseBank(read_noises(noise, RECORDED))
    names = [(folder, name) for folder in folders for name in find_records(folder, ending)]
    require_own_names((folder.name, name) for folder, name in names)
    records, folds = [], Folds()
    for done, (folder, name) in enumerate(names):
        progress(done / len(names), f"{folder.name} {name}")
        record = read_annotated(folder, name, ending)
        require_seconds(folder.name, record, LEAST_RECORD_S)
        records.append(
            TrainingRecord(
                folder.name, record, examples_of(record, noises, seed), folds.of(str(folder), record.subject)
            )
        )
    return records


def probability(records: Sequence[TrainingRecord], held_out_logits: HeldOutLogits) -> F64:
    """Calibrate the logits on the counted peaks of all examples: probability of a beat at each knot."""
    parts = [
        (held_out_logits[k, j], examples.is_beat, np.where(examples.counted, examples.uniform_weight, 0.0))
        for k, record in enumerate(records)
        for j, examples in enumerate(record.examples)
    ]
    logit, is_beat, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    return calibrate(logit, is_beat.astype(np.float64), weight)
