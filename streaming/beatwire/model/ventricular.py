"""The judges of ventricular beats on disk (``model.judges``): first that of tachycardia, then that of runs."""

from pathlib import Path
from typing import Any

from beatwire.kernels.rhythms import ventricular
from beatwire.model.judges import load_judges, save_judges
from beatwire.records.classification import Judges

FORMAT = 1
VERSION = "ventricular-2"
SHIPPED = Path(__file__).parent / "weights" / "ventricular.safetensors"


def inputs() -> dict[str, Any]:
    """Return what the judges read: their features, and how far back they look."""
    return {"features": list(ventricular.NAMES), "beats": ventricular.PAST, "window_s": ventricular.WINDOW_S}


def save_ventricular_judges(path: Path, arrays: dict[str, Any], metadata: dict[str, Any]) -> Judges:
    """Write judges and return them as read back; ``metadata`` are further keys of the config."""
    save_judges(path, arrays, {"format": FORMAT, "version": VERSION, "inputs": inputs(), **metadata})
    return load_ventricular_judges(path)


def load_ventricular_judges(path: Path | None = None) -> Judges:
    """Read judges; those in the package by default.

    Raises
    ------
    UserError
        As `load_judges`.
    """
    return load_judges(path or SHIPPED, "judges of ventricular runs", FORMAT, inputs(), ventricular.FEATURES)
