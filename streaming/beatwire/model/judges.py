"""The trees of two judges on disk, read and checked.

In:  ``NAME.safetensors`` (nodes and roots) and ``NAME.json`` (everything else), see ``model.storage``
Out: ``records.classification.Judges``

The arrays are those of the detector's trees (``model.trees``), without probabilities: first the trees of one judge,
then as many of the other. Judges are usable only if they were trained on the features of this program. Otherwise a
``UserError`` names the file, the expected and the actual value.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.model.storage import read_model, write_model
from beatwire.model.trees import NODE_ARRAYS, check_arrays, check_inputs, check_trees, in_halves
from beatwire.records.classification import Judges, JudgeTrees


def save_judges(path: Path, arrays: dict[str, Any], config: dict[str, Any]) -> None:
    """Write the trees of two judges, and their config."""
    write_model(path, {name: np.asarray(arrays[name], kind) for name, kind in NODE_ARRAYS.items()}, config)


def load_judges(path: Path, what: str, model_format: int, expected: Mapping[str, Any], features: int) -> Judges:
    """Read the trees of two judges.

    Parameters
    ----------
    path
        ``NAME.safetensors``.
    what
        The model, for error messages.
    model_format
        Of the file.
    expected
        The inputs that this program computes; those of the training are under the key ``inputs`` of the config.
    features
        Number of features that trees may name.

    Raises
    ------
    UserError
        There is no such file, it holds no trees, or they were trained on other inputs than this program's.
    """
    arrays, config, config_path, name = read_model(path, what, model_format)
    check_inputs(config_path, config.get("inputs"), what, expected)
    check_arrays(path, arrays, NODE_ARRAYS)
    check_trees(path, arrays, features)
    return Judges(JudgeTrees(*in_halves(path, arrays)), name)


def no_judges() -> Judges:
    """Return judges that decide for nothing, for the training."""
    nodes = np.zeros((2, 1, 1), np.int16), np.zeros((2, 1, 1), np.float32)
    return Judges(JudgeTrees(*nodes, np.full((2, 2, 1), -1, np.int32)), "none")
