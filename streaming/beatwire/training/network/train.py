"""``beatwire train network``: the network that judges doubtful peaks by their waveform, cross-validated by record.

1. Six networks are trained side by side in torch, on a card if there is one: one without the records of each fold, with
   one half of every noise, and one on everything.
2. They are turned into integers (``training.network.model``).
3. The weights that combine the logits of trees and network are fitted on the doubtful peaks of records that neither has
   seen (``training.network.combination``), for the network of a fold on those of the other folds.

The folds are those of the detector's trees, whose shipped companions are used.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from beatwire.evaluation.beats.noise import electrode_motion
from beatwire.evaluation.records import find_records, read_annotated
from beatwire.kernels.peaks.wave_input import GRID_HZ
from beatwire.model.waveform import save_waveform
from beatwire.records import F64
from beatwire.training.checks import read_noises, require_own_names, require_seconds
from beatwire.training.detector.augmentation import NoiseBank
from beatwire.training.detector.figures import TrainingRecord
from beatwire.training.detector.train import held_out_of
from beatwire.training.folds import Folds
from beatwire.training.network.card import network_card
from beatwire.training.network.combination import combination, figures_of, read_doubts
from beatwire.training.progress import Progress
from beatwire.training.settings import FOLDS, STRETCH_S, NetworkSettings
from beatwire.training.task import Task

SIMULATED_S = 1800  # of electrode motion


def train_network(task: Task[NetworkSettings]) -> tuple[dict[str, Any], str]:
    """Train the network of doubtful peaks and its companions."""
    settings, progress = task.settings, task.progress
    records, folds = list[TrainingRecord](), Folds()
    for folder in task.folders:
        for name in find_records(folder, task.annotations):
            one = read_annotated(folder, name, task.annotations)
            records.append(TrainingRecord(folder.name, one, [], folds.of(str(folder), one.subject)))
    task.require_folds(r.fold for r in records)
    require_own_names((r.database, r.record.recording.name) for r in records)
    for r in records:
        require_seconds(r.database, r.record, STRETCH_S)
    recorded = read_noises(task.noise)
    networks = _train(records, recorded, settings, progress)
    doubts = read_doubts(records, networks, NoiseBank(recorded), settings.seed, progress)
    databases = sorted({r.database for r in records})
    metadata: dict[str, Any] = {"settings": asdict(settings), "databases": databases}
    metrics: dict[str, Any] = {"settings": asdict(settings), "doubtful peaks": figures_of(doubts, combination)}
    arrays = [  # no doubt is of the fold FOLDS
        network | {"combination": combination([d for d in doubts if d.fold != fold])}
        for fold, network in enumerate(networks)
    ]
    model = task.save_folds(save_waveform, arrays, partial(held_out_of, records), metadata)
    metrics["model"] = model.name
    return metrics, network_card(metrics, databases)


def _train(
    records: Sequence[TrainingRecord], recorded: Mapping[str, tuple[F64, float]], settings: NetworkSettings,
    progress: Progress,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return the integer networks of the folds, and that of all records."""
    import torch
    from torch.nn import functional

    from beatwire.training.network.batches import Signals
    from beatwire.training.network.model import INPUT_UNIT, WaveModel, quantised

    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(settings.seed)
    bank, rng = NoiseBank(dict(recorded)), np.random.default_rng(settings.seed)
    noises = {("simulated", 0): electrode_motion(SIMULATED_S * GRID_HZ, 1, GRID_HZ, rng)[0]}
    noises |= {(name, k): lead for name in recorded for k, lead in enumerate(bank.at_rate(name, GRID_HZ))}
    signals, model = Signals(records, noises, device), WaveModel(FOLDS + 1, settings.seed).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=1e-3)
    kind = torch.bfloat16 if device == "cuda" else torch.float32
    for step in range(settings.steps):
        if step % 100 == 0:
            progress(0.8 * step / settings.steps, f"step {step} of {settings.steps}")
        share = 0.5 * (1 + math.cos(math.pi * step / settings.steps)) + 0.003
        for group in optimizer.param_groups:
            group["lr"] = settings.learning_rate * min(1.0, (step + 1) / settings.warm_up) * share
        x, target, counts = signals.batch(FOLDS + 1, settings.batch)
        weight = (1 + 3 * target) * counts
        losses = functional.binary_cross_entropy_with_logits(model(x.to(kind) / INPUT_UNIT), target, reduction="none")
        loss = ((losses * weight).sum((1, 2)) / weight.sum((1, 2)).clamp_min(1)).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    model.eval()
    largest: list[Any] = []
    with torch.no_grad():
        for _ in range(settings.measured):
            x, _, _ = signals.batch(FOLDS + 1, settings.batch)
            tops = [one.float().amax((1, 2, 3)).cpu().numpy() for one in model.outputs(x.float() / INPUT_UNIT)]
            largest = tops if not largest else [np.maximum(a, b) for a, b in zip(largest, tops, strict=True)]
    return [
        quantised(model, m, [max(settings.headroom * float(top[m]), 1e-6) for top in largest]) for m in range(FOLDS + 1)
    ]
