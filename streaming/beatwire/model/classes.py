"""The trees that determine the class of a beat, on disk, read and checked.

In:  ``NAME.safetensors`` (nodes, roots, calibration) and ``NAME.json`` (everything else), see ``model.storage``
Out: ``stages.judging.beat_class.Settings``

The arrays are those of ``model.trees``: first the trees for V, then those for S. ``probability`` is calibrated for
both. Trees are usable only if they were trained on the features of this program.
"""

from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.kernels.classes import beat_shape, class_features, normal_beat
from beatwire.model.storage import read_model, write_model
from beatwire.model.trees import ARRAYS, check, check_inputs, ensemble_of
from beatwire.stages.judging.beat_class import Settings

FORMAT = 1
VERSION = "classes-2"
SHIPPED = Path(__file__).parent / "weights" / "classes.safetensors"
INPUTS_KEY = "inputs"
LEAST_KEY = "least"  # probabilities from which on a beat is V, and S


def inputs() -> dict[str, Any]:
    """Return what the input of the trees depends on: features, shapes, and the beats that a beat is compared with."""
    return {
        "features": list(class_features.NAMES),
        "points": [beat_shape.POINTS, beat_shape.BEFORE_R, beat_shape.POINT_S],
        "past": [normal_beat.PAST, normal_beat.MEMORY_S, normal_beat.BLOCK_S],
    }


def save_classes(path: Path, arrays: dict[str, Any], least: tuple[float, float], metadata: dict[str, Any]) -> Settings:
    """Write the trees and return them as read back.

    Parameters
    ----------
    path
        ``NAME.safetensors``.
    arrays
        The arrays of ``model.trees``.
    least
        Probabilities from which on a beat is ventricular, and supraventricular.
    metadata
        Further keys of the config: settings of the training, databases, records held out.
    """
    config = {"format": FORMAT, "version": VERSION, INPUTS_KEY: inputs(), LEAST_KEY: list(least), **metadata}
    write_model(path, {name: np.asarray(arrays[name], kind) for name, kind in ARRAYS.items()}, config)
    return load_classes(path)


def load_classes(path: Path | None = None) -> Settings:
    """Read the trees; those in the package by default.

    Raises
    ------
    UserError
        There is no such file, it holds no trees, or they were trained on other inputs than this program's.
    """
    path = SHIPPED if path is None else path
    arrays, config, config_path, name = read_model(path, "model of beat classes", FORMAT)
    check_inputs(config_path, config.get(INPUTS_KEY), "trees", inputs())
    least = config.get(LEAST_KEY)
    if not isinstance(least, list) or len(least) != 2 or not all(isinstance(p, float) and 0 < p < 1 for p in least):
        raise UserError(f"{config_path}: expected {LEAST_KEY} as two probabilities; got {least}")
    check(path, arrays, class_features.FEATURES)
    return Settings(ensemble_of(path, arrays, name), np.array(least))
