"""Settings of the training runs, and what they need. With the same settings and records a run gives the same model."""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass, replace
from typing import Any

FOLDS = 5  # of the cross-validation

# Names of the fields of TreeSettings in the config of a detector, where these differ. The files are older than the
# names in the code, and a detector's name is a hash of its files.
STORED_AS = {
    "max_leaves": "leaves",
    "max_depth": "depth",
    "min_peaks": "fewest",
    "logit_bias": "lean",
    "logit_bias_several": "lean_several",
    "learning_rate": "rate",
    "feature_fraction": "features",
    "l2": "ridge",
}


@dataclass(frozen=True, slots=True)
class VaeSettings:
    """Settings of the training of the VAE.

    steps, batch   of Adam, with a one-cycle schedule up to ``learning_rate``
    hidden         units of the hidden layers
    variance       of the Gaussian likelihood of a window's points, in units of the usual size squared
    size_jitter    standard deviation of the log of a random gain, so that the network does not depend on the exact size
    """

    seed: int = 0
    steps: int = 3000
    batch: int = 512
    hidden: int = 32
    variance: float = 4.0
    learning_rate: float = 3e-3
    size_jitter: float = 0.1


@dataclass(frozen=True, slots=True)
class ScorerSettings:
    """Settings of the example of a scorer: ``steps`` of Adam on batches of ``batch`` windows."""

    seed: int = 0
    steps: int = 1500
    batch: int = 256


@dataclass(frozen=True, slots=True)
class TreeSettings:
    """Settings of the training of the detector's trees, LightGBM's terms.

    min_peaks           of a leaf
    logit_bias          added to the logits of the trees for one lead: a missed beat is worse than a false one
    logit_bias_several  the same for the trees for several leads
    feature_fraction    share of the features that each tree uses
    l2                  regularisation of the leaves
    """

    trees: int = 150
    max_leaves: int = 31
    max_depth: int = 6
    min_peaks: int = 50
    logit_bias: float = 1.0
    logit_bias_several: float = 0.75
    learning_rate: float = 0.1
    feature_fraction: float = 0.6
    l2: float = 5.0
    seed: int = 0

    def stored(self) -> dict[str, Any]:
        """Return the settings under the names of the detector's config."""
        return {STORED_AS.get(name, name): value for name, value in asdict(self).items()}


def fold_of(people: str) -> int:
    """Return the fold of a person, or of people who stay together, by a hash."""
    return (zlib.crc32(people.encode()) >> 8) % FOLDS


@dataclass(frozen=True, slots=True)
class ClassTreeSettings:
    """Settings of the training of the trees of beat classes, LightGBM's terms.

    *_v, *_s            of the trees that tell V from the others, and S from N
    min_beats           of a leaf
    extra_trees_v       thresholds are drawn at random
    path_smooth_s       leaves with fewer beats than this are drawn towards their parents
    weight_*            of a beat of the class: a missed one is worse than a false one
    weight_no_beat      of a false detection, when the trees learn which beats are ventricular
    weight_af           of a beat in atrial fibrillation, which is not S
    weight_normal_*     of a beat of a recording without other beats than normal ones, which is neither V nor S
    weight_noisy        of a beat of a recording that is too noisy for people, which is not V
    most_beats          of a record with more beats of a class, each weighs less
    most_unannotated    the same for a record without annotated beats
    least_v, least_s    probability from which on a beat is ventricular, and supraventricular
    """

    trees: int = 100
    learning_rate: float = 0.15
    max_leaves_v: int = 31
    max_leaves_s: int = 12
    max_depth_v: int = 6
    max_depth_s: int = 5
    min_beats_v: int = 60
    min_beats_s: int = 300
    feature_fraction_v: float = 0.25
    feature_fraction_s: float = 0.5
    l2_v: float = 10.0
    l2_s: float = 30.0
    extra_trees_v: bool = True
    path_smooth_s: float = 50.0
    weight_v: float = 2.0
    weight_s: float = 3.0
    weight_no_beat: float = 0.3
    weight_af: float = 0.3
    weight_normal_v: float = 0.7
    weight_normal_s: float = 0.5
    weight_noisy: float = 0.3
    most_beats: int = 300
    most_unannotated: int = 500
    least_v: float = 0.35
    least_s: float = 0.25
    seed: int = 0

    def of_v(self) -> TreeSettings:
        """Return the settings of the trees for V as ``forest.train_booster`` takes them."""
        return TreeSettings(
            self.trees, self.max_leaves_v, self.max_depth_v, self.min_beats_v, 0.0, 0.0, self.learning_rate,
            self.feature_fraction_v, self.l2_v, self.seed,
        )  # fmt: skip

    def of_s(self) -> TreeSettings:
        """Return the settings of the trees for S as ``forest.train_booster`` takes them."""
        return TreeSettings(
            self.trees, self.max_leaves_s, self.max_depth_s, self.min_beats_s, 0.0, 0.0, self.learning_rate,
            self.feature_fraction_s, self.l2_s, self.seed,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class VentricularSettings:
    """Settings of the training of the judges of ventricular tachycardia and of runs, LightGBM's terms.

    min_beats         of a leaf
    weight            of a beat of a run over one of none
    most_marked       of a record whose runs are marked: the weights of more beats of runs sum to ``weight`` times this
    most_unmarked     the same of a record of which is known that there is a run near its end
    most_none         the same of beats of no run, in a record whose beats are labelled
    most_none_alarm   the same in a record without labels
    rounds            of the training, see ``training.ventricular.train``
    beats_of_alarm    taken as beats of a run in a record whose run is not marked
    bias              added to the logits
    run_*             what differs for the judge of runs
    """

    trees: int = 120
    max_leaves: int = 8
    max_depth: int = 4
    min_beats: int = 40
    learning_rate: float = 0.05
    feature_fraction: float = 0.4
    l2: float = 10.0
    weight: float = 3.0
    most_marked: float = 10.0
    most_unmarked: float = 4.0
    most_none: float = 40.0
    most_none_alarm: float = 12.0
    rounds: int = 3
    beats_of_alarm: int = 3
    bias: float = 0.0
    run_weight: float = 2.0
    run_most_unmarked: float = 10.0
    run_most_none_alarm: float = 40.0
    seed: int = 0

    def of_runs(self) -> VentricularSettings:
        """Return the settings of the judge of runs."""
        return replace(
            self, weight=self.run_weight, most_unmarked=self.run_most_unmarked, most_none_alarm=self.run_most_none_alarm
        )


STRETCH_S = 16.0  # of a record, which the network of doubtful peaks is trained on at a time


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """Settings of the training of the network of doubtful peaks.

    steps, batch  of Adam, stretches of 16 s for each of six networks; the learning rate falls as a cosine
    warm_up       steps in which it rises
    measured      batches from which the largest value of each layer is taken
    headroom      of this value, what integers reach
    """

    steps: int = 9000
    batch: int = 64
    learning_rate: float = 2.5e-3
    warm_up: int = 200
    measured: int = 4
    headroom: float = 0.6
    seed: int = 0


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Settings of the training of the judges of the rhythm, LightGBM's terms.

    min_decisions      of a leaf
    most_decisions     of a record and label: the weights of more decisions sum to this
    marked_weight      of decisions against, in records with marked episodes: these are the hardest
    share_*            weight of all episodes over that of everything else
    bias_*             added to the logits
    """

    trees: int = 50
    max_leaves: int = 12
    max_depth: int = 5
    min_decisions: int = 40
    most_decisions: float = 100.0
    marked_weight: float = 3.0
    share_fibrillation: float = 0.2
    share_atrial: float = 0.5
    bias_fibrillation: float = -1.5
    bias_atrial: float = 0.0
    learning_rate: float = 0.1
    feature_fraction: float = 0.5
    l2: float = 5.0
    seed: int = 0

    def positive_share(self, atrial: bool) -> float:
        """Return the weight of all episodes over that of everything else."""
        return self.share_atrial if atrial else self.share_fibrillation


Boosting = TreeSettings | JudgeSettings | VentricularSettings  # have the terms that ``training.forest.boost`` reads
