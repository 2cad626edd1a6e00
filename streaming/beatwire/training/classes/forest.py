"""The trees of the beat classes: training, the classes that they decide, and their counts against annotations.

A forest is a pair of boosters: whether a beat is ventricular, and whether one that is not is supraventricular.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from beatwire.evaluation.beats import classes
from beatwire.evaluation.beats.match import Counts
from beatwire.evaluation.result import NO_BEAT
from beatwire.kernels.classes.beat_class import IN_TURN, LEAST_QUALITY
from beatwire.kernels.classes.class_features import NAMES, RATIO_USUAL
from beatwire.records import F64
from beatwire.training.classes.examples import IN_AF, NOISY, NORMAL, ClassExamples
from beatwire.training.forest import TrainingRows, joined_rows, train_booster
from beatwire.training.settings import ClassTreeSettings

V_OR_NOT = ("ventricular beats", "others")  # the two classes that a booster separates
S_OR_NOT = ("supraventricular beats", "normal ones")
QUALITY = NAMES.index("quality")


class ClassForest(NamedTuple):
    """LightGBM boosters: ventricular or not; supraventricular or normal."""

    ventricular: Any
    supraventricular: Any


def train_forest(examples: Iterable[ClassExamples], settings: ClassTreeSettings) -> ClassForest:
    """Train both boosters; fusion beats and beats that people could not classify are left out.

    Normal people teach only which beats are not supraventricular: none of their beats resembles a ventricular one, and
    thousands of them move the threshold of those that do.
    """
    every, s = list(examples), settings
    diseased = [one for one in every if not one.healthy]
    not_v = {"N": 1.0, "S": 1.0, NO_BEAT: s.weight_no_beat, NORMAL: s.weight_normal_v, NOISY: s.weight_noisy}
    not_s = {"N": 1.0, NORMAL: s.weight_normal_s, IN_AF: s.weight_af}
    return ClassForest(
        train_booster(_rows(diseased, "V", s.weight_v, not_v, s), s.of_v(), V_OR_NOT, extra_trees=s.extra_trees_v),
        train_booster(_rows(every, "S", s.weight_s, not_s, s), s.of_s(), S_OR_NOT, path_smooth=s.path_smooth_s),
    )


def _rows(
    examples: Sequence[ClassExamples], letter: str, weight: float, others: Mapping[str, float],
    settings: ClassTreeSettings,
) -> TrainingRows:  # fmt: skip
    """Return what a booster is trained on that tells the class ``letter`` from ``others``, labels with weights."""
    parts = []
    for one in examples:
        use = one.use & ~one.typical & np.isin(one.label, [letter, *others])
        label = one.label[use]
        positive, weights = label == letter, np.array([others.get(name, 1.0) for name in label.tolist()])
        # So that a record with thousands of such beats does not decide alone.
        weights[positive] = weight * min(1.0, (settings.most_beats / max(1, int(positive.sum()))) ** 0.5)
        if not one.annotated:
            weights *= min(1.0, settings.most_unannotated / max(1, len(label)))
        parts.append((one.features[use], positive, weights))
    return joined_rows(parts)


def logits(forest: ClassForest, examples: ClassExamples) -> F64:
    """Return the logits of each beat, float64 [2, b]: ventricular; supraventricular if not ventricular."""
    features = np.nan_to_num(examples.features)
    return np.stack([np.asarray(booster.predict(features, raw_score=True), np.float64) for booster in forest])


def decide(examples: ClassExamples, probability: F64, least: tuple[float, float]) -> np.ndarray:
    """Return the class of each beat, as the kernel decides it.

    None is supraventricular in atrial fibrillation, or if it comes in its turn.

    Parameters
    ----------
    probability
        float64 [2, b], of the two boosters.
    least
        From which on a beat is ventricular, and supraventricular.
    """
    v, s = probability[0], (1.0 - probability[0]) * probability[1]
    s = np.where(examples.features[:, RATIO_USUAL] < IN_TURN, s, 0.0)
    decided = np.where(v >= least[0], "V", np.where((s >= least[1]) & ~examples.fibrillating, "S", "N"))
    decided[examples.features[:, QUALITY] < LEAST_QUALITY] = "Q"
    return np.where(examples.typical, "N", decided)


def count(letter: str, examples: ClassExamples, decided: np.ndarray) -> Counts:
    """Count the beats of a class, found and missed, and those falsely taken for it."""
    return classes.count_class(letter, examples.label[examples.use], decided[examples.use], examples.missed)
