"""A model on disk, two files: ``NAME.safetensors`` (arrays) and ``NAME.json`` (everything else).

A model is named by its version and the SHA-256 of the content of both files, for instance ``vae-4+ab12cd34``. Nothing
is unpickled.
"""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from beatwire.errors import UserError
from beatwire.outputs import write_output

# Records of the training data that the model of a fold was trained without, by name: samples per lead. Keys of the
# files are older than the names in the code. A model's name is a hash of its files, so a key cannot change alone.
HELD_OUT_KEY = "left_out"
POPULATION_SUFFIX = ".population.json"  # beside a model: places of training beats, which scores do not depend on


class StoredModel(NamedTuple):
    """The content of both files; ``config_path`` is for error messages."""

    arrays: dict[str, Any]
    config: dict[str, Any]
    config_path: Path
    name: str


def model_files(path: str | Path | None) -> list[Path]:
    """Return the files of a model; None has none outside of the package."""
    return [] if path is None else [Path(path), Path(path).with_suffix(".json"), population_beside(Path(path))]


def population_beside(path: Path) -> Path:
    """Return the file of the population of a model."""
    return path.with_suffix(POPULATION_SUFFIX)


def write_model(path: Path, arrays: dict[str, Any], config: dict[str, Any]) -> None:
    """Write ``path`` (``NAME.safetensors``) and its config."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_output("--out", path, save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
    write_output("--out", path.with_suffix(".json"), json.dumps(config, indent=1, sort_keys=True) + "\n")


def check_model(path: Path, kind: str = "model") -> None:
    """Raise UserError unless both files of a model are there; ``kind`` as for `read_model`."""
    if path.suffix != ".safetensors":
        raise UserError(f"{path}: expected the NAME.safetensors of a {kind}; got {path.name!r}")
    for needed in (path, path.with_suffix(".json")):
        if not needed.is_file():
            raise UserError(f"{needed}: expected a file of the {kind}; there is no such file")


def read_model(path: Path, kind: str, file_format: int) -> StoredModel:
    """Read ``path`` (``NAME.safetensors``) and its config.

    Parameters
    ----------
    path
        File of the arrays.
    kind
        What the files hold, for error messages: "model" or "detector".
    file_format
        The format number that the config must have.

    Raises
    ------
    UserError
        The files do not exist, are not safetensors and JSON, or have another format number.
    """
    check_model(path, kind)
    config_path = path.with_suffix(".json")
    raw, text = path.read_bytes(), config_path.read_bytes()
    try:
        config, arrays = json.loads(text), load(raw)
    except (ValueError, SafetensorError) as error:
        raise UserError(f"{path}: expected safetensors and a JSON config; got {error}") from error
    if not isinstance(config, dict) or config.get("format") != file_format:
        got = config.get("format") if isinstance(config, dict) else type(config).__name__
        raise UserError(f"{config_path}: expected {kind} format {file_format}; got {got}")
    digest = hashlib.sha256(raw + text).hexdigest()[:8]
    return StoredModel(arrays, config, config_path, f"{config.get('version', 'unnamed')}+{digest}")
