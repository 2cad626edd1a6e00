"""What is learned, on disk: ``NAME.safetensors`` (arrays) and ``NAME.json`` (everything else), written and read.

A pair is named by its version and the SHA-256 of both files' content, for instance ``vae-1+ab12cd34``. Nothing is ever
unpickled.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from beatwire.errors import UserError


class Pair(NamedTuple):
    """A pair as it was read; ``config_path`` is for errors."""

    arrays: dict[str, Any]
    config: dict[str, Any]
    config_path: Path
    name: str


def write_pair(path: Path, arrays: dict[str, Any], config: dict[str, Any]) -> None:
    """Write both files of ``path``, the ``NAME.safetensors``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(save({name: np.ascontiguousarray(array) for name, array in arrays.items()}))
    path.with_suffix(".json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")


def read_pair(path: Path, what: str, form: int) -> Pair:
    """Read both files of ``path``, which holds a ``what`` ("model") in format ``form``.

    Raises
    ------
    UserError
        no such files, not safetensors and JSON, another format.
    """
    if path.suffix != ".safetensors":
        raise UserError(f"{path}: expected the NAME.safetensors of a {what}; got {path.name!r}")
    config_path = path.with_suffix(".json")
    for needed in (path, config_path):
        if not needed.is_file():
            raise UserError(f"{needed}: expected a file of the {what}; it is not there")
    raw, text = path.read_bytes(), config_path.read_bytes()
    try:
        config, arrays = json.loads(text), load(raw)
    except (ValueError, SafetensorError) as error:
        raise UserError(f"{path}: expected safetensors and a JSON config; got {error}") from error
    if not isinstance(config, dict) or config.get("format") != form:
        got = config.get("format") if isinstance(config, dict) else type(config).__name__
        raise UserError(f"{config_path}: expected {what} format {form}; got {got}")
    digest = hashlib.sha256(raw + text).hexdigest()[:8]
    return Pair(arrays, config, config_path, f"{config.get('version', 'unnamed')}+{digest}")
