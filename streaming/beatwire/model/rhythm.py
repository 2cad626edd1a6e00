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
from beatwire.model.trees import load_halves, save_halves
from beatwire.stages.rhythm import Judges

FORMAT = 1
VERSION = "rhythm-2"
SHIPPED = Path(__file__).parent / "weights" / "rhythm.safetensors"


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
    save_halves(path, arrays, {"format": FORMAT, "version": VERSION, "inputs": inputs(), **metadata})
    return load_judges(path)


def load_judges(path: Path | None = None) -> Judges:
    """Read judges; those in the package by default.

    Raises
    ------
    UserError
        There is no such file, it holds no trees, or they were trained on other features than this program's.
    """
    return Judges(*load_halves(path or SHIPPED, "judges of the rhythm", FORMAT, inputs(), rhythm.FEATURES))


def no_judges() -> Judges:
    """Return judges that decide for nothing, for the training."""
    return Judges(np.zeros((2, 1, 1), np.int16), np.zeros((2, 1, 1), np.float32), np.zeros((2, 1, 2), np.int32), "none")
