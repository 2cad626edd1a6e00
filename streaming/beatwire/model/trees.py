"""Trees on disk: ``NAME.safetensors`` (nodes, roots, calibration) and ``NAME.json`` (what they look at).

The first half of the roots are the trees for one lead, the others those for several.

The config's ``looks`` must be what this program looks at, and the trees must be trees: children
behind their parents, known features, finite numbers. Anything else is refused with the reason. An
ensemble is named by its version and the SHA-256 of both files' content, for instance
``trees-2+ab12cd34``. Nothing is ever unpickled.
"""

from __future__ import annotations

from collections import deque
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.kernels import classify, peak_features
from beatwire.model.pair import read_pair, write_pair
from beatwire.records import F32, F64, I16, I32
from beatwire.stages.classify import SIGMA_S, Ensemble
from beatwire.stages.nms import Settings as NmsSettings
from beatwire.stages.support.filters import Design

FORMAT = 2
VERSION = "trees-2"
SHIPPED = Path(__file__).parent / "weights" / "detector.safetensors"
KNOTS = 33
DEEPEST = (classify.MOST_NODES + 1).bit_length() - 1
_ARRAYS = {
    "feature": np.int32, "threshold": np.float32, "below": np.int32, "leaf": np.int32, "roots": np.int32,
    "probability": np.float64,
}  # fmt: skip


def looks() -> dict[str, Any]:
    """Return what trees are shown by this program: features, spans, wavelets, and the filter and peaks before them."""
    return {
        "features": list(peak_features.NAMES),
        "spans_s": list(peak_features.SPAN_S),
        "wavelets_s": list(SIGMA_S),
        "least": classify.LEVELS_PER_CANDIDATE,
        "filter": asdict(Design()),
        "peaks": asdict(NmsSettings()),
    }


def save_trees(path: Path, one: dict[str, Any], about: dict[str, Any]) -> Ensemble:
    """Write the arrays of ``flatten`` and ``calibrate`` and a config, and return the ensemble as it reads back."""
    config = {"format": FORMAT, "version": VERSION, "looks": looks(), **about}
    write_pair(path, {name: np.asarray(one[name], kind) for name, kind in _ARRAYS.items()}, config)
    return load_trees(path)


def load_trees(path: Path | None = None) -> Ensemble:
    """Read an ensemble; the one in the package by default.

    Raises
    ------
    UserError
        no such file, not trees, trained to look at something else than this program does.
    """
    path = SHIPPED if path is None else path
    arrays, config, config_path, name = read_pair(path, "detector", FORMAT)
    found = config.get("looks")
    for look, value in looks().items():
        if not isinstance(found, dict) or found.get(look) != value:
            got = found.get(look) if isinstance(found, dict) else None
            raise UserError(f"{config_path}: expected a detector that looks at {look} {value}; got {got}")
    _check(path, arrays)
    feature, threshold, leaf = complete(path, arrays)
    trees, nodes = len(feature) // 2, feature.shape[1]
    return Ensemble(
        feature=feature.reshape(2, trees, nodes),
        threshold=threshold.reshape(2, trees, nodes),
        leaf=leaf.reshape(2, trees, nodes + 1),
        probability=np.ascontiguousarray(arrays["probability"]),
        name=name,
    )


def _check(path: Path, arrays: dict[str, Any]) -> None:
    """Refuse what are not trees."""
    for name, kind in _ARRAYS.items():
        found = arrays.get(name)
        if found is None or found.ndim != 1 or found.dtype != kind or not np.isfinite(found).all():
            got = "nothing" if found is None else f"{found.dtype} {list(found.shape)}"
            raise UserError(f"{path}: expected {name} as finite {np.dtype(kind)} [n]; got {got}")
    feature, below, roots = arrays["feature"], arrays["below"], arrays["roots"]
    nodes = len(feature)
    if any(len(arrays[name]) != nodes for name in ("threshold", "below", "leaf")):
        raise UserError(f"{path}: expected as many thresholds, children and leaves as features; got others")
    inner = np.flatnonzero(feature >= 0)
    if (feature >= peak_features.FEATURES).any() or (below[inner] <= inner).any() or (below[inner] + 1 >= nodes).any():
        raise UserError(
            f"{path}: expected children behind their parents and {peak_features.FEATURES} features; got others"
        )
    if len(roots) == 0 or len(roots) % 2 or (roots < 0).any() or (roots >= nodes).any():
        raise UserError(f"{path}: expected two times as many trees with roots among {nodes} nodes; got others")
    if len(arrays["probability"]) != KNOTS or (np.diff(arrays["probability"]) < 0).any():
        raise UserError(f"{path}: expected {KNOTS} ascending probabilities; got others")


def complete(path: Path, arrays: dict[str, Any]) -> tuple[I16, F32, I32]:
    """Return feature, threshold and leaf of ``kernels.classify.evaluate_trees``: all trees as deep as the deepest.

    A leaf that comes early has nodes below it that send everything one way.
    """
    feature, below = arrays["feature"], arrays["below"]
    levels = [arrays["roots"].astype(np.int64)[:, None]]  # the node of each place in each tree
    while (feature[levels[-1]] >= 0).any():
        here = levels[-1]
        if len(levels) > DEEPEST:
            raise UserError(f"{path}: expected trees of at most {DEEPEST} levels; got deeper ones")
        ends = feature[here] < 0
        children = np.where(ends, here, below[here]), np.where(ends, here, below[here] + 1)
        levels.append(np.stack(children, 2).reshape(len(here), -1))
    nodes = np.concatenate([np.zeros((len(levels[0]), 0), np.int64), *levels[:-1]], 1)
    inner = feature[nodes] >= 0
    return (
        np.where(inner, feature[nodes], 0).astype(np.int16),
        np.where(inner, arrays["threshold"][nodes], np.inf).astype(np.float32),
        np.ascontiguousarray(arrays["leaf"][levels[-1]]),
    )


def flatten(booster: Any, lean: float) -> dict[str, Any]:
    """Turn a LightGBM booster into lists of nodes, ``lean`` added to their sum.

    Node ``n`` sends a peak to ``below[n]`` when its ``feature`` is at most the threshold, else to ``below[n] + 1``;
    a node whose feature is negative is a leaf.
    """
    feature: list[int] = []
    threshold: list[float] = []
    below: list[int] = []
    leaf: list[int] = []
    roots: list[int] = []
    for tree in booster.dump_model()["tree_info"]:
        roots.append(len(feature))
        waiting = deque([tree["tree_structure"]])
        more = 0.0 if len(roots) > 1 else lean
        while waiting:
            node = waiting.popleft()
            inner = "split_feature" in node
            below.append(len(feature) + 1 + len(waiting) if inner else 0)
            feature.append(int(node["split_feature"]) if inner else -1)
            threshold.append(_at_most(float(node["threshold"])) if inner else 0.0)
            leaf.append(0 if inner else round((float(node["leaf_value"]) + more) * classify.LEAF_UNIT))
            if inner:
                waiting += [node["left_child"], node["right_child"]]
    return {
        "feature": np.array(feature, np.int32),
        "threshold": np.array(threshold, np.float32),
        "below": np.array(below, np.int32),
        "leaf": np.array(leaf, np.int32),
        "roots": np.array(roots, np.int32),
    }


def both(one: dict[str, Any], several: dict[str, Any]) -> dict[str, Any]:
    """Put the nodes of two ensembles behind each other."""
    more = len(one["feature"])
    moved = several | {
        "below": np.where(several["feature"] >= 0, several["below"] + more, 0),
        "roots": several["roots"] + more,
    }
    return {name: np.concatenate([one[name], moved[name]]).astype(one[name].dtype) for name in one}


def _at_most(threshold: float) -> float:
    """Round down to float32: a float32 is at most that exactly when it is at most ``threshold``."""
    near = np.float32(threshold)
    return float(np.nextafter(near, np.float32(-np.inf)) if float(near) > threshold else near)


def calibrate(logit: F64, right: F64, weight: F64) -> F64:
    """Return the probability of a beat at ``KNOTS`` logits from -8 to 8: isotonic, smoothed by ten peaks a knot."""
    knots = np.linspace(-classify.LOGIT_RANGE, classify.LOGIT_RANGE, KNOTS)
    place = np.clip(
        np.rint((logit + classify.LOGIT_RANGE) * (KNOTS - 1) / (2 * classify.LOGIT_RANGE)), 0, KNOTS - 1
    ).astype(int)
    prior = 1.0 / (1.0 + np.exp(-knots))
    total = np.bincount(place, weight, KNOTS) + 10.0
    share = (np.bincount(place, weight * right, KNOTS) + 10.0 * prior) / total
    blocks: list[list[float]] = []  # pool adjacent violators: value, weight, length
    for value, heavy in zip(share.tolist(), total.tolist(), strict=True):
        blocks.append([value, heavy, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            upper, lower = blocks.pop(), blocks[-1]
            both = lower[1] + upper[1]
            lower[0] = (lower[0] * lower[1] + upper[0] * upper[1]) / both
            lower[1], lower[2] = both, lower[2] + upper[2]
    pooled: F64 = np.concatenate([np.full(int(n), value) for value, _, n in blocks])
    return pooled
