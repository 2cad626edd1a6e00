"""Training of the detector's trees with LightGBM, their logits, and their conversion to the arrays of ``model.trees``.

A forest is a pair of boosters: trees for peaks of one lead and for peaks to which several leads contributed.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from beatwire.kernels.peaks import classify, risk
from beatwire.model.trees import KNOTS
from beatwire.records import F32, F64, Bool
from beatwire.training.checks import require_both
from beatwire.training.detector.examples import ALL_LEADS, Examples
from beatwire.training.settings import Boosting, TreeSettings

PRIOR_PEAKS = 10.0  # weight of the prior at each knot of the calibration


class Forest(NamedTuple):
    """LightGBM boosters for one lead and for several."""

    one: Any
    several: Any


class TrainingRows(NamedTuple):
    """What a booster is trained on: features float32 [r, FEATURES], is_beat bool [r], weight float64 [r]."""

    features: F32
    is_beat: Bool
    weight: F64


def train_forest(examples: Iterable[Examples], settings: TreeSettings) -> Forest:
    """Train the trees for one lead on single leads, and those for several on all leads together."""
    every = list(examples)
    return Forest(
        train_booster(training_rows(every, several=False), settings, ("beats on one lead", "other peaks")),
        train_booster(training_rows(every, several=True), settings, ("beats on several leads", "other peaks")),
    )


def training_rows(examples: Iterable[Examples], *, several: bool) -> TrainingRows:
    """Return the peaks that a booster is trained on; peaks that are accepted without trees are not among them."""
    parts = []
    for one in examples:
        if several == (one.lead == ALL_LEADS):
            use = one.use & ~one.candidates.typical
            parts.append((one.candidates.features[use], one.is_beat[use], one.weight[use]))
    return joined_rows(parts)


def joined_rows(parts: Sequence[tuple[F32, Bool, F64]]) -> TrainingRows:
    """Join the rows of records; there may be none."""
    none = np.zeros((0, 1), np.float32), np.zeros(0, np.bool_), np.zeros(0)
    return TrainingRows(*(np.concatenate(column) for column in zip(*(parts or [none]), strict=True)))


def train_booster(rows: TrainingRows, settings: TreeSettings, names: tuple[str, str], **more: Any) -> Any:
    """Train a LightGBM booster; the same rows and settings give the same trees.

    ``names`` are those of the two classes, for the ``UserError`` if one has no rows; ``more`` are further parameters of
    LightGBM.
    """
    require_both(rows.is_beat, *names)
    return boost(rows.features, rows.is_beat, rows.weight, settings, settings.min_peaks, max_bin=127, **more)


def boost(features: Any, label: Any, weight: Any, settings: Boosting, least: int, **more: Any) -> Any:
    """Train a LightGBM booster that tells label 1 from label 0; the same rows and settings give the same trees.

    Parameters
    ----------
    features, label, weight : [n, features], [n], [n]
        The rows.
    settings
        Size and number of the trees.
    least
        Rows in a leaf.
    more
        Further parameters of LightGBM.
    """
    import lightgbm

    parameters = {
        "objective": "binary", "num_leaves": settings.max_leaves, "max_depth": settings.max_depth,
        "learning_rate": settings.learning_rate, "min_data_in_leaf": least,
        "feature_fraction": settings.feature_fraction, "lambda_l2": settings.l2,
        "seed": settings.seed, "deterministic": True, "force_row_wise": True, "verbosity": -1, **more,
    }  # fmt: skip
    return lightgbm.train(parameters, lightgbm.Dataset(features, label, weight=weight), settings.trees)


def logits(forest: Forest, examples: Examples, settings: TreeSettings) -> F64:
    """Return the logit of each peak, float64 [p], as the stage computes it except at the start of a lane."""
    candidates = examples.candidates
    out: F64 = np.empty(len(candidates.at))
    for booster, bias, rows in (
        (forest.one, settings.logit_bias, ~candidates.several),
        (forest.several, settings.logit_bias_several, candidates.several),
    ):
        if rows.any():
            out[rows] = booster.predict(candidates.features[rows], raw_score=True) + bias
    out[candidates.typical] = classify.TYPICAL_LOGIT
    return out


def arrays_of(forest: Forest, settings: TreeSettings) -> dict[str, Any]:
    """Return the nodes of both boosters, those for several leads after those for one."""
    return joined(flatten(forest.one, settings.logit_bias), flatten(forest.several, settings.logit_bias_several))


def joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the nodes of two flattened boosters as one set of arrays, with as many trees of each.

    LightGBM stops where no split gains anything: where there are few examples, one has fewer trees than the other.
    """
    trees = max(len(one["roots"]), len(other["roots"]))
    one, other = filled_up(one, trees), filled_up(other, trees)
    nodes = len(one["feature"])
    shifted = other | {
        "below": np.where(other["feature"] >= 0, other["below"] + nodes, 0),
        "roots": other["roots"] + nodes,
    }
    return {name: np.concatenate([one[name], shifted[name]]).astype(one[name].dtype) for name in one}


def filled_up(flat: dict[str, Any], trees: int) -> dict[str, Any]:
    """Return the nodes of a flattened booster with trees of a single leaf, 0, behind its own: so many trees in all."""
    missing, nodes = trees - len(flat["roots"]), len(flat["feature"])
    leaf = {"feature": -1, "threshold": 0.0, "below": 0, "leaf": 0}
    more = {name: np.full(missing, value) for name, value in leaf.items()} | {"roots": nodes + np.arange(missing)}
    return {name: np.concatenate([values, more[name]]).astype(values.dtype) for name, values in flat.items()}


def flatten(booster: Any, bias: float) -> dict[str, Any]:
    """Return the nodes of a LightGBM booster as arrays, ``bias`` added to the sum of its trees.

    See ``model.trees`` for the arrays.
    """
    feature: list[int] = []
    threshold: list[float] = []
    below: list[int] = []
    leaf: list[int] = []
    roots: list[int] = []
    for tree in booster.dump_model()["tree_info"]:
        roots.append(len(feature))
        waiting = deque([tree["tree_structure"]])
        added = 0.0 if len(roots) > 1 else bias
        while waiting:
            node = waiting.popleft()
            inner = "split_feature" in node
            below.append(len(feature) + 1 + len(waiting) if inner else 0)
            feature.append(int(node["split_feature"]) if inner else -1)
            threshold.append(_round_down(float(node["threshold"])) if inner else 0.0)
            leaf.append(0 if inner else round((float(node["leaf_value"]) + added) * classify.LEAF_UNIT))
            if inner:
                waiting += [node["left_child"], node["right_child"]]
    return {
        "feature": np.array(feature, np.int32),
        "threshold": np.array(threshold, np.float32),
        "below": np.array(below, np.int32),
        "leaf": np.array(leaf, np.int32),
        "roots": np.array(roots, np.int32),
    }


def _round_down(threshold: float) -> float:
    """Round down to float32: a float32 value is at most the result exactly when it is at most ``threshold``."""
    near = np.float32(threshold)
    return float(np.nextafter(near, np.float32(-np.inf)) if float(near) > threshold else near)


def calibrate(logit: F64, is_beat: F64, weight: F64) -> F64:
    """Return the probability of a beat at ``KNOTS`` logits from -8 to 8: float64 [33], ascending.

    The share of beats at each knot is smoothed by a prior, the logistic function, and made monotonic by pooling
    adjacent violators (isotonic regression).

    Parameters
    ----------
    logit, is_beat, weight
        float64 [p], of each peak its logit, 1 if it is a beat or else 0, and its weight.
    """
    knots = np.linspace(-risk.LOGIT_RANGE, risk.LOGIT_RANGE, KNOTS)
    knot = np.clip(np.rint((logit + risk.LOGIT_RANGE) * (KNOTS - 1) / (2 * risk.LOGIT_RANGE)), 0, KNOTS - 1).astype(int)
    prior = 1.0 / (1.0 + np.exp(-knots))
    total = np.bincount(knot, weight, KNOTS) + PRIOR_PEAKS
    share = (np.bincount(knot, weight * is_beat, KNOTS) + PRIOR_PEAKS * prior) / total
    blocks: list[list[float]] = []  # [value, weight, number of knots]
    for value, block_weight in zip(share.tolist(), total.tolist(), strict=True):
        blocks.append([value, block_weight, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            upper, lower = blocks.pop(), blocks[-1]
            joined = lower[1] + upper[1]
            lower[0] = (lower[0] * lower[1] + upper[0] * upper[1]) / joined
            lower[1], lower[2] = joined, lower[2] + upper[2]
    pooled: F64 = np.concatenate([np.full(int(n), value) for value, _, n in blocks])
    return pooled
