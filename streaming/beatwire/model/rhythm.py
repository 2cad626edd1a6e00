"""The judges of the rhythm on disk (``model.judges``): first that of fibrillation, then that of atrial fibrillation."""

from pathlib import Path
from typing import Any

from beatwire.kernels.rhythms import atrial, fibrillation, rhythm
from beatwire.model.judges import load_judges, save_judges
from beatwire.records.classification import Judges

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


def save_rhythm_judges(path: Path, arrays: dict[str, Any], metadata: dict[str, Any]) -> Judges:
    """Write judges and return them as read back; ``metadata`` are further keys of the config."""
    save_judges(path, arrays, {"format": FORMAT, "version": VERSION, "inputs": inputs(), **metadata})
    return load_rhythm_judges(path)


def load_rhythm_judges(path: Path | None = None) -> Judges:
    """Read judges; those in the package by default.

    Raises
    ------
    UserError
        As `load_judges`.
    """
    return load_judges(path or SHIPPED, "judges of the rhythm", FORMAT, inputs(), rhythm.FEATURES)
