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

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.model.checkpoint import as_lists, fold_path, save_model
from beatwire.model.storage import HELD_OUT_KEY
from beatwire.recordings.wfdb.annotations import ENDING
from beatwire.training.metrics import rounded
from beatwire.training.progress import Progress, ignore
from beatwire.training.settings import FOLDS, VaeSettings, check_out, require, write_figures
from beatwire.training.vae.calibrate import calibrate
from beatwire.training.vae.card import vae_card
from beatwire.training.vae.cross_validation import cross_validate, share_of
from beatwire.training.vae.dataset import read_subjects
from beatwire.training.vae.drift import build_reference, latents
from beatwire.training.vae.figures import NO_VAE, PCA, figures, normal_terms, score_columns
from beatwire.training.vae.network_cache import NetworkCache, training_windows
from beatwire.training.vae.pca import pca
from beatwire.training.vae.population import write_population
from beatwire.training.vae.subgroups import subgroups


def train_vae(
    folders: Sequence[Path],
    out: Path,
    *,
    settings: VaeSettings = VaeSettings(),  # noqa: B008
    annotations: str = ENDING,
    progress: Progress = ignore,
) -> dict[str, Any]:
    """Train, calibrate and cross-validate a scoring model; write it with its config, card, metrics and population.

    Parameters
    ----------
    folders
        Folders of WFDB records with beat annotations. A record is a subject, a folder is a database.
    out
        ``NAME.safetensors``.
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
        torch is not installed, a folder has no annotated record, there are fewer than five subjects, or ``out`` is not
        a ``.safetensors``.
    """
    require("torch", "train vae")
    check_out(out, folders)
    progress(0.0, "reading records")
    subjects = read_subjects(folders, settings.seed, annotations)
    if len(subjects) < FOLDS:
        raise UserError(
            f"{folders[0]}: expected at least {FOLDS} annotated records without a pacemaker; got {len(subjects)}"
        )
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
    write_figures(out, metrics, vae_card(model.name, metrics))
    shutil.rmtree(cache.folder, ignore_errors=True)
    progress(1.0, "done")
    return metrics
