"""The models that can be trained, and the one function that trains them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from beatwire.recordings.wfdb.annotations import ENDING
from beatwire.training.classes.train import train_classes
from beatwire.training.detector.train import train_detector
from beatwire.training.network.train import train_network
from beatwire.training.progress import Progress, ignore
from beatwire.training.rhythms.train import train_rhythm
from beatwire.training.settings import (
    ClassTreeSettings,
    JudgeSettings,
    NetworkSettings,
    ScorerSettings,
    TreeSettings,
    VaeSettings,
    VentricularSettings,
)
from beatwire.training.task import Task, require
from beatwire.training.vae.train import train_vae
from beatwire.training.ventricular.train import train_ventricular


@dataclass(frozen=True, slots=True)
class Spec:
    """A model that can be trained.

    train       writes the model and its companions; returns the metrics and the text of the card
    settings    the settings, of ``seed``
    needs       the package that trains it
    with_noise  records of noise are part of its training data
    with_card   it is a ``.safetensors``; metrics and card are written beside it
    """

    train: Callable[[Task[Any]], tuple[dict[str, Any], str]]
    settings: Callable[..., Any]
    needs: str
    with_noise: bool = False
    with_card: bool = True


def _train_scorer(task: Task[ScorerSettings]) -> tuple[dict[str, Any], str]:
    from beatwire.training.scorer import train_scorer  # its classes are torch's

    return train_scorer(task), ""


SPECS = {
    "vae": Spec(train_vae, VaeSettings, "torch"),
    "detector": Spec(train_detector, TreeSettings, "lightgbm", with_noise=True),
    "network": Spec(train_network, NetworkSettings, "torch", with_noise=True),
    "rhythm": Spec(train_rhythm, JudgeSettings, "lightgbm", with_noise=True),
    "classes": Spec(train_classes, ClassTreeSettings, "lightgbm"),
    "ventricular": Spec(train_ventricular, VentricularSettings, "lightgbm", with_noise=True),
    "scorer": Spec(_train_scorer, ScorerSettings, "torch", with_card=False),
}


def fit(
    kind: str,
    folders: Sequence[Path],
    out: Path,
    *,
    noise: Sequence[Path] = (),
    settings: Any = None,
    annotations: str = ENDING,
    progress: Progress = ignore,
) -> dict[str, Any]:
    """Train, calibrate and cross-validate a model of ``SPECS``; write it with its config, card and metrics.

    Parameters
    ----------
    folders
        Folders of WFDB records. A record is a subject, a folder is a database.
    out
        ``NAME.safetensors``.
    noise
        WFDB records of noise without a heartbeat, identified by their names (``bw``, ``ma``). Electrode motion is
        simulated.
    settings
        Settings of the training; None: those of the model that ships.
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
        What it needs is not installed, there are too few annotated records, or ``out`` cannot be written.
    """
    spec = SPECS[kind]
    require(spec.needs, f"train {kind}")
    task = Task(folders, out, noise, spec.settings() if settings is None else settings, annotations, progress)
    if not spec.with_card:
        return spec.train(task)[0]
    task.check_out()
    metrics, card = spec.train(task)
    task.write_figures(metrics, card)
    progress(1.0, "done")
    return metrics
