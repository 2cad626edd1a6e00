"""The judges of ventricular tachycardia and of runs on disk, read and checked.

In:  ``NAME.safetensors`` (nodes and roots) and ``NAME.json`` (everything else), see ``model.storage``
Out: ``stages.ventricular.Judge``

The arrays are those of the detector's trees (``model.trees``), without probabilities: first the trees of the judge of
tachycardia, then as many of the judge of runs. A judge is usable only if it was
trained on the features of this program. Otherwise a ``UserError`` names the file, the expected and the actual value.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from beatwire.kernels import ventricular
from beatwire.model.trees import load_halves, save_halves
from beatwire.stages.ventricular import Judge

FORMAT = 1
VERSION = "ventricular-2"
SHIPPED = Path(__file__).parent / "weights" / "ventricular.safetensors"


def inputs() -> dict[str, Any]:
    """Return what the judge reads: its features, and how far back it looks."""
    return {"features": list(ventricular.NAMES), "beats": ventricular.PAST, "window_s": ventricular.WINDOW_S}


def save_judge(path: Path, arrays: dict[str, Any], metadata: dict[str, Any]) -> Judge:
    """Write a judge and return it as read back; ``metadata`` are further keys of the config."""
    save_halves(path, arrays, {"format": FORMAT, "version": VERSION, "inputs": inputs(), **metadata})
    return load_judge(path)


def load_judge(path: Path | None = None) -> Judge:
    """Read a judge; the one in the package by default.

    Raises
    ------
    UserError
        There is no such file, it holds no trees, or it was trained on other features than this program's.
    """
    return Judge(*load_halves(path or SHIPPED, "a judge of ventricular runs", FORMAT, inputs(), ventricular.FEATURES))


def no_judge() -> Judge:
    """Return a judge that finds no run, for the training."""
    shape = (ventricular.JUDGES, 1, 1)
    return Judge(np.zeros(shape, np.int16), np.zeros(shape, np.float32), np.full((*shape[:2], 2), -1, np.int32), "none")
