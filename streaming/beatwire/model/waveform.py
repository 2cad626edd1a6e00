"""The network of doubtful peaks on disk, read and checked.

In:  ``NAME.safetensors`` (the arrays of ``records.waveform.WaveNetwork``) and ``NAME.json`` (everything else), see
     ``model.storage``
Out: :class:`Waveform`

Weights are int8, factors and offsets int64. A network is usable only if it was trained on the input of this program, if
its arrays fit together, if every sum of products is below 2^24, and if no value exceeds 2^11. Otherwise a ``UserError``
names the file, the expected and the actual value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.errors import UserError
from beatwire.kernels.peaks import doubt, wave_input
from beatwire.kernels.peaks.wave_network import LOOKS, TAPS
from beatwire.kernels.scores.vae import COLUMNS_AT_ONCE
from beatwire.model.storage import read_model, write_model
from beatwire.model.trees import check_inputs
from beatwire.records.waveform import WaveNetwork

FORMAT = 1
VERSION = "network-1"
SHIPPED = Path(__file__).parent / "weights" / "network.safetensors"
WEIGHTS = ("first", "second", "wide", "narrow")
OTHERS: dict[str, Any] = {
    **dict.fromkeys(("factor", "offset", "residual", "most", "head"), np.int64),
    "compressed": np.int16,
    "combination": np.float64,
}
MOST_SUM = 1 << 24  # float32 holds every integer below it
MOST_VALUE = 1 << 11  # the tensor cores of a card read every integer up to it
MOST_DEPTH = 7  # the rings hold the samples that this depth reads


@dataclass(frozen=True, slots=True)
class Waveform:
    """A network, and ``name``: version and hash."""

    network: WaveNetwork
    name: str


def inputs() -> dict[str, Any]:
    """Return what the input of the network depends on."""
    return {
        "grid_hz": wave_input.GRID_HZ,
        "ahead_s": wave_input.AHEAD_S,
        "mean": wave_input.MEAN,
        "bands": [list(band) for band in wave_input.BANDS],
        "magnitudes": list(wave_input.MAGNITUDES),
        "per_ratio": wave_input.PER_RATIO,
        "most_leads": doubt.MOST_LEADS,
    }


def save_waveform(path: Path, arrays: dict[str, Any], metadata: dict[str, Any]) -> Waveform:
    """Write a network and return it as read back; ``metadata`` are further keys of the config."""
    kinds = dict.fromkeys(WEIGHTS, np.int8) | OTHERS
    stored = {name: np.asarray(arrays[name], kind) for name, kind in kinds.items()}
    write_model(path, stored, {"format": FORMAT, "version": VERSION, "inputs": inputs(), **metadata})
    return load_waveform(path)


def load_waveform(path: Path | None = None) -> Waveform:
    """Read a network; the one in the package by default.

    Raises
    ------
    UserError
        There is no such file, it holds no network, or it was trained on other inputs than this program's.
    """
    path = SHIPPED if path is None else path
    arrays, config, config_path, name = read_model(path, "network", FORMAT)
    check_inputs(config_path, config.get("inputs"), "a network", inputs())
    _check_shapes(path, arrays)
    _check_sums(path, arrays)
    return Waveform(network_of(arrays), name)


def network_of(arrays: Mapping[str, Any]) -> WaveNetwork:
    """Return arrays as a network, with weights as float32; without ``combination`` the trees' logits are not used."""
    weights: dict[str, Any] = {key: np.ascontiguousarray(arrays[key], np.float32) for key in WEIGHTS}
    others: dict[str, Any] = {
        key: np.ascontiguousarray(arrays[key], kind) for key, kind in OTHERS.items() if key in arrays
    }
    return WaveNetwork(**{"combination": np.array([[0.0, 0.0, 1.0, 0.0]] * 2), **weights, **others})


def _check_shapes(path: Path, arrays: dict[str, Any]) -> None:
    """Raise ``UserError`` unless every array is there, of the type and shape that go with the others."""
    first, narrow = arrays.get("first"), arrays.get("narrow")
    c = first.shape[-1] if first is not None and first.ndim == 2 else 0
    depth, h = narrow.shape[:2] if narrow is not None and narrow.ndim == 3 else (0, 0)
    layers, entries = 2 + 2 * depth, len(arrays.get("compressed", ()))
    expected: dict[str, tuple[type, tuple[int, ...]]] = {
        "first": (np.int8, (TAPS * wave_input.CHANNELS, c)), "second": (np.int8, (TAPS * c, h)),
        "wide": (np.int8, (depth, LOOKS * h, h)), "narrow": (np.int8, (depth, h, h)),
        "factor": (np.int64, (layers, h)), "offset": (np.int64, (layers, h)), "residual": (np.int64, (depth,)),
        "most": (np.int64, (layers,)), "head": (np.int64, (h + 1,)), "compressed": (np.int16, (entries,)),
        "combination": (np.float64, (2, 4)),
    }  # fmt: skip
    for name, (kind, shape) in expected.items():
        found = arrays.get(name)
        if found is None or found.dtype != kind or found.shape != shape or not np.isfinite(found).all():
            got = "none" if found is None else f"{found.dtype} {list(found.shape)}"
            raise UserError(f"{path}: expected {name} as finite {np.dtype(kind)} {list(shape)}; got {got}")
    if not 1 <= depth <= MOST_DEPTH or c > h or c % COLUMNS_AT_ONCE or h % COLUMNS_AT_ONCE or entries < 2:
        raise UserError(
            f"{path}: expected 1 to {MOST_DEPTH} layers of a multiple of {COLUMNS_AT_ONCE} channels; "
            f"got {depth} of {h}, after {c}"
        )


def _check_sums(path: Path, arrays: dict[str, Any]) -> None:
    """Raise ``UserError`` unless no sum of products, and no product with a factor, can be too large."""
    depth, most = arrays["residual"].shape[0], arrays["most"]
    largest = [int(np.abs(arrays["compressed"].astype(np.int64)).max()), int(most[0])]
    matrices = [arrays["first"], arrays["second"]]
    for deep in range(depth):
        matrices += [arrays["wide"][deep], arrays["narrow"][deep]]
        largest += [int(most[1 + 2 * deep]), int(most[2 + 2 * deep])]
    for layer, (matrix, value) in enumerate(zip(matrices, largest, strict=True)):
        total = int(np.abs(matrix.astype(np.int64)).sum(axis=0).max()) * value
        if value < 0 or total >= MOST_SUM:
            raise UserError(f"{path}: expected sums below {MOST_SUM} in layer {layer}; got up to {total}")
        if value > MOST_VALUE:
            raise UserError(f"{path}: expected values up to {MOST_VALUE} in layer {layer}; got up to {value}")
    for name in ("factor", "offset", "residual", "most", "head"):
        limit = 1 << (44 if name == "offset" else 36 if name == "factor" else 30)
        if int(np.abs(arrays[name]).max(initial=0)) >= limit:
            raise UserError(f"{path}: expected {name} below {limit}; got {np.abs(arrays[name]).max()}")
