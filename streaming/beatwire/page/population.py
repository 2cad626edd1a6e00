"""The plane of the model's latents, for ``/population.json``: where normal beats lie, and the beats of the plane.

In: the scoring model. Out: beats and the region of the training population, and decoded beats at the nodes of a grid.
The plane is the projection by which the monitor publishes each beat's place (``map_x``, ``map_y``): the latents times
the model's matrix ``map`` [8, 2].

A node of the plane is decoded from the most likely latents among those that project to it, given the mean and the
covariance of the training population's latents, which the model's files hold.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from beatwire.model.checkpoint import SHIPPED, Model
from beatwire.model.storage import POPULATION_SUFFIX
from beatwire.records import F64

NODES = 9  # of the grid, a side
POINTS = 64  # of a decoded beat
RADII = 2.5  # standard deviations of the population that the grid covers to each side


def population(model: Model, path: Path | None = None) -> dict[str, Any]:
    """Return the object of ``/population.json``.

    Parameters
    ----------
    model, path
        The scoring model and its file; None: the one in the package.
    """
    centre, covariance = latent_moments(model)
    plane = model.network.map.astype(np.float64)
    middle, spread = centre @ plane, plane.T @ covariance @ plane
    x, y = (
        np.linspace(middle[k] - reach, middle[k] + reach, NODES)
        for k, reach in enumerate(RADII * np.sqrt(np.diag(spread)))
    )
    nodes = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    latents = centre + (nodes - middle) @ np.linalg.solve(spread, plane.T @ covariance)
    windows = decode(model, latents)
    return {
        "model": model.name,
        "points": training_beats(model, SHIPPED if path is None else path),
        "region": {"centre": _rounded(middle), "covariance": _rounded(spread)},
        "decoded": {"x": _rounded(x), "y": _rounded(y), "windows": _rounded(windows, 3)},
    }


def training_beats(model: Model, path: Path) -> list[list[float]]:
    """Return the places of training beats from the file beside the model; none if there is no such file of it."""
    stored = path.with_suffix(POPULATION_SUFFIX)
    if not stored.is_file():
        return []
    content = json.loads(stored.read_text("utf-8"))
    return list(content["points"]) if content["model"] == model.name else []


def latent_moments(model: Model) -> tuple[F64, F64]:
    """Return mean [8] and covariance [8, 8] of the latents of the training population."""
    inverse = np.linalg.inv(model.reference.whitener)
    return model.reference.centre, inverse.T @ inverse


def decode(model: Model, latents: F64) -> F64:
    """Return the decoded beats, float64 [n, ``POINTS``], scaled by the largest magnitude of all to -1..1."""
    w = model.network
    hidden = np.maximum(latents @ w.decode + w.decode_bias, 0.0)
    windows = np.asarray(hidden @ w.output + w.output_bias, np.float64)[:, :: w.output.shape[1] // POINTS]
    scaled: F64 = windows / np.abs(windows).max()
    return scaled


def _rounded(values: F64, digits: int = 4) -> Any:
    return np.round(values, digits).tolist()
