"""The detector's trees on disk, read and checked.

In:  ``NAME.safetensors`` (nodes, roots, calibration) and ``NAME.json`` (everything else), see ``model.storage``
Out: ``stages.support.ensemble.Ensemble``

Arrays: ``feature`` int32 [n], negative in a leaf; ``threshold`` float32 [n]; ``below`` int32 [n], the child for values
of at most the threshold, ``below + 1`` being the other child; ``leaf`` int32 [n], the logit of a leaf in units of
1 / ``classify.LEAF_UNIT``; ``roots`` int32 [2 t], first those of the trees for one lead, then those for several;
``probability`` float64 [33], that a peak is a beat, at equidistant logits.

A detector is usable only if it was trained on the features, filter and peaks of this program and its arrays are trees:
children after their parents, known features, finite numbers. Otherwise a ``UserError`` names the file, the expected
and the actual value.
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.kernels.peaks import classify, peak_features
from beatwire.model.storage import read_model, write_model
from beatwire.records import F32, I16, I32
from beatwire.stages.detection.classify import SIGMA_S
from beatwire.stages.detection.nms import Settings as NmsSettings
from beatwire.stages.support.ensemble import Ensemble
from beatwire.stages.support.filters import Design

FORMAT = 2
VERSION = "trees-2"
SHIPPED = Path(__file__).parent / "weights" / "detector.safetensors"
KNOTS = 33  # of the table of probabilities: one per half unit of logit from -8 to 8
MAX_LEVELS = (classify.MOST_NODES + 1).bit_length() - 1
INPUTS_KEY = "looks"  # the name of ``inputs()`` in files of FORMAT 2
NODE_ARRAYS = {"feature": np.int32, "threshold": np.float32, "below": np.int32, "leaf": np.int32, "roots": np.int32}
ARRAYS = {**NODE_ARRAYS, "probability": np.float64}


def inputs() -> dict[str, Any]:
    """Return what the input of the trees depends on: features, their spans and wavelets, the filter, the peaks."""
    return {
        "features": list(peak_features.NAMES),
        "spans_s": list(peak_features.SPAN_S),
        "wavelets_s": list(SIGMA_S),
        "least": classify.LEVELS_PER_CANDIDATE,
        "filter": asdict(Design()),
        "peaks": asdict(NmsSettings()),
    }


def save_trees(path: Path, arrays: dict[str, Any], metadata: dict[str, Any]) -> Ensemble:
    """Write a detector and return it as read back.

    Parameters
    ----------
    path
        ``NAME.safetensors``.
    arrays
        The arrays of the module's docstring.
    metadata
        Further keys of the config: settings of the training, databases, records held out.
    """
    config = {"format": FORMAT, "version": VERSION, INPUTS_KEY: inputs(), **metadata}
    write_model(path, {name: np.asarray(arrays[name], kind) for name, kind in ARRAYS.items()}, config)
    return load_trees(path)


def load_trees(path: Path | None = None) -> Ensemble:
    """Read a detector; the one in the package by default.

    Raises
    ------
    UserError
        There is no such file, it holds no trees, or they were trained on other inputs than this program's.
    """
    path = SHIPPED if path is None else path
    arrays, config, config_path, name = read_model(path, "detector", FORMAT)
    check_inputs(config_path, config.get(INPUTS_KEY), "a detector", inputs())
    check(path, arrays, peak_features.FEATURES)
    return ensemble_of(path, arrays, name)


def ensemble_of(path: Path, arrays: dict[str, Any], name: str) -> Ensemble:
    """Return checked arrays as complete trees; the first half of them is row 0."""
    feature, threshold, leaf = in_halves(path, arrays)
    return Ensemble(feature, threshold, leaf, probability=np.ascontiguousarray(arrays["probability"]), name=name)


def check_inputs(path: Path, found: object, what: str, expected: Mapping[str, Any]) -> None:
    """Raise ``UserError`` unless a config names the inputs that this program computes as those of the training."""
    for key, value in expected.items():
        if not isinstance(found, dict) or found.get(key) != value:
            got = found.get(key) if isinstance(found, dict) else None
            raise UserError(f"{path}: expected {what} trained with {key} {value}; got {got}")


def check(path: Path, arrays: dict[str, Any], features: int) -> None:
    """Raise ``UserError`` unless the arrays are trees on so many features, and the probabilities are ascending."""
    check_arrays(path, arrays, ARRAYS)
    if len(arrays["probability"]) != KNOTS or (np.diff(arrays["probability"]) < 0).any():
        raise UserError(f"{path}: expected {KNOTS} probabilities in ascending order; got others")
    check_trees(path, arrays, features)


def check_arrays(path: Path, arrays: dict[str, Any], kinds: Mapping[str, type]) -> None:
    """Raise ``UserError`` unless each of ``kinds`` is a finite array [n] of its type."""
    for name, kind in kinds.items():
        found = arrays.get(name)
        if found is None or found.ndim != 1 or found.dtype != kind or not np.isfinite(found).all():
            got = "none" if found is None else f"{found.dtype} {list(found.shape)}"
            raise UserError(f"{path}: expected {name} as finite {np.dtype(kind)} [n]; got {got}")


def check_trees(path: Path, arrays: dict[str, Any], features: int) -> None:
    """Raise ``UserError`` unless the arrays are trees of so many features."""
    feature, below, roots = arrays["feature"], arrays["below"], arrays["roots"]
    nodes = len(feature)
    for name in ("threshold", "below", "leaf"):
        if len(arrays[name]) != nodes:
            raise UserError(f"{path}: expected {nodes} values of {name}, one per node; got {len(arrays[name])}")
    inner = np.flatnonzero(feature >= 0)
    if (feature >= features).any():
        raise UserError(f"{path}: expected features below {features}; got {feature.max()}")
    if (below[inner] <= inner).any() or (below[inner] + 1 >= nodes).any():
        raise UserError(f"{path}: expected children after their parents among {nodes} nodes; got others")
    if len(roots) == 0 or len(roots) % 2 or (roots < 0).any() or (roots >= nodes).any():
        raise UserError(f"{path}: expected an even number of roots among {nodes} nodes; got {roots[:8].tolist()}")


def in_halves(path: Path, arrays: dict[str, Any]) -> tuple[I16, F32, I32]:
    """Return checked trees as `complete` does, with the first half of them as row 0 and the second as row 1.

    Trees without values fill each half up to a multiple of ``classify.SIDE_BY_SIDE``.
    """
    trees = len(arrays["roots"]) // 2
    missing = [(0, 0), (0, 0), (0, -trees % classify.SIDE_BY_SIDE)]

    def halves(of_trees: Any) -> Any:
        return np.pad(of_trees.reshape(len(of_trees), 2, trees).swapaxes(0, 1), missing)

    feature, threshold, leaf = map(halves, complete(path, arrays))
    return feature, threshold, leaf


def complete(path: Path, arrays: dict[str, Any]) -> tuple[I16, F32, I32]:
    """Return all trees as complete binary trees of one depth, as ``kernels.peaks.classify.evaluate_trees`` reads.

    Below a leaf that is not on the last level, every node sends all values to the same side.

    Parameters
    ----------
    path
        For error messages.
    arrays
        ``feature``, ``threshold``, ``below``, ``leaf`` and ``roots`` of the module's docstring.

    Returns
    -------
    feature, threshold, leaf
        int16 [nodes, trees], float32 [nodes, trees], int32 [nodes + 1, trees].

    Raises
    ------
    UserError
        A tree has more than ``MAX_LEVELS`` levels.
    """
    feature, below = arrays["feature"], arrays["below"]
    levels = [arrays["roots"].astype(np.int64)[:, None]]  # per level the stored node at each position of each tree
    while (feature[levels[-1]] >= 0).any():
        nodes = levels[-1]
        if len(levels) > MAX_LEVELS:
            raise UserError(f"{path}: expected trees of at most {MAX_LEVELS} levels; got deeper ones")
        is_leaf = feature[nodes] < 0
        children = np.where(is_leaf, nodes, below[nodes]), np.where(is_leaf, nodes, below[nodes] + 1)
        levels.append(np.stack(children, 2).reshape(len(nodes), -1))
    nodes = np.concatenate([np.zeros((len(levels[0]), 0), np.int64), *levels[:-1]], 1).T
    inner = feature[nodes] >= 0
    return (
        np.where(inner, feature[nodes], 0).astype(np.int16),
        np.where(inner, arrays["threshold"][nodes], np.inf).astype(np.float32),
        arrays["leaf"][levels[-1].T],
    )
