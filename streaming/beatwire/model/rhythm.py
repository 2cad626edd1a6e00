"""The judges of the rhythm on disk, read and checked.

In:  ``NAME.safetensors`` (nodes and roots) and ``NAME.json`` (everything else), see ``model.storage``
Out: ``stages.rhythm.Judges``

The arrays are those of the detector's trees (``model.trees``), without probabilities: first the trees that judge
fibrillation, then as many that judge atrial fibrillation. Judges are usable only if they were trained on the features
of this program. Otherwise a ``UserError`` names the file, the expected and the actual value.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from beatwire.kernels import atrial, fibrillation, rhythm
from beatwire.model.storage import read_model, write_model
from beatwire.model.trees import NODE_ARRAYS, check_arrays, check_inputs, check_trees, in_halves
from beatwire.stages.rhythm import Judges

FORMAT = 1
VERSION = "rhythm-1"
SHIPPED = Path(__file__).parent / "weights" / "rhythm.safetensors"
INPUTS_KEY = "inputs"


def inputs() -> dict[str, Any]:
    """Return what the judges read: the features of each, and how far back they look."""
    return {
        "fibrillation": list(fibrillation.NAMES),
        "atrial": list(atrial.NAMES),
        "blocks": fibrillation.BLOCKS,
        "beats_s": fibrillation.BEATS_S,
        "minute_s": atrial.MINUTE_S,
    }


def save_judges(path: Path, arrays: dict[str, Any], metadata: dict[str, Any]) -> Judges:
    """Write judges and return them as read back; ``metadata`` are further keys of the config."""
    config = {"format": FORMAT, "version": VERSION, INPUTS_KEY: inputs(), **metadata}
    write_model(path, {name: np.asarray(arrays[name], kind) for name, kind in NODE_ARRAYS.items()}, config)
    return load_judges(path)


def load_judges(path: Path | None = None) -> Judges:
    """Read judges; those in the package by default.

    Raises
    ------
    UserError
        There is no such file, it holds no trees, or they were trained on other features than this program's.
    """
    path = SHIPPED if path is None else path
    arrays, config, config_path, name = read_model(path, "judges of the rhythm", FORMAT)
    check_inputs(config_path, config.get(INPUTS_KEY), "judges", inputs())
    check_arrays(path, arrays, NODE_ARRAYS)
    check_trees(path, arrays, rhythm.FEATURES)
    feature, threshold, leaf = in_halves(path, arrays)
    return Judges(feature, threshold, leaf, name)


def no_judges() -> Judges:
    """Return judges that decide for nothing, for the training."""
    return Judges(np.zeros((2, 1, 1), np.int16), np.zeros((2, 1, 1), np.float32), np.zeros((2, 1, 2), np.int32), "none")
