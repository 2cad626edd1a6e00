"""``beatwire train detector``: the trees that accept or reject candidate peaks, cross-validated by record.

1. The candidate peaks of every record and its augmentations are found and labelled (``training.detector.examples``).
2. For each of five folds a forest is trained on the records of the other four. It classifies the peaks of its fold, so
   that no peak is classified by trees that were trained on its record. Figures and calibration are from these. The
   five forests are written beside the detector (``NAME.foldK``), so that a record of the training data can be
   evaluated with trees that were not trained on it.
3. The forest that ships is trained on all records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.evaluation.records import find_records, read_annotated
from beatwire.model.checkpoint import fold_path
from beatwire.model.storage import HELD_OUT_KEY
from beatwire.model.trees import save_trees
from beatwire.recordings import read_recording
from beatwire.recordings.wfdb.annotations import ENDING
from beatwire.records import F64
from beatwire.training.detector.augmentation import NoiseBank
from beatwire.training.detector.card import detector_card
from beatwire.training.detector.examples import examples_of
from beatwire.training.detector.figures import HeldOutLogits, TrainingRecord, figures
from beatwire.training.forest import Forest, arrays_of, calibrate, logits, train_forest
from beatwire.training.progress import Progress, ignore
from beatwire.training.settings import FOLDS, TreeSettings, check_out, require, write_figures


def train_detector(
    folders: Sequence[Path],
    out: Path,
    *,
    noise: Sequence[Path] = (),
    settings: TreeSettings = TreeSettings(),  # noqa: B008
    annotations: str = ENDING,
    progress: Progress = ignore,
) -> dict[str, Any]:
    """Train, calibrate and cross-validate a detector; write it with its config, card and metrics.

    Parameters
    ----------
    folders
        Folders of WFDB records with beat annotations. A record is a subject, a folder is a database.
    out
        ``NAME.safetensors``.
    noise
        WFDB records of noise without a heartbeat, identified by their names (``bw``, ``ma``). Electrode motion is
        simulated.
    settings
        Settings of the training.
    annotations
        Ending of the annotation files.
    progress
        Called with the share done and the current step.

    Returns
    -------
    dict
        The metrics, as written to ``NAME.metrics.json``.

    Raises
    ------
    UserError
        LightGBM is not installed, a folder has no annotated record, there are fewer than five records, or ``out`` is
        not a ``.safetensors``.
    """
    require("lightgbm", "train detector")
    check_out(out, folders, noise)
    records = read_training_records(
        folders, noise, settings.seed, lambda done, step: progress(0.5 * done, step), annotations
    )
    if len(records) < FOLDS:
        raise UserError(f"{folders[0]}: expected at least {FOLDS} annotated records; got {len(records)}")
    return _train(records, out, settings, lambda done, step: progress(0.5 + 0.5 * done, step))


def _train(records: Sequence[TrainingRecord], out: Path, settings: TreeSettings, progress: Progress) -> dict[str, Any]:
    """Train all forests, write everything and return the metrics."""

    def forest_without(fold: int | None) -> Forest:
        return train_forest((examples for r in records if r.fold != fold for examples in r.examples), settings)

    folds = []
    for fold in range(FOLDS):
        progress(fold / (FOLDS + 1), f"fold {fold + 1} of {FOLDS}")
        folds.append(forest_without(fold))
    progress(FOLDS / (FOLDS + 1), "all records")
    forest = forest_without(None)
    held_out_logits = {
        (k, j): logits(folds[record.fold], examples, settings)
        for k, record in enumerate(records)
        for j, examples in enumerate(record.examples)
    }
    metrics: dict[str, Any] = {"settings": asdict(settings), "databases": figures(records, held_out_logits)}
    metadata = {"settings": settings.stored(), "databases": sorted({r.database for r in records})}
    calibration = {"probability": probability(records, held_out_logits)}
    for fold, trees in enumerate(folds):
        held_out = {r.record.recording.name: r.record.recording.samples.shape[1] for r in records if r.fold == fold}
        save_trees(fold_path(out, fold), arrays_of(trees, settings) | calibration, metadata | {HELD_OUT_KEY: held_out})
    ensemble = save_trees(out, arrays_of(forest, settings) | calibration, metadata)
    metrics["model"] = ensemble.name
    write_figures(out, metrics, detector_card(ensemble.name, metrics))
    progress(1.0, "done")
    return metrics


def read_training_records(
    folders: Sequence[Path], noise: Sequence[Path], seed: int, progress: Progress, ending: str = ENDING
) -> list[TrainingRecord]:
    """Read every record of the folders with its examples; folds are assigned in turn within each database."""
    noises = NoiseBank({path.stem: read_noise(path) for path in noise})
    names = [(folder, number, name) for folder in folders for number, name in enumerate(find_records(folder, ending))]
    records = []
    for done, (folder, number, name) in enumerate(names):
        progress(done / len(names), f"{folder.name} {name}")
        record = read_annotated(folder, name, ending)
        records.append(TrainingRecord(folder.name, record, examples_of(record, noises, seed), number % FOLDS))
    return records


def read_noise(path: Path) -> tuple[F64, float]:
    """Return the samples of a WFDB record of noise, float64 [leads, n], and its rate in Hz."""
    recording = read_recording(path if path.suffix else path.with_suffix(".hea"))
    return recording.samples.astype(np.float64), recording.rate_hz


def probability(records: Sequence[TrainingRecord], held_out_logits: HeldOutLogits) -> F64:
    """Calibrate the logits on the counted peaks of all examples: probability of a beat at each knot."""
    parts = [
        (held_out_logits[k, j], examples.is_beat, np.where(examples.counted, examples.uniform_weight, 0.0))
        for k, record in enumerate(records)
        for j, examples in enumerate(record.examples)
    ]
    logit, is_beat, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    return calibrate(logit, is_beat.astype(np.float64), weight)
