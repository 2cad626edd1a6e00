"""``beatwire train vae``: the scoring model, cross-validated by subject.

1. For each of five folds a network is trained on the normal beats of the subjects of the other four. It computes the
   terms of the beats of its fold, so that no beat is scored by a network that was trained on its subject.
2. The calibration is made from the normal beats of 1: for the figures without the fold that is scored, for the shipped
   model with all folds.
3. The network that ships is trained on the normal beats of all subjects. The five networks of 1 are written beside it
   (``NAME.foldK``), so that a record of the training data can be evaluated with a network that was not trained on it.

Each network is stored in ``NAME.parts/`` as it is done, so that an interrupted run continues where it stopped. The
folder is removed at the end.
"""

import shutil
from dataclasses import asdict
from typing import Any

import numpy as np

from beatwire.model.checkpoint import as_lists, fold_path, save_model
from beatwire.model.storage import HELD_OUT_KEY
from beatwire.training.checks import require_own_names
from beatwire.training.metrics import rounded
from beatwire.training.settings import FOLDS, VaeSettings
from beatwire.training.task import Task
from beatwire.training.vae.calibrate import calibrate
from beatwire.training.vae.card import vae_card
from beatwire.training.vae.cross_validation import assign_folds, cross_validate, share_of
from beatwire.training.vae.dataset import read_subjects
from beatwire.training.vae.drift import build_reference, latents
from beatwire.training.vae.figures import NO_VAE, PCA, figures, normal_terms, score_columns
from beatwire.training.vae.network_cache import NetworkCache, training_windows
from beatwire.training.vae.pca import pca
from beatwire.training.vae.population import write_population
from beatwire.training.vae.subgroups import subgroups


def train_vae(task: Task[VaeSettings]) -> tuple[dict[str, Any], str]:
    """Train the scoring model, its companions and its population."""
    out, settings, progress = task.out, task.settings, task.progress
    progress(0.0, "reading records")
    subjects = read_subjects(task.folders, settings.seed, task.annotations)
    task.require_folds(assign_folds(subjects), "annotated records without a pacemaker")
    require_own_names((s.database, s.name) for s in subjects)
    cache = NetworkCache(out.with_suffix(".parts"), settings, subjects)
    networks, vae, linear = cross_validate(subjects, cache, progress)
    network = cache.network("all", subjects, share_of(progress, FOLDS, "all subjects"))
    columns = score_columns(vae.subjects, linear.subjects)
    windows = training_windows(subjects)[0]
    reference = build_reference(vae.subjects, columns["score"], latents(network, windows))
    reference_pca = build_reference(linear.subjects, columns[PCA], latents(pca(windows, settings.variance), windows))
    metrics = {
        **figures(vae.subjects, columns),
        "subgroups": subgroups(vae.subjects, {name: columns[name] for name in ("score", PCA, NO_VAE)}),
        "noise_against_normal": rounded({"VAE": float(np.mean(vae.noise)), "PCA": float(np.mean(linear.noise))}),
        "drift": rounded({"VAE": vae.drift(reference), "PCA": linear.drift(reference_pca)}),
        "settings": asdict(settings),
    }
    metadata = {"settings": asdict(settings), "reference": as_lists(reference)}
    model = save_model(out, network, calibrate([normal_terms(s) for s in vae.subjects]), metadata)
    metrics["model"] = model.name
    write_population(out, model.name, network, windows)
    for fold, of_fold in enumerate(networks):
        calibration = calibrate([normal_terms(s) for s in vae.subjects if s.fold != fold])
        held_out = {s.subject.name: s.subject.samples for s in vae.subjects if s.fold == fold}
        save_model(fold_path(out, fold), of_fold, calibration, metadata | {HELD_OUT_KEY: held_out})
    shutil.rmtree(cache.folder, ignore_errors=True)
    return metrics, vae_card(model.name, metrics)
