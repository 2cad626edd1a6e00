"""The models that can be trained: for each the settings, the function, and whether it is trained with noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from beatwire.training.classes.train import train_classes
from beatwire.training.detector.train import train_detector
from beatwire.training.network.train import train_network
from beatwire.training.rhythms.train import train_rhythm
from beatwire.training.settings import (
    ClassTreeSettings,
    JudgeSettings,
    NetworkSettings,
    ScorerSettings,
    TreeSettings,
    VaeSettings,
    VentricularSettings,
    require,
)
from beatwire.training.vae.train import train_vae
from beatwire.training.ventricular.train import train_ventricular


@dataclass(frozen=True, slots=True)
class Spec:
    """A model that can be trained.

    train       folders, file to write, ``settings``, ``annotations``, ``progress`` (and ``noise``) -> metrics
    settings    the settings, of ``seed``
    with_noise  records of noise are part of its training data
    """

    train: Callable[..., dict[str, Any]]
    settings: Callable[..., Any]
    with_noise: bool = False


def _train_scorer(*given: Any, **named: Any) -> dict[str, Any]:
    require("torch", "train scorer")
    from beatwire.training.scorer import train_scorer

    return train_scorer(*given, **named)


SPECS = {
    "vae": Spec(train_vae, VaeSettings),
    "detector": Spec(train_detector, TreeSettings, with_noise=True),
    "network": Spec(train_network, NetworkSettings, with_noise=True),
    "rhythm": Spec(train_rhythm, JudgeSettings, with_noise=True),
    "classes": Spec(train_classes, ClassTreeSettings),
    "ventricular": Spec(train_ventricular, VentricularSettings, with_noise=True),
    "scorer": Spec(_train_scorer, ScorerSettings),
}
