"""The scoring model on disk: weights of the VAE, calibration of the score, reference distributions for drift.

In:  ``NAME.safetensors`` (weights) and ``NAME.json`` (everything else), see ``model.storage``
Out: :class:`Model`

A model is usable only if its config has the ``window`` that this program cuts, an ascending ``calibration`` and a
``reference``. Otherwise a ``UserError`` names the file, the expected and the actual value.
"""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.backends.network import Network
from beatwire.errors import UserError
from beatwire.kernels.detection import windows
from beatwire.kernels.scores import history
from beatwire.kernels.scores.drift import COMPARED, MOST_BINS
from beatwire.model.storage import HELD_OUT_KEY, read_model, write_model
from beatwire.records import F64
from beatwire.stages.judging.drift import Reference
from beatwire.stages.score import TERMS, Calibration

FORMAT = 1
VERSION = "vae-4"
WINDOW: dict[str, float] = {
    "points": windows.WINDOW,
    "rate_hz": round(windows.WINDOW / (2 * windows.HALF_S), 3),
    "half_s": windows.HALF_S,
    "shift_s": windows.SHIFT_S,
    "history_s": history.BEATS_S,
    "history_beats": history.BEATS,
    "sizes_s": history.SIZES_S,
    "own_spread": history.SPREAD_EXPONENT,
    "own_error": history.USUAL_SHARE,
    "steady": history.IRREGULARITY_OFFSET,
}
STORED_AS = {"reconstruction_error": "misfit"}  # the name of a field of Reference in files of FORMAT 1
MIN_LEVELS = 10  # of a calibration: with fewer the score would be too coarse
SHIPPED = Path(__file__).parent / "weights" / "vae.safetensors"


@dataclass(frozen=True, slots=True)
class Model:
    """A scoring model: weights, calibration, reference distributions for drift, and its name."""

    name: str
    network: Network
    calibration: Calibration
    reference: Reference
    config: dict[str, Any]


def save_model(path: Path, network: Network, calibration: Calibration, metadata: dict[str, Any]) -> Model:
    """Write a model and return it as read back.

    Parameters
    ----------
    path
        ``NAME.safetensors``.
    network, calibration
        Weights and tables.
    metadata
        Further keys of the config: ``reference`` (required for reading), settings of the training, and for the model
        of a fold the records that were held out.
    """
    weights = {f.name: getattr(network, f.name) for f in fields(network) if f.name not in ("variance", "scorer")}
    config = {
        "format": FORMAT,
        "version": VERSION,
        "window": WINDOW,
        "latents": history.LATENTS,
        "variance": network.variance,
        "calibration": as_lists(calibration),
        **metadata,
    }
    write_model(path, weights, config)
    return load_model(path)


def load_model(path: Path | None = None) -> Model:
    """Read a model; the one in the package by default.

    Raises
    ------
    UserError
        There is no such file, it is not a model, its window is not this program's, or its calibration or reference is
        missing or unusable.
    """
    path = SHIPPED if path is None else path
    arrays, config, config_path, name = read_model(path, "model", FORMAT)
    _check_window(config_path, config)
    network = _network(path, arrays, config)
    calibration = _calibration(config_path, config)
    reference = _reference(config_path, config)
    return Model(name, network, calibration, reference, config)


def as_lists(tables: Calibration | Reference) -> dict[str, Any]:
    """Return tables as lists for JSON, rounded to six decimals, under the names of the file format."""
    names = tables._fields if isinstance(tables, Calibration) else [f.name for f in fields(tables)]
    return {STORED_AS.get(name, name): np.round(getattr(tables, name), 6).tolist() for name in names}


def fold_path(path: Path, fold: int) -> Path:
    """Return the path of the model that was trained without the subjects of a fold."""
    return path.with_suffix(f".fold{fold}{path.suffix}")


def held_out_models(path: Path | None = None) -> dict[tuple[str, int], Path]:
    """Return for each record of a model's training data the model of the fold that was trained without it.

    Keys are the record's name and its number of samples per lead. The result is empty for a model without fold models
    beside it.
    """
    path = SHIPPED if path is None else path
    found: dict[tuple[str, int], Path] = {}
    for config in sorted(path.parent.glob(f"{path.stem}.fold*.json")):
        records = json.loads(config.read_text()).get(HELD_OUT_KEY, {})
        found |= {(name, samples): config.with_suffix(path.suffix) for name, samples in records.items()}
    return found


def _check_window(path: Path, config: dict[str, Any]) -> None:
    window = config.get("window")
    if not isinstance(window, dict):
        raise UserError(f"{path}: expected the window that the model was trained on; got none")
    for name, value in WINDOW.items():
        if window.get(name) != value:
            raise UserError(f"{path}: expected a model with window {name} {value:g}; got {window.get(name)}")


def _network(path: Path, arrays: dict[str, Any], config: dict[str, Any]) -> Network:
    hidden = arrays["encode"].shape[-1] if "encode" in arrays else 0
    shapes = {
        "encode": (windows.WINDOW, hidden), "encode_bias": (hidden,), "latent": (hidden, history.LATENTS),
        "latent_bias": (history.LATENTS,), "decode": (history.LATENTS, hidden), "decode_bias": (hidden,),
        "output": (hidden, windows.WINDOW), "output_bias": (windows.WINDOW,), "map": (history.LATENTS, 2),
    }  # fmt: skip
    weights: dict[str, Any] = {}
    for name, shape in shapes.items():
        found = arrays.get(name)
        if found is None or found.shape != shape or found.dtype != np.float32:
            got = "none" if found is None else f"{found.dtype} {list(found.shape)}"
            raise UserError(f"{path}: expected {name} as float32 {list(shape)}; got {got}")
        if not np.isfinite(found).all():
            raise UserError(f"{path}: expected finite weights; got NaN or infinity in {name}")
        weights[name] = np.ascontiguousarray(found)
    reach = np.linalg.norm(weights["decode"], axis=1)
    if reach[: -history.STORED].max() > reach[-history.STORED :].min():
        raise UserError(f"{path}: expected the latents that the decoder reads most to be the last; train it again")
    variance = config.get("variance")
    if not isinstance(variance, float | int) or not 0 < variance < 1e6:
        raise UserError(f"{path.with_suffix('.json')}: expected a variance above 0; got {variance}")
    return Network(**weights, variance=float(variance))


def _calibration(path: Path, config: dict[str, Any]) -> Calibration:
    table = config.get("calibration")
    if not isinstance(table, dict):
        raise UserError(f"{path}: expected a calibration; got none (train the model with beatwire train vae)")
    arrays: dict[str, F64] = {}
    for name in Calibration._fields:
        try:
            arrays[name] = np.asarray(table[name], np.float64)
        except (KeyError, ValueError, TypeError) as error:
            raise UserError(f"{path}: expected calibration {name} as numbers; got {error}") from error
    k = arrays["level"].size
    for name, shape in {
        "level": (k,),
        "terms": (len(TERMS), k),
        "weights": (len(TERMS),),
        "sums": (4, k),
        "errors": (k,),
    }.items():
        found = arrays[name]
        if k < MIN_LEVELS or found.shape != shape or not np.isfinite(found).all():
            raise UserError(f"{path}: expected calibration {name} of {list(shape)} numbers; got {list(found.shape)}")
        if name != "weights" and (np.diff(found) < 0).any():
            raise UserError(f"{path}: expected calibration {name} in ascending order; got a descending pair")
    return Calibration(**arrays)


def _reference(path: Path, config: dict[str, Any]) -> Reference:
    table = config.get("reference")
    if not isinstance(table, dict):
        raise UserError(f"{path}: expected a reference for drift; got none (train the model with beatwire train vae)")
    arrays: dict[str, F64] = {}
    for f in fields(Reference):
        try:
            arrays[f.name] = np.asarray(table[STORED_AS.get(f.name, f.name)], np.float64)
        except (KeyError, ValueError, TypeError) as error:
            raise UserError(f"{path}: expected reference {f.name} as numbers; got {error}") from error
    q, s = arrays["levels"].size, arrays["score"].size  # borders of radius and reconstruction error; of the score
    borders = arrays["latents"].shape[-1] if arrays["latents"].ndim else 0  # of each latent
    n = history.LATENTS
    shapes = {
        "centre": (n,), "whitener": (n, n), "score": (s,), "latents": (n, borders), "radius": (q,),
        "reconstruction_error": (q,), "levels": (q,),
        "shares": (s + 1 + n * (borders + 1) + COMPARED * (q + 1),), "limit": (),
    }  # fmt: skip
    for name, shape in shapes.items():
        if arrays[name].shape != shape or not np.isfinite(arrays[name]).all():
            raise UserError(
                f"{path}: expected reference {name} of {list(shape)} numbers; got {list(arrays[name].shape)}"
            )
    if arrays["shares"].size > MOST_BINS:
        raise UserError(f"{path}: expected a reference of at most {MOST_BINS} bins; got {arrays['shares'].size}")
    limit = float(arrays.pop("limit"))
    return Reference(**arrays, limit=limit)
