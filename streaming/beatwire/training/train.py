"""``beatwire train vae``: a model from annotated records, split by subject, the same every time.

1. Five networks, each trained on the normal beats of four fifths of the subjects, say how the
   beats of the others look: no beat is classified by a network that saw its owner.
2. The tables of the calibration come from the normal beats in 1. For the figures they are built
   without the classified fold, for the shipped model with all.
3. The network that ships is trained on the normal beats of everybody. The five of 1 ship beside it
   (``NAME.foldK``), so that a record that was learned from can be classified by one that never saw it.

Each network is written beside the model as it is done (``NAME.parts/``), so that an interrupted run
goes on where it stopped; the folder is removed at the end.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from beatwire.backends.network import Network
from beatwire.errors import UserError
from beatwire.model.checkpoint import as_lists, fold_path, save_model
from beatwire.records import F32, F64, Terms
from beatwire.stages.drift import Reference, radius
from beatwire.stages.history import Memory, streams_of, terms_of, usual_scale
from beatwire.training.calibrate import calibrate
from beatwire.training.card import card
from beatwire.training.dataset import NORMAL, Subject, read_subjects
from beatwire.training.drift import latents, reference, whitening
from beatwire.training.measure import rounded
from beatwire.training.report import NO_VAE, PCA, Judged, columns_of, normal, report
from beatwire.training.vae import TrainSettings, fit, pca
from beatwire.training.where import noise_area, noise_windows, told, turned, where

FOLDS = 5
MOST_SIZE = 15.0  # usual sizes: beyond, a window is an artefact and not learned from
Progress = Callable[[float, str], None]  # share done, what is being done


def _silent(done: float, what: str) -> None:
    """Tell nobody."""


def train_vae(
    folders: Sequence[Path],
    out: Path,
    *,
    settings: TrainSettings = TrainSettings(),  # noqa: B008
    progress: Progress = _silent,
) -> dict[str, Any]:
    """Train, calibrate, measure and write ``out`` (NAME.safetensors) with its config, card and metrics.

    Parameters
    ----------
    folders
        of WFDB records with beat annotations; a record is a subject, a folder a database.
    progress
        is told the share done, 0 to 1, and what is being done.

    Returns
    -------
    dict
        the metrics, as written to ``NAME.metrics.json``.

    Raises
    ------
    UserError
        a folder without annotated records, fewer than five subjects, a wrong file name.
    """
    if out.suffix != ".safetensors":
        raise UserError(f"--out: expected NAME.safetensors; got {out}")
    progress(0.0, "reading records")
    subjects = read_subjects(folders, settings.seed)
    if len(subjects) < FOLDS:
        raise UserError(
            f"{folders[0]}: expected at least {FOLDS} annotated records without a pacemaker; got {len(subjects)}"
        )
    parts = Parts(out.with_suffix(".parts"), settings, subjects)
    networks, vae, linear = judge_folds(subjects, parts, progress)
    network = parts.network("all", subjects, _share(progress, FOLDS, "all subjects"))
    columns = columns_of(vae.classified, linear.classified)
    windows = learned(subjects)[0]
    drift = reference(vae.classified, columns["score"], latents(network, windows))
    plain = reference(linear.classified, columns[PCA], latents(pca(windows, settings.variance), windows))
    metrics = {
        **report(vae.classified, columns),
        "where": where(vae.classified, {name: columns[name] for name in ("score", PCA, NO_VAE)}),
        "noise_against_normal": rounded({n: float(np.mean(b.noise)) for n, b in (("VAE", vae), ("PCA", linear))}),
        "drift": rounded({"VAE": vae.drift(drift), "PCA": linear.drift(plain)}),
        "settings": asdict(settings),
    }
    about = {"settings": asdict(settings), "reference": as_lists(drift)}
    model = save_model(out, network, calibrate([normal(j) for j in vae.classified]), about)
    metrics["model"] = model.name
    for fold, seeing in enumerate(networks):
        tables = calibrate([normal(j) for j in vae.classified if j.fold != fold])
        left_out = {j.subject.name: j.subject.samples for j in vae.classified if j.fold == fold}
        save_model(fold_path(out, fold), seeing, tables, about | {"left_out": left_out})
    out.with_suffix(".metrics.json").write_text(json.dumps(metrics, indent=1) + "\n")
    out.with_suffix(".card.md").write_text(card(model.name, metrics))
    shutil.rmtree(parts.folder, ignore_errors=True)
    progress(1.0, "done")
    return metrics


@dataclass(frozen=True, slots=True)
class Bench:
    """What one kind of network said of everybody, each by one that had not seen them.

    classified, upside_down   as recorded, and with the lead turned
    noise                 of each fold, see ``noise_area``
    """

    classified: list[Judged] = field(default_factory=list)
    upside_down: list[Judged] = field(default_factory=list)
    noise: list[float] = field(default_factory=list)

    def take(self, network: Network, fold: int, units: tuple[F64, F64], unseen: Sequence[Subject], noise: F32) -> None:
        """Let a network judge people that it has not seen; ``units`` are those of the radius."""
        for kept, some in ((self.classified, unseen), (self.upside_down, [turned(s) for s in unseen])):
            terms = [judge(network, s) for s in some]
            kept += [Judged(s, fold, t, radius(*units, t.latent)) for s, t in zip(some, terms, strict=True)]
        self.noise.append(noise_area(network, noise, self.classified[-len(unseen) :]))

    def drift(self, reference: Reference) -> dict[str, float]:
        """Return the limit, and the shares of minutes above it."""
        return {
            "limit": reference.limit,
            "as_recorded": told(reference, self.classified),
            "upside_down": told(reference, self.upside_down),
        }


def judge_folds(subjects: Sequence[Subject], parts: Parts, progress: Progress) -> tuple[list[Network], Bench, Bench]:
    """Return the networks of the folds, and what they and PCA of the same size say of those they have not seen."""
    folds, noise = split(subjects), noise_windows()
    networks, vae, linear = list[Network](), Bench(), Bench()
    for fold in range(FOLDS):
        known = [s for s, f in zip(subjects, folds, strict=True) if f != fold]
        unseen = [s for s, f in zip(subjects, folds, strict=True) if f == fold]
        networks.append(parts.network(f"fold{fold}", known, _share(progress, fold, f"fold {fold + 1} of {FOLDS}")))
        windows = learned(known)[0]
        for bench, network in ((vae, networks[-1]), (linear, pca(windows, parts.settings.variance))):
            bench.take(network, fold, whitening(latents(network, windows)), unseen, noise)
    return networks, vae, linear


class Parts:
    """The networks of a run that are done, kept in a folder named by everything they depend on."""

    def __init__(self, folder: Path, settings: TrainSettings, subjects: Sequence[Subject]) -> None:
        self.folder = folder
        self.settings = settings
        digest = hashlib.sha256(json.dumps(asdict(settings)).encode())
        for s in subjects:
            digest.update(s.name.encode() + s.beats.windows.tobytes())
        self.key = digest.hexdigest()[:16]

    def network(self, name: str, subjects: Sequence[Subject], progress: Callable[[float], None]) -> Network:
        """Return the network of that name, trained on the normal beats of ``subjects`` unless it is there."""
        path = self.folder / f"{self.key}-{name}.safetensors"
        names = [f.name for f in fields(Network) if f.name != "variance"]
        if path.exists():
            kept = load_file(path)
            return Network(**{n: kept[n] for n in names}, variance=self.settings.variance)
        windows, weight = learned(subjects)
        steps = self.settings.steps
        network = fit(windows, weight, self.settings, lambda step: progress(step / steps))
        self.folder.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        save_file({n: getattr(network, n) for n in names}, unfinished)
        unfinished.rename(path)
        return network


def split(subjects: Sequence[Subject]) -> list[int]:
    """Return the fold of each subject: dealt out in turn within each database."""
    dealt: dict[str, int] = {}
    folds = []
    for s in subjects:
        folds.append(dealt.get(s.database, 0) % FOLDS)
        dealt[s.database] = dealt.get(s.database, 0) + 1
    return folds


def learned(subjects: Sequence[Subject]) -> tuple[F32, F64]:
    """Return the normal windows of subjects in usual sizes [n, 256], and how often to draw each [n].

    A subject counts with the square root of its number of beats.
    """
    chosen, weight = [], []
    for s in subjects:
        memory = Memory()
        memory.grow(1)
        scaled = s.beats.windows * usual_scale(memory, s.beats, len(s.beats.slot), streams_of(s.beats.slot))[:, None]
        rows = (s.label == NORMAL) & (np.abs(scaled).max(1) < MOST_SIZE)
        chosen.append(scaled[rows])
        weight.append(np.full(int(rows.sum()), 1 / np.sqrt(max(1, rows.sum()))))
    return np.concatenate(chosen), np.concatenate(weight)


def judge(network: Network, subject: Subject) -> Terms:
    """Return the terms of a subject's beats, as the stage works them out."""
    return terms_of(network, Memory(), subject.beats)


def _share(progress: Progress, run: int, what: str) -> Callable[[float], None]:
    return lambda part: progress((run + part) / (FOLDS + 1), what)
